"""What the benchmark makes of a program's trace is what the program's report says of that run."""
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))
import programs  # noqa: E402

PLAYER, LIBRARY, DRIVER, *PROGRAMS = map(pathlib.Path, sys.argv[1:])
del sys.argv[1:]
# Policy of the tables -> settings of the run. Where nothing is near the device's end, its size
# decides nothing.
RUNS = {
    "native-safe": {},
    "pytorch": {"VRAMSCOPE_POLICY": "pytorch"},
    "pytorch, expandable_segments": {
        "VRAMSCOPE_POLICY": "pytorch",
        "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True",
    },
    "pytorch, growing_segments": {
        "VRAMSCOPE_POLICY": "pytorch",
        "VRAMSCOPE_ALLOC_CONF": "growing_segments:True",
    },
    "mode dedicated": {"VRAMSCOPE_MODE": "dedicated"},
    "no cache": {"VRAMSCOPE_MODE": "observe"},
}
TIMES = "100"  # what the program needs, as the device's size


class TracePolicies(unittest.TestCase):
    def record(self, program, folder, **settings):
        """The report of a run, and the path of its trace."""
        trace, report = (os.path.join(folder, name) for name in ("trace", "report"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("VRAMSCOPE_")}
        environment.update(
            LD_PRELOAD=str(programs.preloadable(LIBRARY)),
            LD_LIBRARY_PATH=str(programs.without_separators(DRIVER.parent)), VRAMSCOPE_TRACE=trace,
            VRAMSCOPE_OUTPUT=report, VRAMSCOPE_SIM="capacity=200GiB", **settings,
        )  # fmt: skip
        subprocess.run([program, "1"], env=environment, check=True, capture_output=True)
        with open(report, encoding="utf-8") as file:
            return json.load(file), trace

    def played(self, trace):
        """(policy, memory) -> counted numbers."""
        command = [PLAYER, "--csv", "--device", TIMES, f"x={trace}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows = csv.DictReader(done.stdout.splitlines())
        return {
            (row["policy"], row["memory"]): {k: int(v) for k, v in row.items() if v.isdigit()}
            for row in rows
        }

    def compare(self, program, policy, settings):
        with tempfile.TemporaryDirectory() as folder:
            report, trace = self.record(program, folder, **settings)
            rows = self.played(trace)
        device, pinned = rows[policy, "device"], rows[policy, "pinned"]
        counted, host = report["devices"][0]["memory_stats"], report["host"]["memory_stats"]
        self.assertEqual(counted["allocation.all.allocated"], device["pairs"])
        self.assertEqual(counted["requested_bytes.all.peak"], device["requested_peak"])
        self.assertEqual(0, device["refused"] + pinned["refused"])
        if policy == "no cache":
            self.assertEqual(2 * device["pairs"], device["driver_calls"])
            return
        # Segments of exactly what was asked for are less than what the driver takes for them.
        (self.assertLess if policy == "mode dedicated" else self.assertEqual)(
            counted["reserved_bytes.all.peak"], device["reserved_peak"]
        )
        if not policy.endswith("_segments"):  # pages of a segment are more calls than segments
            calls = counted["num_device_alloc"] + counted["num_device_free"]
            self.assertEqual(calls, device["driver_calls"])
            self.assertEqual(device["pairs"] - counted["num_device_alloc"], device["hits"])
        registered = sum(
            kind["allocations"] for kind in report["kinds"] if kind["kind"] == "registered"
        )
        # Of equal free blocks the one at the lowest address is cut, and the host's addresses differ
        # from run to run.
        self.assertAlmostEqual(
            host.get("num_host_alloc", 0) - registered, pinned["pairs"] - pinned["hits"],
            delta=3 if policy == "native-safe" else 0,
        )  # fmt: skip

    def test_each_policy_does_what_the_program_met_under_it(self):
        for program in PROGRAMS:
            for policy in self.policies():
                with self.subTest(program=program.name, policy=policy):
                    self.compare(program, policy, RUNS[policy])

    def policies(self):
        """Those of the tables; one that RUNS lacks fails."""
        with tempfile.TemporaryDirectory() as folder:
            _, trace = self.record(PROGRAMS[0], folder)
            found = {policy for policy, _ in self.played(trace)}
        self.assertGreaterEqual(len(found), 5)
        return sorted(found)

    def test_a_file_that_is_no_trace_is_refused(self):
        done = subprocess.run(
            [PLAYER, "--csv", f"x={__file__}"], capture_output=True, text=True, check=False
        )
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)


if __name__ == "__main__":
    unittest.main()
