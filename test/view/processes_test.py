# What is shown of several processes: side by side, merged, and who stands out.
# SPDX-License-Identifier: Apache-2.0
"""processes_test.py BUILD"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import RanksTest, ToolTest  # noqa: E402


class Few(ToolTest):
    """Ranks with peaks that are known, and their merged report."""

    def few(self, peaks, kind="device", **more):
        """Ranks that had so much of one kind of memory at their peaks, and their merged report."""
        os.mkdir(self.path("ranks"))
        for rank, peak in enumerate(peaks):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank, hostname="node")
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                plain = next(one for one in report["kinds"] if one["kind"] == "device")
                report["kinds"] = [{**plain, "kind": kind, "peak_bytes": peak, "current_bytes": 0}] if peak else []
                report["kinds"] += [{**plain, "kind": name, "peak_bytes": bytes[rank], "current_bytes": 0}
                                    for name, bytes in more.items() if bytes[rank]]  # fmt: skip
                report.pop("joint_peaks", None)
        self.call("merge", "-o", "all.json", "ranks")
        return ("all.json", "ranks")

    def as_one(self, path):
        data = json.loads(self.call("report", "--json", path).stdout)
        return data.get("merged", data)

    def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two(self):
        for report in self.few([100 << 20, 200 << 20, 400 << 20, 800 << 20]):
            shown = self.call("report", report).stdout
            self.assertRegex(shown, r"\n  peak +100 MiB +300 MiB +800 MiB ")
            self.assertIn("500 MiB above the median of 300 MiB", " ".join(shown.split()))
            [peak] = [one for one in self.as_one(report)["figures"] if one["figure"] == "peak_bytes"]
            self.assertEqual(300 << 20, peak["median"])

    def test_what_was_never_freed_is_not_called_freed_of_several_processes(self):
        """Rounding and the unused rest of segments stood there as memory that the processes had freed."""
        self.few([100 << 20, 200 << 20])
        for rank in range(2):
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                row = next(row for row in report["ledger"] if row["kind"] == "device")
                report["ledger"] = [row, {**row, "kind": "cached", "owner": "vramscope", "calls": 0, "current_bytes": 5 << 20,
                                          "peak_bytes": 5 << 20, "device_bytes": 5 << 20}]  # fmt: skip
        os.remove(self.path("all.json"))
        self.call("merge", "-o", "all.json", "ranks")
        shown = " ".join(self.call("owners", "all.json").stdout.split())
        self.assertIn("reserved beyond what was requested: rounding of requests, the unused rest of segments, and freed memory cached by "
                      "vramscope", shown)  # fmt: skip
        self.assertNotIn("had freed it", shown)

    def test_odd_host_memory_is_told(self):
        """Four loaders, all 0 B, one of which pinned 36 MiB: nothing was said of it."""
        for report in self.few([0, 0, 1, 1], pinned=[0, 0, 36 << 20, 0]):
            shown = self.call("report", report).stdout
            self.assertRegex(shown, r"\n  host memory +0 B +0 B +36.0 MiB +3 of 4 +rank 2")
            self.assertIn("rank 2 (4713): host memory 36.0 MiB, 36.0 MiB above the median of 0 B", " ".join(shown.split()))
            if report == "ranks":  # the one to look at, not the first
                self.assertTrue(shown.endswith("Next: vramscope report ranks/r2.json\n"), shown)
            rows = self.as_one(report)["processes"]
            self.assertEqual({4713: 36 << 20}, {row["pid"]: row["host_peak_bytes"] for row in rows if row["host_peak_bytes"]})

    def test_what_is_reserved_has_all_that_the_peak_has(self):
        for report in self.few([100 << 20] * 3, stream_ordered=[900 << 20, 900 << 20, 0]):
            data = self.as_one(report)
            held = {row["pid"]: row["reserved_of_all_kinds_bytes"] for row in data["processes"]}
            self.assertEqual([held[4713] + (900 << 20)] * 2, [held[4711], held[4712]])
            for row in data["processes"]:
                self.assertGreaterEqual(row["reserved_of_all_kinds_bytes"], row["needed_of_all_kinds_bytes"])
                self.assertGreaterEqual(row["needed_of_all_kinds_bytes"], row["peak_lower_bytes"])

    def test_an_event_has_one_time_in_a_report_and_in_a_merged_one(self):
        self.few([100 << 20, 300 << 20, 200 << 20])
        for rank in range(3):
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                report["timeline"]["start_ns"] = 10**18 + rank * 2_000_000_000
        os.remove(self.path("all.json"))
        self.call("merge", "-o", "all.json", "ranks")
        alone, together = (" ".join(self.call("peak", name).stdout.split()) for name in ("ranks/r1.json", "all.json"))
        time = re.search(r"reached after (\S+ \S+)", alone)[1]
        self.assertIn(f"reached {time} after its process began (", together)
        [kind] = json.loads(self.call("peak", "--json", "ranks/r1.json").stdout)
        [added] = json.loads(self.call("peak", "--json", "all.json").stdout)
        self.assertEqual(kind["peak_ns"], added["process_peak_ns"])
        self.assertEqual(kind["peak_ns"], kind["process_peak_ns"])
        self.assertEqual(kind["peak_ns"] + 2_000_000_000, added["peak_ns"])
        alone, together = (self.call("oom", name).stdout for name in ("ranks/r1.json", "all.json"))
        for time in re.findall(r"^  after (\S+ \S+), in", alone, re.M):
            self.assertIn(f"  {time} after its process began (", together)


class SideBySide(RanksTest):
    def test_a_table_of_processes_says_who_was_on_which_device(self):
        os.mkdir(self.path("ranks"))
        for rank in range(5):
            name = self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
            with self.edited(name) as report:
                report["devices"][0]["uuid"] = "GPU-one" if rank == 4 else "GPU-four"
        shown = self.call("report", "ranks").stdout
        self.assertIn("  GPU 0 (GPU-four)  4 processes: rank 0 (4711), rank 1 (4712), rank 2 (4713), rank 3 (4714); peak ", shown)
        self.assertIn("  GPU 0 (GPU-one)  rank 4 (4715), peak ", shown)

    def test_layouts_of_stacks_are_refused_for_a_table_of_processes(self):
        os.mkdir(self.path("ranks"))
        for rank in range(2):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        for option in ("--tree", "--full"):
            self.assert_refused(["report", option, "ranks"], 2, f"{option}: a table of processes has no call stacks; report --each")
            self.assertEqual(0, self.call("report", option, "--each", "ranks").returncode)

    def test_listings_of_many_reports_begin_with_a_summary(self):
        os.mkdir(self.path("ranks"))
        for rank in range(4):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        for words in (["peak", "--each"], ["owners", "--each"], ["timeline", "--each"]):
            verb = words[0]
            lines = self.call(*words, "ranks").stdout.splitlines()
            self.assertEqual("4 reports of 4 processes", lines[0], verb)
            self.assertRegex(lines[1], r"^  GPU 0  4 processes, peak \d")
            self.assertIn("  side by side: vramscope report ranks", lines)
            self.assertEqual("Next: vramscope report ranks", lines[-1], verb)
        os.remove(self.path("ranks/r3.json"))
        self.assertNotIn("3 reports", self.call("peak", "--each", "ranks").stdout)

    def test_reports_of_a_folder_are_a_line_each(self):
        self.sample("a.json", rank=0)
        self.sample("b.json~1", pid=4712, rank=1, ended_by="SIGKILL")
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        shown = self.call("report", self.folder).stdout
        lines = shown.splitlines()
        self.assertEqual(f"2 processes of train; reports in {self.folder}/", lines[0])
        self.assertRegex(lines[2], r"^  +0 +4711  exit +760 MiB +4.00 MiB +1,004  a.json$")
        self.assertRegex(lines[3], r"^  +1 +4712  SIGKILL +760 MiB +4.00 MiB +1,004  b.json~1$")
        self.assertIn("rank 1 (4712) was ended by SIGKILL\n", shown)
        self.assertIn("  GPU 0  2 processes, peak 760 MiB to 1.48 GiB\n", shown)
        self.assertIn("  For the exact value, record traces: vramscope run --trace '%p.trace'\n", shown)
        self.assertEqual(shown, self.call("report", self.path("a.json"), self.path("b.json~1")).stdout)
        self.assertEqual(2, self.call("report", "--each", self.folder).stdout.count("What made up the peak"))
        os.mkdir(self.path("empty"))
        self.assert_refused(["report", self.path("empty")], 2, "no report is in")

    def test_names_that_tell_processes_alone_stand_in_the_title(self):
        self.sample("vramscope.train.4711.json", rank=0)
        self.sample("vramscope.train.4712.json", pid=4712, rank=1)
        lines = self.call("report", self.folder, COLUMNS="200").stdout.splitlines()
        self.assertEqual(f"2 processes of train; reports {self.folder}/vramscope.train.PID.json", lines[0])
        self.assertRegex(lines[2], r"^  +0 +4711  exit +760 MiB +4.00 MiB +1,004$")
        self.sample("vramscope.train.9.json", pid=10, rank=2)
        lines = self.call("report", self.folder, COLUMNS="200").stdout.splitlines()
        self.assertEqual(f"3 processes of train; reports in {self.folder}/", lines[0])
        self.assertRegex(lines[2], r"1,004  vramscope.train.4711.json$")

    def test_of_several_reports_of_a_process_each_counts_as_a_report(self):
        for sequence in range(1, 5):
            with self.edited(self.sample(f"{sequence}.json", pid=1 + sequence // 4)) as report:
                report["sequence"] = sequence
        shown = self.call("peak", "--each", self.folder).stdout
        self.assertTrue(shown.startswith("4 reports of 2 processes\n  GPU 0  4 reports, peak "), shown)

    def test_of_one_process_nothing_is_together(self):
        self.sample("a.json", pid=1)
        with self.edited(self.sample("b.json", pid=1)) as report:
            report["sequence"] += 1
        shown = self.call("report", self.folder).stdout
        self.assertIn("1 process of train; 1 earlier report of the same processes skipped; report in ", shown)
        self.assertNotIn("Together", shown)

    def test_figures_that_several_processes_share_are_of_none_of_them(self):
        shown = self.call("report", self.ranks("ranks", 1, 2, 1)).stdout
        self.assertRegex(shown, r"\n  peak +\S+ MiB +\S+ MiB .* 2 of 3 +rank 1 \(101\)\n")

    def test_differences_between_ranks_are_pointed_out(self):
        for rank, peak in enumerate((100, 100, 100, 300)):
            with self.edited(self.sample(f"{rank}.json", pid=100 + rank, rank=rank)) as report:
                report["kinds"][0]["peak_bytes"] = peak << 20
                report["sites"][0]["parts"][0]["peak_bytes"] += peak << 20
        shown = self.call("report", self.folder).stdout
        self.assertRegex(shown, r"\n  peak +100 MiB +100 MiB +300 MiB  3 of 4  rank 3 \(103\)\n")
        self.assertIn("\nDifferences\n  rank 3 (103): peak 300 MiB, 200 MiB above the median of 100 MiB\n", shown)
        self.assertRegex(shown, r"\n    \+200 MiB  \S.*  \(\d+ MiB here, \d+ MiB in rank \d \(\d+\)\)\n")
        self.assertIn("\n  PEAK and NOW exclude host memory. The most that one process held: ", shown)
        together = json.loads(self.call("report", "--json", self.folder).stdout)
        self.assertEqual([p["rank"] for p in together["processes"]], [3, 0, 1, 2])
        self.assertEqual(together["figures"][0]["max_pid"], 103)
        [above] = together["differences"]
        self.assertEqual((above["pid"], above["value"], above["median"]), (103, 300 << 20, 100 << 20))
        [site] = above["sites"]
        self.assertEqual(site["bytes"] - site["median_bytes"], 200 << 20)
        self.assertTrue(site["frames"])

    def test_ranks_on_gpus_of_their_own_are_compared_as_if_on_one(self):
        def on_gpu_1(value):
            if isinstance(value, list):
                return [on_gpu_1(one) for one in value]
            if not isinstance(value, dict):
                return value
            return {key: 1 if key in ("device", "index") and one == 0 else on_gpu_1(one) for key, one in value.items()}

        for rank, more in enumerate((0, 0, 200)):
            with open(self.sample(f"{rank}.json", pid=100 + rank, rank=rank), encoding="utf-8") as file:
                report = json.load(file)
            report["kinds"][0]["peak_bytes"] += more << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += more << 20
            with open(self.path(f"{rank}.json"), "w", encoding="utf-8") as file:
                json.dump(on_gpu_1(report) if rank == 2 else report, file)
        [above] = json.loads(self.call("report", "--json", self.folder).stdout)["differences"]
        self.assertEqual([(1, 200 << 20)], [(site["device"], site["bytes"] - site["median_bytes"]) for site in above["sites"]])

    def test_of_a_kind_of_host_memory_processes_have_their_figures(self):
        folder = self.ranks("ranks", 1, 1)
        with self.edited(self.path("ranks/1.json")) as report:
            [pinned] = [kind for kind in report["kinds"] if kind["kind"] == "pinned"]
            before = pinned["peak_bytes"]
            pinned["peak_bytes"] = 3 * before
        rows = json.loads(self.call("report", "--json", "--kind", "pinned", folder).stdout)["processes"]
        self.assertEqual([(1, 3 * before), (0, before)], [(row["rank"], row["peak_bytes"]) for row in rows])
        self.assertIn("PEAK and NOW are of host memory", self.call("report", "--kind", "pinned", folder).stdout)

    def test_each_outlying_rank_has_a_line_before_any_has_two(self):
        """Seen of eight ranks: three lines were of one rank, and the second of those that differed had none."""
        for rank, peak in enumerate((100, 100, 100, 100, 180, 300)):
            with self.edited(self.sample(f"{rank}.json", pid=100 + rank, rank=rank)) as report:
                report["kinds"][0]["peak_bytes"] = report["kinds"][0]["current_bytes"] = peak << 20
        shown = self.call("report", self.folder).stdout
        differences = shown[shown.index("\nDifferences\n"):].split("\n\n")[0]
        self.assertEqual(["  rank 5 (105): peak 300 MiB, 200 MiB above the median of 100 MiB",
                          "  rank 4 (104): peak 180 MiB, 80.0 MiB above the median of 100 MiB"],
                         [line for line in differences.splitlines() if line.startswith("  rank")])

    def test_of_one_process_the_last_report_counts(self):
        files = [self.sample("a.json"), self.sample("b.json")]
        with self.edited(files[1]) as report:
            report["sequence"] = 2
        shown = self.call("report", self.folder).stdout
        self.assertIn("1 process of train; 1 earlier report of the same processes skipped; report in ", shown)
        self.assertIn("b.json\n", shown)


class Merged(RanksTest):
    def test_the_map_of_a_merged_report_leads_to_that_of_the_highest_peak(self):
        merged = self.path("all.json")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 3, 1))
        self.assertRegex(self.call("map", merged).stdout, r"\nNext: vramscope map \S*ranks/1\.json\n")

    def test_a_page_of_two_merged_reports_says_that_they_are_of_several(self):
        before, after = self.path("a.json"), self.path("b.json")
        self.call("merge", "-o", before, self.ranks("before", 1, 1))
        self.call("merge", "-o", after, self.ranks("after", 1, 2))
        page = self.call("html", "-o", "-", before, after)
        if "this build has no page" not in page.stderr:
            self.assertIn('"is_of_several":true', page.stdout)
            self.assertIn('"is_of_several":false', self.call("html", "-o", "-", self.path("before/0.json")).stdout)

    def test_metrics_of_a_merged_report_are_sums_of_peaks(self):
        merged = self.path("all.json")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 1))
        self.assertIn("The most that was live at once. Added over processes at different times.", self.call("export", "--format", "openmetrics", merged).stdout)
        self.assertIn("The most that was live at once.", self.call("export", "--format", "openmetrics", self.path("ranks/0.json")).stdout)
        self.assertNotIn("memory_viz draws", self.call("export", "--format", "memory_viz_json", merged).stderr)

    def test_what_a_merged_report_cannot_be_exported_to_leaves_no_file(self):
        merged, to = self.path("all.json"), self.path("all.pickle")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 1))
        self.assert_refused(["export", "--format", "memory_viz", "-o", to, merged], 2, "a report merged of 2 processes does not have")
        self.assertFalse(os.path.exists(to))
        self.assertEqual(0, self.call("export", "--format", "memory_viz", "-o", to, self.path("ranks/0.json")).returncode)


if __name__ == "__main__":
    harness.main()
