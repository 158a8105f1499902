"""What fit answers is what a run on a GPU of that size does: with it the run ends well, with 2 MiB less it does not."""
# SPDX-License-Identifier: Apache-2.0
import json

import harness
from trace_case import MIB, TraceTest

STEP = 2 * MIB
BENCH = harness.BUILD / "test/bench"
GPU = "capacity=80GiB"
SETTINGS = (
    {"VRAMSCOPE_POLICY": "native-safe"},
    {"VRAMSCOPE_POLICY": "pytorch"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "growing_segments:True"},
    {"mode": "observe"},
)


class FitTest(TraceTest):
    def fitted(self, path, *words):
        done = self.run_tool("fit", "--json", *words, path)
        self.assertEqual((0, ""), (done.returncode, done.stderr), path)
        (one,) = json.loads(done.stdout)
        return one

    def ends_well(self, command, capacity, settings):
        """Whether the program ended well, and nothing was refused."""
        outcome = self.run_program(command, settings.get("mode", "cache"), f"capacity={capacity}",
                                   **{name: value for name, value in settings.items() if name != "mode"})  # fmt: skip
        return outcome.status == 0 and all(report["oom"]["count"] == 0 for report in outcome.reports)


class Smallest(FitTest):
    def compare(self, command, settings):
        variables = {name: value for name, value in settings.items() if name != "mode"}
        outcome, (path,) = self.traced(command, settings.get("mode", "cache"), GPU, **variables)
        self.assertEqual(0, outcome.status, outcome.stderr)
        row = next(row for row in self.fitted(path)["rows"] if row["recorded"])
        least = row["least_bytes"]
        self.assertEqual(0, least % STEP)
        self.assertTrue(self.ends_well(command, least, settings), (settings, least // MIB))
        self.assertFalse(self.ends_well(command, least - STEP, settings), (settings, least // MIB))

    def test_of_the_workloads(self):
        for name in ("transformer", "page_server", "hash_join"):
            for settings in SETTINGS:
                with self.subTest(name=name, settings=settings):
                    self.compare([str(BENCH / name)], settings)

    def test_of_the_demo_program(self):
        for settings in SETTINGS:
            with self.subTest(settings=settings):
                self.compare([harness.program("train")], settings)


class Gpus(FitTest):
    def test_of_the_usual_ones_each_fits_or_lacks_so_much(self):
        _, (path,) = self.traced([str(BENCH / "transformer")], "cache", GPU)
        found = self.fitted(path)
        least = min(row["least_bytes"] for row in found["rows"])
        self.assertEqual(sorted(gpu["memory_bytes"] for gpu in found["gpus"]), [gpu["memory_bytes"] for gpu in found["gpus"]])
        self.assertEqual({False, True}, {gpu["fits"] for gpu in found["gpus"]})
        for gpu in found["gpus"]:
            missing = None if gpu["fits"] else least - gpu["memory_bytes"]
            self.assertEqual((gpu["memory_bytes"] >= least, missing), (gpu["fits"], gpu["missing_bytes"]), gpu)
        self.assertEqual(536_128 << 10, found["unrecorded_bytes"])


if __name__ == "__main__":
    harness.main()
