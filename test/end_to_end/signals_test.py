"""Programs with their own use of SIGUSR1 keep it, and reports are written all the same."""
# SPDX-License-Identifier: Apache-2.0
import signal

import harness
import recount

WAYS = ("sigset", "siginterrupt", "resethand", "nodefer", "defer", "onstack", "longjmp", "sigwait",
        "signalfd", "ignore", "later", "storm", "change", "before")  # fmt: skip


class Signals(harness.Case):
    def compare(self, command, mode):
        native = self.run_program(command)
        profiled = self.run_program(command, mode)
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual("", profiled.stderr)
        for report in profiled.reports:
            recount.check(self, report)
        return profiled

    def test_an_inherited_disposition_is_passed_on(self):
        program = harness.program("signals")
        command = ["/bin/sh", "-c", f"trap '' USR1; exec '{program}' inherited"]
        for mode in harness.MODES:
            self.compare(command, mode)

    def test_signals_are_served_while_the_program_has_a_handler(self):
        for way in ("resethand", "nodefer", "longjmp", "storm"):
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
