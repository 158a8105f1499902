# What exports say of reports that PyTorch, JAX and others left on an H200 (real/README.md): the same as the listings.
# SPDX-License-Identifier: Apache-2.0
"""real_exports_test.py BUILD"""
import collections
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

VIEWS = ("mapping", "address_range", "import")
PPROF = harness.SOURCE / "reporter/view/export/pprof.proto"


def added(pairs):
    result = collections.Counter()
    for key, amount in pairs:
        result[key] += amount
    return {key: amount for key, amount in result.items() if amount}


def holder_in(frames):
    """Of the frames from the memory on, outermost first."""
    return frames[1].removeprefix("held by ") if len(frames) > 1 and frames[1].startswith("held by ") else ""


class Exports(RealReports):
    def exported(self, form, file, *more, binary=False):
        """Nothing, where this build lacks the format; "", where the format has nothing to show."""
        to = self.path("export")
        done = self.call("export", "--force", "--format", form, "-o", to, *more, file)
        if "this build is without" in done.stderr:
            return None
        if done.returncode == 2 and "and the report has none" in done.stderr:
            return ""
        self.assertEqual(0, done.returncode, done.stderr)
        if binary:
            return to
        with open(to, encoding="utf-8") as text:
            return text.read()

    def of_each(self, check):
        for name in NAMES:
            with self.subTest(name):
                check(name, self.real(name))

    def folded(self, file, cost):
        for line in (self.exported("folded", file, "--cost", cost) or "").splitlines():
            stack, _, value = line.rpartition(" ")
            yield stack.split(";"), int(value)

    def speedscope(self, file):
        told = json.loads(self.exported("speedscope", file))
        names = [frame["name"] for frame in told["shared"]["frames"]]
        return {profile["name"]: [([names[frame] for frame in sample], weight)
                                  for sample, weight in zip(profile["samples"], profile["weights"], strict=True)]
                for profile in told["profiles"]}  # fmt: skip

    def dhat(self, file):
        told = json.loads(self.exported("dhat", file))
        for point in told["pps"]:
            yield [told["ftbl"][frame] for frame in reversed(point["fs"])], point

    def pprof(self, file):
        """Labels and six values of each sample; nothing, where it cannot be read."""
        made = self.exported("pprof", file, binary=True)
        if made is None or harness.shutil.which("protoc") is None:
            return None
        with open(made, "rb") as profile:
            text = subprocess.run(["protoc", "--decode=vramscope.pprof.Profile", f"--proto_path={PPROF.parent}", PPROF],
                                  stdin=profile, capture_output=True, check=True).stdout.decode()  # fmt: skip
        strings = [re.sub(r"\\(.)", r"\1", one) for one in re.findall(r'^string_table: "(.*)"$', text, re.M)]
        rows = []
        for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
            labels = {strings[int(key)]: strings[int(value)] for key, value in re.findall(r"key: (\d+)\s+str: (\d+)", sample)}
            rows.append((labels, [int(value) for value in re.findall(r"^  value: (-?\d+)$", sample, re.M)]))
        return rows

    def database(self, file):
        made = self.exported("sqlite", file, binary=True)
        if made is None:
            return None
        database = sqlite3.connect(made)
        self.addCleanup(database.close)
        return database


class Leaks(Exports):
    """What caches hold and libraries keep counted as leaked in all of them: 129 MiB of gpt-no-cache."""

    def told(self, file):
        """Bytes by who holds them, "": leaked."""
        told = self.json("leaks", file)
        return added([*(("", row["bytes"]) for row in told["leaks"]),
                      *((row["cache"], row["bytes"]) for row in told["caches"]),
                      *((row["pattern"].lstrip("/^"), row["bytes"]) for row in told["suppressed"])])  # fmt: skip

    def test_stacks_leave_out_what_is_kept(self):
        def check(name, file):
            told = self.told(file)
            kept = {holder: amount for holder, amount in told.items() if holder}
            stacks = [*self.folded(file, "leaked"), *self.folded(file, "kept")]
            self.assertEqual(told, added((holder_in(frames), value) for frames, value in stacks), name)
            profiles = self.speedscope(file)
            self.assertEqual(told.get("", 0), sum(value for _, value in profiles["leaked"]), name)
            self.assertEqual(kept, added((holder_in(frames), value) for frames, value in profiles["kept"]), name)
            self.assertEqual(told, added((holder_in(frames), point["eb"]) for frames, point in self.dhat(file)), name)
            samples = self.pprof(file)
            if samples is not None:
                self.assertEqual(told, added((labels.get("held_by", ""), values[3]) for labels, values in samples), name)

        self.of_each(check)

    def test_tables_tell_who_keeps_it(self):
        def check(name, file):
            told = self.told(file)
            leaked = told.pop("", 0)
            metrics = re.findall(r'^vramscope_kept_bytes\{.*held_by="(.*)"\} (\d+)$', self.exported("openmetrics", file), re.M)
            self.assertEqual(told, added((holder, int(value)) for holder, value in metrics), name)
            rows = csv.DictReader(io.StringIO(self.text("leaks", "--csv", file)))
            self.assertEqual(leaked, sum(int(row["bytes"]) for row in rows), name)
            database = self.database(file)
            if database is None:
                return
            self.assertEqual(leaked, database.execute("SELECT ifnull(sum(leaked_bytes), 0) FROM leaks").fetchone()[0], name)
            self.assertEqual(told, added(database.execute("SELECT held_by, bytes FROM kept")), name)
            ((never, kept),) = database.execute("SELECT sum(never_freed_bytes), sum(never_freed_bytes - leaked_bytes) FROM shares")
            self.assertEqual((leaked + sum(told.values()), sum(told.values())), (never, kept), name)

        self.of_each(check)


