"""The trace: its totals are the report's, whatever the program does, and each event is a line of it."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import tempfile
import zlib

import harness
from trace_case import TraceTest
import transparency_test

RECORDING = ("cache", "dedicated", "observe")

# Victims whose frees wait for something, or which reset their peaks.
OTHER_PEAKS = ("capture", "graph", "pinned_capture", "faces", "malloc_hook")


class Totals(TraceTest):
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


class Read(TraceTest):
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
        for way in ("plain", "ordered", "imported"):
            with self.subTest(way=way):
                for _ in range(5):  # on a busy machine the second thread may come too late
                    folder = tempfile.mkdtemp(dir=self.folder)
                    outcome, (path,) = self.traced([harness.program("address_again"), way], mode="observe", folder=folder)
                    if "the same address: 1" in outcome.stdout:
                        break
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

    def test_a_free_that_had_to_wait_ends_memory_of_the_driver_too(self):
        # Whose it was could not be looked up when it was asked for: the driver freed it, and it was live for ever.
        outcome, (path,) = self.traced([harness.program("free_amid_growth")])
        self.assertIn("nested free: 0\nbetween: 1", outcome.stdout)
        (kind,) = [kind for kind in self.totals(path)["kinds"] if kind["kind"] == "stream_ordered"]
        self.assertEqual((0, 1, 1), (kind["current_bytes"], kind["allocations"], kind["frees"]))
        report = harness.read_reports(path.parent)[0]
        (kind,) = [kind for kind in report["kinds"] if kind["kind"] == "stream_ordered"]
        self.assertEqual((0, 1, 1), (kind["current_bytes"], kind["allocations"], kind["frees"]))

    def test_times_behind_its_end_are_refused(self):
        _, (path,) = self.traced([harness.program("train")])
        for words in (["peak", "--from", "999s"], ["timeline", "--from", "999s"], ["trace", "--from", "999s"],
                      ["trace", "--csv", "--from", "999s"], ["map", "--at", "999s"]):  # fmt: skip
            done = self.run_tool(*words, path)
            self.assertEqual(2, done.returncode, words)
            self.assertRegex(done.stderr, rf"'{path}' ends after [^,]*, before {words[-2]} 16 min 39 s", words)


if __name__ == "__main__":
    harness.main()
