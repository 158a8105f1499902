"""What memory recording takes: of each thread, and of each call stack."""
# SPDX-License-Identifier: Apache-2.0
import harness


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


if __name__ == "__main__":
    harness.main()
