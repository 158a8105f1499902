"""Maps: of a report and of the trace of the same run they are the same, wherever both can tell."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import tempfile

import harness

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "view"))
import listings  # noqa: E402

# Many small and a few large allocations, freed in part; one that fragments a device of 1 GiB.
RUNS = (("eight_threads", "", {}), ("kinds", "", {}), ("holes", "capacity=1GiB,context_bytes=0", {}),
        ("holes", "capacity=1GiB,context_bytes=0", {"VRAMSCOPE_POLICY": "pytorch"}),
        ("holes", "capacity=1GiB,context_bytes=0", {"VRAMSCOPE_ALLOC_CONF": "expandable_segments:True"}),
        ("holes", "capacity=1GiB,context_bytes=0", {"mode": "dedicated"}),
        ("pinned_neighbours", "", {}))  # fmt: skip


def without_segments(trace):
    """The bytes of the trace as an older version wrote them: FORMAT.md has how chunks lie."""
    kept, at = trace[:24], 24
    while at < len(trace):
        end = at + 32 + int.from_bytes(trace[at + 16:at + 20], "little")
        kept += b"" if trace[at + 4] == 4 else trace[at:end]
        at = end
    return kept


class Map(harness.Case):
    def run_traced(self, name, simulator="", mode="cache", **variables):
        """The folder with the reports and the trace of a run."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.run_program([harness.program(name)], mode, simulator, folder=folder,
                         VRAMSCOPE_TRACE="one.trace", **variables)
        return folder

    def listing_of(self, verb, *words):
        """As its schema has it."""
        done = self.run_tool(verb, "--json", *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr), words)
        found = json.loads(done.stdout)
        self.assertEqual([], listings.problems(verb, found), words)
        return found

    def map_of(self, *words):
        return self.listing_of("map", *words)

    def listed(self, found):
        """By kind and device: the blocks in use, and every segment with what is free in it."""
        places = {}
        for place in found["places"]:
            blocks = sorted((b["address"], b["requested_bytes"]) for s in place["segments"] for b in s["blocks"]
                            if b["state"] == "active_allocated")  # fmt: skip
            segments = sorted((s["address"], s["total_bytes"], s["pool"], s["is_expandable"], s["live_count"], s["free_bytes"])
                              for s in place["segments"])  # fmt: skip
            places[place["kind"], place["device"]] = {"blocks": blocks, "segments": segments}
        return places

    def test_at_the_end_report_and_trace_have_the_same_segments_and_blocks(self):
        for name, simulator, variables in RUNS:
            with self.subTest(name=name, **variables):
                folder = self.run_traced(name, simulator, **variables)
                last = max(folder.glob("*.json*"), key=lambda path: json.loads(path.read_text())["sequence"])
                report, trace = (self.listed(self.map_of(file)) for file in (last, folder / "one.trace"))
                self.assertTrue(report)
                self.assertEqual(report, trace)

    def test_when_memory_ran_out_both_say_what_is_stranded(self):
        folder = self.run_traced("holes", "capacity=1GiB,context_bytes=0", VRAMSCOPE_POLICY="pytorch")
        reports = [path for path in folder.glob("*.json") if json.loads(path.read_text())["trigger"] == "oom"]
        self.assertEqual(1, len(reports))
        for path in set(folder.glob("*.json")) - set(reports):
            path.unlink()  # the last one, of which a line would be said
        of_report, of_trace = (self.map_of("--at", "oom", file)["places"][0] for file in (reports[0], folder / "one.trace"))
        for field in ("total_bytes", "allocated_bytes", "requested_bytes", "stranded_bytes", "largest_free_bytes",
                      "external_fragmentation_permille", "large_request_bytes"):  # fmt: skip
            self.assertEqual(of_report[field], of_trace[field], field)
        self.assertEqual(45 * 17 << 20, of_report["stranded_bytes"])
        self.assertEqual(45 * 20 << 20, of_report["pinned_by"][0]["gives_back_bytes"])
        self.assertEqual(1, len(of_report["pinned_by"]))
        self.assertEqual(45, len(of_report["segments"]))  # all without -n
        self.assertEqual(2, len(self.map_of("-n", "2", reports[0])["places"][0]["segments"]))
        self.assertEqual(5, len(self.map_of("-n", "5", reports[0])["places"][0]["segments"]))

    def test_of_several_refusals_the_last_is_drawn_where_something_tells_of_it(self):
        folder = self.run_traced("holes", "capacity=1GiB,context_bytes=0", VRAMSCOPE_POLICY="pytorch")
        (last,) = [path for path in folder.glob("*.json") if json.loads(path.read_text())["trigger"] == "exit"]
        refused = "  refused then: 500 MiB (the 2nd of 2)"
        self.assertIn(f"{refused}\n", self.run_tool("map", "--at", "oom", folder / "one.trace").stdout)
        self.assertIn(f"{refused}, the driver had 124 MiB free", self.run_tool("map", "--at", "oom", last).stdout)
        (folder / "one.trace").unlink()
        self.assertIn("  refused then: 300 MiB (the 1st of 2), ", self.run_tool("map", "--at", "oom", last).stdout)

    def test_of_an_older_trace_segments_are_inferred_and_that_is_said(self):
        trace = self.run_traced("holes", "capacity=1GiB,context_bytes=0", VRAMSCOPE_POLICY="pytorch") / "one.trace"
        old = trace.with_name("old.trace")
        old.write_bytes(without_segments(trace.read_bytes()))
        told, inferred = (self.map_of("--at", "peak", file) for file in (trace, old))
        self.assertEqual((False, True), (told["inferred"], inferred["inferred"]))
        live = [[s for s in found["places"][0]["segments"] if s["live_count"]] for found in (told, inferred)]
        self.assertEqual(len(live[0]), len(live[1]))
        said = "this trace tells no segments"
        self.assertIn(said, self.run_tool("map", old).stdout)
        self.assertNotIn(said, self.run_tool("map", trace).stdout)

    def test_a_segment_is_in_the_file_before_the_program_goes_on(self):
        trace = pathlib.Path(self.folder) / "one.trace"
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_TRACE=str(trace))
        self.assertEqual("ready 1\n", process.stdout.readline())
        process.kill()  # before the helper's half second, as a rule
        process.wait()
        written = trace.read_bytes()
        self.assertLess(len(without_segments(written)), len(written))
        self.assertEqual(0, self.run_tool("trace", trace).returncode)

    def test_a_trace_tells_the_peak_and_any_other_instant(self):
        folder = self.run_traced("holes", "capacity=1GiB,context_bytes=0", VRAMSCOPE_POLICY="pytorch")
        trace = folder / "one.trace"
        peak = self.map_of("--at", "peak", trace)["places"][0]
        self.assertEqual(45 * 20 << 20, peak["requested_bytes"])
        self.assertEqual([], self.map_of("--at", "0ns", "--kind", "pinned", trace)["places"])
        begun = self.map_of("--at", "0ns", trace)["places"]
        self.assertLessEqual(sum(place["live_count"] for place in begun), 1)
        fine = self.run_traced("kinds")
        refused = self.run_tool("map", "--at", "oom", fine / "one.trace")
        self.assertEqual((2, ""), (refused.returncode, refused.stdout))
        self.assertIn("one.trace' tells of no allocation that failed: memory never ran out\n", refused.stderr)
        (report,) = fine.glob("*.json")  # whose trace is not asked
        refused = self.run_tool("map", "--at", "oom", report)
        self.assertEqual((2, f"vramscope: '{report}': memory never ran out\n"), (refused.returncode, refused.stderr))

    def timeline_of(self, *words):
        return self.listing_of("timeline", *words)

    def test_a_timeline_of_a_trace_has_the_peaks_of_the_report(self):
        for name, simulator, variables in RUNS:
            with self.subTest(name=name, **variables):
                folder = self.run_traced(name, simulator, **variables)
                last = max(folder.glob("*.json*"), key=lambda path: json.loads(path.read_text())["sequence"])
                peaks = {(kind["kind"], kind["device"]): (kind["peak_bytes"], kind["current_bytes"])
                         for kind in json.loads(last.read_text())["kinds"]}  # fmt: skip
                shown = self.timeline_of(folder / "one.trace")
                self.assertTrue(shown["series"])
                self.assertTrue(self.listing_of("trace", folder / "one.trace")["sites"])
                for series in shown["series"]:
                    found = max(series["highest_bytes"]), series["last_bytes"][-1]
                    if series["kind"] == "all":  # of a device; of these together no report has a peak
                        of_device = [sizes for (_, device), sizes in peaks.items() if device == series["device"]]
                        self.assertLessEqual(found[0], sum(peak for peak, _ in of_device))
                        continue
                    self.assertEqual(peaks[series["kind"], series["device"]], found, series["kind"])

    def test_a_window_of_a_trace_is_exact(self):
        trace = self.run_traced("holes", "capacity=1GiB,context_bytes=0", VRAMSCOPE_POLICY="pytorch") / "one.trace"
        marks = self.timeline_of(trace)["marks"]
        refused = [mark for mark in marks if mark["what"] == "refused"]
        self.assertEqual([300 << 20, 500 << 20], [mark["bytes"] for mark in refused])
        first = refused[0]["at_ns"]
        window = self.timeline_of("--from", f"{first}ns", "--to", f"{first + 1}ns", trace)
        self.assertIn("refused", [mark["what"] for mark in window["marks"]])
        self.assertNotIn("peak", [mark["what"] for mark in window["marks"]])
        self.assertEqual(90 << 20, window["series"][0]["last_bytes"][0])  # of the 900 MiB, before it was asked

    def test_a_timeline_of_a_trace_shows_ranges(self):
        trace = self.run_traced("nvtx_ranges", NVTX_INJECTION64_PATH=str(harness.LIBRARY)) / "one.trace"
        ranges = {found["name"]: found["spans"] for found in self.timeline_of(trace)["ranges"]}
        self.assertIn("epoch/inner", ranges)
        for spans in ranges.values():
            self.assertTrue(all(span["from_ns"] <= span["to_ns"] for span in spans))


if __name__ == "__main__":
    harness.main()
