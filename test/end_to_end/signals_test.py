"""Programs with their own use of SIGUSR1 keep it, and reports are written all the same."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

import harness
import recount

WAYS = ("sigset", "siginterrupt", "resethand", "nodefer", "defer", "onstack", "smallstack", "blocked",
        "longjmp", "sigwait", "signalfd", "ignore", "later", "storm", "change", "before")  # fmt: skip


TOO_MANY = ("vramscope: more than 10 signals asked for a report within one second; one report for the others follows when "
            "the second is over\n")  # fmt: skip
HANDLING = """
import ctypes, glob, os, signal, sys, time
def handle():
    # Not print, which may be at work on "ready" still.
    signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"handled\\n"))
if sys.argv[1] == "before":
    handle()
ctypes.CDLL("libcuda.so.1").cuInit(0)
if sys.argv[1] == "after":
    handle()
# The library's thread learns of it in its own time.
while not any(open(name).read() == "vramscope+own\\n" for name in glob.glob("/proc/self/task/*/comm")):
    time.sleep(0.001)
print("ready", flush=True)
sys.stdin.read()
"""


class Signals(harness.Case):
    def compare(self, command, mode):
        native = self.run_program(command)
        profiled = self.run_program(command, mode)
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual("", profiled.stderr.replace(TOO_MANY, "", 1))
        for report in profiled.reports:
            recount.check(self, report)
        return profiled

    def test_an_inherited_disposition_is_passed_on(self):
        program = harness.program("signals")
        command = ["/bin/sh", "-c", f"trap '' USR1; exec '{program}' inherited"]
        for mode in harness.MODES:
            self.compare(command, mode)

    def test_signals_are_served_while_the_program_has_a_handler(self):
        for way in ("resethand", "nodefer", "smallstack", "blocked", "longjmp", "storm"):
            reports = self.compare([harness.program("signals"), way], "cache").reports
            self.assertIn("signal", [report["trigger"] for report in reports], way)

    def test_a_signal_that_the_program_ignores_or_waits_for_gives_no_report(self):
        for way in ("sigwait", "signalfd"):
            reports = self.compare([harness.program("signals"), way], "cache").reports
            self.assertEqual(["exit"], [report["trigger"] for report in reports], way)

    def test_another_signal_serves_where_the_program_ignores_the_usual_one(self):
        command = ["/bin/sh", "-c", f"trap '' USR1; exec '{harness.program('hold')}'"]
        process = self.start_program(command, "cache", VRAMSCOPE_SIGNAL="SIGUSR2")
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(0, self.run_tool("snapshot", process.pid).returncode)
        self.assertEqual("signal", harness.wait_for_reports(self.folder, 1)[0]["trigger"])

    def test_a_storm_fills_no_disk_and_the_exit_has_its_report(self):
        process = self.start_program([harness.program("hold")], "cache")
        process.stdout.readline()
        begun = time.monotonic()
        while not select.select([process.stderr], [], [], 0.002)[0]:
            process.send_signal(signal.SIGUSR1)
            self.assertLess(time.monotonic() - begun, harness.DEADLINE_S)
        _, said = process.communicate("", harness.DEADLINE_S)
        self.assertEqual(TOO_MANY, said)
        triggers = [report["trigger"] for report in harness.read_reports(self.folder)]
        self.assertEqual(1, triggers.count("exit"))
        self.assertGreaterEqual(triggers.count("signal"), 10)

    def test_snapshots_beyond_the_quota_have_their_reports_when_it_frees(self):
        process = self.start_program([harness.program("hold")], "cache")
        process.stdout.readline()
        command = f'for i in 1 2 3 4 5 6 7 8; do "{harness.TOOL}" snapshot {process.pid} || echo failed; done'
        loops = [subprocess.Popen(["/bin/sh", "-c", command], cwd=self.folder, env=harness.environment(), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(3)]  # fmt: skip
        for loop in loops:
            said, _ = loop.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(8, len(re.findall(r"^/.*\.json$", said, re.MULTILINE)), said)
            self.assertNotIn("failed", said)
        process.communicate("", harness.DEADLINE_S)

    def test_a_snapshot_that_does_not_wait_for_its_turn_says_why(self):
        process = self.start_program([harness.program("hold")], "cache")
        process.stdout.readline()
        begun = time.monotonic()
        while "~" not in self.helper_of(process):
            process.send_signal(signal.SIGUSR1)
            self.assertLess(time.monotonic() - begun, harness.DEADLINE_S)
        self.stop(process)
        finished = self.run_tool("snapshot", "--wait", 1, process.pid)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(2, finished.returncode)
        self.assertIn(f"process {process.pid} writes at most 10 reports a second on signals", finished.stderr)
        end = time.monotonic() + harness.DEADLINE_S
        while "~" in self.helper_of(process):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.communicate("", harness.DEADLINE_S)

    def stop(self, process):
        """Until all its threads stand still: one that has not run since takes a later signal first."""
        process.send_signal(signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{process.pid}/task")
        self.wait_until(lambda: all("\nState:\tT" in (task / "status").read_text() for task in tasks.iterdir()))

    def answer_beside(self, *plants):
        """What `snapshot` gives when others put files into the folder after it has asked, and before the answer:
        its status, and its output without a report's path."""
        process = self.start_program([harness.program("hold")], "cache")
        process.stdout.readline()
        own = self.run_tool("snapshot", process.pid).stdout.strip()
        self.stop(process)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        tool = self.start_program([harness.TOOL, "snapshot", "--wait", "2", str(process.pid)])
        begun = time.monotonic()
        pending = rf"\n(Shd|Sig)Pnd:\t{1 << signal.SIGUSR1 - 1:016x}\n"
        while not re.search(pending, pathlib.Path(f"/proc/{process.pid}/status").read_text()):
            self.assertLess(time.monotonic() - begun, harness.DEADLINE_S)
        for plant in plants:
            plant(own)
        said, _ = tool.communicate(timeout=harness.DEADLINE_S)
        process.send_signal(signal.SIGCONT)
        process.communicate("", harness.DEADLINE_S)
        return tool.returncode, said

    def test_a_pipe_beside_the_reports_keeps_no_snapshot_waiting(self):
        ends = []
        self.addCleanup(lambda: [os.close(end) for end in ends])

        def plant(_):
            os.mkfifo(f"{self.folder}/pipe")
            ends.append(os.open(f"{self.folder}/pipe", os.O_RDWR))

        self.assertEqual((2, ""), self.answer_beside(plant))

    def test_no_snapshot_takes_another_users_file_for_the_answer(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make another user's file")

        def plant(own, user=65534):
            text = pathlib.Path(own).read_text()
            self.assertEqual("signal", json.loads(text)["trigger"])
            pathlib.Path(self.folder, "hidden").mkdir()
            forged = pathlib.Path(self.folder, "hidden", "forged.json")
            forged.write_text(text)
            os.chown(forged, user, user)
            forged.rename(f"{self.folder}/forged-{user}.json")

        self.assertEqual((2, ""), self.answer_beside(plant))
        for path in pathlib.Path(self.folder).iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        self.assertEqual((0, f"{self.folder}/forged-0.json\n"), self.answer_beside(lambda own: plant(own, 0)))

    @staticmethod
    def helper_of(process):
        names = [open(path).read().strip() for path in glob.glob(f"/proc/{process.pid}/task/*/comm")]
        return "".join(name for name in names if name.startswith("vramscope"))

    def test_signals_whose_reports_fail_have_one_line(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_OUTPUT=f"{self.nowhere}/r.json",
                                     VRAMSCOPE_REPORT_AT_EXIT="off")  # fmt: skip
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        self.assertIn(os.strerror(2), process.stderr.readline())
        for _ in range(5):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.02)  # too little only hides a failure
        _, said = process.communicate("", harness.DEADLINE_S)
        self.assertEqual((0, ""), (process.returncode, said))

    def test_a_full_stderr_holds_nobody_up(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writer, True)
        with os.fdopen(reader), os.fdopen(writer) as full:
            variables = harness.environment("cache", VRAMSCOPE_OUTPUT=f"{self.nowhere}/r.json")
            done = subprocess.run([harness.program("free_kinds")], env=variables, stderr=full, cwd=self.folder,
                                  stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                  timeout=harness.DEADLINE_S)  # fmt: skip
        self.assertEqual(0, done.returncode)

    def test_a_note_that_is_a_pipe_delays_nothing(self):
        note = os.path.join(self.folder, "note")
        os.mkfifo(note)
        outcome = self.run_program([harness.program("free_kinds")], "cache", VRAMSCOPE_NOTE_FILE=note)
        self.only_report(outcome)
        self.assertEqual("", outcome.stderr)

    def test_a_snapshot_says_that_the_program_has_a_handler_of_its_own(self):
        for when in ("before", "after"):
            process = self.start_program([sys.executable, "-c", HANDLING, when], "cache")
            self.assertEqual("ready\n", process.stdout.readline())
            finished = self.run_tool("snapshot", process.pid)
            self.assertEqual((0, "handled\n"), (finished.returncode, process.stdout.readline()))
            self.assertIn(f"process {process.pid} has a handler of its own for SIGUSR1", finished.stderr)
            process.communicate("", harness.DEADLINE_S)

    def test_a_snapshot_says_that_the_program_ignores_the_signal(self):
        command = ["/bin/sh", "-c", f"trap '' USR1; exec '{harness.program('hold')}'"]
        process = self.start_program(command, "cache")
        process.stdout.readline()
        finished = self.run_tool("snapshot", process.pid)
        self.assertEqual(2, finished.returncode)
        self.assertIn("ignores SIGUSR1", finished.stderr)


def add_comparisons():
    for way in WAYS:
        for mode in harness.MODES:

            def case(self, way=way, mode=mode):
                self.compare([harness.program("signals"), way], mode)

            setattr(Signals, f"test_{way} behaves the same in mode {mode}", case)


add_comparisons()
if __name__ == "__main__":
    harness.main()
