"""A program must not be able to tell that it is being profiled: same output, same exit status."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import behaviours
import harness
import recount

# Slow copies, so that a block which is reused too early is overwritten while it is read.
SLOW = "delay_us=3000"

# Program and arguments, and what the simulated device is asked to do.
VICTIMS = [
    (["alignment"], ""),
    (["arrays"], ""),
    (["backtrace"], ""),
    (["cancelled", "exits"], ""),
    (["cancelled", "itself"], ""),
    (["cancelled", "itself"], "cancels_late=1"),
    (["cancelled", "once"], ""),
    (["cancelled", "together"], ""),
    (["cancelled", "waiting"], ""),
    (["capture_contexts"], ""),
    (["capture_ends"], ""),
    (["capture_free", "allocate"], ""),
    (["capture_free", "allocate", "relaxed"], ""),
    (["capture_free", "free"], ""),
    (["capture_free", "nothing"], ""),
    (["capture_room", "both"], "capacity=1GiB,context_bytes=0"),
    (["capture_room", "global"], "capacity=1GiB,context_bytes=0"),
    (["capture_room", "relaxed"], "capacity=1GiB,context_bytes=0"),
    (["capture_room", "thread"], "capacity=1GiB,context_bytes=0"),
    (["close_all"], ""),
    (["contents"], ""),
    (["context_leaves"], ""),
    (["context_life"], ""),
    (["context_reset"], ""),
    (["dlsym_next"], ""),
    (["double_free"], ""),
    (["driver_api"], ""),
    (["driver_api", "deep"], ""),
    (["driver_api", "global"], ""),
    (["driver_api", "twice"], ""),
    (["eight_threads"], ""),
    (["exceptions"], ""),
    (["exit_order"], ""),
    (["exit_variants", "return"], ""),
    (["exit_variants", "exit"], ""),
    (["exit_variants", "_exit"], ""),
    (["exit_variants", "_Exit"], ""),
    (["exit_variants", "quick_exit"], ""),
    (["exit_variants", "pthread_exit"], ""),
    (["exit_variants", "last_thread"], ""),
    (["exit_variants", "thread"], ""),
    (["exit_variants", "abort"], ""),
    (["exit_variants", "kill"], ""),
    (["exit_variants", "exec"], ""),
    (["exporter"], ""),
    (["fork_child"], ""),
    (["forks", "clone"], ""),
    (["forks", "daemon"], ""),
    (["forks", "early"], ""),
    (["forks", "exec"], ""),
    (["forks", "handler"], ""),
    (["forks", "prepare"], ""),
    (["forks", "spawn"], ""),
    (["forks", "system"], ""),
    (["forks", "threads"], ""),
    (["forks", "vfork"], ""),
    (["free_async"], ""),
    (["free_elsewhere"], ""),
    (["free_elsewhere"], "devices=2"),
    (["free_kinds"], ""),
    (["graph_blocks"], ""),
    (["graph_blocks", "40"], "capacity=64MiB,context_bytes=0"),
    (["graph_ends"], ""),
    (["graph_pending"], ""),
    (["graph_memory"], ""),
    (["graph_room"], "capacity=1GiB,context_bytes=0"),
    (["graphics"], ""),
    (["holes"], "capacity=1GiB,context_bytes=0"),
    (["ipc_export"], ""),
    (["ipc_export", "large"], ""),
    (["ipc_processes"], ""),
    (["kinds"], ""),
    (["last_error"], ""),
    (["late_calls", "exit"], ""),
    (["late_calls", "quick_exit"], ""),
    (["late_calls", "shutdown"], ""),
    (["late_calls", "thread"], ""),
    (["linked"], ""),
    (["loading"], ""),
    (["longjmp", "jump"], "slow_free_us=10"),
    (["longjmp", "alternate"], "slow_free_us=10"),
    (["malloc_hook"], ""),
    (["many_events"], ""),
    (["meminfo"], ""),
    (["modules"], ""),
    (["modules"], "module_bytes=64MiB,context_bytes=300MiB"),
    (["multicast"], ""),
    (["nested_free", "clock"], ""),
    (["nested_free", "malloc"], ""),
    (["no_context"], ""),
    (["no_cuda"], ""),
    (["null_frees"], ""),
    (["null_handles"], ""),
    (["nvtx_ranges"], ""),
    (["odd_stacks", "coroutine"], ""),
    (["odd_stacks", "frames"], ""),
    (["odd_stacks", "generated"], ""),
    (["odd_stacks", "signal"], ""),
    (["odd_stacks", "tables"], ""),
    (["old_names"], ""),
    (["oom", "96"], "capacity=1GiB,context_bytes=0"),
    (["oom"], "capacity=4GiB"),
    (["peers"], ""),
    (["peers"], f"devices=2,{SLOW}"),
    (["pinned_capture", "allocate"], ""),
    (["pinned_capture", "nothing"], ""),
    (["pinned_capture", "relaxed"], ""),
    (["pinned_contexts"], ""),
    (["pinned_flags"], ""),
    (["pinned_neighbours"], ""),
    (["pinned_race", "contexts"], ""),
    (["pinned_race"], SLOW),
    (["pinned_wrong"], ""),
    (["plain_calls"], ""),
    (["pool_keeps"], "capacity=128MiB,context_bytes=0"),
    (["pools"], ""),
    (["proc_address"], ""),
    (["ranges"], ""),
    (["register_rules"], ""),
    (["reuse_race"], ""),
    (["reuse_race"], SLOW),
    (["second_context"], ""),
    (["small_device"], "capacity=1GiB,context_bytes=0"),
    (["sticky_error"], "sticky=3:700"),
    (["sync_memops"], ""),
    (["sync_memops", "large"], ""),
    (["threads_alloc"], ""),
    (["threads_alloc"], "slow_free_us=200"),
    (["train"], ""),
    (["train"], SLOW),
    (["train_static"], ""),
    (["usr1_handler", "sigaction"], ""),
    (["usr1_handler", "signal"], ""),
    (["usr1_handler", "siginfo"], ""),
    (["usr1_handler", "ignore"], ""),
    (["virtual_memory"], ""),
    (["wrong_release"], ""),
    (["younger_names"], ""),
    (["younger_names"], "driver_version=13010"),
    (["zero_sizes"], ""),
]


RUNS = behaviours.Runs()


class Transparency(harness.Case):
    def compare(self, victim, mode):
        native = RUNS.outcome(self, victim, None)
        profiled = RUNS.outcome(self, victim, mode)
        by_design = behaviours.by_design(victim, mode)
        if by_design:
            self.assertTrue(behaviours.in_readme(by_design), by_design)
            self.assertNotEqual(native.behaviour(), profiled.behaviour())
        else:
            self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
            self.assertEqual(native.stderr, profiled.stderr)
        for report in profiled.reports:
            recount.check(self, report)
        if mode == "off":
            self.assertEqual([], profiled.reports)

    def test_the_table_of_behaviours_is_what_this_run_gives(self):
        written = behaviours.TABLE.read_text()
        self.assertEqual(behaviours.table(self, RUNS, VICTIMS), written, "run behaviours.py BUILD")

    def test_a_script_behaves_the_same_by_ctypes_in_every_mode(self):
        script = harness.SOURCE / "test/programs/ctypes_malloc.py"
        command = [sys.executable, str(script), harness.runtime()]
        native = self.run_program(command)
        self.assertIn("same: True", native.stdout)
        for mode in harness.MODES:
            self.assertEqual(native.behaviour(), self.run_program(command, mode).behaviour(), mode)

    def test_a_copy_in_flight_never_sees_reused_memory(self):
        for mode in ("cache", "cache at-reuse"):
            outcome = self.run_program([harness.program("reuse_race")], mode, SLOW)
            self.assertEqual("wrong bytes: device 0, host 0\n", outcome.stdout, mode)

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

    def test_a_free_of_pinned_memory_during_capture_is_kept_for_later(self):
        command = [harness.program("pinned_capture"), "free"]
        native = self.run_program(command)
        self.assertEqual(native.stdout, self.run_program(command, "observe").stdout)
        cached = self.run_program(command, "cache")
        self.assertIn("free during capture: 0", cached.stdout)
        self.assertIn("end of capture: 0", cached.stdout)

    def test_memory_of_a_graph_is_not_handed_out_while_a_graph_exists(self):
        for mode in ("cache", "cache at-reuse"):
            outcome = self.run_program([harness.program("graph_blocks"), "tell"], mode)
            self.assertEqual(0, outcome.stdout.count("all exist: 1"), mode)
            self.assertEqual(0, outcome.stdout.count("the clone exists: 1"), mode)
            self.assertEqual(0, outcome.stdout.count("the executable exists: 1"), mode)
            self.assertEqual(3, outcome.stdout.count("none exists: 1"), mode)

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
        nowhere = {"LD_LIBRARY_PATH": self.nowhere}
        native = self.run_program(command, **nowhere)
        profiled = self.run_program(command, "cache", **nowhere)
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual(("", []), (profiled.stderr, profiled.reports))

    def test_a_driver_that_does_not_start_gives_its_own_errors(self):
        (pathlib.Path(self.folder) / "libcuda.so.1").symlink_to(harness.program("libcuda_stub.so"))
        broken = {"LD_LIBRARY_PATH": self.folder}
        for name in ("driver_api", "linked", "old_names"):
            native = self.run_program([harness.program(name)], **broken)
            self.assertNotEqual("", native.stdout)
            for mode in harness.MODES:
                profiled = self.run_program([harness.program(name)], mode, **broken)
                self.assertEqual(native.behaviour(), profiled.behaviour(), f"{name}, {mode}")
                self.assertEqual(("", []), (profiled.stderr, profiled.reports))


def add_comparisons():
    for victim in VICTIMS:
        for mode in harness.MODES:
            words = behaviours.words_of(victim)
            as_designed = behaviours.by_design(victim, mode)

            def case(self, victim=victim, mode=mode):
                self.compare(victim, mode)

            how = "differs as README says" if as_designed else "behaves the same"
            setattr(Transparency, f"test_{words} {how} in mode {mode}", case)


add_comparisons()
if __name__ == "__main__":
    harness.main()
