"""What memory recording takes: of each thread, and of each call stack."""
# SPDX-License-Identifier: Apache-2.0
import os
import statistics

import harness
import programs


def resident_kib(outcome):
    """Before and after, as the programs print it."""
    return [int(line.split()[0]) for line in outcome.stdout.splitlines()]


class MemoryTest(harness.Case):
    def sizes_kib(self, command, mode=None, **variables):
        """How much larger the program becomes, step by step."""
        outcome = self.run_program(command, mode, **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        before, *later = resident_kib(outcome)
        return [kib - before for kib in later]

    def of_threads_kib(self, count, *how, **variables):
        """What we add to so many threads: while they live, and once they have ended."""
        command = [harness.program("many_threads"), count, *how]
        added = []
        for _ in range(3):  # a size differs by some 200 KiB now and then, natively too
            ours, own = self.sizes_kib(command, "cache", **variables), self.sizes_kib(command)
            added.append([more - less for more, less in zip(ours, own)])
        return [statistics.median(step) for step in zip(*added)]

    def test_a_thread_that_allocates_takes_a_few_pages(self):
        for stacks in ("unwind", "frame-pointers", "none"):
            with self.subTest(stacks=stacks):
                few, many = (self.of_threads_kib(n, VRAMSCOPE_STACKS=stacks) for n in (50, 250))
                self.assertLess((many[0] - few[0]) / 200, 24)
                self.assertLess((many[1] - few[1]) / 200, 10)

    def test_threads_that_ended_one_after_the_other_keep_nothing(self):
        # Up to 1,024 are told apart in reports, which is what is known of them.
        few, many = (self.of_threads_kib(n, "ended")[0] for n in (1200, 2400))
        self.assertLess((many - few) / 1200, 0.2)

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
