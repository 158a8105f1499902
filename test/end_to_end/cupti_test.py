"""The option --cupti, with a pretended CUPTI over the simulated driver and without one."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import unittest

import harness
import recount

PRETENDED = harness.SIMULATOR / "cupti"
RECORDING = ("cache", "dedicated", "observe")
SOURCE = "/opt/app/libsource.so"


class Cupti(harness.Case):
    def setUp(self):
        super().setUp()
        if not (PRETENDED / "libcupti.so.13").exists():
            raise unittest.SkipTest("the toolkit's headers of CUPTI are missing or too old")

    def run_with(self, command, mode, misbehaviour="", **variables):
        path = f"{PRETENDED}:{harness.SIMULATOR}"
        variables = {"LD_LIBRARY_PATH": path, "PRETENDED_CUPTI": misbehaviour, **variables}
        return self.run_program([harness.program(command[0]), *command[1:]], mode, VRAMSCOPE_CUPTI="on", **variables)

    def cupti(self, command, mode, misbehaviour="", **variables):
        report = self.only_report(self.run_with(command, mode, misbehaviour, **variables))
        recount.check(self, report)
        return report["cupti"], report

    def test_it_confirms_each_segment_that_we_have(self):
        for mode in RECORDING:
            for command in (["eight_threads"], ["threads_alloc"], ["free_kinds"]):
                found, report = self.cupti(command, mode, VRAMSCOPE_SIGNAL="none")
                self.assertEqual((0, []), (found["difference_count"], found["differences"]), (mode, command))
                kinds = ("device", "pinned", "managed", "stream_ordered")
                segments = [s for d in report["devices"] for s in d["segments"]] + report["host"]["segments"]
                segments = [s["total_size"] for s in segments if s["kind"] in kinds]
                self.assertEqual(len(segments), found["confirmed_segments"])
                self.assertEqual(sum(segments), found["confirmed_bytes"])
                self.assertGreater(found["records"], 0)
                self.assertEqual([SOURCE], [row["path"] for row in found["sources"]])
                self.assertEqual([], report["warnings"])

    def test_what_destructors_free_is_no_difference(self):
        for mode in RECORDING:
            found, _ = self.cupti(["exit_order"], mode)
            self.assertEqual(0, found["difference_count"], (mode, found["differences"]))
            self.assertGreater(found["confirmed_segments"], 0)

    def test_the_program_cannot_tell(self):
        for command in (["eight_threads"], ["forks", "handler"], ["exit_variants", "_exit"], ["oom", "96"], ["kinds"]):
            native = self.run_program([harness.program(command[0]), *command[1:]])
            for mode in RECORDING:
                outcome = self.run_with(command, mode, "small")
                self.assertEqual(native.behaviour(), outcome.behaviour(), (command, mode))
                self.assertEqual(native.stderr, outcome.stderr, (command, mode))

    def test_what_cupti_lost_or_saw_otherwise_is_listed(self):
        found, _ = self.cupti(["eight_threads"], "observe", "lost")
        self.assertEqual({"not_seen"}, {row["what"] for row in found["differences"]})
        found, _ = self.cupti(["eight_threads"], "observe", "grown")
        self.assertEqual({"other_size"}, {row["what"] for row in found["differences"]})
        for row in found["differences"]:
            self.assertEqual(row["recorded_bytes"] + 1, row["cupti_bytes"])

    def test_memory_that_nobody_asked_for_through_us_is_found_with_its_source(self):
        found, report = self.cupti(["eight_threads"], "cache", "foreign")
        (row,) = found["differences"]
        self.assertEqual(("not_recorded", 77777, 0x12340000), (row["what"], row["cupti_bytes"], row["address"]))
        path = pathlib.Path(self.folder, "report.json")
        path.write_text(json.dumps(report))
        text = self.run_tool("report", path).stdout
        self.assertIn("CUPTI", text)
        self.assertIn("not recorded", text)

    def test_buffers_of_one_record_lose_none(self):
        found, _ = self.cupti(["eight_threads"], "cache", "small")
        self.assertEqual(0, found["difference_count"])
        self.assertEqual(0, found["dropped_records"])

    def refused(self, mode="cache", misbehaviour="", **variables):
        outcome = self.run_with(["linked"], mode, misbehaviour, **variables)
        report = self.only_report(outcome)
        recount.check(self, report)
        self.assertIsNone(report["cupti"])
        self.assertEqual("", outcome.stderr)
        (warning,) = report["warnings"]
        self.assertTrue(warning.startswith("--cupti has no effect: "), warning)
        return warning

    def test_another_tool_that_has_it_is_one_warning(self):
        self.assertIn("another tool already uses CUPTI", self.refused(misbehaviour="taken"))

    def test_records_that_cannot_be_had_are_one_warning(self):
        self.assertIn("CUPTI_ERROR_INVALID_KIND", self.refused(misbehaviour="disabled"))

    def test_a_library_that_is_no_cupti_is_one_warning(self):
        wrong = pathlib.Path(self.folder, "libcupti.so.13")
        os.symlink(harness.SIMULATOR / "libnvidia-ml.so.1", wrong)
        self.assertIn("the simulated device has no CUPTI", self.refused(LD_LIBRARY_PATH=f"{self.folder}:{harness.SIMULATOR}"))

    def test_without_a_pretended_one_the_simulated_device_has_none(self):
        warning = self.refused(LD_LIBRARY_PATH=str(harness.SIMULATOR))
        self.assertRegex(warning, "libcupti cannot be opened|the simulated device has no CUPTI")

    def test_the_flag_of_run_needs_no_word(self):
        path = f"{PRETENDED}:{harness.SIMULATOR}"
        self.run_tool("run", "--sim", "-q", "--cupti", harness.program("linked"), LD_LIBRARY_PATH=path)
        (report,) = harness.read_reports(self.folder)
        self.assertEqual("on", report["process"]["options"]["cupti"])


if __name__ == "__main__":
    harness.main()
