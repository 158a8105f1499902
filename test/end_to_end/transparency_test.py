"""A program must not be able to tell that it is being profiled: same output, same exit status."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys

import harness
import recount

# Slow copies, so that a block which is reused too early is overwritten while it is read.
SLOW = "delay_us=3000"

# Program and arguments, and what the simulated device is asked to do.
VICTIMS = [
    (["backtrace"], ""),
    (["capture_free", "allocate"], ""),
    (["capture_free", "allocate", "relaxed"], ""),
    (["capture_free", "nothing"], ""),
    (["capture_contexts"], ""),
    (["context_reset"], ""),
    (["dlsym_next"], ""),
    (["double_free"], ""),
    (["driver_api"], ""),
    (["driver_api", "deep"], ""),
    (["driver_api", "global"], ""),
    (["driver_api", "twice"], ""),
    (["exceptions"], ""),
    (["exit_variants", "return"], ""),
    (["exit_variants", "exit"], ""),
    (["exit_variants", "_exit"], ""),
    (["exit_variants", "_Exit"], ""),
    (["exit_variants", "quick_exit"], ""),
    (["exit_variants", "pthread_exit"], ""),
    (["wrong_release"], ""),
    (["exit_variants", "thread"], ""),
    (["exit_variants", "abort"], ""),
    (["exit_variants", "kill"], ""),
    (["exit_variants", "exec"], ""),
    (["exporter"], ""),
    (["fork_child"], ""),
    (["kinds"], ""),
    (["linked"], ""),
    (["meminfo"], ""),
    (["no_cuda"], ""),
    (["old_names"], ""),
    (["oom"], "capacity=4GiB"),
    (["oom", "96"], "capacity=1GiB"),
    (["proc_address"], ""),
    (["reuse_race"], ""),
    (["reuse_race"], SLOW),
    (["threads_alloc"], ""),
    (["threads_alloc"], "slow_free_us=200"),
    (["train"], ""),
    (["train"], SLOW),
    (["train_static"], ""),
    (["usr1_handler", "sigaction"], ""),
    (["usr1_handler", "signal"], ""),
    (["usr1_handler", "siginfo"], ""),
    (["usr1_handler", "ignore"], ""),
]


class Transparency(harness.Case):
    def compare(self, command, simulator, mode):
        command = [harness.program(command[0]), *command[1:]]
        native = self.run_program(command, simulator=simulator)
        profiled = self.run_program(command, mode, simulator)
        self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
        self.assertEqual(native.stderr, profiled.stderr)
        for report in profiled.reports:
            recount.check(self, report)
        if mode == "off":
            self.assertEqual([], profiled.reports)

    def test_a_script_behaves_the_same_by_ctypes_in_every_mode(self):
        script = harness.SOURCE / "test/programs/ctypes_malloc.py"
        command = [sys.executable, str(script), harness.runtime()]
        native = self.run_program(command)
        self.assertIn("same: True", native.stdout)
        for mode in harness.MODES:
            self.assertEqual(native.behaviour(), self.run_program(command, mode).behaviour(), mode)

    def test_a_copy_in_flight_never_sees_reused_memory(self):
        outcome = self.run_program([harness.program("reuse_race")], "cache", SLOW)
        self.assertEqual("wrong bytes: device 0, host 0\n", outcome.stdout)

    def test_a_free_during_capture_is_kept_for_later(self):
        for mode in ("cache", "dedicated", "observe"):
            command = [harness.program("capture_free"), "free"]
            native = self.run_program(command)
            profiled = self.run_program(command, mode)
            self.assertEqual(0, profiled.status)
            if mode == "observe":
                self.assertEqual(native.stdout, profiled.stdout)
            else:
                self.assertIn("free during capture: 0", profiled.stdout)
                self.assertIn("end of capture: 0", profiled.stdout)
                self.assertIn("not the block that the graph uses: 1", profiled.stdout)

    def test_a_sticky_error_is_seen_as_soon_as_without_us(self):
        command = [harness.program("threads_alloc")]
        simulator = "sticky=2:700"  # counts allocations at the device: a cache asks for few
        native = self.run_program(command, simulator=simulator)
        for mode in ("cache", "dedicated", "observe"):
            profiled = self.run_program(command, mode, simulator)
            self.assertEqual(native.status, profiled.status)
            self.assertIn("failed with 700", profiled.stdout)

    def test_a_program_without_a_driver_fails_as_it_does_without_us(self):
        command = [harness.program("driver_api")]
        nowhere = {"LD_LIBRARY_PATH": "/nonexistent"}
        native = self.run_program(command, **nowhere)
        profiled = self.run_program(command, "cache", **nowhere)
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual(("", []), (profiled.stderr, profiled.reports))

    def test_a_driver_that_does_not_start_gives_its_own_errors(self):
        toolkit = pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda"))
        stub = toolkit / "lib64/stubs/libcuda.so"
        if not stub.exists():
            self.skipTest("the toolkit has no stub of the driver")
        (pathlib.Path(self.folder) / "libcuda.so.1").symlink_to(stub)
        broken = {"LD_LIBRARY_PATH": self.folder}
        for name in ("driver_api", "linked", "old_names"):
            native = self.run_program([harness.program(name)], **broken)
            self.assertNotEqual("", native.stdout)
            for mode in harness.MODES:
                profiled = self.run_program([harness.program(name)], mode, **broken)
                self.assertEqual(native.behaviour(), profiled.behaviour(), f"{name}, {mode}")
                self.assertEqual(("", []), (profiled.stderr, profiled.reports))


def add_comparisons():
    for command, simulator in VICTIMS:
        for mode in harness.MODES:
            words = " ".join(command) + (f" with {simulator}" if simulator else "")

            def case(self, command=command, simulator=simulator, mode=mode):
                self.compare(command, simulator, mode)

            setattr(Transparency, f"test_{words} behaves the same in mode {mode}", case)


add_comparisons()
if __name__ == "__main__":
    harness.main()
