"""The trace: its totals are the report's, whatever the program does, and however it ends."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import harness
import recount
import transparency_test

RECORDING = ("cache", "dedicated", "observe")
TRACE = "%p.trace"
# Victims whose frees wait for something, or which reset their peaks.
OTHER_PEAKS = ("capture", "graph", "pinned_capture", "faces", "malloc_hook")


MIB = 1 << 20
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


def traces(folder):
    return sorted(pathlib.Path(folder).rglob("*.trace*"))


class Trace(harness.Case):
    def traced(self, command, mode="cache", simulator="", folder=None, **variables):
        """Finished process, its reports and its traces."""
        folder = folder or tempfile.mkdtemp(dir=self.folder)
        outcome = self.run_program(
            command, mode, simulator, folder=folder, VRAMSCOPE_TRACE=TRACE, **variables
        )
        return outcome, traces(folder)

    def totals(self, path, *flags):
        done = self.run_tool("trace", "--json", "-n", "0", *flags, path)
        self.assertEqual((0, ""), (done.returncode, done.stderr), path)
        return json.loads(done.stdout)

    def allocations(self, path):
        return sum(kind["allocations"] for kind in self.totals(path, "--partial")["kinds"])

    def refused(self, path, *flags):
        done = self.run_tool("trace", *flags, path)
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        return done.stderr

    def compare(self, report, found, where, peaks=True):
        """Everything that both count. What the program freed while it could not go back is gone in
        the trace; in the report it is there, pending, and may make the peak."""
        recount.check(self, report)
        segments = [s for device in report["devices"] for s in device["segments"]]
        blocks = [b for s in segments + report["host"]["segments"] for b in s["blocks"]]
        if any(block["state"] == recount.PENDING for block in blocks):
            return
        self.assertEqual((report["trace"]["events"], 0, 0), (found["events"], found["lost"], found["damaged_chunks"]), where)
        self.assertTrue(found["complete"], where)
        self.assertEqual(
            {f["name"]: (f["calls"], f["failures"], f["total_ns"]) for f in report["functions"]},
            {f["name"]: (f["calls"], f["failures"], f["total_ns"]) for f in found["functions"]},
            where,
        )
        names = ["allocations", "frees", "current_bytes"] + ["peak_bytes"] * peaks
        self.assertEqual(
            {(k["kind"], k["device"]): [k[name] for name in names] for k in report["kinds"]},
            {(k["kind"], k["device"]): [k[name] for name in names] for k in found["kinds"]},
            where,
        )
        names = ["live_bytes", "live_count", "total_bytes", "total_count", "total_ns"]
        names += ["peak_bytes"] * peaks
        self.assertEqual(
            sorted([site[name] for name in names] for site in report["sites"]),
            sorted([site[name] for name in names] for site in found["sites"]),
            where,
        )

    def compare_victims(self, mode):
        """In each mode a third of them, and all in `scripts/check --long`."""
        victims = transparency_test.VICTIMS
        if "VRAMSCOPE_THOROUGH" not in os.environ:
            victims = victims[RECORDING.index(mode) :: len(RECORDING)]
        for command, simulator in victims:
            try:
                program = [harness.program(command[0]), *command[1:]]
            except harness.unittest.SkipTest:
                continue  # transparency_test says so
            outcome, found = self.traced(program, mode, simulator)
            reports = {r["trace"]["path"]: r for r in outcome.reports if r["trigger"] == "exit"}
            peaks = not command[0].startswith(OTHER_PEAKS)
            for path in found:
                if str(path) in reports:
                    self.compare(reports[str(path)], self.totals(path), (mode, command), peaks)

    def test_totals_are_the_reports_for_each_victim_in_mode_cache(self):
        self.compare_victims("cache")

    def test_totals_are_the_reports_for_each_victim_in_mode_dedicated(self):
        self.compare_victims("dedicated")

    def test_totals_are_the_reports_for_each_victim_in_mode_observe(self):
        self.compare_victims("observe")

    def listing(self, verb, *words):
        done = self.run_tool(*verb.split(), "--json", "-n", "0", *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr), (verb, words))
        return json.loads(done.stdout)

    def test_listings_of_a_trace_are_those_of_its_report(self):
        """But for what is told by the time of the report, the numbers of sites, and what is free of a device or taken by pages."""
        by_time = ("site", "sites", "intervals", "growth_intervals", "growth_bytes",
                   "live_past", "peak_ns", "peak_site", "device_bytes", "full_in_ns")  # fmt: skip

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
            self.assertIn(f"; this is of its trace, {path}\n", told.stderr)
            self.assertEqual(self.run_tool("trace", f"--{axis}", value, path).stdout, told.stdout)
            refused = self.run_tool("report", "--json", f"--{axis}", value, report)
            self.assertEqual((2, ""), (refused.returncode, refused.stdout), "a trace's JSON has other members")

    def answers_by_its_trace(self, report, trace, verb, *words):
        """A report whose trace lies beside it says what the trace says, and one line that it is of that."""
        done = self.run_tool(verb, *words, report)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, rf"^vramscope: '{report}' .*; this is of its trace, {trace}\n$")
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
        self.assertIn("  all kinds together: peak 40.0 MiB requested\n", self.run_tool("report", report).stdout)
        self.assertIn("peak of GPU 0, all kinds together 40.0 MiB of 1.00 GiB", self.run_tool("check", "--max-peak", "1GiB", report).stdout)
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

    def test_eight_threads_lose_nothing(self):
        program = [harness.program("many_events"), "8", "12500"]
        for stacks in ("unwind", "none"):
            outcome, (path,) = self.traced(program, VRAMSCOPE_STACKS=stacks)
            report = self.only_report(outcome)
            found = self.totals(path)
            self.compare(report, found, stacks)
            self.assertGreaterEqual(found["events"], 200_000)
            self.assertLessEqual(found["bytes"] / found["events"], 16)
            self.assertEqual(9, len(found["threads"]))

    def test_without_attribution_totals_are_the_reports_too(self):
        outcome, (path,) = self.traced([harness.program("many_events")], VRAMSCOPE_ATTRIBUTION="off")
        self.compare(self.only_report(outcome), self.totals(path), "off")

    def test_a_trace_needs_no_report(self):
        for way in ("return", "_exit", "quick_exit"):
            program = [harness.program("exit_variants"), way]
            outcome, (path,) = self.traced(program, VRAMSCOPE_REPORT_AT_EXIT="off")
            self.assertEqual([], outcome.reports)
            self.assertTrue(self.totals(path)["complete"], way)

    def test_what_zstd_compressed_is_read(self):
        zstd = harness.installed("zstd")
        outcome, (path,) = self.traced([harness.program("many_events"), "8", "12500"])
        subprocess.run([zstd, "-q", path], check=True)
        packed = pathlib.Path(f"{path}.zst")
        found = self.totals(packed)
        self.compare(self.only_report(outcome), found, "zstd")
        self.assertEqual(packed.stat().st_size, found["file_bytes"])
        self.assertLess(found["file_bytes"], found["bytes"])
        whole = packed.read_bytes()
        packed.write_bytes(whole[:-100])
        self.assertIn("compressed, and ends early at byte ", self.refused(packed))
        self.assertEqual(0, self.run_tool("trace", "--partial", packed).returncode)
        packed.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
        self.assertIn("trace.zst': byte ", self.refused(packed))

    def test_bad_input_is_one_line(self):
        _, (path,) = self.traced([harness.program("many_events")])
        good = path.read_bytes()

        def problem(content, *flags):
            path.write_bytes(content)
            return self.refused(path, *flags)

        self.assertIn("byte 1: expected a trace", problem(b""))
        self.assertIn("byte 1: expected a trace", problem(b"{}"))
        self.assertIn("ends early at byte 16: cut off", problem(good[:16]))
        other = good[:16] + b"\x02\0\0\0"
        self.assertIn("expected version 1", problem(other + zlib.crc32(other).to_bytes(4, "little") + good[24:]))
        self.assertIn("head is damaged", problem(good[:16] + b"\x02" + good[17:]))
        self.assertIn(f"ends early at byte {len(good) - 1}: cut off", problem(good[:-1]))
        middle = len(good) // 2
        damaged = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
        self.assertIn("this chunk is damaged (vramscope trace --partial FILE reads the rest)", problem(damaged))
        path.write_bytes(damaged)
        self.assertLess(0, self.totals(path, "--partial")["damaged_chunks"])
        path.unlink()
        self.assertIn("No such file or directory", self.refused(path))
        self.assertIn("is a folder: expected one trace", self.refused(self.folder))

    def test_every_event_is_a_line(self):
        _, (path,) = self.traced([harness.program("many_events")])
        done = self.run_tool("trace", "--csv", path)
        titles, *lines = [line.split(",") for line in done.stdout.splitlines()]
        rows = [dict(zip(titles, line)) for line in lines]
        self.assertEqual(self.totals(path)["events"], len(rows))
        self.assertEqual({len(titles)}, {len(line) for line in lines})
        ends = [int(row["start_ns"]) + int(row["duration_ns"]) for row in rows]
        most = max(before - after for before, after in zip(ends, ends[1:]))
        self.assertLess(most, 100_000)  # the clock may change within the first milliseconds
        live = {}
        for row in sorted(rows, key=lambda row: (int(row["order"]), row["event"] != "allocation")):
            if row["event"] == "allocation":
                self.assertNotIn(row["address"], live)
                live[row["address"]] = row["bytes"]
            elif row["event"] == "free":
                self.assertEqual(row["bytes"], live.pop(row["address"]))
        self.assertEqual({}, live)
        out = pathlib.Path(self.folder, "out.csv")
        self.assertEqual(0, self.run_tool("trace", "--csv", "-o", out, path).returncode)
        self.assertEqual(done.stdout, out.read_text())

    def test_a_free_tells_of_its_memory_when_another_thread_has_got_the_address_before_it_returned(self):
        # The record of the first block was gone when its free looked for it: a row of 0 bytes by nobody.
        for way in ("plain", "ordered"):
            with self.subTest(way=way):
                outcome, (path,) = self.traced([harness.program("address_again"), way], mode="observe")
                self.assertIn("the same address: 1", outcome.stdout)
                listed = self.run_tool("trace", "--csv", path).stdout.splitlines()
                titles, *lines = [line.split(",") for line in listed]
                rows = [dict(zip(titles, line)) for line in lines]
                rows.sort(key=lambda row: (int(row["order"]), row["event"] != "allocation"))
                told = [row for row in rows if row["event"] in ("allocation", "free")]
                first, second = told[0], told[2]
                found = [(row["event"], row["bytes"], row["site"], row["tag"]) for row in told]
                wanted = [
                    (event, memory["bytes"], memory["site"], memory["tag"])
                    for memory in (first, second)
                    for event in ("allocation", "free")
                ]
                self.assertEqual(wanted, found)
                self.assertNotEqual(first["bytes"], second["bytes"])

    def test_a_file_that_cannot_grow_ends_the_trace_and_keeps_the_report(self):
        command = [harness.program("many_events"), "4", "20000", "wait"]
        process = self.start_program(command, "cache", VRAMSCOPE_TRACE=TRACE)
        self.assertEqual("ready\n", process.stdout.readline())
        # Not earlier: the simulated device makes a file too.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (200_000, 200_000))
        out, errors = process.communicate("\n", timeout=harness.DEADLINE_S)
        self.assertEqual((0, "4 threads, 20000 pairs each\n"), (process.returncode, out))
        (line,) = errors.splitlines()
        self.assertIn("File too large; it ends here, the report goes on", line)
        (report,) = harness.read_reports(self.folder)
        trace = report["trace"]
        self.assertEqual("File too large", trace["problem"])
        self.assertIn("the trace is not complete: File too large", report["warnings"])
        self.assertGreater(trace["lost"], 0)
        calls = sum(function["calls"] for function in report["functions"])
        self.assertEqual(calls, trace["events"] + trace["lost"])
        (path,) = traces(self.folder)
        found = self.totals(path, "--partial")
        self.assertGreater(found["events"], 0)
        self.assertLessEqual(found["events"], trace["events"])

    def test_a_file_that_cannot_be_made_is_one_line(self):
        program = [harness.program("linked")]
        done = self.run_program(program, "cache", folder=self.folder, VRAMSCOPE_TRACE="/nowhere/x.trace")
        self.assertEqual(self.run_program(program).behaviour(), done.behaviour())
        self.assertEqual(
            "vramscope: cannot write the trace '/nowhere/x.trace': No such file or directory; there is none\n",
            done.stderr,
        )
        self.assertEqual("", self.only_report(done)["trace"]["path"])

    def test_of_a_killed_program_what_was_written_can_be_read(self):
        command = [harness.program("many_events"), "2", "100000000"]
        process = self.start_program(command, "cache", VRAMSCOPE_TRACE=TRACE)
        while not any(path.stat().st_size > 1_000_000 for path in traces(self.folder)):
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.kill()
        self.assertEqual(-signal.SIGKILL, process.wait())
        (path,) = traces(self.folder)
        found = self.totals(path, "--partial")
        self.assertFalse(found["complete"])
        self.assertGreater(found["events"], 50_000)
        self.assertIn("killed", self.run_tool("trace", "--partial", path).stdout)

    def test_a_killed_program_leaves_a_trace_up_to_the_last_second(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_TRACE=TRACE)
        self.assertTrue(process.stdout.readline())  # it has allocated, and waits
        (path,) = traces(self.folder)
        end = time.monotonic() + harness.DEADLINE_S
        while self.allocations(path) < 20:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertEqual(20, self.allocations(path))
        for words in (["peak"], ["leaks"], ["timeline"], ["map"]):
            self.assertIn(f"'{path}' ends without a mark: the program was killed, or still runs; its last second may be missing\n", self.run_tool(*words, path).stderr, words)

    def test_times_behind_its_end_are_refused(self):
        _, (path,) = self.traced([harness.program("train")])
        for words in (["peak", "--from", "999s"], ["timeline", "--from", "999s"], ["trace", "--from", "999s"],
                      ["trace", "--csv", "--from", "999s"], ["map", "--at", "999s"]):  # fmt: skip
            done = self.run_tool(*words, path)
            self.assertEqual(2, done.returncode, words)
            self.assertRegex(done.stderr, rf"'{path}' ends after [^,]*, before {words[-2]} 16 min 39 s", words)

    def test_run_names_the_trace_of_a_program_that_was_killed(self):
        done = self.run_tool("run", "--sim", "--live-file", "off", "--trace", "t.%p.trace", "--", "sh", "-c",
                             f"{harness.program('hold')} </dev/zero & until [ -s t.$!.trace ]; do sleep 0.05; done; kill -KILL $!; kill -KILL $$")  # fmt: skip
        self.assertEqual(137, done.returncode)
        (path,) = traces(self.folder)
        self.assertIn(f"no report: SIGKILL ended the program\nvramscope: trace in {path.name}, ", done.stderr)
        self.assertIn(f"next: vramscope trace --partial {path.name}\n", done.stderr)

    def test_a_signal_report_has_all_events_until_then(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_TRACE=TRACE)
        self.assertTrue(process.stdout.readline())
        process.send_signal(signal.SIGUSR1)
        (report,) = harness.wait_for_reports(self.folder, 1)
        (path,) = traces(self.folder)
        self.compare(report, self.totals(path), "signal")

    def test_children_leave_the_parents_trace_alone(self):
        for way in ("threads", "exec", "prepare", "clone", "vfork", "spawn", "system", "handler"):
            outcome, found = self.traced([harness.program("forks"), way])
            report = self.only_report(outcome)
            (path,) = found
            self.assertEqual(str(path), report["trace"]["path"])
            self.compare(report, self.totals(path), way)
        for way in ("daemon", "early"):
            outcome, found = self.traced([harness.program("forks"), way])
            self.assertEqual(len(outcome.reports), len(found), way)
            for report in outcome.reports:
                self.compare(report, self.totals(report["trace"]["path"]), way)

    def test_before_exec_the_trace_is_whole(self):
        outcome, (path,) = self.traced([harness.program("exit_variants"), "exec"])
        report = self.only_report(outcome)
        self.assertEqual("exec", report["trigger"])
        self.compare(report, self.totals(path), "exec")

    def test_a_taken_name_is_not_replaced(self):
        taken = pathlib.Path(self.folder, "x.trace")
        taken.write_text("mine")
        done = self.run_program([harness.program("linked")], "cache", folder=self.folder, VRAMSCOPE_TRACE="x.trace")
        self.assertEqual("mine", taken.read_text())
        report = self.only_report(done)
        self.assertEqual(str(taken) + "~1", report["trace"]["path"])
        self.compare(report, self.totals(str(taken) + "~1"), "taken")
        self.assertEqual(0o600, os.stat(str(taken) + "~1").st_mode & 0o777)

    def test_run_names_the_trace(self):
        done = self.run_tool("run", "--sim", "--trace", "t.%p.trace", harness.program("many_events"))
        (path,) = traces(self.folder)
        self.assertIn(f" events in {path.name}\n", done.stderr)
        listing = self.run_tool("trace", path)
        self.assertEqual((0, ""), (listing.returncode, listing.stderr))
        self.assertLess(len(listing.stdout.splitlines()), 45)
        self.assertIn("many_events.cpp", listing.stdout)


if __name__ == "__main__":
    harness.main()
