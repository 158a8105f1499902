"""Processes that use one device at the same time: what each report says of it is that process's."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

import harness

MIB = 1 << 20
CONTEXT = 300 * MIB
COUNT = 8
OUT_OF_MEMORY = 2
BUCKETS = 256  # of a timeline, at most


class SharedDevice(harness.Case):
    def setUp(self):
        super().setUp()
        place = tempfile.mkdtemp(dir=self.folder)
        self.variables = harness.environment(
            simulator=f"context_bytes=300MiB,module_bytes=10MiB,shared={place}/device"
        )

    def begin(self, mib):
        """A process that has no context yet, under a `run` of its own that knows what was free."""
        process = harness.programs.start(
            [harness.TOOL, "run", "--sim", "--quiet", harness.program("beside"), str(mib), "steps"],
            self.variables, self.folder, stdin=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(harness.programs.end, process)
        self.assertEqual("begun\n", process.stdout.readline())
        return process

    def go_on(self, process):
        process.stdin.write("\n")
        process.stdin.flush()

    def step(self, processes, reached):
        for process in processes:
            self.go_on(process)
        for process in processes:
            self.assertEqual(reached + "\n", process.stdout.readline())

    def finish(self, processes):
        for process in processes:
            process.communicate("\n", timeout=harness.DEADLINE_S)
            self.assertEqual(0, process.returncode)

    def check(self, reports):
        contexts = [report["devices"][0]["context_bytes"] for report in reports]
        self.assertEqual([CONTEXT] * COUNT, contexts)
        for report in reports:
            (row,) = [row for row in report["ledger"] if row["owner"] == "contexts"]
            self.assertEqual(CONTEXT, row["device_bytes"])

    def test_contexts_of_eight_processes_count_once_each(self):
        # Each was told what was free before any had a context: the last one saw 12.7 GiB come.
        processes = [self.begin(10 * (number + 1)) for number in range(COUNT)]
        for process in processes:
            self.step([process], "made")
            self.step([process], "ready")
        self.finish(processes)
        self.check(harness.read_reports(self.folder))

    def test_contexts_that_are_made_at_once_count_once_each(self):
        processes = [self.begin(10 * (number + 1)) for number in range(COUNT)]
        self.step(processes, "made")
        self.step(processes, "ready")
        for process in processes:
            os.kill(self.child_of(process), signal.SIGUSR1)
        self.check(harness.wait_for_reports(self.folder, COUNT))
        self.finish(processes)

    def rows_of(self, report):
        return {(row["kind"], row["owner"]): row["device_bytes"] for row in report["ledger"] if row["device_bytes"]}

    def test_what_another_program_takes_meanwhile_is_not_this_ones(self):
        # It begins at the same moment: what `run` saw free was free before it took any.
        process = self.begin(10)
        other = self.start_program([harness.program("commands")], None, VRAMSCOPE_SIM=self.variables["VRAMSCOPE_SIM"])
        self.assertEqual("ready\n", other.stdout.readline())
        self.assertEqual(0, self.say(other, "take 2000"))
        self.step([process], "made")
        self.assertEqual(0, self.say(other, "give"))
        self.step([process], "ready")
        self.assertEqual(0, self.say(other, "take 700"))
        self.finish([process])
        (report,) = harness.read_reports(self.folder)
        (device,) = report["devices"]
        self.assertEqual((CONTEXT, "nvml"), (device["context_bytes"], device["measured_by"]))
        rows = self.rows_of(report)
        self.assertEqual(CONTEXT, rows["unaccounted", "contexts"])
        self.assertEqual(10 * MIB, rows["unaccounted", "modules"])
        # Our managed memory, whose pages are on the host, counts as if it were on the device.
        self.assertEqual(CONTEXT + (700 - 4) * MIB, rows["others", f"{other.pid} (commands)"])
        self.assertNotIn(("others", "others"), rows)
        owners = self.run_tool("owners", self.folder).stdout
        self.assertIn(f"{other.pid} (commands)", owners)
        self.assertNotIn("others:", owners)

    def plant(self, uuid):
        """What any user could do: says of many processes that they have contexts of 2 MiB on the device, as
        locks on bytes of /dev/zero said it once."""
        number = 0xCBF29CE484222325
        for letter in uuid.encode():
            number = (number ^ letter) * 0x100000001B3 % (1 << 64)
        device = max(number >> (64 - 22), 1)
        zero = open("/dev/zero", "rb")
        self.addCleanup(zero.close)
        for process in range(0, 16, 2):  # neighbours would be one lock
            note = device << 41 | ((1 << 18) - 1) << 23 | 1 << 11 | process
            lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, note, 1, 0)
            fcntl.fcntl(zero, fcntl.F_OFD_SETLK, lock)

    def test_no_other_user_changes_a_number_or_reads_one(self):
        for planted in (False, True):
            process = self.begin(10)
            self.step([process], "made")
            self.step([process], "ready")
            folder = harness.LIVE_FILES
            self.assertEqual((0o40700, os.geteuid()), (folder.stat().st_mode, folder.stat().st_uid))
            shared = (folder / "contexts").stat()
            self.assertEqual((0o100600, os.geteuid(), 0), (shared.st_mode, shared.st_uid, shared.st_size))
            self.finish([process])
            *_, report = harness.read_reports(self.folder)
            (device,) = report["devices"]
            self.assertEqual(CONTEXT, device["context_bytes"], planted)
            self.plant(device["uuid"])

    def test_a_program_without_a_context_makes_no_file(self):
        program = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
        script = f'mount -t tmpfs -o mode=1777 none /dev/shm && "{sys.executable}" -c "{program}"; find /dev/shm -type f'
        if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True).returncode:
            self.skipTest("no file system can be mounted here")
        outcome = self.run_program(["unshare", "-rm", "sh", "-c", script], "cache")
        self.assertEqual((0, "", ""), (outcome.status, outcome.stdout, outcome.stderr))

    def test_memory_that_an_importer_has_open_is_told_apart(self):
        for mode in ("cache", "dedicated", "observe"):
            for how in ("ipc", "descriptor"):
                for end, left in (("kept", 32), ("closed", 0)):
                    self.check_left(mode, how, end, left)

    def check_left(self, mode, how, end, left):
        """Freed by its maker it is nobody's block, and no other process asked for it either."""
        outcome = self.run_program([harness.program("left_to_importer"), how, end], mode, "context_bytes=0")
        self.assertEqual(f"used: {left + 20} MiB\n", outcome.stdout, (mode, how, end))
        (report,) = [report for report in outcome.reports if report["devices"][0]["memory_stats"]]
        parts = {(row["kind"], row["owner"]): row["device_bytes"] // MIB for row in report["ledger"] if row["device_bytes"]}
        expected = {("device", "program"): 20, ("unaccounted", "exported"): left}
        self.assertEqual({key: value for key, value in expected.items() if value}, parts, (mode, how, end))
        self.assertEqual(left * MIB, report["devices"][0]["exported_bytes"])

    def commanded(self, mode, **variables):
        """A program that does what say() tells it, on a device of 1 GiB that others use, too."""
        process = self.start_program(
            [harness.program("commands")], mode,
            VRAMSCOPE_SIM=f"capacity=1GiB,context_bytes=0,shared={self.folder}/device", **variables,
        )  # fmt: skip
        self.assertEqual("ready\n", process.stdout.readline())
        return process

    def say(self, process, words):
        process.stdin.write(words + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def check_way(self, words, **variables):
        """300 MiB lie idle; the other program gets 400 once this one has done a few calls more."""
        ours, other = self.commanded("cache", **variables), self.commanded(None)
        for step in ("take 300", "take 1", "give", "give"):
            self.assertEqual(0, self.say(ours, step))
        self.assertEqual(0, self.say(other, "take 500"))
        self.assertEqual(OUT_OF_MEMORY, self.say(other, "take 400"))
        end = time.monotonic() + harness.DEADLINE_S
        calls = 0
        while self.say(other, "take 400") != 0:
            self.assertLess(time.monotonic(), end, f"still idle after {calls} calls")
            for step in words:
                self.say(ours, step)
            calls += len(words)
        self.assertEqual(0, self.say(ours, "take 100"))

    def test_idle_memory_goes_back_when_another_process_has_taken_some(self):
        self.check_way(("take 7", "take 9", "give", "give"))

    def test_it_does_so_at_reuse(self):
        self.check_way(("take 7", "take 9", "give", "give"), VRAMSCOPE_REUSE="at-reuse")

    def test_it_does_so_where_every_request_is_served_from_the_cache(self):
        self.check_way(("take 1", "give"))

    def test_it_does_so_where_the_program_only_asks_what_is_free(self):
        self.check_way(("free", "take 1", "give"))

    def take_turns(self, ours, other):
        """At most 35 MiB together. There are more turns than a timeline has buckets, so that some
        bucket has 30 MiB of the one and 20 MiB of the other."""
        for turn in range(2 * BUCKETS):
            self.say(ours, "take 30")
            if turn == BUCKETS:
                self.say(other, "take 5")
                self.say(other, "give")
            self.say(ours, "give")
            self.say(other, "take 20")
            self.say(other, "give")

    def together(self, *files):
        """What `report` says of the device: as JSON, and its line of text."""
        shown = self.run_tool("report", "--json", *files)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        (device,) = json.loads(shown.stdout)["devices"]
        text = self.run_tool("report", *files).stdout
        (line,) = [line for line in text.splitlines() if line.startswith("  GPU 0")]
        return device["lower_bytes"], device["upper_bytes"], line

    def test_what_processes_with_traces_held_together_is_exact(self):
        processes = [self.commanded("cache", VRAMSCOPE_TRACE="%p.trace") for _ in range(2)]
        self.take_turns(*processes)
        for process in processes:
            process.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(0, process.returncode)
        lower, upper, line = self.together(self.folder)
        self.assertEqual((35 * MIB, 35 * MIB), (lower, upper))
        self.assertIn("2 processes, peak 35.0 MiB, exactly, from their traces", line)
        next(pathlib.Path(self.folder).glob("*.trace")).unlink()
        lower, upper, line = self.together(self.folder)
        self.assertLessEqual(lower, 35 * MIB)
        self.assertGreaterEqual(upper, 50 * MIB)
        self.assertRegex(line, r"peak \S+ MiB to \S+ MiB")

    @staticmethod
    def child_of(process):
        path = f"/proc/{process.pid}/task/{process.pid}/children"
        (child,) = pathlib.Path(path).read_text().split()
        return int(child)


if __name__ == "__main__":
    harness.main()
