"""What other tools wrote of a run is read as our own files are, and adds up; hostile files are refused."""
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import os
import pickle
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

from export_test import run_once  # noqa: E402

START_US = 1_700_000_000_000_000
KIB, MIB = 1 << 10, 1 << 20


def frames(*names):
    return [{"filename": f"/src/{name}.py", "line": 10 + i, "name": name} for i, name in enumerate(names)]


def snapshot(history=True):
    """As torch.cuda.memory._snapshot() gives it: three blocks live, one waiting, one of them older."""
    load, forward, old = frames("load", "main"), frames("forward", "main"), frames("old", "main")
    base, small = 0x7F0000000000, 0x7F4000000000

    def block(address, size, requested, state, stack):
        return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": stack}

    blocks = [
        block(base, 4 * MIB, 4 * MIB - 100, "active_allocated", load),
        block(base + 4 * MIB, 8 * MIB, 8 * MIB, "active_allocated", forward),
        block(base + 12 * MIB, 8 * MIB, 0, "inactive", []),
    ]
    little = [
        block(small, 512, 300, "active_allocated", old),
        block(small + 512, 1024, 1000, "active_pending_free", load),
        block(small + 1536, 2 * MIB - 1536, 0, "inactive", []),
    ]

    def segment(address, kind, parts):
        return {
            "device": 0, "address": address, "total_size": sum(part["size"] for part in parts),
            "allocated_size": sum(p["size"] for p in parts if p["state"] == "active_allocated"),
            "active_size": sum(p["size"] for p in parts if p["state"] != "inactive"),
            "requested_size": sum(p["requested_size"] for p in parts), "stream": 0, "segment_type": kind,
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": parts,
        }  # fmt: skip

    def event(action, at_us, address, size, stack, stream=0):
        where = {"device_free" if action == "oom" else "addr": address}
        return {"action": action, **where, "size": size, "stream": stream, "time_us": START_US + at_us,
                "frames": stack, "compile_context": "N/A"}  # fmt: skip

    events = [
        event("segment_alloc", 0, base, 20 * MIB, load),
        event("alloc", 10, base, 4 * MIB - 100, load),
        event("alloc", 20, base + 12 * MIB, 6 * MIB, forward),
        event("alloc", 30, small + 512, 1000, load, 0x55AA),
        event("free_requested", 40, base + 12 * MIB, 6 * MIB, []),
        event("free_completed", 41, base + 12 * MIB, 6 * MIB, []),
        event("oom", 50, 3 * MIB, 1 << 40, forward),
        event("alloc", 60, base + 4 * MIB, 8 * MIB, forward),
        event("free_requested", 70, small + 512, 1000, []),
        event("snapshot", 80, 0, 0, []),
    ]
    marks = [{"stage": stage, "name": "step", "device": 0, "time_us": START_US + at}
             for stage, at in (("START", 15), ("END", 35))]  # fmt: skip
    return {
        "segments": [segment(small, "small", little), segment(base, "large", blocks)],
        "device_traces": [events if history else []],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                               "garbage_collection_threshold": 0.0, "roundup_power2_divisions": {"1": 0}},
        "external_annotations": marks,
    }  # fmt: skip


RMM = """Thread,Time,Action,Pointer,Size,Stream
11,23:59:59:000001,allocate,0x7f00,1000,0x0
12,23:59:59:000011,allocate,0x8f00,500,0x5
11,00:00:00:000001,free,0x7f00,1000,0x0
11,00:00:00:000002,allocate failure,(nil),4096,0x0
11,00:00:00:000003,free,0x1234,16,0x0
"""


