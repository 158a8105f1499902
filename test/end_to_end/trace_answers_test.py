"""What a trace answers: as its report does, and of any thread, stream, range or window of time."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import tempfile

import harness
from trace_case import MIB, TraceTest

TWO_KINDS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
MIB = 1 << 20
context = ctypes.c_void_p()
cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
def plain(bytes):
    block = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(bytes)) == 0
    return block
def managed(bytes):
    block = ctypes.c_uint64()
    assert cuda.cuMemAllocManaged(ctypes.byref(block), ctypes.c_size_t(bytes), 1) == 0
    return block
first, other = plain(20 * MIB), managed(5 * MIB)
cuda.cuMemFree_v2(first)
most = managed(30 * MIB)
cuda.cuMemFree_v2(other)
last = plain(10 * MIB)
cuda.cuMemFree_v2(most), cuda.cuMemFree_v2(last)
plain(3 * MIB)
"""
LATE = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
time.sleep(0.1)
assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(7 << 20)) == 0
time.sleep(0.02)
assert cuda.cuMemFree_v2(block) == 0
"""


class Answers(TraceTest):
    def test_listings_of_a_trace_are_those_of_its_report(self):
        """But for what is told by the time of the report, the numbers of sites, and what else a device holds."""
        by_time = ("site", "sites", "intervals", "growth_intervals", "growth_bytes",
                   "live_past", "peak_ns", "peak_site", "device_bytes", "full_in_ns", "device_use")  # fmt: skip

        def plain(found):
            if isinstance(found, dict):
                return {key: plain(value) for key, value in found.items() if key not in by_time}
            is_rows = isinstance(found, list) and found and isinstance(found[0], dict)
            return sorted(map(plain, found), key=str) if is_rows else found

        for program in ("eight_threads", "nvtx_ranges"):
            folder = tempfile.mkdtemp(dir=self.folder)
            _, (path,) = self.traced([harness.program(program)], folder=folder, NVTX_INJECTION64_PATH=harness.LIBRARY)
            (report,) = pathlib.Path(folder).glob("*.json")
            for verb in ("sites", "peak", "leaks", "owners", "owners --by thread", "owners --by stream", "owners --by range"):
                told, found = self.listing(verb, report), self.listing(verb, path)
                if verb == "leaks":
                    self.assertEqual(("exit", "trace"), (told.pop("trigger"), found.pop("trigger")))
                    self.assertEqual((True, False), (told.pop("final"), found.pop("final")))
                if verb == "owners":  # what is on the device besides is not in a trace
                    told, found = ([row for row in rows["ledger"] if row["calls"]] for rows in (told, found))
                self.assertEqual(plain(told), plain(found), (program, verb))

    def test_a_timeline_has_the_marks_of_the_program_from_a_report_and_from_its_trace(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (path,) = self.traced([harness.program("nvtx_ranges")], folder=folder, NVTX_INJECTION64_PATH=harness.LIBRARY)
        (report,) = pathlib.Path(folder).glob("*.json")
        found = [self.listing("timeline", file) for file in (report, path)]
        self.assertEqual([["half"]] * 2, [[mark["name"] for mark in one["named"]] for one in found])
        self.assertEqual(*(one["named"][0]["at_ns"] for one in found))
        for file in (report, path):
            self.assertRegex(self.run_tool("timeline", file).stdout, r"\n     named   *\|half\n  \| [0-9.]+ [mu]?s: half\n")

    def test_of_a_trace_peaks_and_leaks_are_those_of_a_thread_a_stream_or_a_range(self):
        """Each value's own peak, which the report has, is the peak of what --thread lets pass."""
        for program, axes in (("eight_threads", ("thread", "stream")), ("nvtx_ranges", ("thread", "range"))):
            folder = tempfile.mkdtemp(dir=self.folder)
            _, (path,) = self.traced([harness.program(program)], folder=folder, NVTX_INJECTION64_PATH=harness.LIBRARY)
            (report,) = pathlib.Path(folder).glob("*.json")
            for axis in axes:
                rows = self.listing(f"owners --by {axis}", report)
                values = [row["value"] for row in rows]
                for row in rows:
                    value = row["value"]
                    if any(value in other.split("/") for other in values if other != value):
                        continue  # of a range those in it pass, too
                    words = (f"--{axis}", value, "--kind", row["kind"], path)
                    (peak,) = self.listing("peak", *words)
                    self.assertEqual((row["own_peak_bytes"], row["live_bytes"]), (peak["peak_bytes"], peak["current_bytes"]), words)
                    self.assertEqual(peak["peak_bytes"], sum(share["bytes"] for share in peak["live"]), words)
                    leaks = self.listing("leaks", "--no-default-suppressions", *words)
                    self.assertEqual(row["live_bytes"], sum(leak["bytes"] for leak in leaks["leaks"]), words)
                    (owned,) = self.listing(f"owners --by {axis}", *words)
                    self.assertEqual(row["total_count"], owned["total_count"], words)
                    text = self.run_tool("peak", *words).stdout
                    self.assertTrue(text.startswith("Only --"), text)
                    self.assertIn(f"--{axis}", text.splitlines()[-1], "the next command is of the same")
            (axis, value) = ("thread", self.listing("owners --by thread", report)[0]["value"].split()[-1])
            self.answers_by_its_trace(report, path, "peak", f"--{axis}", value)
            self.answers_by_its_trace(report, path, "leaks", "--json", f"--{axis}", value)
            said = self.answers_by_its_trace(report, path, "leaks", f"--{axis}", value)
            self.assertIn("\nNext: vramscope ", said, "of what left nothing the answer was lost")
            self.answers_by_its_trace(report, path, "sites", "--csv", "--from", "0s", f"--{axis}", value)
            self.answers_by_its_trace(report, path, "export", "--format", "folded", f"--{axis}", value)
            self.answers_by_its_trace(report, path, "timeline", f"--{axis}", value)
            told = self.run_tool("report", f"--{axis}", value, report)
            self.assertIn(f"; this answer is from its trace, {path}\n", told.stderr)
            self.assertEqual(self.run_tool("trace", f"--{axis}", value, path).stdout, told.stdout)
            refused = self.run_tool("report", "--json", f"--{axis}", value, report)
            self.assertEqual((2, ""), (refused.returncode, refused.stdout), "a trace's JSON has other members")

    def answers_by_its_trace(self, report, trace, verb, *words):
        """A report whose trace lies beside it says what the trace says, and one line that it is of that."""
        done = self.run_tool(verb, *words, report)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, rf"^vramscope: '{report}' .*; this answer is from its trace, {trace}\n$")
        self.assertEqual(self.run_tool(verb, *words, trace).stdout, done.stdout, (verb, words))
        return done.stdout

    def test_a_report_draws_the_peak_and_any_instant_by_its_trace(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (path,) = self.traced([harness.program("eight_threads"), "600"], folder=folder)
        (report,) = pathlib.Path(folder).glob("*.json")
        for words in (("--at", "peak"), ("--at", "1ms", "--json")):
            self.answers_by_its_trace(report, path, "map", *words)
        behind = self.run_tool("map", "--at", "999s", report)
        self.assertEqual(2, behind.returncode)
        self.assertRegex(behind.stderr, r"^vramscope: .* before --at 16 min 39 s\n$", "one line")

    def test_a_trace_that_has_not_all_of_the_reports_run_and_no_more_does_not_answer_for_it(self):
        """Another process's, one that went on, one that is cut off: the line of before names what would answer."""
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (path,) = self.traced([harness.program("eight_threads"), "600"], folder=folder)
        (report,) = pathlib.Path(folder).glob("*.json")
        told = json.loads(report.read_text())
        for changed in ({"process": {**told["process"], "pid": told["process"]["pid"] + 1}},
                        {"process": {**told["process"], "executable": "/app/other"}},
                        {"process": {**told["process"], "start_time_ns": told["process"]["report_time_ns"]}},
                        {"trace": {**told["trace"], "events": told["trace"]["events"] - 1}},
                        {"trace": {**told["trace"], "lost": 1}}):  # fmt: skip
            report.write_text(json.dumps({**told, **changed}))
            refused = self.run_tool("peak", "--thread", "1", report)
            self.assertEqual((2, ""), (refused.returncode, refused.stdout), changed)
            self.assertIn(f"; its trace does: vramscope peak --thread 1 {path}\n", refused.stderr)
            refused = self.run_tool("map", "--at", "1ms", report)
            self.assertEqual((2, ""), (refused.returncode, refused.stdout), changed)
            self.assertIn("give its trace, ", refused.stderr)
        report.write_text(json.dumps(told))
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 1)
        self.assertEqual(2, self.run_tool("peak", "--thread", "1", report).returncode)

    def test_of_a_trace_a_window_of_time_has_its_own_peak_and_rest(self):
        _, (path,) = self.traced([harness.program("eight_threads"), "600"])
        done = self.run_tool("trace", "--csv", path)
        titles, *lines = [line.split(",") for line in done.stdout.splitlines()]
        events = sorted((dict(zip(titles, line)) for line in lines), key=lambda row: (int(row["order"]), row["event"] != "allocation"))
        zero = self.totals(path)["start_ns"]
        first = min(int(row["start_ns"]) for row in events) - zero
        last = max(int(row["start_ns"]) for row in events) - zero
        begin, end = first + (last - first) // 4, first + (last - first) // 2
        live, most = {}, 0
        for row in events:
            after = int(row["start_ns"]) - zero
            if row["kind"] != "device" or after > end:
                continue
            if row["event"] == "allocation" and after >= begin:
                live[row["address"]] = int(row["bytes"])
            elif row["event"] == "free":
                live.pop(row["address"], None)
            most = max(most, sum(live.values()))
        words = ("--kind", "device", "--from", f"{begin}ns", "--to", f"{end}ns", path)
        (peak,) = self.listing("peak", *words)
        self.assertEqual((most, sum(live.values())), (peak["peak_bytes"], peak["current_bytes"]))
        leaks = self.listing("leaks", "--no-default-suppressions", *words)
        self.assertEqual(sum(live.values()), sum(leak["bytes"] for leak in leaks["leaks"]))
        self.assertIn("Not freed after ", self.run_tool("leaks", *words).stdout)

    def test_processes_over_each_other_are_exact_where_their_traces_are(self):
        """The kinds peak at different times, so that their sums alone are bounds."""
        folder = tempfile.mkdtemp(dir=self.folder)
        for _ in range(2):
            _, paths = self.traced([sys.executable, "-c", TWO_KINDS], folder=folder)
        exact = self.listing("timeline", folder)["ranks"]
        self.assertEqual([(40 * MIB, False)] * 2, [(one["peak_bytes"], one["is_bound"]) for one in exact])
        paths[0].unlink()
        self.assertEqual([False, True], sorted(one["is_bound"] for one in self.listing("timeline", folder)["ranks"]))

    def test_the_peak_of_all_kinds_has_what_was_live_then(self):
        """At which neither plain memory, of which 20 MiB were the most, nor managed, 35 MiB, was at its own."""
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (path,) = self.traced([sys.executable, "-c", TWO_KINDS], folder=folder)
        (report,) = pathlib.Path(folder).glob("*.json")
        times = set()
        for file in (path, report):
            rows = self.listing("peak", file)
            self.assertEqual([("managed", 35 * MIB), ("device", 20 * MIB), ("all", 40 * MIB)],
                             [(row["kind"], row["peak_bytes"]) for row in rows])  # fmt: skip
            live = [(share["kind"], share["bytes"], share["count"]) for share in rows[-1]["live"]]
            self.assertEqual([("managed", 30 * MIB, 1), ("device", 10 * MIB, 1)], live)
            self.assertEqual(3 * MIB, rows[-1]["current_bytes"])
            self.assertEqual(40 * MIB, sum(rows[-1]["owner"].values()))
            times.add(tuple(row["peak_ns"] for row in rows))
            managed = [(row["kind"], row["peak_bytes"]) for row in self.listing("peak", "--kind", "managed", file)]
            self.assertEqual([("managed", 35 * MIB)], managed)
            text = self.run_tool("peak", file).stdout
            self.assertTrue(text.startswith("GPU 0, all kinds of memory together: peak 40.0 MiB requested, now 3.00 MiB\n"), text)
        self.assertEqual(1, len(times), times)
        path.rename(path.with_suffix(".away"))
        self.assertIn("  all kinds together: peak 40.0 MiB requested, 40.0 MiB to 69.0 MiB reserved\n", self.run_tool("report", report).stdout)
        self.assertIn("peak of GPU 0, all kinds together 40.0 MiB (limit 1.00 GiB)", self.run_tool("check", "--max-peak", "1GiB", report).stdout)
        path.with_suffix(".away").rename(path)
        for file in (path, report):
            self.assertIn(": peak of GPU 0, all kinds, 40.0 MiB\n", self.run_tool("timeline", file).stdout)
            drawn = self.run_tool("timeline", file).stdout
            self.assertIn("\nGPU 0, all kinds: at most 40.0 MiB, 3.00 MiB at the end", drawn)
            curves = [(row["kind"], row["peak_bytes"]) for row in self.listing("timeline", file)["series"]]
            self.assertEqual([("all", 40 * MIB), ("managed", 35 * MIB), ("device", 20 * MIB)], curves)

    def test_time_is_counted_alike_in_a_report_and_in_its_trace(self):
        """From before the first allocation on: a time that one of them tells can be asked of the other."""
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (path,) = self.traced([sys.executable, "-c", LATE], folder=folder)
        (report,) = pathlib.Path(folder).glob("*.json")
        (at, beside), ended = ([self.listing("peak", file)[0]["peak_ns"] for file in (path, report)],
                               json.loads(report.read_text())["timeline"]["duration_ns"])  # fmt: skip
        self.assertEqual(at, beside)
        self.assertGreaterEqual(at, 100_000_000)
        self.assertGreater(ended, at)
        window = ("--from", f"{at - 1000}ns", "--to", f"{at + 1000}ns")
        for file in (path, report):
            done = self.run_tool("peak", "--json", *window, file)  # that of a report says that its trace answers
            self.assertEqual([7 * MIB], [row["peak_bytes"] for row in json.loads(done.stdout)])
            self.assertEqual([at], [mark["at_ns"] for mark in self.listing("timeline", file)["marks"]])


if __name__ == "__main__":
    harness.main()
