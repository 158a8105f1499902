"""The live file: where it lies, when it is there, what its surroundings may lack."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
import pathlib
import signal
import stat
import struct
import subprocess
import unittest

import harness
import recount

MAGIC = b"vrm-live"
PROBLEM = struct.Struct("<24xI")  # LiveHeader: magic, format, parts, base, problem


class LiveFile(harness.Case):
    def live_files(self):
        folder = pathlib.Path(self.folder)
        return sorted([*folder.glob("*.live"), *folder.glob("*.live~*")])

    def run_live(self, command, mode="cache", pattern="%e.%p.live", **variables):
        """With its live file in the test's folder."""
        return self.run_program(command, mode, folder=self.folder, VRAMSCOPE_LIVE_FILE=pattern, **variables)

    def held(self, **variables):
        """A running program, and its live file."""
        process = self.start_program([harness.program("hold")], "cache", **variables)
        process.stdout.readline()
        return process

    def in_memory(self, size, command, **variables):
        """The outcome where /dev/shm is a small file system of its own; what is left in it comes last on stdout, but for
        the empty file that processes share (peer_processes.h)."""
        mount = f"mount -t tmpfs -o size={size} none /dev/shm"
        if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
            raise unittest.SkipTest("no file system can be mounted here")
        script = f'{mount} && {command}; status=$?; cd /dev/shm && echo left: $(find . -type f ! -name contexts); exit $status'
        return self.run_program(["unshare", "-rm", "sh", "-c", script], "cache", folder=self.folder, **variables)

    def test_it_is_there_while_the_program_runs_and_is_private(self):
        process = self.held(VRAMSCOPE_LIVE_FILE="%e.%p.live")
        (path,) = self.live_files()
        self.assertEqual(f"hold.{process.pid}.live", path.name)
        self.assertEqual(0o100600, path.stat().st_mode)
        with open(path, "rb") as file:
            self.assertEqual(MAGIC, file.read(8))
            with self.assertRaises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        open_files = os.listdir(f"/proc/{process.pid}/fd")
        names = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in open_files]
        self.assertNotIn(str(path), names, "a descriptor that the program could meet")
        process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual([], self.live_files())

    def test_by_default_it_lies_in_memory(self):
        process = self.held()
        folder = pathlib.Path(f"/dev/shm/vramscope-{os.geteuid()}")
        self.assertEqual(0o40700, folder.stat().st_mode)
        path = folder / f"hold.{process.pid}.live"
        self.assertTrue(stat.S_ISREG(path.stat().st_mode))
        self.assertLess(path.stat().st_blocks * 512, 4 << 20)
        process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertFalse(path.exists())

    def test_it_goes_at_every_kind_of_end(self):
        ways = ("return", "exit", "_exit", "_Exit", "quick_exit", "thread", "pthread_exit", "last_thread", "exec")
        for way in ways:
            for variables in ({}, {"VRAMSCOPE_REPORT_AT_EXIT": "off"}):
                outcome = self.run_live([harness.program("exit_variants"), way], **variables)
                self.assertEqual("", outcome.stderr, way)
                self.assertEqual([], self.live_files(), (way, variables))

    def test_it_stays_when_the_program_is_killed_and_nobody_holds_it(self):
        process = self.held(VRAMSCOPE_LIVE_FILE="%e.%p.live")
        process.send_signal(signal.SIGKILL)
        process.wait()
        (path,) = self.live_files()
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def test_it_stays_when_the_last_report_cannot_be_written(self):
        outcome = self.run_live([harness.program("linked")], VRAMSCOPE_OUTPUT="none/such.json")
        self.assertEqual(0, outcome.status)
        self.assertIn("cannot write", outcome.stderr)
        self.assertEqual(1, len(self.live_files()))

    def test_without_cuda_or_when_switched_off_there_is_none(self):
        for name, mode, pattern in (("no_cuda", "cache", "%p.live"), ("linked", "off", "%p.live"), ("linked", "cache", "off")):
            self.run_live([harness.program(name)], mode, pattern)
            self.assertEqual([], self.live_files())
            self.assertFalse(pathlib.Path(self.folder, "off").exists())

    def test_a_name_that_is_taken_is_left_alone(self):
        path = pathlib.Path(self.folder, "taken.live")
        path.symlink_to(pathlib.Path(self.folder, "target"))
        process = self.held(VRAMSCOPE_LIVE_FILE="taken.live")
        self.assertEqual(["taken.live", "taken.live~1"], [path.name for path in self.live_files()])
        self.assertFalse(pathlib.Path(self.folder, "target").exists(), "a link was followed")
        process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual(["taken.live"], [path.name for path in self.live_files()])

    def test_one_that_is_taken_away_before_it_is_locked_is_made_again(self):
        preload = f"{harness.LIBRARY}:{harness.program('libunsteady.so')}"
        process = self.held(VRAMSCOPE_LIVE_FILE="%e.%p.live", LD_PRELOAD=preload, UNSTEADY_LOCK="1")
        (path,) = self.live_files()
        self.assertEqual(f"hold.{process.pid}.live", path.name)
        with open(path, "rb") as file:
            self.assertEqual(MAGIC, file.read(8))
        process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual([], self.live_files())

    def test_a_path_that_cannot_be_had_is_one_line(self):
        outcome = self.run_live([harness.program("linked")], pattern="none/such.live")
        native = self.run_program([harness.program("linked")])
        self.assertEqual(native.behaviour(), outcome.behaviour())
        (line,) = outcome.stderr.splitlines()
        self.assertIn("cannot create the live file", line)
        self.assertIn(os.strerror(2), line)
        (warning,) = self.only_report(outcome)["warnings"]
        self.assertIn("there is no live file", warning)

    def test_children_leave_it_as_it_is(self):
        command = [harness.program("live_children")]
        native = self.run_program(command)
        for mode in ("cache", "dedicated", "observe"):
            outcome = self.run_live(command, mode, NVTX_INJECTION64_PATH=str(harness.LIBRARY))
            self.assertEqual(native.behaviour(), outcome.behaviour(), mode)
            self.assertEqual("live file: the same\n", outcome.stderr, mode)
            self.assertEqual([], self.live_files())

    def test_a_folder_of_somebody_elses_or_a_link_is_not_used(self):
        program = harness.program("linked")
        native = self.run_program([program])
        uid = "$(id -u)"
        for prepare in (f"ln -s /tmp /dev/shm/vramscope-{uid}", f"mkdir -m 777 /dev/shm/vramscope-{uid}",
                        f"mkdir -m 700 /dev/shm/vramscope-{uid} && chown 12345 /dev/shm/vramscope-{uid}",
                        f"touch /dev/shm/vramscope-{uid}"):  # fmt: skip
            if "chown" in prepare and os.geteuid() != 0:
                continue
            for path in pathlib.Path(self.folder).glob("*.json"):
                path.unlink()
            unshare = "unshare -m" if "chown" in prepare else "unshare -rm"
            script = f'mount -t tmpfs none /dev/shm && {prepare} && "{program}"'
            outcome = self.run_program([*unshare.split(), "sh", "-c", script], "cache", folder=self.folder)
            if outcome.status == 1 and ("mount" in outcome.stderr or "unshare" in outcome.stderr):
                self.skipTest("no file system can be mounted here")
            self.assertEqual((0, ""), (outcome.status, outcome.stderr), prepare)
            self.assertIn(native.stdout, outcome.stdout)
            (warning,) = self.only_report(outcome)["warnings"]
            self.assertIn("/dev/shm/vramscope-", warning)
            self.assertIn("a program that is killed leaves no report", warning)

    def test_the_second_folder_serves_where_the_first_does_not(self):
        command = f'touch /dev/shm/vramscope-$(id -u); mkdir -m 700 /dev/shm/run; XDG_RUNTIME_DIR=/dev/shm/run "{harness.program("linked")}"; ls /dev/shm/run'
        outcome = self.in_memory("1g", command)
        self.assertIn("vramscope-", outcome.stdout.splitlines()[-2])
        self.assertEqual([], self.only_report(outcome)["warnings"])

    def test_little_room_in_memory_changes_nothing(self):
        # At the start, and in the middle; half stays free for others.
        program = harness.program("hold")
        for size, warns in (("8k", "there is no live file"), ("720k", "is not complete"), ("1g", None)):
            for path in pathlib.Path(self.folder).glob("*.json"):
                path.unlink()
            outcome = self.in_memory(size, f'"{program}" </dev/null')
            self.assertEqual((0, ""), (outcome.status, outcome.stderr), size)
            report = self.only_report(outcome)
            recount.check(self, report)
            self.assertEqual(1 if warns else 0, len(report["warnings"]), report["warnings"])
            if warns:
                self.assertIn(warns, report["warnings"][0])
                self.assertIn(os.strerror(28), report["warnings"][0])
            self.assertTrue(outcome.stdout.endswith("left:\n"), outcome.stdout)

    def test_few_addresses_are_enough(self):
        # 256 MiB, besides those that the simulated device reserves.
        limit = (2 << 20) + (256 << 10)
        command = ["sh", "-c", f'ulimit -v {limit} && exec "{harness.program("linked")}"']
        outcome = self.run_live(command, VRAMSCOPE_SIM="capacity=64MiB,context_bytes=0")
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        report = self.only_report(outcome)
        recount.check(self, report)
        self.assertEqual([], report["warnings"])

    def test_it_goes_on_without_descriptors_or_a_way_to_it(self):
        # The report cannot be written then, and the file is all that is left.
        os.chmod(self.folder, 0o777)
        for way in ("chroot", "descriptors"):
            outcome = self.run_live([harness.program("confined"), way, "after"], pattern=f"{way}.live")
            if outcome.status == 77:
                self.skipTest("this machine does not let a program confine itself so")
            path = pathlib.Path(self.folder, f"{way}.live")
            self.assertTrue(path.exists(), outcome.stderr)
            with open(path, "rb") as file:
                self.assertEqual((0,), PROBLEM.unpack(file.read(PROBLEM.size)))


if __name__ == "__main__":
    harness.main()
