"""What other tools wrote of a run is read as our own files are, and adds up; hostile files are refused."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pickle
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from export_case import run_once  # noqa: E402
import harness  # noqa: E402
from import_case import Import, MIB, RMM, START_US, frames, refused, snapshot  # noqa: E402


class TorchSnapshots(Import):
    def test_report_has_what_was_live_at_the_peak(self):
        for protocol in (2, 3, 4, 5):
            path = self.file(pickle.dumps(snapshot(), protocol=protocol))
            report = self.json("report", path)
            self.assertEqual("imported", report["trigger"])
            self.assertEqual(22 * MIB, report["devices"][0]["reserved_peak_bytes"])
            self.assertEqual(1, report["devices"][0]["num_ooms"])
            rows = {row["frames"][0].split()[0]: row["bytes"] for row in report["peak"]}
            self.assertEqual({"forward": 8 * MIB, "load": 4 * MIB - 100 + 1000, "old": 300}, rows)
            self.assertTrue(any("1 allocation of 300 B" in line for line in report["warnings"]), report["warnings"])

    def of_large_snapshot(self):
        made = snapshot()
        where = made["device_traces"][0][1]
        names = frames(*(f"{number}_" + 900 * "x" for number in range(20)))
        made["device_traces"][0] = [
            {**where, "action": action, "addr": where["addr"] + (64 << 20), "time_us": START_US + 100 + 3 * number + k, "frames": names}
            for number in range(12_000) for k, action in enumerate(("alloc", "free_requested", "free_completed"))]  # fmt: skip
        return self.file(pickle.dumps(made))

    def test_an_export_that_becomes_far_larger_is_refused(self):
        """It repeats the call stack at each event; the pickle of the same has it once."""
        path = self.of_large_snapshot()
        said = {}
        for words in ("memory_viz_json", "memory_viz_json --force", "memory_viz"):
            done = subprocess.run([harness.TOOL, "export", "-o", "/dev/full", path, "--format", *words.split()], capture_output=True,
                                  text=True, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
            self.assertEqual(2, done.returncode)
            (said[words],) = done.stderr.splitlines()
        self.assertRegex(said["memory_viz_json"], r"^vramscope: memory_viz_json would become up to [\d.]+ GiB, for JSON repeats ")
        for words in ("memory_viz_json --force", "memory_viz"):
            self.assertEqual("vramscope: cannot write '/dev/full': No space left on device", said[words])

    def test_an_interrupt_leaves_nothing_of_a_file(self):
        path = self.of_large_snapshot()
        for number in (signal.SIGINT, signal.SIGTERM):
            before = sorted(os.listdir(self.folder))
            words = [harness.TOOL, "export", "--force", "--format", "memory_viz_json", "-o", self.folder + "/x.json", path]
            export = subprocess.Popen(words, env=harness.environment(), stderr=subprocess.DEVNULL,
                                      preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
            while export.poll() is None and sorted(os.listdir(self.folder)) == before:
                time.sleep(0.01)
            self.assertIsNone(export.poll(), "it was fast")
            export.send_signal(number)
            self.assertEqual(-number, export.wait(harness.DEADLINE_S))
            self.assertEqual(before, sorted(os.listdir(self.folder)))

    def test_live_blocks_are_what_was_never_freed(self):
        text = self.tool("leaks", self.of_snapshot())
        for name in ("forward", "load", "old"):
            self.assertIn(name, text)

    def test_without_history_there_is_no_peak(self):
        report = self.json("report", self.of_snapshot(history=False))
        # Another 1000 bytes wait for their stream: their free was requested.
        self.assertEqual(12 * MIB - 100 + 300, sum(row["bytes"] for row in report["live"]))
        self.assertEqual([], report["peak"])
        self.assertTrue(any("no history" in line for line in report["warnings"]), report["warnings"])

    def test_what_nobody_measured_is_not_zero(self):
        """Without history nobody knows what was freed; of no snapshot how long calls took, or which process it is of."""
        path = self.of_snapshot(history=False)
        self.assertNotIn("temporary (", self.tool("report", path))
        for row in self.json("sites", path):
            self.assertEqual((None, None), (row["temporary_count"], row["total_ns"]))
        self.assertNotIn("0 ns", self.tool("sites", path))
        path = self.of_snapshot()
        self.assertIn("5 allocations, 0 temporary (0 %)", self.tool("report", path))
        for verb in (["sites"], ["sites", "--group", "file"], ["owners", "--by", "thread"]):
            self.assertNotIn("0 ns", self.tool(*verb, path))
        (check,) = self.json("check", "--max-total", "1GiB", path)["checks"]
        self.assertIsNone(check["pid"])
        self.assertNotIn("(0)", self.tool("check", "--max-total", "1GiB", path))
        self.assertIn("GPU 0: at most 12.0 MiB, 12.0 MiB at the end", self.tool("timeline", path))

    def test_map_has_its_segments_and_any_instant(self):
        path = self.of_snapshot()
        (place,) = self.json("map", path)["places"]
        self.assertEqual(22 * MIB, place["total_bytes"])
        self.assertEqual(12 * MIB + 512, place["allocated_bytes"])
        self.assertEqual(3, place["live_count"])
        (place,) = self.json("map", "--at", "peak", path)["places"]
        self.assertEqual(12 * MIB - 100 + 300 + 1000, place["requested_bytes"])

    def test_annotations_and_streams_are_told_apart(self):
        path = self.of_snapshot()
        by_range = {row["value"]: row for row in self.json("owners", "--by", "range", path)}
        self.assertEqual(6 * MIB + 1000, by_range["step"]["total_bytes"])

    def test_traces_formats_are_made_of_the_history(self):
        path = self.of_snapshot()
        log = self.tool("export", "--format", "rmm", path)
        self.assertEqual(4 + 1, log.count(",allocate,"))
        self.assertEqual(1, log.count(",free,"))
        self.tool("timeline", path)
        self.tool("oom", path)

    def test_pinned_memory_is_told_apart(self):
        """As it is recorded with record_pinned_host_memory: of device -1, a segment for each block."""
        made, stack = snapshot(), frames("pin", "main")
        base = 0x600000000000
        made["host_segments"] = [{
            "device": -1, "address": base, "total_size": 65536, "allocated_size": 65536, "active_size": 65536,
            "requested_size": 40960, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": stack, "blocks": [
                {"address": base, "size": 65536, "requested_size": 40960, "state": "active_allocated", "frames": stack}],
        }]  # fmt: skip
        made["host_traces"] = [[
            {"action": action, "addr": base + at, "size": size, "stream": 0, "time_us": START_US + us, "frames": stack}
            for action, at, size, us in (("segment_alloc", 0, 65536, 4), ("alloc", 0, 40960, 5), ("alloc", MIB, 81920, 25),
                                         ("free_requested", MIB, 81920, 26), ("free_completed", MIB, 81920, 27))]]  # fmt: skip
        path = self.file(pickle.dumps(made))
        report = self.json("report", path)
        pinned = [row for row in report["peak"] if row["kind"] == "pinned"]
        self.assertEqual([("pin", 40960 + 81920)], [(row["frames"][0].split()[0], row["bytes"]) for row in pinned])
        self.assertEqual(1, len(report["devices"]))
        self.assertEqual(22 * MIB, report["devices"][0]["reserved_peak_bytes"])
        self.assertEqual([], [line for line in report["warnings"] if "pinned" in line])
        places = {place["kind"]: place for place in self.json("map", path)["places"]}
        self.assertEqual((65536, 40960), (places["pinned"]["total_bytes"], places["pinned"]["requested_bytes"]))
        self.assertIn("pinned", self.tool("timeline", path))

    def test_frames_of_what_records_are_left_out(self):
        """Stacks with frames of C++ begin with PyTorch's own recording and its allocator."""
        own = ["torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)",
               "torch::cuda::(anonymous namespace)::gather_with_cpp()",
               "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(int, unsigned long, CUstream_st*)"]  # fmt: skip
        made = snapshot()
        for segment in made["segments"]:
            for block in segment["blocks"]:
                block["frames"] = [{"filename": "??", "line": 0, "name": name} for name in own] + block["frames"]
        for event in made["device_traces"][0]:
            event["frames"] = [{"filename": "??", "line": 0, "name": name} for name in own] + event["frames"]
        path = self.file(pickle.dumps(made))
        rows = {row["frames"][0].split()[0] for row in self.json("report", path)["peak"]}
        self.assertEqual({"forward", "load", "old"}, rows)
        self.assertNotIn("??", self.tool("peak", "--full", path))

    def test_frames_of_c_leave_the_way_to_those_of_python(self):
        """Of a stack with both, as PyTorch records by default, rows show Python's lines."""
        above = ["at::detail::empty_cuda(c10::ArrayRef<long>)", "_PyObject_MakeTpCall"]
        made = snapshot()
        for frames in ([block["frames"] for segment in made["segments"] for block in segment["blocks"]]  # noqa: F402
                       + [event["frames"] for event in made["device_traces"][0]]):  # fmt: skip
            frames[:0] = [{"filename": "??", "line": 0, "name": name} for name in above]
            frames.append({"filename": "??", "line": 0, "name": "_start"})
        path = self.file(pickle.dumps(made))
        whole = self.tool("peak", "--full", path)
        self.assertIn("forward", whole)
        for name in (*above, "_start"):
            self.assertNotIn(name, whole)
        native = self.tool("peak", "--full", "--with-native", path)
        self.assertIn(above[0], native)
        self.assertIn("forward", native)
        self.assertNotIn(above[1], native)
        self.assertIn(above[0], self.tool("peak", "--full", "--native-only", path))

    def test_every_verb_of_reports_takes_one(self):
        path = self.of_snapshot()
        log = self.file(RMM.encode(), "rmm.csv")
        sites = self.json("sites", path)
        self.assertEqual(12 * MIB - 100 + 1000 + 300, sum(row["peak_bytes"] for row in sites))
        self.assertEqual(4 + 1, sum(row["total_count"] for row in sites))
        for file, peak in ((path, 12 * MIB - 100 + 1000 + 300), (log, 1500)):
            self.tool("check", "--max-peak", str(peak), file)
            self.assertIn("limit", self.tool("check", "--max-peak", str(peak - 1), file, status=1))
            (moment,) = self.json("oom", file)["events"]
            self.assertEqual(1 << 40 if file == path else 4096, moment["bytes"])
            self.assertEqual(peak, self.json("stats", file)["devices"]["0"]["requested_bytes.all.peak"])
        changed = self.json("diff", log, path)
        self.assertEqual((1500, 12 * MIB - 100 + 1000 + 300), (changed["before_bytes"], changed["after_bytes"]))

    def test_pages_are_made_of_both(self):
        page = os.path.join(self.folder, "page.html")
        for file in (self.of_snapshot(), self.file(RMM.encode(), "rmm.csv")):
            done = self.run_tool("html", "-o", page, file)
            if "this build has no page" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(0, done.returncode, done.stderr)
            with open(page, encoding="utf-8") as made:
                self.assertIn(os.path.basename(file), made.read())

    def test_patterns_pick_them_and_folders_do_not(self):
        self.of_snapshot()
        self.file(RMM.encode(), "rmm.csv")
        both = self.json("report", "--each", os.path.join(self.folder, "[rs]*"))
        self.assertEqual([1500, 12 * MIB - 100 + 1300], [sum(row["bytes"] for row in one["listing"]["peak"]) for one in both])
        done = self.run_tool("report", self.folder)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")))
        self.assertIn("no report is in", done.stderr)

    def test_snapshot_of_our_report_has_our_totals(self):
        home = run_once()
        for form, source in (("report", home + "/r.json"), ("trace", home + "/t.trace")):
            with self.subTest(form):
                path = os.path.join(self.folder, form + ".pickle")
                self.tool("export", "--format", "memory_viz", "-o", path, source)
                with open(home + "/r.json", encoding="utf-8") as file:
                    ours = next(kind for kind in json.load(file)["kinds"] if kind["kind"] == "device")
                changed = self.json("diff", "--at", "end", "--kind", "device", home + "/r.json", path)
                self.assertEqual(ours["current_bytes"], changed["after_bytes"])
                self.assertEqual(changed["before_bytes"], changed["after_bytes"])
                report = self.json("report", path)
                peak = ours["peak_bytes"] if form == "trace" else 0  # a report has no history
                self.assertEqual(peak, sum(row["bytes"] for row in report["peak"]))


