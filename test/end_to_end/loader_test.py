"""Libraries that bring CUDA into a process in unusual ways: seen, or said that they are not."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import shutil

import harness
import recount

PLUGIN = "libloader_plugin.so"
RUNTIME = "libloader_runtime.so"


class Loader(harness.Case):
    def same(self, mode, way, library, *more):
        command = [harness.program("loader"), way, str(library), *more]
        native = self.run_program(command)
        self.assertEqual(0, native.status, native.stdout)
        profiled = self.run_program(command, mode)
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual("", profiled.stderr)
        return profiled.reports

    def calls(self, report, function):
        return sum(f["calls"] for f in report["functions"] if f["name"] == function)

    def test_a_library_that_is_opened_late_and_again_is_recorded(self):
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "late", harness.program(PLUGIN))
            recount.check(self, report)
            self.assertEqual(6, self.calls(report, "cuMemAlloc_v2"))
            self.assertEqual([], report["warnings"])

    def test_a_library_that_defines_the_drivers_functions_reaches_the_driver(self):
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "late", harness.program("liblate_driver.so"))
            recount.check(self, report)
            self.assertEqual(6, self.calls(report, "cuMemAlloc_v2"))

    def test_a_library_that_finds_no_driver_says_what_it_says_alone(self):
        where = str(pathlib.Path(harness.program("liblate_driver.so")).parent)
        command = [harness.program("loader"), "late", harness.program("liblate_driver.so")]
        native = self.run_program(command, LD_LIBRARY_PATH=where)
        self.assertIn("opened late: 303\n", native.stdout)
        self.assertEqual(native.behaviour(), self.run_program(command, "cache", LD_LIBRARY_PATH=where).behaviour())

    def test_a_library_at_anothers_addresses_has_frames_of_its_own(self):
        libraries = [harness.program(f"libframe_of_{size}.so") for size in (24, 104)]
        outcome = self.run_program([harness.program("frames_in_turn"), *libraries], "cache")
        self.assertEqual("same place: 1\n", outcome.stdout)
        report = self.only_report(outcome)
        callers = {}  # library -> the program's frames from its caller on
        for site in report["sites"]:
            frames = [report["frames"][i] for i in site["frames"]]
            places = [(report["modules"][f["module"]]["path"], f["offset"]) for f in frames]
            (at,) = [i for i, (path, _) in enumerate(places) if path in libraries]
            callers[places[at][0]] = places[at + 1 :]
        self.assertCountEqual(libraries, callers)
        self.assertEqual(*callers.values())

    def test_a_runtime_inside_a_library_is_recorded(self):
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "static", harness.program(RUNTIME))
            recount.check(self, report)
            self.assertEqual(1, self.calls(report, "cuMemAlloc_v2"))

    def test_two_runtimes_of_one_process_free_each_others_memory(self):
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "two", harness.program(RUNTIME), harness.runtime())
            recount.check(self, report)
            self.assertEqual(3, self.calls(report, "cuMemAlloc_v2"))  # none twice
            self.assertEqual(0, recount.live_bytes(report))

    def test_two_shared_runtimes_of_different_versions_work_in_one_process(self):
        names = sorted(path.name for path in harness.SIMULATOR.glob("libcudart.so.*[0-9]"))
        if len(names) < 2:
            self.skipTest(f"only one version of the simulated runtime was built: {names}")
        for one, other in zip(names, names[1:]):
            for mode in ("cache", "observe"):
                (report,) = self.same(mode, "pair", one, other)
                recount.check(self, report)
                self.assertEqual(2, self.calls(report, "cuMemAlloc_v2"), f"{one} {other}")
                self.assertEqual(0, recount.live_bytes(report))

    def test_a_deeply_bound_library_works_and_is_named_in_the_report(self):
        for name in (PLUGIN, RUNTIME):
            for mode in ("cache", "observe"):
                (report,) = self.same(mode, "deep", harness.program(name))
                (warning,) = report["warnings"]
                self.assertIn(name, warning)
                self.assertIn("RTLD_DEEPBIND", warning)

    def test_a_driver_in_another_namespace_works_and_is_said_in_the_report(self):
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "namespace", harness.program(PLUGIN))
            self.assertIn("dlmopen", report["warnings"][0])

    def test_a_second_driver_answers_for_itself_and_is_said_in_the_report(self):
        copy = pathlib.Path(self.folder) / "libcuda.so.1"
        shutil.copy(harness.SIMULATOR / "libcuda.so.1", copy)
        for mode in ("cache", "observe"):
            (report,) = self.same(mode, "second", copy)
            self.assertIn(f"{copy} is a second driver", report["warnings"][0])

    def test_nothing_changes_when_switched_off(self):
        for way, name in (("late", PLUGIN), ("static", RUNTIME), ("deep", PLUGIN),
                          ("namespace", PLUGIN)):  # fmt: skip
            self.assertEqual([], self.same("off", way, harness.program(name)), way)


if __name__ == "__main__":
    harness.main()
