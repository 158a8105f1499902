"""fit --scale: what call sites hold by batch, and what other batches take, which runs of these then do."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import tempfile

import harness
from trace_case import MIB, TraceTest

# Weights, activations that grow with the batch, and scores that grow with its square, in MiB.
PROGRAM = harness.ASKS_DRIVER + """
batch = int(sys.argv[1])
def take(mib):
    block = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(mib << 20)) == 0
    return block
def weights():
    return take(100)
def activations():
    return take(8 * batch)
def scores():
    return take(2 * batch * batch)
held = weights(), activations(), scores()
"""
MODELS = {"weights": ("constant", 100, 0, 0), "activations": ("linear", 0, 8, 0), "scores": ("quadratic", 0, 0, 2)}


def held(batch):
    return (100 + 8 * batch + 2 * batch * batch) * MIB


class Scale(TraceTest):
    def runs(self, *batches):
        script = pathlib.Path(self.folder, "program.py")
        script.write_text(PROGRAM)
        paths = []
        for batch in batches:
            outcome, (path,) = self.traced([sys.executable, str(script), str(batch)], "observe", "capacity=80GiB", tempfile.mkdtemp(dir=self.folder))
            self.assertEqual(0, outcome.status, outcome.stderr)
            paths.append(path)
        return paths

    def scaled(self, *words):
        done = self.run_tool("fit", "--json", *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        (one,) = json.loads(done.stdout)
        return one

    def refuse(self, said, *words):
        done = self.run_tool("fit", *words)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, len(done.stderr.splitlines())), done.stderr)
        self.assertIn(said, done.stderr)

    def test_each_site_has_its_growth_and_other_runs_take_what_is_predicted(self):
        found = self.scaled("--scale", "batch=2,8,4,16", "--at", "32,64", *self.runs(2, 8, 4, 16))
        self.assertEqual([2, 4, 8, 16], [run["batch"] for run in found["runs"]])
        for row in found["rows"]:
            if row["rest"]:
                self.assertEqual("constant", row["growth"])
                continue
            (name,) = [name for name in MODELS if any(name in frame for frame in row["frames"])]
            growth, constant, linear, quadratic = MODELS[name]
            self.assertEqual(growth, row["growth"], name)
            for field, mib in (("constant", constant), ("linear", linear), ("quadratic", quadratic)):
                self.assertAlmostEqual(mib * MIB, row[f"{field}_bytes"], delta=1000)
            self.assertLess(row["residual_bytes"], 1000)
        for prediction in found["predictions"]:
            self.assertAlmostEqual(held(prediction["batch"]), prediction["peak_requested_bytes"], delta=10_000)
        (path,) = self.runs(64)
        (one,) = json.loads(self.run_tool("fit", "--mode", "observe", "--json", path).stdout)
        self.assertLessEqual(abs(one["rows"][0]["least_bytes"] - found["predictions"][1]["least_bytes"]), 4 * MIB)
        self.assertLessEqual(abs(found["check_permille"]), 5)
        rest = found["rows"][-1]["constant_bytes"]
        for gpu in found["gpus"]:
            self.assertLessEqual(held(gpu["batch"]) + rest, gpu["memory_bytes"] + MIB)
            self.assertGreater(held(gpu["batch"] + 1) + rest, gpu["memory_bytes"] - MIB)

    def test_two_runs_give_lines_and_say_that_nothing_checks_them(self):
        paths = self.runs(2, 4)
        found = self.scaled("--scale", "batch=2,4", *paths)
        self.assertEqual({"constant", "linear"}, {row["growth"] for row in found["rows"]})
        self.assertIsNone(found["check_permille"])
        text = " ".join(self.run_tool("fit", "--scale", "batch=2,4", "--at", "8", *paths).stdout.split())
        self.assertIn("This is an extrapolation", text)
        self.assertIn(" take (program.py:12) < weights (program.py:15)", text, "as reports show it")
        self.assertIn("Two runs cannot be checked against each other", text)
        self.assertIn("The largest batch that fits, as predicted", text)
        rows = self.run_tool("fit", "--scale", "batch=2,4", "--csv", *paths).stdout.splitlines()
        self.assertEqual(1 + len(found["rows"]), len(rows))

    def test_other_words_are_one_line(self):
        paths = self.runs(2, 4)
        self.refuse("expects two traces or more", "--scale", "batch=2", paths[0])
        self.refuse("3 numbers for 2 traces", "--scale", "batch=2,4,8", *paths)
        self.refuse("has 2 twice", "--scale", "batch=2,2", *paths)
        for words in ("batch", "batch=", "batch=0,1", "batch=2,,4", "batch=2,4,", "=2,4", "batch=2,x"):
            self.refuse("is no name with numbers", "--scale", words, *paths)
        self.refuse("is no list of numbers", "--scale", "batch=2,4", "--at", "many", *paths)
        self.refuse("--scale", "--at", "8", *paths)


if __name__ == "__main__":
    harness.main()
