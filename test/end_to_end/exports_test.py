"""Memory that a program hands on to other processes and devices: right bytes, or a clear refusal."""
# SPDX-License-Identifier: Apache-2.0
import harness

# They ask for memory to be exported that is a part of a segment in mode cache.
EXPORTERS = ("dmabuf_export", "ipc_export", "sync_memops")
EXACT = ("dedicated", "observe", "off")  # no segment is shared
NOT_SUPPORTED = 801
REFUSAL = "part of a shared segment and cannot be exported; run with --mode dedicated"


def dedicated_sizes(report):
    segments = [s for device in report["devices"] for s in device["segments"]]
    return [segment["total_size"] for segment in segments if segment["is_dedicated"]]


class Exports(harness.Case):
    def test_where_no_segment_is_shared_exports_are_those_of_the_driver(self):
        for name in EXPORTERS:
            native = self.run_program([harness.program(name)])
            for mode in EXACT:
                profiled = self.run_program([harness.program(name)], mode)
                self.assertEqual(native.behaviour(), profiled.behaviour(), f"{name}, {mode}")
                self.assertEqual("", profiled.stderr, f"{name}, {mode}")

    def test_a_part_of_a_segment_is_refused_with_the_mode_to_use(self):
        for name in EXPORTERS:
            outcome = self.run_program([harness.program(name)], "cache")
            self.assertEqual(0, outcome.status)
            self.assertIn(REFUSAL, outcome.stderr)
            self.assertEqual(1, outcome.stderr.count("\n"), outcome.stderr)
            warnings = self.only_report(outcome)["warnings"]
            self.assertTrue(any(REFUSAL in warning for warning in warnings), warnings)

    def test_only_parts_of_segments_differ_in_mode_cache(self):
        native = self.run_program([harness.program("ipc_export")])
        cached = self.run_program([harness.program("ipc_export")], "cache")
        expected = native.stdout
        for block in ("a small block", "a block of odd size"):
            self.assertIn(f"export of {block}: 0\n", expected)
            expected = expected.replace(f"of {block}: 0\n", f"of {block}: {NOT_SUPPORTED}\n")
        expected = expected.replace("small 1, odd 1, large 1", "small 0, odd 0, large 1")
        self.assertEqual(expected, cached.stdout)

    def test_an_exported_segment_goes_back_when_it_is_freed(self):
        report = self.only_report(self.run_program([harness.program("ipc_export")], "cache"))
        self.assertIn("the program exports memory to other processes: its later allocations are dedicated", report["warnings"])
        stats = report["devices"][0]["memory_stats"]
        # Two shared segments are not needed: the small blocks share one, the large one goes back,
        # as do the two that follow the export, because each of them was exported.
        self.assertEqual(1 + 1 + 1 + 1, stats["num_device_alloc"])
        self.assertEqual(1 + 1 + 1, stats["num_device_free"])
        self.assertEqual([], dedicated_sizes(report))

    def test_a_mark_of_one_owner_is_not_the_next_one_s(self):
        for mode in ("cache", *EXACT):
            outcome = self.run_program([harness.program("sync_memops")], mode)
            self.assertNotIn("memory of the same size: code 0, value 1", outcome.stdout, mode)

    def test_a_library_that_exports_gets_memory_of_its_own(self):
        for stacks in ("unwind", "frame-pointers", "none"):
            outcome = self.run_program(
                [harness.program("exporter")], "cache", VRAMSCOPE_STACKS=stacks
            )
            self.assertEqual((0, ""), (outcome.status, outcome.stderr), stacks)
            self.assertIn("export of the library's block: 0\n", outcome.stdout, stacks)
            stats = self.only_report(outcome)["devices"][0]["memory_stats"]
            # The block before, the library's, and the one after: it shares the first one's segment
            # unless the export made it dedicated, but it was allocated before that.
            self.assertEqual(2, stats["num_device_alloc"], stacks)
            self.assertEqual(1, stats["num_device_free"], stacks)


if __name__ == "__main__":
    harness.main()
