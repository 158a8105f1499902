"""How much of the program's stacks we take: at most 4 KiB beyond what the driver takes by itself."""
# SPDX-License-Identifier: Apache-2.0

import harness
import recount

MOST = 4096
STACKS = ("none", "frame-pointers", "unwind")
# With the others of our settings that run code on the program's threads.
MORE = {
    "trace": {"VRAMSCOPE_TRACE": "%p.trace"},
    "limit": {"VRAMSCOPE_DEVICE_MEMORY_LIMIT": "1GiB", "VRAMSCOPE_SAMPLE_BYTES": "64KiB"},
    "reuse": {"VRAMSCOPE_REUSE": "at-reuse", "VRAMSCOPE_ALLOC_CONF": "max_split_size_mb:32"},
}
SMALLEST_OF_THREADS = 16 << 10
STEP = 256


def settings():
    """Name -> mode and variables, each way of ours to run."""
    for mode in ("cache", "dedicated", "observe"):
        for stacks in STACKS:
            yield f"{mode} {stacks}", mode, {"VRAMSCOPE_STACKS": stacks}
    for name, variables in MORE.items():
        yield f"cache {name}", "cache", variables
    yield "off", "off", {}


class Stacks(harness.Case):
    def marks(self, mode=None, **variables):
        """Call -> bytes of the stack that it used. Bound at once: who binds first uses more."""
        command = [harness.program("stack_marks")]
        outcome = self.run_program(command, mode, LD_BIND_NOW="1", **variables)
        self.assertEqual(0, outcome.status, outcome.stdout + outcome.stderr)
        self.assertEqual(mode not in (None, "off"), bool(outcome.reports), outcome.stderr)  # measured is what we took
        lines = [line.split() for line in outcome.stdout.splitlines()]
        return {words[0]: int(words[1]) for words in lines if len(words) == 2}

    def test_no_call_takes_more_than_4_kib_of_the_stack_beyond_the_driver(self):
        native = self.marks()
        self.assertGreater(len(native), 50)
        for name, mode, variables in settings():
            profiled = self.marks(mode, **variables)
            self.assertEqual(native.keys(), profiled.keys(), name)
            beyond = {call: profiled[call] - native[call] for call in native}
            worst = max(beyond, key=beyond.get)
            self.assertLessEqual(beyond[worst], MOST, f"{name}: {worst}")
            print(f"# {name}: at most {beyond[worst]} bytes, in {worst}")

    def works(self, where, size, mode=None, **variables):
        command = [harness.program("small_stacks"), where, str(size)]
        outcome = self.run_program(command, mode, **variables)
        for report in outcome.reports:
            recount.check(self, report)
        return outcome.behaviour() == ((5, "") if where == "exit" else (0, "done\n"))

    def smallest(self, where, lowest):
        """The smallest size that suffices without us; what is too small ends the program."""
        highest = lowest
        while not self.works(where, highest):
            highest += 4096
        low = max(lowest, highest - 4096)
        while highest - low > STEP:
            middle = (low + highest) // 2 // 16 * 16
            low, highest = (low, middle) if self.works(where, middle) else (middle, highest)
        return highest

    def check_small(self, where, lowest, more):
        size = self.smallest(where, lowest)
        for name, mode, variables in settings():
            self.assertTrue(self.works(where, size + more, mode, **variables), f"{name}: {size}")

    def test_a_handler_on_a_small_stack_of_its_own_needs_4_kib_more(self):
        self.check_small("signal", 2048, MOST)

    def test_a_thread_of_the_smallest_stack_runs_in_every_mode(self):
        for where in ("thread", "exit"):
            self.assertTrue(self.works(where, SMALLEST_OF_THREADS), "without us")
            for name, mode, variables in settings():
                self.assertTrue(self.works(where, SMALLEST_OF_THREADS, mode, **variables), name)


if __name__ == "__main__":
    harness.main()
