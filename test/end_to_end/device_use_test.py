"""Who holds a device: contexts, code, what the driver rounds up, and other processes; they add up to it."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from attribution_case import AttributionTest, MIB, RECORDING
import harness
import recount

CONTEXT, MODULE = 300 * MIB, 10 * MIB
COSTS = "context_bytes=300MiB,module_bytes=10MiB"
BARE = "context_bytes=0"
MANAGED = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
assert cuda.cuMemAllocManaged(ctypes.byref(block), ctypes.c_size_t(200 << 20), 1) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(20 << 20)) == 0
"""


class DeviceUse(AttributionTest):
    def test_managed_memory_does_not_hide_what_contexts_take(self):
        """Its pages may lie on the host, as all do on the simulated device."""
        for mode in RECORDING:
            path = f"{self.folder}/{mode}.json"
            words = ("run", "--sim", "--mode", mode, "-o", path, "--", sys.executable, "-c", MANAGED)
            done = self.run_tool(*words, VRAMSCOPE_SIM=COSTS)
            self.assertEqual(0, done.returncode, done.stderr)
            report = json.loads(pathlib.Path(path).read_text())
            (contexts,) = [row for row in report["ledger"] if row["owner"] == "contexts"]
            self.assertEqual(CONTEXT, contexts["device_bytes"], mode)
            self.assertNotIn("others", [row["kind"] for row in report["ledger"]], mode)

    def used(self, report):
        return sum(row["device_bytes"] for row in report["ledger"])

    def test_the_ledger_adds_up_to_a_device_that_two_processes_share(self):
        with tempfile.TemporaryDirectory() as place:
            simulator = f"{COSTS},shared={place}/device"
            for mode in ("cache", "dedicated", "observe"):
                self.check_two_processes(mode, simulator)

    def check_two_processes(self, mode, simulator):
        variables = {**harness.environment(simulator=simulator), "VRAMSCOPE_MODE": mode}
        first = self.start(["beside", "100"], variables)
        second = self.start(["beside", "30"], variables)
        used = int(self.finish(second))
        (report,) = [r for r in harness.read_reports(self.folder) if r["process"]["arguments"][1] == "30"]
        recount.check(self, report)
        # The program sees what we could give back as free.
        cached = 0 if mode == "observe" else 8 * MIB
        self.assertEqual(used + cached, self.used(report))
        (device,) = report["devices"]
        self.assertEqual(device["total_bytes"] - device["free_bytes"], self.used(report))
        parts = self.parts(report)
        self.assertEqual(CONTEXT, parts["unaccounted", "contexts"])
        self.assertEqual(MODULE, parts["unaccounted", "modules"])
        self.assertEqual(30 * MIB, parts["device", "program"])
        self.assertEqual(4 * MIB, parts["managed", "program"])
        # The other process holds its context, its code, 100 MiB, and what it caches. Managed memory
        # counts as if it were on the device. No kernel touches it here, so its pages are on the host,
        # and ours are taken for some of the others'.
        self.assertEqual(CONTEXT + MODULE + 100 * MIB + cached - 4 * MIB, parts["others", "others"])
        self.finish(first)
        for path in harness.pathlib.Path(self.folder).glob("*.json"):
            path.unlink()

    def start(self, command, variables):
        process = harness.programs.start(
            [harness.TOOL, "run", "--sim", "--quiet", harness.program(command[0]), *command[1:]],
            variables, self.folder, stdin=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(harness.programs.end, process)
        self.assertEqual("ready\n", process.stdout.readline())
        return process

    def finish(self, process):
        out, _ = process.communicate("\n", timeout=harness.DEADLINE_S)
        self.assertEqual(0, process.returncode)
        return out

    def parts(self, report):
        """Other processes together, whether NVML named them or not."""
        parts = {}
        for row in report["ledger"]:
            key = (row["kind"], "others" if row["kind"] == "others" else row["owner"])
            if row["device_bytes"]:
                parts[key] = parts.get(key, 0) + row["device_bytes"]
        return parts

    def test_what_the_driver_rounds_up_is_the_owners(self):
        # 500 allocations of 1,150,000 bytes take 1,000 MiB: 452 MiB of these were "others".
        for mode in ("dedicated", "observe"):
            report = self.report(["odd_amounts", "500", "1150000", "keep"], mode, BARE)
            self.assertEqual({("device", "program"): 1000 * MIB}, self.parts(report), mode)
        # Small ones share pages; here there are 49 of 1,000 bytes and one page.
        report = self.report(["odd_amounts", "49", "1000", "keep"], "observe", BARE)
        self.assertEqual({("device", "program"): 2 * MIB}, self.parts(report))

    def test_what_the_driver_rounded_up_goes_with_the_memory(self):
        self.assertEqual({}, self.parts(self.report(["odd_amounts", "500", "1150000", "free"], "observe", BARE)))
        idle = self.report(["odd_amounts", "500", "1150000", "free"], "dedicated", BARE)
        self.assertEqual({("cached", "vramscope"): 1000 * MIB}, self.parts(idle))

    def test_what_others_use_is_measured_again(self):
        with tempfile.TemporaryDirectory() as place:
            variables = {**harness.environment(simulator=f"{BARE},shared={place}/device"), "VRAMSCOPE_MODE": "observe"}
            first = self.start(["odd_amounts", "2", "1150000", "again"], variables)
            second = self.start(["beside", "100"], variables)
            time.sleep(0.02)  # samples are at least 10 ms apart
            self.finish(first)
            (report,) = [r for r in harness.read_reports(self.folder) if "again" in r["process"]["arguments"]]
            self.assertEqual({("device", "program"): 2 * MIB, ("others", "others"): 100 * MIB}, self.parts(report))
            self.finish(second)

    def test_other_processes_are_named_while_they_run(self):
        with tempfile.TemporaryDirectory() as place:
            simulator = f"{COSTS},shared={place}/device"
            variables = harness.environment(simulator=simulator)
            first = self.start(["beside", "100"], variables)
            second = self.start(["beside", "30"], variables)
            (pid,) = [p for p in self.children_of(second) if p]
            os.kill(pid, signal.SIGUSR1)
            harness.wait_for_reports(self.folder, 1)
            (path,) = harness.pathlib.Path(self.folder).glob("*.json")
            listing = subprocess.run(
                [harness.TOOL, "owners", "--json", path], env=variables, capture_output=True, text=True, check=True
            )
            owners = {row["owner"]: row["device_bytes"] for row in json.loads(listing.stdout)["ledger"]}
            (other,) = [name for name in owners if name.endswith("(beside)")]
            self.assertEqual(f"{self.children_of(first)[0]} (beside)", other)
            self.assertGreaterEqual(owners[other], CONTEXT + MODULE + 104 * MIB)
            self.finish(first)
            self.finish(second)

    @staticmethod
    def children_of(process):
        path = f"/proc/{process.pid}/task/{process.pid}/children"
        return [int(word) for word in harness.pathlib.Path(path).read_text().split()]


if __name__ == "__main__":
    harness.main()
