"""Segments that grow (--alloc-conf expandable_segments:True), over pages of the simulated driver."""
# SPDX-License-Identifier: Apache-2.0
import harness
import recount

EXPANDABLE = {
    "VRAMSCOPE_POLICY": "pytorch",
    "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True",
}
NO_PAGES = "lacks=cuMemCreate"


def statistics(report):
    return report["devices"][0]["memory_stats"]


class Expandable(harness.Case):
    def run_expandable(self, name, simulator="", **variables):
        """A victim's report, where it does the same as without the library."""
        command = [harness.program(name)]
        native = self.run_program(command, simulator=simulator)
        outcome = self.run_program(command, "cache", simulator, **EXPANDABLE, **variables)
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
            page = 2 << 20 if segment["segment_type"] == "small" else 20 << 20
            self.assertEqual(0, segment["total_size"] % page)

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
        lines = [line for line in report["warnings"] if "stay plain" in line]
        self.assertEqual(1, len(lines), report["warnings"])
        self.assertIn("device 0", lines[0])

    def test_the_default_policy_says_that_it_does_not_expand(self):
        outcome = self.run_program(
            [harness.program("contents")], "cache", VRAMSCOPE_ALLOC_CONF="expandable_segments:True"
        )
        self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("has no effect here: it is of --policy pytorch", outcome.stderr)
        segments = self.only_report(outcome)["devices"][0]["segments"]
        self.assertEqual([], [s for s in segments if s["is_expandable"]])

    def test_mappings_that_run_out_fail_as_an_allocation_does(self):
        self.run_expandable("oom")


if __name__ == "__main__":
    harness.main()
