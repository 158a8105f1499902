"""Processes that use one device at the same time: what each report says of it is that process's."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import signal
import subprocess
import tempfile

import harness

MIB = 1 << 20
CONTEXT = 300 * MIB
COUNT = 8


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

    def test_memory_that_an_importer_has_open_is_told_apart(self):
        for mode in ("cache", "dedicated", "observe"):
            for how in ("ipc", "descriptor"):
                for end, left in (("kept", 32), ("closed", 0)):
                    self.check_left(mode, how, end, left)

    def check_left(self, mode, how, end, left):
        """Freed by its maker it is nobody's block, and no other process asked for it either."""
        outcome = self.run_program([harness.program("left_to_importer"), how, end], mode)
        self.assertEqual(f"used: {left + 20} MiB\n", outcome.stdout, (mode, how, end))
        (report,) = [report for report in outcome.reports if report["devices"][0]["memory_stats"]]
        parts = {(row["kind"], row["owner"]): row["device_bytes"] // MIB for row in report["ledger"] if row["device_bytes"]}
        expected = {("device", "program"): 20, ("unaccounted", "exported"): left}
        self.assertEqual({key: value for key, value in expected.items() if value}, parts, (mode, how, end))
        self.assertEqual(left * MIB, report["devices"][0]["exported_bytes"])

    @staticmethod
    def child_of(process):
        path = f"/proc/{process.pid}/task/{process.pid}/children"
        (child,) = pathlib.Path(path).read_text().split()
        return int(child)


if __name__ == "__main__":
    harness.main()