class Sums(Exports):
    def counted(self, file):
        with self.edited(file) as report:
            return {row["kind"]: row for row in report["kinds"] if row["kind"] not in VIEWS}

    def test_stacks_add_up_to_the_report(self):
        def check(name, file):
            kinds = self.counted(file).values()
            peak, made = (sum(row[field] for row in kinds) for field in ("peak_bytes", "allocations"))
            profiles = {key: sum(value for _, value in rows) for key, rows in self.speedscope(file).items()}
            points = [point for _, point in self.dhat(file)]
            total = sum(row["total_bytes"] for row in self.json("sites", file))
            self.assertEqual((peak, total, made), (profiles["peak"], profiles["total"], profiles["allocations"]), name)
            self.assertEqual([peak, total, made], [sum(point[key] for point in points) for key in ("gb", "tb", "tbk")], name)
            for point in points:
                self.assertLessEqual(max(point["gb"], point["eb"]), point["mb"], (name, point))
                self.assertLessEqual(point["mb"], point["tb"], (name, point))
                self.assertLessEqual(max(point["gbk"], point["ebk"]), point["tbk"], (name, point))
            samples = self.pprof(file)
            if samples is not None:
                columns = [sum(column) for column in zip(*(values for _, values in samples), strict=True)]
                self.assertEqual([made, total, peak], [columns[0], columns[1], columns[5]], name)

        self.of_each(check)

    def test_memory_of_the_host_is_of_no_device(self):
        def check(name, file):
            for labels, _ in self.pprof(file) or ():
                self.assertEqual(labels["kind"] not in ("pinned", "registered", "host"), "device" in labels, (name, labels))
            database = self.database(file)
            for table in ("kinds", "shares", "kept", "axes", "ledger", "timeline", "segments") if database else ():
                for kind, device in database.execute(f"SELECT DISTINCT kind, device FROM {table}"):
                    self.assertEqual(kind in ("pinned", "registered", "host"), device is None, (name, table, kind))

        self.of_each(check)

    def test_a_snapshot_without_history_has_no_peaks(self):
        """What was live at the snapshot was given as its peak."""
        snapshot = self.path("gpt.pickle")
        os.replace(self.exported("memory_viz", self.real("gpt"), binary=True), snapshot)
        (device,) = (told := self.json("report", snapshot))["devices"]
        history = ("reserved_peak_bytes", "needed_least_bytes", "needed_most_bytes", "reserved_of_all_kinds_bytes",
                   "reserved_of_all_kinds_least_bytes", "allocated_peak_bytes", "num_ooms", "allocations", "hits")  # fmt: skip
        self.assertEqual({None}, {device[name] for name in history})
        self.assertEqual((7396655104, [], 7394610696), (device["reserved_current_bytes"], told["peak"], sum(row["bytes"] for row in told["live"])))
        totals = ("peak_bytes", "total_bytes", "total_count")
        for rows, names, live in ((self.json("sites", snapshot), totals, "live_bytes"),
                                  (self.json("sites", "--group", "function", snapshot), totals, "live_bytes"),
                                  (self.json("owners", "--by", "thread", snapshot), ("own_peak_bytes", *totals), "live_bytes"),
                                  (self.json("owners", snapshot)["ledger"], ("at_peak_bytes", "peak_bytes"), "current_bytes"),
                                  (told["ledger"], ("at_peak_bytes", "peak_bytes"), "current_bytes"),
                                  (self.json("peak", snapshot), ("peak_bytes", "peak_ns", "together_upper_bytes", "peak_site"), "current_bytes")):  # fmt: skip
            self.assertEqual({None}, {row[name] for row in rows for name in names}, names)
            self.assertEqual(7394610696, sum(row[live] for row in rows if row.get("kind") != "cached"), names)
        (curve,) = self.json("timeline", snapshot)["series"]
        self.assertEqual((None, {7394610696}), (curve["peak_bytes"], set(curve["last_bytes"])))
        told = self.json("diff", snapshot, self.real("gpt"))
        self.assertEqual((False, True), (told["before_has_history"], told["after_has_history"]))


if __name__ == "__main__":
    harness.main()