class RmmLogs(Import):
    def test_log_is_read_as_a_run(self):
        path = self.file(RMM.encode(), "rmm.csv")
        report = self.json("report", path)
        self.assertEqual(1500, sum(row["bytes"] for row in report["peak"]))
        self.assertEqual(500, sum(row["bytes"] for row in report["live"]))
        (place,) = self.json("map", path)["places"]
        self.assertEqual(500, place["requested_bytes"])

    def test_log_of_the_manual_is_read(self):
        """RMM's manual shows seconds and "deallocate", its code writes the time of day and "free"."""
        rows = [(1634567890.123456, "allocate", 0x7F8A40000000, 1024), (1634567890.234567, "allocate", 0x7F8A40000400, 2048),
                (1634567892.345678, "deallocate", 0x7F8A40000000, 1024)]  # fmt: skip
        lines = [f"140573312345856,{at:.6f},{what},{hex(address)},{size},0x7f8a38001020" for at, what, address, size in rows]
        path = self.file(("Thread,Time,Action,Pointer,Size,Stream\n" + "\n".join(lines) + "\n").encode(), "rmm.csv")
        report = self.json("report", path)
        self.assertEqual([3072, 2048], [sum(row["bytes"] for row in report[name]) for name in ("peak", "live")])
        dotted = RMM.replace(":000", ".000")
        self.assertEqual(500, sum(row["bytes"] for row in self.json("report", self.file(dotted.encode(), "d.csv"))["live"]))

    def test_log_of_our_trace_has_its_totals(self):
        home = run_once()
        path = os.path.join(self.folder, "log.csv")
        self.tool("export", "--format", "rmm", "-o", path, home + "/t.trace")
        report = self.json("report", path)
        with open(home + "/r.json", encoding="utf-8") as file:
            ours = next(kind for kind in json.load(file)["kinds"] if kind["kind"] == "device")
        self.assertEqual(ours["peak_bytes"], sum(row["bytes"] for row in report["peak"]))

    def test_free_of_other_bytes_frees_what_was_allocated(self):
        """Once the sum fell below zero."""
        rows = ["1,00:00:00:000001,allocate,0x10,100,0", "1,00:00:00:000002,free,0x10,200,0", "1,00:00:00:000003,allocate,0x20,50,0"]
        path = self.file("\n".join(["Thread,Time,Action,Pointer,Size,Stream", *rows, ""]).encode(), "rmm.csv")
        report = self.json("report", path)
        self.assertEqual([100, 50], [sum(row["bytes"] for row in report[name]) for name in ("peak", "live")])

    def test_lines_that_are_none_are_named(self):
        for line, expected in (("1,2,allocate", "numbers"), ("x,00:00:00:0,allocate,0x1,5,0", "numbers"),
                               ("1,00:00:00:0,steal,0x1,5,0", "allocate, free"),
                               (f"1,00:00:00:0,allocate,0x1,{1 << 51},0", "PiB")):  # fmt: skip
            path = self.file((RMM + line + "\n" + "1,00:00:00:1,free,0x1,5,0\n").encode(), "rmm.csv")
            self.assertRefused(path, "line 7", expected)

    def read(self, content, name="rmm.csv"):
        """Bytes that are live, what was allocated at all, and the warning that says what was not read."""
        path = self.file(content if isinstance(content, bytes) else content.encode(), name)
        report = self.json("report", path)
        said = [line for line in report["warnings"] if "read up to" in line]
        self.assertLessEqual(len(said), 1)
        for words in (("timeline",), ("map",), ("oom",), ("export", "--format", "rmm")):
            self.tool(*words, path)
        total = sum(row["total_bytes"] for row in self.json("sites", path))
        return sum(row["bytes"] for row in report["live"]), total, said[0] if said else ""

    def test_a_last_line_that_is_cut_is_no_line(self):
        """A killed program's log: "allocate,0x30,70000" cut to "allocate,0x30,70" is a whole line to look at."""
        whole = RMM + "11,00:00:00:000004,allocate,0x30,70000,0x0"
        self.assertEqual((500, 1500), self.read(RMM)[:2])
        for cut in range(len(RMM) + 1, len(whole) + 1):
            with self.subTest(whole[cut - 10 : cut]):
                live, total, said = self.read(whole[:cut])
                self.assertEqual((500, 1500), (live, total))
                self.assertIn("line 7", said)
        self.assertEqual((70500, 71500), self.read(whole + "\n")[:2])
        self.assertEqual("", self.read(whole + "\n")[2])
        self.assertEqual((70500, 71500), self.read((whole + "\n").replace("\n", "\r\n"))[:2])
        self.assertIn("line 7", self.read(RMM.replace("\n", "\r\n") + "11,00:00:00:000004,allocate,0x30,70000,0x0\r")[2])

    def test_zero_bytes_after_a_crash_are_the_end(self):
        """What a file system leaves of writes that did not reach the disk."""
        for cut in ("", "11,00:00:00:000004,allocate,0x30,70000,0x0", "11,00:00:00:000004,allocate,0x30,7"):
            for zeros in (1, 4096, 100_000):
                live, total, said = self.read((RMM + cut).encode() + zeros * b"\0")
                self.assertEqual((500, 1500), (live, total))
                self.assertIn("line 7", said)
                self.assertIn("zero byte", said)
    def test_a_log_is_read_up_to_where_another_run_begins(self):
        """Appended to: the second run's addresses are its own, and its times may be of another day."""
        titles = RMM.partition("\n")[0] + "\n"
        other = "Time,Action,Pointer,Size,Stream,Thread\n00:00:00:000009,allocate,0x99,64,0x0,5\n"  # of another version
        for more in (RMM, titles, other, other.replace("\n", "\r\n"), "11,00:00:00:0000" + RMM, "11,00:00:00:000004,allo\0\0\0\0" + RMM):
            with self.subTest(more[:60]):
                live, total, said = self.read(RMM + more)
                self.assertEqual((500, 1500), (live, total))
                self.assertIn("line 7", said)
        self.assertEqual((500, 1500), self.read(titles + RMM)[:2])  # nothing was in the first

    def test_failures_of_any_size_are_told(self):
        for asked in (2 << 50, (1 << 63) + 1, (1 << 64) - 1):
            path = self.file((RMM + f"11,00:00:00:000005,allocate failure,(nil),{asked},0x0\n" * 2).encode(), "rmm.csv")
            moments = self.json("oom", path)["events"]
            self.assertEqual(asked, max(one["bytes"] for one in moments))
            self.tool("report", path)
            self.tool("diff", path, self.of_snapshot())

    def assertRefused(self, path, *words):  # noqa: N802
        refused(self, path, *words)


if __name__ == "__main__":
    harness.main()
