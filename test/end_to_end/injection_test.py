"""Programs into which the driver brings the library (CUDA_INJECTION64_PATH), without LD_PRELOAD."""
# SPDX-License-Identifier: Apache-2.0
import signal
import sys

import harness
import recover_case
from harness import LIBRARY, program

BY_DRIVER = {"CUDA_INJECTION64_PATH": str(LIBRARY)}
WARNING = "the driver loaded Vramscope"

# Owners in the ledger whose rows show what the driver said last, which is asked at most every 10 ms.
SAMPLED = ("others", "pools")


def figures(report):
    """What does not depend on time."""
    return {
        "devices": [
            {key: value for key, value in device["memory_stats"].items() if "time" not in key}
            for device in report["devices"]
        ],
        "functions": {row["name"]: row["calls"] for row in report["functions"]},
        "ledger": [
            (row["device"], row["kind"], row["owner"], row["current_bytes"], row["peak_bytes"], row["calls"])
            for row in report["ledger"]
            if row["owner"] not in SAMPLED
        ],
        "sites": sorted((site["total_bytes"], site["total_count"]) for site in report["sites"]),
    }


class Injection(recover_case.Case):
    def by_driver(self, command, **variables):
        return self.run_program(command, **{**BY_DRIVER, **variables})

    def assert_as_preloaded(self, command):
        preloaded = self.run_program(command, mode="observe")
        injected = self.by_driver(command)
        self.assertEqual((preloaded.behaviour(), preloaded.stderr),
                         (injected.behaviour(), injected.stderr))  # fmt: skip
        report = self.only_report(injected)
        self.assertEqual(figures(self.only_report(preloaded)), figures(report))
        self.assertEqual("observe", report["process"]["mode"])
        return report

    def test_a_program_of_the_driver_has_the_report_that_it_has_when_preloaded(self):
        for name in ("driver_api", "kinds", "late_calls", "arrays", "graph_memory"):
            with self.subTest(name):
                self.assert_as_preloaded([program(name)])

    def test_a_program_of_the_runtime_has_it_too_and_its_leak_is_named(self):
        report = self.assert_as_preloaded([program("train")])
        self.assertTrue(any(WARNING in line for line in report["warnings"]))

    def test_a_library_that_is_loaded_after_the_driver_is_recorded(self):
        for way, library, calls in (("late", "libloader_plugin.so", 6), ("static", "libloader_runtime.so", 1)):
            with self.subTest(way):
                report = self.assert_as_preloaded([program("loader"), way, program(library)])
                rows = {row["name"]: row["calls"] for row in report["functions"]}
                self.assertEqual(calls, rows["cuMemAlloc_v2"])

    def test_frees_in_the_last_exit_handlers_are_recorded(self):
        self.assert_as_preloaded([program("exit_order")])

    def test_what_ctypes_bound_before_the_driver_started_is_missed_and_later_lookups_are_not(self):
        script = harness.ASKS_DRIVER.replace("driver.cuInit(0)", "{before}driver.cuInit(0)")
        script += "alloc = driver.cuMemAlloc_v2\nassert alloc(ctypes.byref(block), ctypes.c_size_t(1 << 20)) == 0\n"
        for before, calls in (("alloc = driver.cuMemAlloc_v2\n", 0), ("", 1)):
            with self.subTest(before):
                outcome = self.by_driver([sys.executable, "-c", script.replace("{before}", before)])
                self.assertEqual((0, ""), (outcome.status, outcome.stderr))
                rows = {row["name"]: row["calls"] for row in self.only_report(outcome)["functions"]}
                self.assertEqual(calls, rows.get("cuMemAlloc_v2", 0))

    def test_both_ways_at_once_record_each_call_once_and_keep_the_mode(self):
        preloaded = self.only_report(self.run_program([program("driver_api")], mode="cache"))
        both = self.only_report(self.run_program([program("driver_api")], mode="cache", **BY_DRIVER))
        self.assertEqual(figures(preloaded), figures(both))
        self.assertEqual("cache", both["process"]["mode"])
        self.assertFalse(any(WARNING in line for line in both["warnings"]))

    def test_nothing_happens_when_switched_off(self):
        outcome = self.by_driver([program("driver_api")], VRAMSCOPE_MODE="off")
        alone = self.run_program([program("driver_api")])
        self.assertEqual((alone.behaviour(), alone.stderr, []),
                         (outcome.behaviour(), outcome.stderr, outcome.reports))  # fmt: skip

    def test_a_signal_asks_for_a_report(self):
        process = self.start_program([program("churn")], **BY_DRIVER)
        self.assertEqual("ready\n", process.stdout.readline())
        process.send_signal(signal.SIGUSR1)
        (report,) = harness.wait_for_reports(self.folder, 1)
        self.assertEqual(("signal", "observe"), (report["trigger"], report["process"]["mode"]))

    def test_a_killed_program_leaves_what_recover_makes_a_report_of(self):
        self.kill(self.start_victim("killed", "wait", mode=None, **BY_DRIVER))
        (report,) = self.recovered()
        self.assertEqual("recovered", report["trigger"])
        self.assertIn(recover_case.HELD, report["devices"][0]["memory_stats"].values())

    def test_an_exit_at_once_and_exec_leave_the_live_file_to_recover(self):
        for end in ("os._exit(3)", 'os.execv("/bin/true", ["true"])'):
            with self.subTest(end):
                script = harness.ASKS_DRIVER + f"driver.cuMemAlloc_v2(ctypes.byref(block), 4096)\n{end}\n"
                outcome = self.by_driver([sys.executable, "-c", script], **self.variables())
                self.assertEqual(([], ""), (outcome.reports, outcome.stderr))
                (report,) = self.recovered()
                self.assertEqual(1, report["devices"][0]["memory_stats"]["allocation.all.current"])

    def test_ranges_are_recorded_where_nvtx_has_its_variable_too(self):
        outcome = self.by_driver([program("nvtx_ranges")], NVTX_INJECTION64_PATH=str(LIBRARY))
        preloaded = self.run_program([program("nvtx_ranges")], "observe", NVTX_INJECTION64_PATH=str(LIBRARY))
        names = [{row["value"] for row in self.only_report(one)["axes"] if row["axis"] == "range"} for one in (outcome, preloaded)]
        self.assertEqual(*names)
        self.assertIn("epoch/inner", names[0])

    def test_a_later_handler_of_the_program_takes_the_place_of_ours(self):
        script = harness.ASKS_DRIVER + "driver.cuMemAlloc_v2(ctypes.byref(block), 4096)\n"
        script += "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('own'))\nsignal.raise_signal(signal.SIGUSR1)"
        outcome = self.by_driver([sys.executable, "-c", script])
        self.assertEqual("own\n", outcome.stdout)
        self.assertEqual(["exit"], [report["trigger"] for report in outcome.reports])

    def test_the_programs_own_questions_find_nobody(self):
        script = harness.ASKS_DRIVER + "driver.cuMemAlloc_v2(ctypes.byref(block), 4096)\n"
        script += "import vramscope\nprint(vramscope.is_active())"
        folder = harness.SOURCE / "interpose" / "face"
        outcome = self.by_driver([sys.executable, "-c", script], PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
        self.assertEqual(("False\n", ""), (outcome.stdout, outcome.stderr))

    def test_a_forked_child_goes_on_unrecorded(self):
        self.assert_as_preloaded([program("fork_child")])


if __name__ == "__main__":
    harness.main()
