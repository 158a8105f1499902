# What is said of driver calls, frees and savings in reports that PyTorch, JAX and others left on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_calls_test.py BUILD"""
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

VIEWS = ("mapping", "address_range", "import")


class Case(RealReports):
    def report(self, name):
        with open(self.real(name), encoding="utf-8") as file:
            return json.load(file)

    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())


class Frees(Case):
    """Calls that freed nothing counted as frees, and cuMemRelease did not."""

    TOLD = {"nccl": "1.14 s in 396 calls for 199 frees",
            "jax": "96.4 ms in 447 calls for 444 frees",
            "cupy": "55.0 ms in 32 calls for 26 frees",
            "beside-others": "8.45 us in 4 calls that freed nothing",
            "gpt": "15.7 us in 4 calls that freed nothing",
            "gpt-no-cache": "113 ms in 13,171 calls for 13,167 frees",
            "torch-oom-at-exit": "53.4 ms in 34 frees"}

    def test_the_closing_line_counts_what_freed_memory(self):
        for name, told in self.TOLD.items():
            for verb in ("report", "sites"):
                self.assertIn(f", and {told} ", self.one_line(verb, self.real(name)), (name, verb))

    def test_it_has_the_frees_of_every_kind(self):
        for name in NAMES:
            frees = sum(row["frees"] for row in self.report(name)["kinds"] if row["kind"] not in VIEWS)
            for told in re.findall(r"(?:in|for) ([\d,]+) frees?\b", self.one_line("report", self.real(name))):
                self.assertEqual(frees, int(told.replace(",", "")), name)

    def test_calls_tell_what_gave_memory_back(self):
        def served(name):
            rows = [row for row in self.json("calls", self.real(name))["served"] if row["what"] == "free_driver"]
            return [(row["calls"], row["freed_nothing"]) for row in rows]

        self.assertEqual([(4, 4)], served("gpt"))
        self.assertEqual([(1, 1)], served("threads"))
        self.assertEqual([(42, 1)], served("fill-refused"))
        self.assertEqual([(7, 6)], served("cupy"))
        self.assertEqual([(16, 0)], served("torch-oom-at-exit"))
        self.assertIn(" calls with nothing to free", self.text("calls", self.real("gpt")))
        self.assertIn(" frees: 41 gave memory back, 1 had nothing to free", self.text("calls", self.real("fill-refused")))
        self.assertIn(" frees that gave memory back", self.text("calls", self.real("torch-oom-at-exit")))

    def test_no_more_gave_memory_back_than_the_driver_got(self):
        for name in NAMES:
            report = self.report(name)
            freed = {device["index"]: device["memory_stats"].get("num_device_free", 0) for device in report["devices"]}
            for row in self.json("calls", self.real(name))["served"]:
                if row["what"] == "free_driver" and row["device"] is not None:
                    self.assertLessEqual(row["calls"] - row["freed_nothing"], freed[row["device"]], name)
                elif row["what"] != "free_driver":
                    self.assertIsNone(row["freed_nothing"], name)


if __name__ == "__main__":
    harness.main()
