"""Ranks of a job whose traces lie beside their reports: steps and first peak are exact then."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import sys
import tempfile

import harness
from moments_test import BEGIN
from trace_case import MIB, TraceTest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "view"))
import listings  # noqa: E402

# Two GPUs and managed memory take turns, so that peaks add up to more than was held at any time.
RANK = BEGIN + """
import os
rank = int(os.environ["RANK"])
contexts = [ctypes.c_void_p(), ctypes.c_void_p()]
for number in (0, 1): cuda.cuDevicePrimaryCtxRetain(ctypes.byref(contexts[number]), number)
def on(number, mib):
    cuda.cuCtxSetCurrent(contexts[number])
    free(plain(mib * MIB))
def managed(mib):
    block = ctypes.c_uint64()
    assert cuda.cuMemAllocManaged(ctypes.byref(block), ctypes.c_size_t(mib * MIB), 1) == 0
    free(block)
kept = plain(20 * MIB)
mark("loaded")
for i in range(3):
    time.sleep(0.06)
    mark("step")
    on(0, 7), on(1, 16 if rank == 1 and i == 1 else 11), managed(8)
    own.vramscope_v1_range_push(b"forward", None)
    on(0, 5 + rank), on(1, 6), managed(4)
    own.vramscope_v1_range_pop(None)
if rank == 2: mark("mine")
mark("end")
on(0, 1)
"""
EXACT = {"loaded": (20, 20), "step#1": (31, 31), "step#2": (31, 36), "step#3": (31, 31), "end": (21, 21), "forward": (6, 7)}
SUMS = {"forward": (15, 17)}


class RankTraces(TraceTest):
    def job(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        for rank in range(3):
            variables = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3", "TORCHELASTIC_RUN_ID": "7"}
            outcome, _ = self.traced([sys.executable, "-c", RANK], "observe", "devices=2", folder=folder, **variables)
            self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        return folder

    def listing_of(self, folder):
        done = self.run_tool("report", "--json", folder)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = json.loads(done.stdout)
        self.assertEqual([], listings.problems("processes", found))
        return found

    def steps(self, found):
        return {step["name"]: (step["min_bytes"] / MIB, step["max_bytes"] / MIB) for step in found["steps"]}

    def test_steps_and_the_first_peak_are_those_of_the_traces(self):
        folder = self.job()
        found = self.listing_of(folder)
        self.assertEqual(EXACT, self.steps(found))
        self.assertEqual({("trace", 3)}, {(step["source"], step["traced"]) for step in found["steps"]})
        self.assertEqual(["none"], [found["no_first_peak"]])
        self.assertEqual(3, found["first_peak"]["compared"])
        for row in [found["first_peak"], *found["peak_times"]]:
            self.assertEqual(row["peak_ns"], row["peak_until_ns"])
        peaks = {row["pid"]: (row["peak_lower_bytes"], row["peak_bytes"]) for row in found["processes"]}
        self.assertEqual([(31 * MIB,) * 2] * 2 + [(36 * MIB,) * 2], sorted(peaks.values()))
        # The odd rank is highest a step after the others.
        odd = max(peaks, key=peaks.get)
        times = {row["pid"]: row["peak_ns"] for row in found["peak_times"]}
        self.assertEqual(odd, max(times, key=times.get))
        text = " ".join(self.run_tool("report", folder).stdout.split())
        self.assertRegex(text, r"most apart after the mark 'step#2' \(by traces\): 36.0 MiB in rank 1 \(\d+\), median 31.0 MiB, 31.0 MiB in rank 0")

    def test_without_them_steps_are_rough_and_say_so(self):
        folder = self.job()
        for trace in pathlib.Path(folder).glob("*.trace"):
            os.rename(trace, f"{trace}.away")
        found = self.listing_of(folder)
        for name, (least, most) in self.steps(found).items():
            self.assertGreaterEqual(least, EXACT[name][0], name)
            self.assertGreaterEqual(most, EXACT[name][1], name)
        self.assertEqual(SUMS["forward"], self.steps(found)["forward"])
        self.assertEqual({("mark", "timeline", 0), ("range", "report", 0)},
                         {(step["what"], step["source"], step["traced"]) for step in found["steps"]})  # fmt: skip
        for row in found["peak_times"]:
            self.assertLess(row["peak_ns"], row["peak_until_ns"])

    def test_a_trace_of_another_rank_or_with_less_does_not_count(self):
        folder = self.job()
        first, second, third = sorted(pathlib.Path(folder).glob("*.trace"))
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
        found = self.listing_of(folder)
        self.assertEqual({("mark", "mixed", 1), ("range", "mixed", 1)}, {(step["what"], step["source"], step["traced"]) for step in found["steps"]})
        third.write_bytes(third.read_bytes()[:-40])
        self.assertEqual({"timeline", "report"}, {step["source"] for step in self.listing_of(folder)["steps"]})

    def test_kinds_that_are_chosen_alone_count(self):
        folder = self.job()
        done = self.run_tool("report", "--json", "--kind", "managed", folder)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual({"loaded": (0, 0), "end": (0, 0), "forward": (4, 4), **{f"step#{i}": (8, 8) for i in (1, 2, 3)}},
                         self.steps(json.loads(done.stdout)))  # fmt: skip


if __name__ == "__main__":
    harness.main()
