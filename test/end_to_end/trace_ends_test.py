"""How traces end: with the program, by a signal, by exec, for want of room; and which name they get."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import resource
import signal
import time

import harness
from trace_case import TRACE, TraceTest, traces


class Ends(TraceTest):
    def test_a_file_that_cannot_grow_ends_the_trace_and_keeps_the_report(self):
        command = [harness.program("many_events"), "4", "20000", "wait"]
        process = self.start_program(command, "cache", VRAMSCOPE_TRACE=TRACE)
        self.assertEqual("ready\n", process.stdout.readline())
        # Not earlier: the simulated device makes a file too.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (200_000, 200_000))
        out, errors = process.communicate("\n", timeout=harness.DEADLINE_S)
        self.assertEqual((0, "4 threads, 20000 pairs each\n"), (process.returncode, out))
        (line,) = errors.splitlines()
        self.assertIn("File too large; the trace ends here, the report continues", line)
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
            "vramscope: cannot write the trace '/nowhere/x.trace': No such file or directory; no trace is written\n",
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
            self.assertIn(f"'{path}' has no end: the program was killed, or still runs; its last second may be missing\n", self.run_tool(*words, path).stderr, words)

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
