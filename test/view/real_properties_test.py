# What must hold of every answer, tried on all reports that real programs left on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_properties_test.py BUILD"""
import collections
import csv
import functools
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

LISTINGS = ("report", "sites", "sites --tree", "sites --group library", "peak", "peak --tree", "owners", "owners --by thread",
            "leaks --no-default-suppressions", "map", "oom", "timeline", "calls")
FILTERED = ("report", "sites", "peak", "owners", "leaks --no-default-suppressions", "map")
VIEWS = ("mapping", "address_range", "import")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def seconds(text):
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) (ns|us|ms|s|min|h)\b", text))


def memory_name(row):
    device = "" if row["kind"] in ("pinned", "registered", "host", "address_range") else f"GPU {row['device']}"
    kind = "" if row["kind"] == "device" else row["kind"]
    return f"{device} {kind}".strip()


def sums(rows, key, *columns):
    found = collections.defaultdict(lambda: [0] * len(columns))
    for row in rows:
        for at, column in enumerate(columns):
            found[key(row)][at] += int(row[column])
    return dict(found)


def of_each_report(test):
    @functools.wraps(test)
    def run(self):
        for name in NAMES:
            path = self.real(name)
            with self.subTest(name), open(path, encoding="utf-8") as file:
                test(self, name, path, json.load(file))
    del run.__wrapped__  # its arguments are not the test's
    return run


class Properties(RealReports):
    def answer(self, verb, *arguments):
        """Nothing, where it refuses: a report has no call stacks of an owner's sums."""
        result = self.call(*verb.split(), *arguments)
        if result.returncode == 2:
            self.assertEqual("", result.stdout)
            return None
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    def filters(self, report):
        """With each owner, each kind, two places and sizes that hide some rows or all."""
        yield from (("--owner", owner) for owner in sorted({row["owner"] for row in report["ledger"] if row["calls"]}))
        yield from (("--kind", kind) for kind in sorted({row["kind"] for row in report["kinds"]}))
        yield from (("--site", "main"), ("--site", r"torch|jax|cupy"), ("--min-bytes", "1MiB"), ("--min-bytes", "500MiB"))

    def counted(self, report):
        """The kinds, without what maps the memory of others."""
        return {memory_name(row): row for row in report["kinds"] if row["kind"] not in VIEWS}

    def ordered(self, where, *figures):
        known = [figure for figure in figures if figure is not None]
        for less, more in zip(known, known[1:]):
            self.assertLessEqual(less, more, (where, figures))

    def page(self, file, *filters):
        path = self.path("page.html")
        result = self.call("html", "-f", "-o", path, *filters, file)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path, encoding="utf-8") as page:
            return json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', page.read(), re.S).group(1))


class Shares(Properties):
    def check(self, text, where):
        for line in text.splitlines():
            for share in re.findall(r"(?<![-+\d.,])([\d,.]*\d) %", line):
                self.assertLessEqual(float(share.replace(",", "")), 100, (where, line))

    @of_each_report
    def test_none_is_above_the_whole(self, name, file, report):
        for verb in LISTINGS:
            self.check(self.text(*verb.split(), "-n", "0", file), (name, verb))
        for chosen in self.filters(report):
            for verb in FILTERED:
                self.check(self.answer(verb, *chosen, file) or "", (name, verb, chosen))
        self.check("\n".join(self.page(file)["verdict"]), (name, "html"))


