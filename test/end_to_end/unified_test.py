"""A device whose memory is the host's: pinned and managed memory take of it, count once, and meet its limit."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import tempfile

import harness
import recount

MIB = 1 << 20
UNIFIED = {"gb10": "NVIDIA GB10", "orin": "Orin"}
RECORDING = ("cache", "dedicated", "observe")
OUT_OF_MEMORY = 2
# Takes what it is told to, in MiB, and keeps it: "pinned:64". Prints the code of each, and what is free before the end.
TAKES = f"""{harness.ASKS_DRIVER}
def take(kind, size):
    made = ctypes.c_uint64()
    if kind == "pinned":
        return driver.cuMemHostAlloc(ctypes.byref(made), size, 0)
    if kind == "managed":
        return driver.cuMemAllocManaged(ctypes.byref(made), size, 1)
    return driver.cuMemAlloc_v2(ctypes.byref(made), size)
for wanted in sys.argv[1:]:
    kind, size = wanted.split(":")
    print(wanted, take(kind, ctypes.c_size_t(int(size) << 20)))
free, total = ctypes.c_size_t(), ctypes.c_size_t()
driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
print("used", (total.value - free.value) >> 20)
"""
REPORTS = "import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)\n"
WAITS = "print('ready', flush=True)\nsys.stdin.readline()\n"
ALL = ("pinned:64", "managed:48", "device:32")


class Unified(harness.Case):
    def take(self, device, *wanted, mode="cache", **variables):
        command = [sys.executable, "-c", TAKES, *wanted]
        outcome = self.run_program(command, mode, f"device={device},context_bytes=0", VRAMSCOPE_ON_OOM="none", **variables)
        codes = dict(line.rsplit(" ", 1) for line in outcome.stdout.splitlines())
        self.assertEqual(0, outcome.status, outcome.stderr)
        return {what: int(code) for what, code in codes.items()}, self.only_report(outcome)

    def rows_on_device(self, report):
        return {(row["kind"], row["owner"] == "others"): row["device_bytes"] // MIB
                for row in report["ledger"] if row["device"] == 0 and row["device_bytes"]}  # fmt: skip

    def test_pinned_and_managed_memory_of_a_unified_device_count_once(self):
        for device in UNIFIED:
            for mode in RECORDING:
                with self.subTest(device=device, mode=mode):
                    said, report = self.take(device, *ALL, mode=mode)
                    self.assertTrue(report["devices"][0]["unified"])
                    self.assertEqual(0, report["devices"][0]["outside_bytes"])
                    self.assertEqual(144, said["used"])
                    self.assertEqual({("pinned", False): 64, ("managed", False): 48, ("device", False): 32},
                                     self.rows_on_device(report))  # fmt: skip
                    recount.check(self, report)

    def test_grace_hopper_has_memory_of_its_own(self):
        _, report = self.take("gh200", *ALL)
        self.assertFalse(report["devices"][0]["unified"])
        self.assertEqual(102005473280, report["devices"][0]["total_bytes"])
        self.assertNotIn(("pinned", False), self.rows_on_device(report))

    def test_a_limit_keeps_the_machine_alive(self):
        for mode in RECORDING:
            with self.subTest(mode=mode):
                said, report = self.take("gb10", "pinned:64", "pinned:64", "managed:64", "device:64", "device:16", mode=mode,
                                         VRAMSCOPE_DEVICE_MEMORY_LIMIT="100MiB")  # fmt: skip
                refused = {what: code for what, code in said.items() if code == OUT_OF_MEMORY}
                self.assertEqual({"pinned:64", "managed:64", "device:64"}, set(refused))  # the second one of 64 pinned
                self.assertEqual(80, said["used"])
                self.assertEqual(3, report["devices"][0]["limit_refusals"])
                self.assertEqual(["GPU 0 reached its limit of 100MiB (--device-memory-limit)"], report["warnings"])

    def test_a_limit_of_a_device_with_memory_of_its_own_leaves_pinned_and_managed_memory_alone(self):
        said, report = self.take("gh200", "pinned:256", "managed:256", "device:64", VRAMSCOPE_DEVICE_MEMORY_LIMIT="100MiB")
        self.assertEqual([0, 0, 0], [said[what] for what in ("pinned:256", "managed:256", "device:64")])
        self.assertEqual(0, report["devices"][0]["limit_refusals"])

    def test_idle_pinned_memory_makes_room_under_a_limit(self):
        gives_back = f"""{harness.ASKS_DRIVER}
made = ctypes.c_void_p()
print(driver.cuMemHostAlloc(ctypes.byref(made), ctypes.c_size_t(64 << 20), 0))
driver.cuMemFreeHost(made)
print(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(64 << 20)))
driver.cuMemFree_v2(block)
print(driver.cuMemHostAlloc(ctypes.byref(made), ctypes.c_size_t(64 << 20), 0))
"""
        outcome = self.run_program([sys.executable, "-c", gives_back], "cache", "device=gb10,context_bytes=0",
                                   VRAMSCOPE_DEVICE_MEMORY_LIMIT="100MiB")  # fmt: skip
        self.assertEqual("0\n0\n0\n", outcome.stdout)

    def test_the_report_says_so(self):
        for device, name in UNIFIED.items():
            path = pathlib.Path(self.folder) / f"{device}.json"
            done = self.run_tool("run", "--sim", "--sim-device", device, "-o", path, sys.executable, "-c", TAKES, *ALL)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(f"GPU 0  Vramscope simulated {name}, unified memory\n", self.run_tool("report", path).stdout)
            owners = self.run_tool("owners", path).stdout
            self.assertIn(f"used on GPU 0, Vramscope simulated {name}, unified memory", owners)
            self.assertNotIn("its pages may lie on the host", owners)
            self.assertIn("others: everything else that the machine uses", owners)

    def test_nvml_names_the_other_processes_although_it_knows_no_totals(self):
        place = tempfile.mkdtemp(dir=self.folder)
        settings = harness.environment("cache", f"device=gb10,context_bytes=0,shared={place}/device")
        for name, says, size in (("other", WAITS, 80), ("asked", REPORTS + WAITS, 16)):
            started = harness.programs.start([sys.executable, "-c", TAKES + says, f"device:{size}"],
                                             {**settings, "VRAMSCOPE_OUTPUT": f"{place}/{name}.json"},
                                             self.folder, stdin=subprocess.PIPE, text=True)  # fmt: skip
            self.addCleanup(harness.programs.end, started)
            while started.stdout.readline() not in ("ready\n", ""):
                pass
        harness.wait_for_reports(place, 1)
        (path,) = pathlib.Path(place).glob("*.json")
        done = subprocess.run([harness.TOOL, "owners", "--json", path], env=settings, capture_output=True, text=True, check=True)
        rows = {row["owner"]: row["device_bytes"] for row in json.loads(done.stdout)["ledger"] if row["kind"] == "others"}
        self.assertEqual([80 * MIB], [size for owner, size in rows.items() if "(python3" in owner], rows)


if __name__ == "__main__":
    harness.main()
