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
RUNS = (("eight_threads", "", {}), ("kinds", "", {}), ("holes", "capacity=1GiB", {}),
        ("holes", "capacity=1GiB", {"VRAMSCOPE_POLICY": "pytorch"}),
        ("pinned_neighbours", "", {}))  # fmt: skip


class Map(harness.Case):
    def run_traced(self, name, simulator="", **variables):
        """The folder with the reports and the trace of a run."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.run_program([harness.program(name)], "cache", simulator, folder=folder,
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
        """Live memory by kind and device: blocks, and the segments in which they are."""
        places = {}
        for place in found["places"]:
            live = [s for s in place["segments"] if s["live_count"]]
            blocks = sorted((b["address"], b["requested_bytes"]) for s in live for b in s["blocks"]
                            if b["state"] == "active_allocated")  # fmt: skip
            if blocks:
                places[place["kind"], place["device"]] = blocks, live
        return places

    def test_at_the_end_report_and_trace_have_the_same_blocks(self):
        for name, simulator, variables in RUNS:
            with self.subTest(name=name, **variables):
                folder = self.run_traced(name, simulator, **variables)
                last = max(folder.glob("*.json*"), key=lambda path: json.loads(path.read_text())["sequence"])
                report, trace = (self.listed(self.map_of(file)) for file in (last, folder / "one.trace"))
                self.assertEqual({key: blocks for key, (blocks, _) in report.items()},
                                 {key: blocks for key, (blocks, _) in trace.items()})
                for key, (_, live) in trace.items():
                    segments = {s["address"]: s["total_bytes"] for s in report[key][1]}
                    for segment in live:  # as far as the trace knows
                        self.assertLessEqual(segment["total_bytes"], segments.get(segment["address"], 0), (name, key))

    def test_when_memory_ran_out_both_say_what_is_stranded(self):
        folder = self.run_traced("holes", "capacity=1GiB", VRAMSCOPE_POLICY="pytorch")
        reports = [path for path in folder.glob("*.json") if json.loads(path.read_text())["trigger"] == "oom"]
        self.assertEqual(1, len(reports))
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

    def test_a_trace_tells_the_peak_and_any_other_instant(self):
        folder = self.run_traced("holes", "capacity=1GiB", VRAMSCOPE_POLICY="pytorch")
        trace = folder / "one.trace"
        peak = self.map_of("--at", "peak", trace)["places"][0]
        self.assertEqual(45 * 20 << 20, peak["requested_bytes"])
        self.assertEqual([], self.map_of("--at", "0ns", "--kind", "pinned", trace)["places"])
        begun = self.map_of("--at", "0ns", trace)["places"]
        self.assertLessEqual(sum(place["live_count"] for place in begun), 1)
        refused = self.run_tool("map", "--at", "oom", self.run_traced("kinds") / "one.trace")
        self.assertEqual((2, ""), (refused.returncode, refused.stdout))
        self.assertIn("no allocation failed in it", refused.stderr)

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
                    self.assertEqual(peaks[series["kind"], series["device"]], found, series["kind"])

    def test_a_window_of_a_trace_is_exact(self):
        trace = self.run_traced("holes", "capacity=1GiB", VRAMSCOPE_POLICY="pytorch") / "one.trace"
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