class Parts(Properties):
    def sites(self, where, rows):
        for memory, (held,) in sums(rows, lambda row: row["memory"], "peak_bytes").items():
            self.ordered((where, memory), held, self.peak_of[memory])
        for row in rows:
            self.ordered(where, row["live_bytes"], row["total_bytes"])
            self.ordered(where, row["peak_bytes"], row["total_bytes"])  # what it held at its memory's peak
            self.ordered(where, 0, row["temporary_count"], row["total_count"])
            self.ordered(where, 0, row["live_count"], row["total_count"])
            self.ordered(where, row["growth_intervals"], row["intervals"])
            self.assertEqual(row["total_count"], sum(row["sizes"]), where)
            self.assertEqual(row["total_count"], sum(row["lifetimes"]) + row["live_count"], where)

    def peaks(self, where, parts):
        for part in parts:
            if part["kind"] == "all":
                continue
            self.ordered((where, part["kind"]), part["current_bytes"], part["peak_bytes"], self.peak_of[memory_name(part)])
            self.ordered((where, part["kind"]), part["together_lower_bytes"], part["together_upper_bytes"])
            self.assertLessEqual(sum(row["bytes"] for row in part["live"]), part["peak_bytes"], (where, part["kind"]))
            for axis in ("owner", "thread", "stream", "range", "function", "size_class"):
                self.assertLessEqual(sum(part[axis].values()), part["peak_bytes"], (where, part["kind"], axis))

    def owners(self, where, owners):
        for device in owners["devices"]:
            held = sum(row["device_bytes"] for row in owners["ledger"] if row["device"] == device["device"])
            self.ordered(where, held, device["used_bytes"], device["total_bytes"])
        for row in owners["ledger"]:
            self.ordered((where, row["kind"], row["owner"]), row["at_peak_bytes"], row["peak_bytes"])
            self.ordered((where, row["kind"], row["owner"]), row["current_bytes"], row["peak_bytes"])

    def map(self, where, told):
        for place in told["places"]:
            self.ordered(where, place["requested_bytes"], place["allocated_bytes"], place["total_bytes"])
            self.ordered(where, place["stranded_bytes"], place["free_bytes"])
            self.ordered(where, place["largest_free_bytes"], place["free_bytes"])
            self.assertEqual(place["total_bytes"], place["allocated_bytes"] + place["pending_bytes"] + place["free_bytes"], where)
            self.assertEqual(place["total_bytes"], sum(one["total_bytes"] for one in place["segments"]), where)
            self.ordered(where, sum(one["bytes"] for one in place["framework_caches"]), place["allocated_bytes"])
            for one in place["segments"]:
                self.ordered(where, one["stranded_bytes"], one["free_bytes"], one["total_bytes"])
                self.ordered(where, one["largest_free_bytes"], one["free_bytes"])

    def devices(self, where, told):
        for one in told["devices"]:
            self.ordered(where, one["allocated_peak_bytes"], one["reserved_peak_bytes"], one["reserved_of_all_kinds_bytes"])
            self.ordered(where, one["needed_least_bytes"], one["needed_most_bytes"], one["reserved_peak_bytes"])
            self.ordered(where, one["allocated_current_bytes"], one["reserved_current_bytes"], one["reserved_peak_bytes"])
            self.ordered(where, one["idle_current_bytes"], one["reserved_current_bytes"])
            self.ordered(where, one["reserved_of_all_kinds_bytes"], one["used_peak_bytes"], one["total_bytes"])
            self.ordered(where, one["hits"], one["allocations"])

    @of_each_report
    def test_none_is_above_its_whole(self, name, file, report):
        self.peak_of = {memory_name(row): row["peak_bytes"] for row in report["kinds"]}
        for chosen in ((), *self.filters(report)):
            for verb, check in (("sites", self.sites), ("peak", self.peaks), ("owners", self.owners), ("map", self.map),
                                ("report", self.devices)):
                told = self.answer(verb, *chosen, "--json", file)
                if told is not None:
                    check((name, verb, chosen), told)

    @of_each_report
    def test_a_filter_adds_nothing(self, name, file, report):
        for verb, rows, columns in (("sites", lambda found: found, ("peak_bytes", "live_bytes", "total_bytes", "total_count")),
                                    ("owners", lambda found: found["ledger"], ("current_bytes", "peak_bytes", "calls")),
                                    ("leaks --no-default-suppressions", lambda found: found["leaks"], ("bytes", "count"))):
            every = [sum(row[column] for row in rows(self.json(*verb.split(), file))) for column in columns]
            for chosen in self.filters(report):
                if chosen[0] == "--kind" and chosen[1] in VIEWS:
                    continue  # they are shown when asked for, and are in no sum
                told = self.answer(verb, *chosen, "--json", file)
                left = [sum(row[column] for row in rows(told)) for column in columns] if told is not None else []
                for less, more in zip(left, every):
                    self.assertLessEqual(less, more, (name, verb, chosen))


