"""What export writes, whatever the format: what it leaves out is said, names stay names, bad usage is one line."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from export_case import Export, OF_BOTH  # noqa: E402
import harness  # noqa: E402

TEXTS = [form for form in OF_BOTH if form not in ("pprof", "perfetto", "sqlite")]
OF_TRACES = ("heaptrack", "rmm")
HOSTILE = [
    "quote\"back\\slash'", "semi;colon and space", "line\nbreak\r\ttab", "escape\x1b[31m\x07bell",
    "turned\u202egnp.exe", "<script>alert(1)</script>&amp;", "long" * 2500, "{}[],:%s%n$(id)`id`",
    "replaced\ufffd", "", "-5", "\u00fc\u4e2d\U0001f600",
]  # fmt: skip


class Losses(Export):
    """Each export says what is not in it, and one with nothing in it leaves no file."""

    def test_memory_that_a_format_cannot_show_is_named(self):
        for path in (self.path, self.trace):
            self.assertEqual(["vramscope: massif leaves out pinned and registered; call stacks at other times than the peak"],
                             [line.replace(" memory", "") for line in self.lost("massif", path)])  # fmt: skip
            (line,) = self.lost("memory_viz", path)
            self.assertIn("pinned", line)
            self.assertEqual(path == self.path, "the history of allocations" in line)
            (line,) = self.lost("massif", path, "--kind", "pinned")
            self.assertNotIn("GPU", line)
        (line,) = self.lost("rmm", self.trace)
        self.assertIn("pinned", line)
        self.assertIn("call stacks", line)

    def test_formats_with_everything_in_them_say_nothing(self):
        for form in ("folded", "speedscope", "pprof", "sqlite", "dhat"):
            for path in (self.path, self.trace):
                self.assertEqual([], self.lost(form, path), form)

    def test_pools_that_massif_leaves_out_are_named(self):
        made = os.path.join(self.folder, "pools.json")
        subprocess.run([harness.TOOL, "run", "--sim", "--output", made, harness.program("pool_keeps")], capture_output=True,
                       env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        (line,) = self.lost("massif", made)
        self.assertIn("stream_ordered", line)

    def test_a_format_without_an_allocation_is_no_file(self):
        for form, path in (("folded", self.path), ("folded", self.trace), ("speedscope", self.path), ("dhat", self.trace),
                           ("pprof", self.path), ("heaptrack", self.trace), ("rmm", self.trace), ("massif", self.path)):  # fmt: skip
            (line,) = self.lost(form, path, "--site", "nobody_has_this_name", status=2)
            self.assertIn(form, line)
            self.assertIn("the report has none", line)
        (line,) = self.lost("folded", self.path, "--cost", "leaked", "--site", "load_batch", status=2)
        self.assertIn("leaked", line)


class Hostile(Export):
    """Whatever stacks are called, every format stays what it is."""

    def hostile_report(self):
        report = json.loads(json.dumps(self.report))
        modules = len(report["modules"])
        report["modules"] += [{"path": "/" + name, "build_id": "", "base": 0} for name in HOSTILE]
        report["sources"] = [{"path": "/" + name, "bytes": 0, "modified_ns": 0} for name in HOSTILE]
        report["codes"] = [{"name": name, "source": i, "first_line": 1} for i, name in enumerate(HOSTILE)]
        first = len(report["frames"])
        for i in range(len(HOSTILE)):
            report["frames"].append({"module": modules + i, "offset": 16 * i})
            report["frames"].append({"module": None, "offset": 0, "code": i, "line": i})
        for i, site in enumerate(report["sites"]):
            site["frames"] = list(range(first, len(report["frames"])))[i::2] or [first]
        report["process"].update(executable="/x/" + HOSTILE[2], arguments=HOSTILE, hostname=HOSTILE[0])
        path = os.path.join(self.folder, "hostile.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return path

    def test_every_format_of_a_report_stays_well_formed(self):
        path = self.hostile_report()
        for view in ("--with-native", "--native-only"):
            texts = {form: self.export(form, path, view, binary=True) for form in TEXTS}
            for form, text in texts.items():
                if form != "memory_viz":
                    shown = text.decode("utf-8").replace("\\u202e", "")
                    self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f\u202e]", shown), form)
            for form in ("speedscope", "memory_viz_json", "chrome", "dhat"):
                json.loads(texts[form])
            self.assertEqual(json.loads(texts["memory_viz_json"]), pickle.loads(texts["memory_viz"]))
            lines = texts["folded"].decode().splitlines()
            self.assertEqual(self.sum_of_sites("peak"), sum(int(line.rsplit(" ", 1)[1]) for line in lines))

    def test_database_of_hostile_names_is_whole(self):
        file = os.path.join(self.folder, "hostile.sqlite")
        self.export("sqlite", self.hostile_report(), "--native-only", "-o", file)
        database = sqlite3.connect(file)
        self.assertEqual([("ok",)], database.execute("PRAGMA integrity_check").fetchall())
        peak = database.execute("SELECT sum(peak_bytes) FROM shares").fetchone()[0]
        self.assertEqual(self.sum_of_sites("peak"), peak)
        database.close()

    def test_database_has_the_longest_call_of_each_function(self):
        longest = {}
        for form, path in (("report", self.path), ("trace", self.trace)):
            file = os.path.join(self.folder, form + ".sqlite")
            self.export("sqlite", path, "-o", file)
            database = sqlite3.connect(file)
            for name, calls, total_ns, max_ns in database.execute("SELECT name, calls, total_ns, max_ns FROM functions"):
                self.assertTrue(total_ns / calls <= max_ns <= total_ns, (form, name, calls, total_ns, max_ns))
                longest.setdefault(name, []).append(max_ns)
            database.close()
        self.assertTrue(any(len(of_both) == 2 for of_both in longest.values()))

    def test_messages_of_hostile_names_are_whole(self):
        for form in ("pprof", "perfetto"):
            done = subprocess.run([harness.installed("protoc"), "--decode_raw"], capture_output=True, check=True,
                                  input=self.export(form, self.hostile_report(), binary=True))  # fmt: skip
            self.assertEqual(b"", done.stderr)

    def test_consumers_read_hostile_names(self):
        path = self.hostile_report()
        self.read_by_prometheus(self.export("openmetrics", path))
        file = os.path.join(self.folder, "massif.out")
        self.export("massif", path, "-o", file)
        if shutil.which("ms_print"):
            done = subprocess.run(["ms_print", file], capture_output=True, text=True, check=True)
            self.assertEqual("", done.stderr)
            self.assertIn(f"({self.device['peak_bytes']:,}B)", done.stdout)

    def read_by_prometheus(self, text):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            return
        self.assertGreater(len(list(text_string_to_metric_families(text))), 5)


class Words(Export):
    def refused(self, *words):
        done = self.run_tool("export", *words)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        return done.stderr

    def test_bad_usage_is_one_line(self):
        self.assertIn("is no format; nearest is folded", self.refused("--format", "foldde", self.path))
        self.assertIn("--format is required", self.refused(self.path))
        self.assertIn("is none of peak,", self.refused("--format", "folded", "--cost", "x", self.path))
        self.assertIn("'x' is none of device, pinned", self.refused("--format", "folded", "--kind", "x", self.path))
        self.assertIn("-o FOLDER", self.refused("--format", "folded", self.path, self.trace))
        self.assertIn("nowhere", self.refused("--format", "folded", "nowhere"))
        self.assertIn("cannot write", self.refused("--format", "folded", "-o", "/proc/x", self.path))

    def test_formats_of_traces_say_how_to_get_one(self):
        for form in OF_TRACES:
            alone = os.path.join(self.folder, "alone.json")
            changed = {**self.report, "process": {**self.report["process"], "pid": 1}}
            with open(alone, "w", encoding="utf-8") as file:
                json.dump(changed, file)
            self.assertIn("run --trace", self.refused("--format", form, alone))
            named = f"its own is there: vramscope export --format {form} {self.trace}\n"
            self.assertIn(named, self.refused("--format", form, self.path))

    def test_damaged_traces_are_refused(self):
        with open(self.trace, "rb") as file:
            whole = file.read()
        cut = os.path.join(self.folder, "cut.trace")
        with open(cut, "wb") as file:
            file.write(whole[: len(whole) // 2])
        self.assertIn("cannot read", self.refused("--format", "folded", cut))

    def test_several_go_into_a_folder(self):
        done = self.run_tool("export", "--format", "folded", "-o", self.folder, self.path, self.trace)
        said = rf"vramscope: 2 files of folded in {self.folder} \([\d.]+ KiB\); to open one: flamegraph.pl {self.folder}/r.folded >.*\n"
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, "^" + said + "$")
        self.assertEqual(["r.folded", "t.folded"], sorted(os.listdir(self.folder)))

    def test_standard_output_is_silent(self):
        self.assertEqual(self.export("folded", self.path), self.export_to_dash("folded"))

    def export_to_dash(self, form):
        done = self.run_tool("export", "--format", form, "-o", "-", self.path)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def test_compressed_traces_are_read(self):
        zstd = harness.installed("zstd")
        packed = os.path.join(self.folder, "t.trace.zst")
        subprocess.run([zstd, "-q", self.trace, "-o", packed], check=True)
        self.assertEqual(self.export("rmm", self.trace), self.export("rmm", packed))

    def test_help_names_every_format(self):
        text = self.run_tool("export", "--help").stdout
        for form in OF_BOTH + OF_TRACES:
            self.assertIn(f"\n  {form} ", text)


if __name__ == "__main__":
    harness.main()
