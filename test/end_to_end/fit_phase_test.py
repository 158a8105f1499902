"""fit --phase: how memory depends on the repetition of a mark, or of a range."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import pickle
import sys

import harness
from trace_case import MIB, TraceTest

# Each repetition holds `base` for its length, and keeps `kept` more; the first one needs `first` more.
PROGRAM = harness.ASKS_DRIVER + """
base, kept, first, count = (int(word) << 20 for word in sys.argv[1:5])
library = ctypes.CDLL(None)
def take(size):
    block = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)) == 0
    return block
for repetition in range(count >> 20):
    library.vramscope_v1_mark(b"step")
    blocks = [take(base + (first if repetition == 0 else 0))]
    if kept:
        take(kept)
    for block in blocks:
        assert driver.cuMemFree_v2(block) == 0
"""
CONTEXT = 536_128 << 10


class PhaseTest(TraceTest):
    def steps(self, base, kept, first, count):
        """The trace of such a program."""
        command = [sys.executable, "-c", PROGRAM, *map(str, (base, kept, first, count))]
        outcome, (path,) = self.traced(command, "observe", "capacity=80GiB")
        self.assertEqual(0, outcome.status, outcome.stderr)
        return path

    def phase(self, path, name="step", *words):
        done = self.run_tool("fit", "--phase", name, "--json", *words, path)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        (one,) = json.loads(done.stdout)
        return one


class Marks(PhaseTest):
    def test_a_run_that_keeps_memory_grows_by_what_it_keeps(self):
        path = self.steps(64, 4, 0, 12)
        found = self.phase(path)
        self.assertEqual((True, 12, 12), (found["mark"], found["times"], found["repetitions"]))
        self.assertEqual([(64 + 4 * i) * MIB for i in range(1, 13)], [row["peak_requested_bytes"] for row in found["rows"]])
        self.assertEqual(("grows", 4 * MIB), (found["requested_trend"], found["requested_growth_bytes"]))
        begins = [row["begin_ns"] for row in found["rows"]]
        self.assertEqual(sorted(begins), begins)
        for row in found["rows"]:
            self.assertLessEqual(abs(row["least_bytes"] - row["peak_requested_bytes"] - CONTEXT), 2 * MIB, row)
        text = " ".join(self.run_tool("fit", "--phase", "step", path).stdout.split())
        self.assertIn("Requested memory grows by 4.00 MiB with each repetition", text)

    def test_a_run_that_warms_up_is_constant_from_then_on(self):
        found = self.phase(self.steps(64, 0, 100, 8))
        self.assertEqual(("constant", 1), (found["requested_trend"], found["requested_warm_up"]))
        self.assertEqual([164 * MIB] + [64 * MIB] * 7, [row["peak_requested_bytes"] for row in found["rows"]])
        self.assertEqual(1, len({row["least_bytes"] for row in found["rows"]}))

    def test_of_more_marks_than_a_trace_keeps_the_numbers_and_the_growth_are_right(self):
        """A trace has the first 512 and some later ones; only later ones were counted, as if there were no others."""
        path = self.steps(64, 2, 0, 1500)
        found = self.phase(path)
        self.assertEqual(("grows", 2 * MIB, 1500), (found["requested_trend"], found["requested_growth_bytes"], found["times"]))
        first, *_, last = found["rows"]
        self.assertEqual((1, 66 * MIB), (first["repetition"], first["peak_requested_bytes"]))
        self.assertEqual((64 + 2 * 1500) * MIB, last["peak_requested_bytes"])
        self.assertLess(1400, last["repetition"])
        self.assertIn("The mark was set 1,500 times. The trace has the times of ", self.run_tool("fit", "--phase", "step", path).stdout)

    def test_the_least_memory_up_to_the_last_is_that_of_the_run(self):
        path = self.steps(64, 4, 0, 5)
        done = self.run_tool("fit", "--mode", "observe", "--json", path)
        (row,) = json.loads(done.stdout)[0]["rows"]
        self.assertEqual(row["least_bytes"], self.phase(path)["rows"][-1]["least_bytes"])

    def test_of_many_repetitions_24_are_shown_the_first_and_last_too(self):
        found = self.phase(self.steps(8, 2, 0, 100))
        numbers = [row["repetition"] for row in found["rows"]]
        self.assertEqual((24, 1, 100, 100), (len(numbers), numbers[0], numbers[-1], found["repetitions"]))
        self.assertEqual(sorted(set(numbers)), numbers)

    def test_other_words_are_one_line(self):
        path = self.steps(8, 0, 0, 3)
        for name, said in (("stop", "nearest is step"), ("", "expected the name")):
            done = self.run_tool("fit", "--phase", name, path)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, len(done.stderr.splitlines())), done.stderr)
            self.assertIn(said, done.stderr)
        done = self.run_tool("fit", "--phase", "step", self.steps(8, 0, 0, 1))
        self.assertEqual((2, 1), (done.returncode, len(done.stderr.splitlines())), done.stderr)
        self.assertIn("expected a mark or a range that repeats", done.stderr)


class Ranges(PhaseTest):
    def test_of_a_snapshot_a_repetition_begins_with_the_first_allocation_in_it(self):
        actions, marks, at = [], [], 0

        def act(what, address, size):
            nonlocal at
            at += 10
            actions.append({"action": what, "addr": address, "size": size, "stream": 0, "time_us": at, "frames": []})

        for i in range(6):
            act("alloc", 0x1000000 * (i + 1), MIB)  # outside
            marks.append({"device": 0, "time_us": at + 1, "name": "forward", "stage": "START"})
            act("alloc", 0x7F0000000000, 30 * MIB + i * 2 * MIB)
            act("free_completed", 0x7F0000000000, 30 * MIB + i * 2 * MIB)
            marks.append({"device": 0, "time_us": at + 1, "name": "forward", "stage": "END"})
        path = pathlib.Path(self.folder, "s.pickle")
        path.write_bytes(pickle.dumps({"segments": [], "device_traces": [actions], "external_annotations": marks}))
        found = self.phase(path, "forward")
        self.assertEqual((False, 6), (found["mark"], found["repetitions"]))
        self.assertEqual([30 * MIB + i * 2 * MIB + (i + 1) * MIB for i in range(6)], [row["peak_requested_bytes"] for row in found["rows"]])
        self.assertEqual(("grows", 3 * MIB), (found["requested_trend"], found["requested_growth_bytes"]))


if __name__ == "__main__":
    harness.main()