class Figures(Properties):
    """One figure, one value, whoever tells it."""

    def folded(self, cost, file):
        told = self.answer("export", "--format", "folded", "--cost", cost, "-o", "-", file)  # refused: there is none
        return sum(int(line.rsplit(" ", 1)[1]) for line in (told or "").splitlines())

    @of_each_report
    def test_peak_of_each_kind(self, name, file, report):
        peaks = {memory: row["peak_bytes"] for memory, row in self.counted(report).items() if row["peak_bytes"]}
        parts = [part for part in self.json("peak", file) if part["kind"] != "all"]
        self.assertEqual(peaks, {memory_name(part): part["peak_bytes"] for part in parts}, name)
        self.assertEqual(peaks, {row["name"]: row["peak_bytes"] for row in self.page(file)["memory"] if row["peak_bytes"]}, name)
        rows = csv.DictReader(io.StringIO(self.text("peak", "--csv", "-n", "0", file)))
        listed = sums((row for row in rows if row["kind"] != "all"), memory_name, "bytes")
        for part in parts:
            self.assertEqual([sum(row["bytes"] for row in part["live"])], listed[memory_name(part)], name)
        owned = sums((row for row in self.json("owners", file)["ledger"] if row["at_peak_bytes"]), memory_name, "at_peak_bytes")
        for memory, peak in peaks.items():
            self.assertEqual([peak], owned[memory], (name, memory))

    @of_each_report
    def test_never_freed(self, name, file, report):
        held = sum(row["current_bytes"] for row in self.counted(report).values())
        for options in ((), ("--no-default-suppressions",)):
            leaks = self.json("leaks", *options, file)
            told = sum(row["bytes"] for part in ("leaks", "caches", "suppressed") for row in leaks[part])
            self.assertEqual(held, told + leaks["without_site_bytes"], (name, options))
        sites = sum(row["live_bytes"] for row in self.json("sites", file))
        self.assertEqual(held, sites + leaks["without_site_bytes"], name)
        self.assertEqual(sites, self.folded("leaked", file) + self.folded("kept", file), name)
        rows = csv.DictReader(io.StringIO(self.text("sites", "--csv", "-n", "0", file)))
        self.assertEqual(sites, sum(int(row["live_bytes"]) for row in rows), name)

    @of_each_report
    def test_allocations(self, name, file, report):
        made = sum(row["allocations"] for row in self.counted(report).values())
        self.assertEqual(made, sum(row["total_count"] for row in self.json("sites", file)), name)
        self.assertEqual(made, sum(row["calls"] for row in self.json("owners", file)["ledger"]), name)
        self.assertEqual(made, self.folded("count", file), name)
        for verb in ("report", "sites", "peak", "owners"):
            self.assertIn(f"Total: {made:,} allocation", self.text(verb, file), (name, verb))

    @of_each_report
    def test_reserved(self, name, file, report):
        devices = {one["index"]: one["memory_stats"] for one in report["devices"]}
        places = {one["device"]: one["total_bytes"] for one in self.json("map", file)["places"] if one["kind"] == "device"}
        for one in self.json("report", file)["devices"]:
            stats = devices[one["index"]]
            self.assertEqual(one["reserved_peak_bytes"], stats["reserved_bytes.all.peak"], name)
            self.assertEqual(one["reserved_current_bytes"], stats["reserved_bytes.all.current"], name)
            self.assertEqual(one["reserved_current_bytes"], places.get(one["index"], 0), name)


class SavedTime(Properties):
    """ "784 ms to 3.28 s saved" of a run of 3.11 s."""

    @of_each_report
    def test_is_within_the_run(self, name, file, report):
        run = report["timeline"]["duration_ns"]
        text = self.text("report", file)
        for saved in re.findall(r"the cache saved (.*) \(estimated\)", text) + re.findall(r", (.*) saved \(estimated\)", text):
            most = max(seconds(part) for part in saved.split(" to "))
            self.assertLessEqual(most, run * 1e-9 * 1.005, (name, saved))  # told in three digits
        for device in self.json("report", file)["devices"]:
            self.assertLessEqual(device["estimated_saved_ns"] or 0, run, name)


if __name__ == "__main__":
    harness.main()
