# What is shown of a merged report: whose each figure is, and what was added.
# SPDX-License-Identifier: Apache-2.0
"""merged_test.py VRAMSCOPE SAMPLE SCHEMA_MODULE_FOLDER"""
import copy
import json
import re
import sys
import unittest

from merge_case import MergeTest


class Merged(MergeTest):
    def test_the_table_names_each_process_s_own_report_and_what_makes_it_differ(self):
        parts = list(self.some_reports(3))
        for number, path in enumerate(parts):
            report = json.loads(path.read_text())
            report["timeline"]["series"] = []
            for kind in report["kinds"]:
                kind["peak_bytes"] = (100 << 20) + (number == 1) * (40 << 20)
            path.write_text(json.dumps(report, separators=(",", ":")))
        apart = self.call("report", *parts).stdout
        (line, *_) = re.findall(r"^ +[+]\d.* in rank .*$", apart, re.MULTILINE) or self.fail(apart)
        merged = self.merge(*parts)
        shown = self.call("report", merged).stdout
        self.assertIn(line, shown)
        self.assertTrue(shown.startswith(f"3 processes of train; reports in {parts[0].parent}/\n"), shown)
        for path in parts:
            self.assertIn(f" {path.name}\n", shown)
        text = merged.read_text()
        self.assertEqual({str(path) for path in parts}, {one["report"] for one in json.loads(text)["processes"]})
        merged.write_text(re.sub(r',"report":"[^"]*"', "", text))  # as an earlier version merged
        shown = self.call("report", merged).stdout
        self.assertNotIn("  FILE\n", shown)
        self.assertNotIn(line, shown)

    def leaking(self, *left, places=1):
        """A report a process of what it left in MiB, all in one place, or in as many."""
        for rank, mib in enumerate(left):
            report = copy.deepcopy(self.sample)
            report["process"].update(pid=100 + rank, rank=rank)
            report.update(trigger="exit", sample_bytes=0, joint_peaks=[])
            report["host"].update(segments=[], registrations=[])
            report["devices"] = [{"index": 0, "memory_stats": {}, "segments": []}]
            pattern = report["sites"][0]
            pattern["estimate"] = None
            report["sites"] = [pattern] + [copy.deepcopy(pattern) for _ in range(places - 1)]
            for number, site in enumerate(report["sites"]):
                report["frames"].append({"module": 0, "offset": 64 * (number + 100), "code": None, "line": 0})
                site["frames"] = [len(report["frames"]) - 1]
                site["parts"] = [{"kind": "device", "device": 0}]
                for one in (site, *site["parts"]):
                    one.update(live_bytes=mib << 20, live_count=int(mib != 0), total_count=2, total_bytes=mib << 21)
            report["kinds"] = [{"kind": "device", "device": 0, "peak_bytes": 100 << 20, "peak_site": None,
                                "current_bytes": (places * mib) << 20, "allocations": 2}]
            report["oom"] = {"count": 0, "events": []}
            report["timeline"]["series"] = []
            yield self.write(report)

    def test_a_leak_says_whose_it_is(self):
        parts = list(self.leaking(1, 0, 12, 1, 1))
        for files in ([self.merge(*parts)], parts):
            shown = self.call("leaks", *files).stdout
            self.assertIn("  5 processes left 0 B to 12.0 MiB each, median 1.00 MiB, most in rank 2 (102)\n", shown)
        self.assertRegex(shown, r"(?m)^ +BYTES +COUNT +PROCESSES +MOST +MOST IN +CLASS +MEMORY +WHERE\n"
                                r" +15.0 MiB +4 +4 of 5 +12.0 MiB +rank 2 \(102\) +left +GPU 0 ")
        self.assertEqual(shown.splitlines()[:-1], self.call("leaks", self.merge(*parts)).stdout.splitlines()[:-1])
        merged = self.call("leaks", "--full", self.merge(*parts)).stdout
        self.assertIn(", in 4 of 5 processes, 1.00 MiB to 12.0 MiB, most in rank 2 (102); whether one process allocated", merged)
        listed = json.loads(self.call("leaks", "--json", self.merge(*parts)).stdout)
        self.assertEqual([1 << 20, 0, 12 << 20, 1 << 20, 1 << 20], [one["bytes"] for one in listed["processes"]])
        (leak,) = listed["leaks"]
        self.assertEqual([2, 0, 3, 4], [one["rank"] for one in leak["processes"]])
        for left, words in (((0, 3, 0), ", in rank 1 (101) alone;"), ((2, 2), ", 2.00 MiB in each of 2 processes;"),
                            ((2, 0, 1), ", in 2 of 3 processes: rank 0 (100) 2.00 MiB, rank 2 (102) 1.00 MiB;")):
            self.assertIn(words, self.call("leaks", "--full", self.merge(*self.leaking(*left))).stdout)

    def test_what_a_killed_process_held_is_not_said_to_be_never_freed(self):
        """Seen of ranks of which one was killed: check and leaks called its live memory a leak."""
        for signal, death, short in (("SIGKILL", "was killed by SIGKILL", "killed"), ("", "died", "died")):
            parts = self.leaking_with_a_dead_one(signal, 1, 12, 2, 1)
            merged = self.merge(*parts)
            for files in ([merged], parts):
                failed = self.call("check", "--max-leak", "5MiB", *files)
                self.assertEqual(1, failed.returncode)
                self.assertIn(f"never freed: 12.0 MiB requested, 7.00 MiB above the limit of 5.00 MiB; rank 1 (101) {death}, so "
                              "this is what was live at that time\n", failed.stdout)
                self.assertIn(f", most in rank 1 (101) ({short})\n", self.call("leaks", "--wide", *files).stdout)
            self.assertNotIn("died", self.call("check", "--max-leak", "1MiB", parts[2]).stdout)
            self.assertTrue(self.call("leaks", parts[1]).stdout.startswith(f"Not freed when rank 1 (101) {death}: 12.0 MiB in "))
            self.assertTrue(self.call("leaks", merged).stdout.startswith(f"Never freed, or live when rank 1 (101) {death}: 16.0 MiB in "))
            self.assertIn(f", in rank 1 (101) ({short}) alone;", self.call("leaks", "--full", self.merge(*self.leaking_with_a_dead_one(signal, 0, 3))).stdout)

    def leaking_with_a_dead_one(self, signal, *left):
        """The second one is recovered."""
        parts = list(self.leaking(*left))
        report = json.loads(parts[1].read_text())
        report["trigger"] = "recovered"
        report["process"]["ended_by"] = signal
        parts[1].write_text(json.dumps(report, separators=(",", ":")))
        return parts

    def test_of_many_places_each_process_keeps_the_largest_and_the_sum_of_the_rest(self):
        merged = self.merge(*self.leaking(3, 3, places=40))
        live = json.loads(merged.read_text())["processes"][0]["live"]
        self.assertEqual((33, None, 8 * 3 << 20, 8), (len(live), *(live[-1][f] for f in ("site", "live_bytes", "live_count"))))
        self.assertIn("  2 processes left 120 MiB each\n", self.call("leaks", merged).stdout)
        merged.write_text(re.sub(r',"live":\[[^]]*\]', "", merged.read_text()))  # as an earlier version merged
        self.assertNotIn("processes left", self.call("leaks", merged).stdout)

    def test_what_a_process_holds_of_a_site_that_is_not_there_is_refused(self):
        merged = self.merge(*self.leaking(1, 2))
        merged.write_text(merged.read_text().replace('"live":[{"site":0', '"live":[{"site":7', 1))
        result = self.call("leaks", merged)
        self.assertEqual(2, result.returncode)
        self.assertIn("processes[0].live.site: expected an index below 1, the number of sites, found 7", result.stderr)

    def test_peaks_and_refusals_of_a_process_at_a_site_that_is_not_there_are_refused(self):
        """By `merge`, too, which numbers sites anew: it read beyond the report's."""
        event = {"number": 1, "kind": "device", "site": 10**8}
        for path, broken in (("kinds[0].peak_site", {"kinds": [{"kind": "device", "peak_site": 10**8}]}),
                             ("joint_peaks[0].peak_site", {"joint_peaks": [{"device": 0, "peak_site": 10**8}]}),
                             ("joint_peaks[0].live.site", {"joint_peaks": [{"live": [{"kind": "device", "site": 10**8}]}]}),
                             ("oom.events[0].site", {"oom": {"count": 1, "events": [event]}})):  # fmt: skip
            merged = self.merge(*self.leaking(1, 2))
            report = json.loads(merged.read_text())
            report["processes"][1].update(broken)
            merged.write_text(json.dumps(report, separators=(",", ":")))
            for words in (["report"], ["merge", "-o", self.folder / "again.json"]):
                result = self.call(*words, merged)
                self.assertEqual(2, result.returncode, (path, words))
                self.assertIn(f"processes[1].{path}: expected an index below 1, the number of sites, found 100000000", result.stderr)

    def test_suppressed_leaks_are_none_of_a_process(self):
        rules = self.folder / "known.supp"
        rules.write_text("leak:train\n")
        shown = self.call("leaks", "--suppress", rules, "--json", self.merge(*self.leaking(1, 2))).stdout
        self.assertEqual([0, 0], [one["bytes"] for one in json.loads(shown)["processes"]])

    def test_check_judges_each_process_of_a_merged_report_as_those_of_a_folder(self):
        parts = list(self.leaking(1, 0, 12))
        for path in parts[1:2]:
            report = json.loads(path.read_text())
            report["kinds"][0]["peak_bytes"] = 150 << 20
            path.write_text(json.dumps(report, separators=(",", ":")))
        merged = self.merge(*parts)
        for limits in (("--max-peak", "100MiB"), ("--max-leak", "1MiB"), ("--max-allocations", "2"), ("--max-total", "1MiB"), ("--no-oom",)):
            found = [[(one["pid"], one["rank"], one["what"], one["value"]) for one in
                      json.loads(self.call("check", *limits, "--json", *files).stdout)["checks"]] for files in ([merged], parts)]
            self.assertEqual(found[1], found[0])
            self.assertEqual([100, 101, 102], [pid for pid, *_ in found[0]])
        of_earlier = json.loads(merged.read_text())
        for process in of_earlier["processes"]:
            del process["total_bytes"]
        earlier = self.write(of_earlier)
        (together,) = json.loads(self.call("check", "--max-allocations", "2", "--json", earlier).stdout)["checks"]
        self.assertEqual((None, "allocations", 6), (together["pid"], together["what"], together["value"]))
        alone = self.call("check", "--max-allocations", "2", earlier).stdout
        self.assertTrue(alone.startswith("failed for all 3 processes together; the highest: allocations 6 (limit 2) "), alone)
        failed = self.call("check", "--max-peak", "100MiB", "--max-leak", "1MiB", "--max-total", "1", earlier)
        self.assertEqual(1, failed.returncode)
        for line in ("\nrank 1 (101): peak of GPU 0: 150 MiB requested, 50.0 MiB above the limit of 100 MiB\n",
                     "\nrank 2 (102): never freed: 12.0 MiB requested, 11.0 MiB above the limit of 1.00 MiB\n",
                     "\nall 3 processes together: allocated in all: ",
                     "\nThe 3 processes held at most 350 MiB of GPU 0 together at the same time.\n"):
            self.assertIn(line, failed.stdout)
        self.assertNotIn("rank 0 (100)", failed.stdout)
        self.assertTrue(failed.stdout.startswith("failed in 2 of 3 processes; the highest: peak of GPU 0 150 MiB (limit 100 MiB) in rank 1 (101), "
                                                 "never freed 12.0 MiB (limit 1.00 MiB) in rank 2 (102)"), failed.stdout)
        passed = self.call("check", "--max-peak", "1GiB", "--max-leak", "12MiB", merged)
        self.assertEqual((0, "passed in each of 3 processes, at most: peak of GPU 0 150 MiB (limit 1.00 GiB) in rank 1 (101), "
                          "never freed 12.0 MiB (limit 12.0 MiB) in rank 2 (102) (requested bytes)"),
                         (passed.returncode, passed.stdout.splitlines()[-1]))
        merged.write_text(re.sub(r',"live":\[[^]]*\]', "", merged.read_text()))  # as an earlier version merged
        failed = self.call("check", "--max-leak", "12MiB", merged).stdout
        self.assertIn("\nall 3 processes together: never freed: 13.0 MiB requested, ", failed)

    def test_of_many_processes_whose_memory_ran_out_three_are_named(self):
        shown = self.call("check", "--max-peak", "1TiB", *self.some_reports(5)).stdout
        self.assertEqual(3, shown.count(" ran out of memory in 3 calls: vramscope oom "), shown)
        self.assertIn("\nSo did 2 more.\npassed in each of 5 processes, ", shown)

    def test_the_peak_says_that_peaks_are_added_and_what_was_held_together(self):
        """Two processes one after the other: never more than one of them at a time."""
        parts = []
        for number, path in enumerate(self.leaking(0, 0)):
            report = json.loads(path.read_text())
            report["timeline"] = {"start_ns": 10**9 * (1 + 10 * number), "duration_ns": 10**9, "series": [
                {"kind": "device", "device": 0, "bucket_ns": 10**9, "highest": [100 << 20], "last": [0]}]}
            path.write_text(json.dumps(report, separators=(",", ":")))
            parts.append(path)
        merged = self.merge(*parts)
        shown = self.call("peak", "--wide", merged).stdout
        self.assertIn("GPU 0: sum of peaks 200 MiB requested", shown)
        self.assertIn("  sum of the peaks of 2 processes, each at its own time; the peak of all together was 100 MiB "
                      "(from their timelines)\n", shown)
        (peak,) = json.loads(self.call("peak", "--json", merged).stdout)
        self.assertEqual((2, 100 << 20, 100 << 20),
                         tuple(peak[f] for f in ("processes", "together_lower_bytes", "together_upper_bytes")))
        self.assertNotIn("together", self.call("peak", parts[0]).stdout)
        page = self.call("html", "-o", "-", merged)
        if "has no page" in page.stderr:
            return  # built without npm
        (sentence,) = re.findall(r"GPU 0: the 2 processes that used it held (.*?)\.\"", page.stdout)
        self.assertRegex(sentence, r"^100 MiB at one time(, .* of the device's \S+ GiB)?; "
                                   r"their own peaks, each at its own time, add up to 200 MiB$")

    def test_what_is_added_is_said_of_owners_maps_and_times(self):
        parts = list(self.some_reports(3))
        for path in parts:
            report = json.loads(path.read_text())
            report["trigger"], report["process"]["ended_by"] = "signal", ""
            path.write_text(json.dumps(report, separators=(",", ":")))
        merged = self.merge(*parts)
        self.assertIn("\nAs each process wrote its report, at different times, added: ", self.call("owners", merged).stdout)
        self.assertIn(" at the last report (", self.call("timeline", merged).stdout)
        self.assertNotIn(" at the end (", self.call("timeline", "--to", "1ms", merged).stdout)
        parts = list(self.some_reports(3))
        for path, trigger in zip(parts, ("exit", "recovered", "exit")):
            report = json.loads(path.read_text())
            report["trigger"] = trigger
            path.write_text(json.dumps(report, separators=(",", ":")))
        ended = self.merge(*parts)
        self.assertIn("\nAs each process ended, at different times, added: ", self.call("owners", ended).stdout)
        self.assertIn(" after all processes ended (", self.call("timeline", ended).stdout)
        self.assertIn("A merged report has no segments; those of each process are in its own report.",
                      self.call("map", merged).stdout)
        timeline = json.loads(self.call("timeline", "--json", merged).stdout)
        peaks = [mark for mark in timeline["marks"] if mark["what"] == "peak"]
        self.assertEqual(len(timeline["series"]), len(peaks))
        for mark in peaks:
            (series,) = [one for one in timeline["series"] if (one["kind"], one["device"]) == (mark["kind"], mark["device"])]
            self.assertEqual(max(series["highest_bytes"]), mark["bytes"])
            self.assertEqual(mark["bytes"], series["highest_bytes"][mark["at_ns"] // series["bucket_ns"]])
            self.assertEqual(mark["at_ns"] + series["bucket_ns"], mark["until_ns"])
        self.assertIn(": peak of GPU 0, 60.0 MiB\n", self.call("timeline", merged).stdout.split("     marks  ")[-1])  # the bounds are equal


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
