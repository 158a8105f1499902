"""What memory recording takes: of each thread, and of each call stack."""
# SPDX-License-Identifier: Apache-2.0
import os

import harness
import programs


def resident_kib(outcome):
    """Before and after, as the programs print it."""
    return [int(line.split()[0]) for line in outcome.stdout.splitlines()]


class MemoryTest(harness.Case):
    def growth_kib(self, command, mode=None, **variables):
        """How much larger the program becomes."""
        outcome = self.run_program(command, mode, **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        before, after = resident_kib(outcome)
        return after - before

    def of_threads_kib(self, count, *how, **variables):
        """What we add to so many threads."""
        command = [harness.program("many_threads"), count, *how]
        return self.growth_kib(command, "cache", **variables) - self.growth_kib(command)

    def test_a_thread_that_allocates_takes_a_few_pages(self):
        for stacks in ("unwind", "frame-pointers", "none"):
            with self.subTest(stacks=stacks):
                few, many = (self.of_threads_kib(n, VRAMSCOPE_STACKS=stacks) for n in (50, 250))
                self.assertLess((many - few) / 200, 60)

    def test_a_call_stack_is_recorded_and_reported_in_little_memory(self):
        stacks = 200_000
        process = self.start_program([harness.program("many_places"), stacks], "cache")
        before, after = (int(process.stdout.readline().split()[0]) for _ in range(2))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        self.assertEqual(0, status)
        self.assertLess(after - before, 95 * 1024)  # KiB: of the record
        self.assertLess(used.ru_maxrss - after, 64 * 1024)  # beyond it, while the report is written
        (report,) = programs.read_reports(self.folder)
        self.assertEqual(stacks, len(report["sites"]))


if __name__ == "__main__":
    harness.main()
