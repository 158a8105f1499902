"""What a snapshot of PyTorch leaves out is said; what is damaged or hostile is refused, or read as far as it goes."""
# SPDX-License-Identifier: Apache-2.0
import gzip
import os
import pickle
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from import_case import Import, MIB, RMM, START_US, frames, refused, snapshot  # noqa: E402


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

    def test_what_the_history_tells_is_told_and_the_rest_is_left_out(self):
        """A step that is freed at once is temporary; nobody knows the device's size, or how long calls took."""
        path = self.file(pickle.dumps(reused()))
        (step,) = [site for site in self.json("sites", path) if site["frames"][0].startswith("step")]
        self.assertEqual((6, 5), (step["total_count"], step["temporary_count"]))  # after the last one nothing came
        for verb in ("report", "owners", "sites", "peak"):
            text = self.run_tool(verb, path).stdout
            self.assertNotIn(" of 0 B", text, verb)
            self.assertNotIn("allocating took", text, verb)
        self.assertIn(" used on GPU 0, as far as the file tells\n", self.run_tool("owners", path).stdout)

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
                if {"alloc", "free_requested", "free_completed"} <= set(skipped):  # no history is left
                    self.assertEqual((None, []), (report["devices"][0]["reserved_peak_bytes"], report["peak"]))
                    continue
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
        self.assertIsNone(device["allocated_peak_bytes"])


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