class Import(harness.Case):
    def file(self, content, name="snapshot.pickle"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def tool(self, *words, status=0):
        done = subprocess.run([harness.TOOL, *words], capture_output=True, env=harness.environment(),
                              timeout=harness.DEADLINE_S)  # fmt: skip
        self.assertEqual(status, done.returncode, (words, done.stderr))
        return done.stdout.decode("utf-8")

    def json(self, *words):
        return json.loads(self.tool(*words, "--json"))

    def of_snapshot(self, **how):
        return self.file(pickle.dumps(snapshot(**how)))


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

    def test_an_export_that_becomes_large_is_told_beforehand(self):
        """It repeats the call stack at each event; the pickle of the same has it once."""
        made = snapshot()
        where = made["device_traces"][0][1]
        names = frames(*(f"{number}_" + 900 * "x" for number in range(20)))
        made["device_traces"][0] = [
            {**where, "action": action, "addr": where["addr"] + (64 << 20), "time_us": START_US + 100 + 3 * number + k, "frames": names}
            for number in range(12_000) for k, action in enumerate(("alloc", "free_requested", "free_completed"))]  # fmt: skip
        path = self.file(pickle.dumps(made))
        said = {}
        for form in ("memory_viz_json", "memory_viz"):
            done = subprocess.run([harness.TOOL, "export", "--format", form, "-o", "/dev/full", path], capture_output=True,
                                  text=True, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
            said[form] = done.stderr.splitlines()
        self.assertRegex(said["memory_viz_json"][0], r"^vramscope: memory_viz_json becomes up to [\d.]+ GiB, for it repeats ")
        self.assertEqual(1, len(said["memory_viz"]), said)

    def test_live_blocks_are_what_was_never_freed(self):
        text = self.tool("leaks", self.of_snapshot())
        for name in ("forward", "load", "old"):
            self.assertIn(name, text)

    def test_without_history_all_that_is_live_is_the_peak(self):
        report = self.json("report", self.of_snapshot(history=False))
        self.assertEqual(12 * MIB - 100 + 300 + 1000, sum(row["bytes"] for row in report["peak"]))
        self.assertTrue(any("no history" in line for line in report["warnings"]), report["warnings"])

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
        for frames in ([block["frames"] for segment in made["segments"] for block in segment["blocks"]]
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
                peak = ours["peak_bytes"] if form == "trace" else ours["current_bytes"]
                self.assertEqual(peak, sum(row["bytes"] for row in report["peak"]))


def viz_live(made):
    """What memory_viz's segsum() counts: the requested bytes of blocks that are allocated."""
    return sum(block.get("requested_size", block["size"]) for segment in made["segments"]
               for block in segment["blocks"] if block["state"] == "active_allocated")  # fmt: skip


def without(made, *actions):
    """As _record_memory_history(skip_actions=...) writes it."""
    made["device_traces"] = [[one for one in events if one["action"] not in actions] for events in made["device_traces"]]
    return made


def reused(turns=6):
    """A history in which one address is allocated again and again, as a training step does."""
    made, stack = snapshot(), frames("step", "main")
    where = made["device_traces"][0]
    for turn in range(turns):
        for nr, action in enumerate(("alloc", "free_requested", "free_completed")):
            where.append({"action": action, "addr": 0x7F0000000000 + 14 * MIB + turn % 2 * MIB, "size": 2 * MIB, "stream": 0,
                          "time_us": START_US + 200 + 10 * turn + nr, "frames": stack})  # fmt: skip
    return made


class PartialSnapshots(Import):
    """What a snapshot leaves out is said in one line, and nothing is made up for it."""

    def warned(self, report, word):
        lines = [line for line in report["warnings"] if word in line]
        self.assertEqual(1, len(lines), report["warnings"])
        return lines[0]

    def test_every_action_may_be_left_out(self):
        """skip_actions: without frees an address is allocated twice, without allocations freed twice."""
        peak = 12 * MIB - 100 + 1000 + 300  # of the whole history, which is that of what is live at the end
        for skipped in (["alloc"], ["free_requested"], ["free_completed"], ["segment_alloc"], ["segment_free"], ["oom"], ["snapshot"],
                        ["free_requested", "free_completed"], ["alloc", "free_completed"],
                        ["alloc", "free_requested", "free_completed"], ["alloc", "free_requested", "free_completed", "segment_alloc"]):  # fmt: skip
            with self.subTest(skipped):
                made = without(reused(), *skipped)
                path = self.file(pickle.dumps(made))
                report = self.json("report", path)
                live = sum(row["bytes"] for row in report["live"])
                self.assertEqual(viz_live(made), live)
                self.assertEqual(22 * MIB, report["devices"][0]["reserved_current_bytes"])
                self.assertEqual(22 * MIB, report["devices"][0]["reserved_peak_bytes"])
                most = sum(row["bytes"] for row in report["peak"])
                self.assertGreaterEqual(most, peak)
                # Two blocks of the loop overlap, so that one alone is alive whoever says so.
                self.assertLessEqual(most, peak + 6 * MIB + 2 * MIB)
                gone = [word for word, action in (("free", "free_completed"), ("allocation", "alloc"))
                        if action in skipped and not (action == "free_completed" and "free_requested" not in skipped)]  # fmt: skip
                for word in gone:
                    self.assertIn(word, self.warned(report, "leaves out"))
                if not gone:
                    self.assertEqual([], [line for line in report["warnings"] if "leaves out" in line])
                self.tool("diff", path, self.of_snapshot())
                self.tool("timeline", path)
                self.tool("map", "--at", "peak", path)

    def test_frees_that_were_only_requested_count_when_they_were(self):
        whole, path = self.json("report", self.of(reused())), self.of(without(reused(), "free_completed"))
        report = self.json("report", path)
        self.assertEqual([row["bytes"] for row in whole["peak"]], [row["bytes"] for row in report["peak"]])

    def test_events_that_are_as_late_as_can_be_keep_their_order(self):
        """In microseconds, of which 64 bits of nanoseconds cannot hold all."""
        rows = self.json("report", self.of(reused()))["peak"]
        for last_ns in ((1 << 64) - 1, (1 << 64) + 5_000):
            made = reused()
            events = made["device_traces"][0]
            for before_end, event in enumerate(reversed(events)):
                event["time_us"] = last_ns // 1000 - before_end
            self.assertEqual(rows, self.json("report", self.of(made))["peak"])

    def of(self, made, name="made.pickle"):
        return self.file(pickle.dumps(made), name)

    def test_segments_that_went_unseen_leave_the_reserved_peak_alone(self):
        """Without segment_free one segment comes twice; without segment_alloc it goes twice."""
        base = 0x7F8000000000
        for skipped in ("segment_free", "segment_alloc"):
            made = snapshot()
            made["device_traces"][0] += [
                {"action": action, "addr": base, "size": 100 * MIB, "stream": 0, "time_us": START_US + 200 + 10 * turn + nr, "frames": []}
                for turn in range(5) for nr, action in enumerate(("segment_alloc", "segment_free"))]  # fmt: skip
            with self.subTest(skipped):
                report = self.json("report", self.of(without(made, skipped)))
                self.assertEqual(122 * MIB, report["devices"][0]["reserved_peak_bytes"])
                self.assertIn("segment", self.warned(report, "leaves out"))

    def test_the_list_that_memory_snapshot_gives_is_read(self):
        made = snapshot()
        for protocol in (2, 3, 4, 5):
            path = self.file(pickle.dumps(made["segments"], protocol=protocol))
            report = self.json("report", path)
            self.assertEqual(viz_live(made), sum(row["bytes"] for row in report["live"]))
            self.warned(report, "no history")
        self.assertEqual(22 * MIB, self.json("map", path)["places"][0]["total_bytes"])
        self.tool("diff", path, self.of_snapshot())
        self.tool("report", self.file(pickle.dumps([])))

    def test_a_snapshot_without_traces_is_read(self):
        """include_traces=False: lists are empty, or not there at all; frames, too."""
        for keys in (("device_traces",), ("device_traces", "external_annotations", "allocator_settings")):
            made = snapshot()
            for key in keys:
                del made[key]
            for block in (block for segment in made["segments"] for block in segment["blocks"]):
                del block["frames"]
            path = self.of(made)
            report = self.json("report", path)
            self.assertIn("include_traces", self.warned(report, "no history"))
            self.assertEqual(viz_live(made), sum(row["bytes"] for row in report["live"]))
            self.tool("diff", path, self.of_snapshot())

    def test_blocks_of_earlier_versions_have_a_history(self):
        """Until PyTorch 2.0: no requested size; frames and the real size in "history"."""
        made = snapshot(history=False)
        for block in (block for segment in made["segments"] for block in segment["blocks"]):
            requested, stack = block.pop("requested_size"), block.pop("frames")
            if requested:
                block["history"] = [{"addr": block["address"], "real_size": requested, "frames": stack}]
        report = self.json("report", self.of(made))
        self.assertEqual({"forward": 8 * MIB, "load": 4 * MIB - 100, "old": 300},
                         {row["frames"][0].split()[0]: row["bytes"] for row in report["live"]})  # fmt: skip

    def test_packed_files_are_read(self):
        whole = self.json("report", self.of_snapshot())["live"]
        for name, content in (("snapshot.pickle.gz", pickle.dumps(snapshot())), ("rmm.csv.gz", RMM.encode())):
            path = self.file(gzip.compress(content), name)
            live = self.json("report", path)["live"]
            self.assertEqual(sum(row["bytes"] for row in whole) if "pickle" in name else 500, sum(row["bytes"] for row in live))
            self.tool("timeline", path)
            self.tool("map", path)
            self.tool("diff", path, self.of_snapshot())
        parts = pickle.dumps(snapshot())
        two = self.file(gzip.compress(parts[:500]) + gzip.compress(parts[500:]), "two.gz")
        self.assertEqual(whole, self.json("report", two)["live"])

    def test_damaged_and_hostile_packed_files_are_refused(self):
        good = gzip.compress(pickle.dumps(snapshot()))
        refused(self, self.file(good[:-30]), "cut off")
        refused(self, self.file(good[:200] + b"xxxx" + good[204:]), "unpack")
        refused(self, self.file(gzip.compress(b"{}" * 50)), "expected")
        huge = self.file(gzip.compress(pickle.dumps({"segments": [], "x": ["y" * 1000] * 100})[:-1] + b"N" * (200 << 20), 9))
        refused(self, huge, "unpacks to more")

    def test_refusals_of_any_size_are_told(self):
        """Once a request of 2 PiB made the whole file unreadable."""
        for asked in (2 << 50, (1 << 63) + 5, (1 << 64) - 1):
            made = snapshot()
            for event in made["device_traces"][0]:
                if event["action"] == "oom":
                    event["size"] = asked
            path = self.of(made)
            (moment,) = self.json("oom", path)["events"]
            self.assertEqual(asked, moment["bytes"])
            self.assertEqual(1, self.json("report", path)["devices"][0]["num_ooms"])
            self.tool("report", path)
            self.tool("oom", path)
            self.tool("diff", path, self.of_snapshot())
        made["device_traces"][0].append({**next(one for one in made["device_traces"][0] if one["action"] == "oom"), "time_us": START_US + 500})
        self.assertIn("2 times", self.tool("report", self.of(made)))

    def test_allocated_bytes_that_nobody_wrote_are_not_shown(self):
        """Sizes in actions are what was requested: what was allocated at the peak is in no snapshot."""
        path = self.of_snapshot()
        (device,) = self.json("report", path)["devices"]
        self.assertIsNone(device["allocated_peak_bytes"])
        self.assertEqual(12 * MIB + 512, device["allocated_current_bytes"])
        stats = self.json("stats", path)["devices"]["0"]
        for key in ("allocated_bytes.all.peak", "active_bytes.all.peak", "inactive_split_bytes.all.current", "oversize_segments.peak"):
            self.assertNotIn(key, stats)
        self.assertEqual(12 * MIB + 512, stats["allocated_bytes.all.current"])
        text = self.tool("report", path)
        self.assertRegex(text, r"allocated +peak +not known, now 12\.0 MiB")
        self.assertNotIn("allocated", self.tool("peak", path).split("reserved")[0])
        (device,) = self.json("report", self.file(RMM.encode(), "rmm.csv"))["devices"]
        self.assertIsNone(device["allocated_peak_bytes"])
        (device,) = self.json("report", self.of_snapshot(history=False))["devices"]
        self.assertEqual(12 * MIB + 512, device["allocated_peak_bytes"])


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
        for line, expected in (("1,2,allocate", "time"), ("x,00:00:00:0,allocate,0x1,5,0", "numbers"),
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


def refused(case, path, *words):
    done = subprocess.run([harness.TOOL, "report", path], capture_output=True, env=harness.environment(),
                          timeout=harness.DEADLINE_S)  # fmt: skip
    case.assertEqual((2, b""), (done.returncode, done.stdout), done.stderr)
    text = done.stderr.decode("utf-8", "replace")
    case.assertEqual(1, text.count("\n"), text)
    for word in (path, *words):
        case.assertIn(word, text)


class Executes:
    """What a pickle can make its reader do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class HostileFiles(Import):
    def test_nothing_in_a_pickle_is_executed(self):
        made = os.path.join(self.folder, "made")
        for protocol in (2, 4):
            path = self.file(pickle.dumps({"segments": Executes(made)}, protocol=protocol))
            refused(self, path, "byte ", "instruction")
        self.assertFalse(os.path.exists(made))

    def test_other_pickles_are_refused(self):
        shared = [[{}] * 1000] * 60
        for value, words in (({}, "segments"), ({"segments": 5}, "segments"),
                             ({"segments": [], "device_traces": shared}, "once"),
                             ({"segments": [{"total_size": 5, "blocks": []}]}, "add up"),
                             ({"segments": [{"device": 4000, "total_size": 0}]}, "devices below")):  # fmt: skip
            refused(self, self.file(pickle.dumps(value)), words)

    def test_cut_and_changed_files_are_refused_or_read(self):
        chance = random.Random(4711)
        whole = pickle.dumps(snapshot(), protocol=4)
        for turn in range(60):
            content = bytearray(whole)
            if turn % 3 == 0:
                content = content[: chance.randrange(16, len(content))]
            for _ in range(turn % 3):
                content[chance.randrange(12, len(content))] = chance.randrange(256)
            path = self.file(bytes(content))
            done = subprocess.run([harness.TOOL, "report", "--json", path], capture_output=True,
                                  env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
            self.assertIn(done.returncode, (0, 2), (turn, done.stderr))
            self.assertEqual(done.returncode == 2, done.stdout == b"", turn)


if __name__ == "__main__":
    harness.main()
