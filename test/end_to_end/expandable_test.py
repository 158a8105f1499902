"""Segments over pages of the simulated driver, by expandable_segments and by growing_segments."""
# SPDX-License-Identifier: Apache-2.0
import functools
import tempfile

import harness
import programs
import recount

EXPANDABLE = {
    "VRAMSCOPE_POLICY": "pytorch",
    "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True",
}
GROWING = {**EXPANDABLE, "VRAMSCOPE_ALLOC_CONF": "growing_segments:True"}
NO_PAGES = "lacks=cuMemCreate"


@functools.cache
def natively(name, simulator):
    """The same for both ways to grow."""
    with tempfile.TemporaryDirectory() as folder:
        return programs.run([harness.program(name)], harness.environment(None, simulator), folder, harness.DEADLINE_S)


def statistics(report):
    return report["devices"][0]["memory_stats"]


class Expandable(harness.Case):
    SETTINGS = EXPANDABLE

    def run_expandable(self, name, simulator="", **variables):
        """A victim's report, where it does the same as without the library."""
        command = [harness.program(name)]
        native = natively(name, simulator)
        outcome = self.run_program(command, "cache", simulator, **self.SETTINGS, **variables)
        self.assertEqual(0, native.status, native.stderr)
        self.assertEqual(native.behaviour(), outcome.behaviour(), outcome.stderr)
        report = self.only_report(outcome)
        recount.check(self, report)
        return report

    def test_blocks_grow_in_pages_and_are_what_the_program_asked_for(self):
        for reuse in ("at-free", "at-reuse"):
            report = self.run_expandable("pages", VRAMSCOPE_REUSE=reuse)
            self.assertEqual(0, statistics(report)["segment.all.allocated"])
            self.assertLess(0, statistics(report)["num_device_alloc"])
            self.assertEqual([], report["warnings"])

    def test_a_peer_reads_pages_that_were_mapped_before_it_was_let_in_and_later(self):
        self.run_expandable("pages", "devices=2")

    def test_what_is_live_at_the_end_is_a_segment_that_may_grow(self):
        report = self.run_expandable("contents")
        segments = [s for s in report["devices"][0]["segments"] if s["is_expandable"]]
        self.assertLess(0, len(segments))
        for segment in segments:
            self.assertEqual(0, segment["total_size"] % self.page(segment))

    def page(self, segment):
        return 2 << 20 if segment["segment_type"] == "small" else 20 << 20

    def test_what_pages_took_is_in_the_report(self):
        device = self.run_expandable("pages")["devices"][0]
        pages = device["pages"]
        mapped = sum(s["total_size"] // self.page(s) for s in device["segments"] if s["is_expandable"])
        self.assertEqual(mapped, pages["map"]["count"] - pages["unmap"]["count"] - 0)
        self.assertLess(0, pages["access"]["count"])
        self.assertLessEqual(pages["access"]["count"], pages["map"]["count"])
        self.assertLess(0, pages["map"]["total_ns"])

    def test_questions_are_answered_as_of_ordinary_memory(self):
        for name in ("page_answers", "ranges", "double_free", "free_kinds", "virtual_memory"):
            self.run_expandable(name)

    def test_pages_are_for_no_other_hardware_and_say_so(self):
        command = [harness.program("page_answers"), "abilities"]
        for mode, settings, expected in ((None, {}, 1), ("cache", {}, 1), ("cache", self.SETTINGS, 0)):
            outcome = self.run_program(command, mode, **settings)
            self.assertEqual(f"RDMA {expected}, decompression {expected}\n", outcome.stdout, (mode, settings))

    def test_threads_are_cancelled_amid_calls(self):
        for simulator in ("", "cancels_late=1"):
            self.run_expandable("cancelled", simulator)

    def test_pages_of_a_context_go_with_it(self):
        for name in ("context_reset", "context_life"):
            self.run_expandable(name)

    def test_captures_get_plain_segments(self):
        self.run_expandable("capture_free")

    def test_threads_share_what_grows(self):
        self.run_expandable("eight_threads")

    def test_a_device_without_pages_keeps_plain_segments_and_the_report_says_why(self):
        report = self.run_expandable("contents", NO_PAGES)
        self.assertLess(0, statistics(report)["segment.all.allocated"])
        lines = [line for line in report["warnings"] if "use no pages" in line]
        self.assertEqual(1, len(lines), report["warnings"])
        self.assertIn("device 0", lines[0])

    def test_the_default_policy_says_that_it_does_not_expand(self):
        outcome = self.run_program(
            [harness.program("contents")], "cache", VRAMSCOPE_ALLOC_CONF="expandable_segments:True"
        )
        self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("has no effect here: it belongs to --policy pytorch", outcome.stderr)
        segments = self.only_report(outcome)["devices"][0]["segments"]
        self.assertEqual([], [s for s in segments if s["is_expandable"]])

    def test_mappings_that_run_out_fail_as_an_allocation_does(self):
        self.run_expandable("oom")


class Growing(Expandable):
    """By pages of 2 MiB, mapped where they are needed."""

    SETTINGS = GROWING

    def page(self, segment):
        return 2 << 20

    def test_the_default_policy_says_that_it_does_not_expand(self):
        outcome = self.run_program(
            [harness.program("contents")], "cache", VRAMSCOPE_ALLOC_CONF="growing_segments:True"
        )
        self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("has no effect here: it belongs to --policy pytorch", outcome.stderr)

    def test_memory_between_live_blocks_serves_a_large_request(self):
        command = [harness.program("holes")]
        last = [
            self.run_program(command, "cache", "capacity=1GiB,context_bytes=0", **settings).stdout.splitlines()[-2:]
            for settings in (GROWING, {"VRAMSCOPE_POLICY": "pytorch"})
        ]
        self.assertEqual(["one block of 300 MiB: 0", "one more of 500 MiB: 0"], last[0])
        self.assertNotEqual(last[0], last[1])

    def test_both_ways_at_once_are_refused_in_one_line(self):
        both = {**GROWING, "VRAMSCOPE_ALLOC_CONF": "growing_segments:True,expandable_segments:True"}
        outcome = self.run_program([harness.program("contents")], "cache", **both)
        self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("expandable_segments:True cannot be combined with growing_segments:True", outcome.stderr)


if __name__ == "__main__":
    harness.main()
