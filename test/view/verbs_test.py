# What single verbs show of a report: text, statistics, trees, leaks, refusals, maps.
# SPDX-License-Identifier: Apache-2.0
"""verbs_test.py BUILD"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import ToolTest, give_four_kinds  # noqa: E402


class Texts(ToolTest):
    def test_report_shows_text_or_json(self):
        file = self.sample()
        self.assertIn("What made up the peak", self.call("report", file).stdout)
        shown = json.loads(self.call("report", "--each", "--json", "-n", "1", file, file).stdout)
        self.assertEqual([len(report["listing"]["peak"]) for report in shown], [1, 1])

    def test_pages_are_plain_unless_a_terminal_asks_for_more(self):
        file = self.sample(hostname="z\u00fcrich\u001b[2J")
        plain = self.call("report", file).stdout
        self.assertTrue(plain.isascii())
        self.assertNotIn("\033", plain)
        rich = self.call("report", file, LC_ALL="C.UTF-8").stdout
        self.assertIn("z\u00fcrich?[2J", rich)
        self.assertIn("\u2588", rich)

    def test_stats_of_a_device_are_one_dictionary(self):
        shown = self.call("stats", "--device", "0", "--json", self.sample())
        self.assertEqual(json.loads(shown.stdout)["allocation.all.allocated"], 1000)
        self.assert_refused(["stats", "--device", "7", self.sample("s.json")], 2, "no device 7")

    def test_sums_of_a_tree_are_of_all_places_however_few_have_rows(self):
        """main had 400 MiB, 65 %, of the 614 MiB that it held."""
        path = self.many_sites()
        numbers = re.compile(r"^ *(\S+ \w+) +(<?\S+ %) +([\d,]+)  [^A-Za-z]*(.*)$", re.M)
        for words in (["peak"], ["sites"], ["sites", "--by", "total"], ["report"]):
            whole = set(numbers.findall(self.call(*words, "--tree", "-n", "0", path).stdout))
            shown = self.call(*words, "--tree", "-n", "1", path).stdout
            rows = numbers.findall(shown)
            self.assertTrue(rows, shown)
            self.assertLess(len(rows), len(whole), words)
            self.assertEqual([], [row for row in rows if row not in whole], words)
            self.assertRegex(shown, r"\n  and \d+ more rows?, \S+ \w+, in these sums\n", words)

    def test_a_tree_of_several_kinds_of_memory_has_a_share_of_each_and_says_which(self):
        path = self.sample()
        with self.edited(path) as report:
            give_four_kinds(report)
        for order in ("peak", "total"):
            shown = self.call("sites", "--tree", "--by", order, path).stdout
            titles = re.findall(r"^  ((?:GPU 0|pinned)[^,\n]*), \S+ \w+\n.* SHARE .*\n.*  100 % ", shown, re.M)
            self.assertEqual(["GPU 0", "GPU 0 managed", "GPU 0 stream_ordered", "pinned"], sorted(titles), shown)


class Leaks(ToolTest):
    def test_leaks_are_a_threshold_when_asked(self):
        file = self.sample()
        self.assertIn("Never freed: 4.00 MiB in 2 allocations", self.call("leaks", file).stdout)
        for words, status in (([], 0), (["--error-exitcode"], 1), (["--error-exitcode=7"], 7)):
            self.assertEqual(self.call("leaks", *words, file).returncode, status, words)
        self.assert_refused(["leaks", "--error-exitcode=256", file], 2, "from 1 to 255")

    def test_reports_in_which_nothing_was_left_are_one_line(self):
        leaking = self.sample()
        for pid in (1, 2, 3):
            with self.edited(self.sample(f"{pid}.json", pid=pid)) as report:
                report["sites"], report["kinds"] = [], []
        shown = self.call("leaks", "--each", self.folder).stdout
        self.assertEqual(1, shown.count("Never freed"), shown)
        self.assertTrue(shown.startswith("Nothing was left in 3 reports.\n\n"), shown)
        os.unlink(leaking)
        self.assertEqual(f"Nothing was left in 3 reports.\n\nNext: vramscope report {self.folder}\n",
                         self.call("leaks", "--each", self.folder).stdout)  # fmt: skip
        self.assertIn("Never freed: nothing.", self.call("leaks", self.path("1.json")).stdout)
        self.assertEqual(3, len(json.loads(self.call("leaks", "--each", "--json", self.folder).stdout)))

    def test_leaks_of_sites_that_are_left_out_are_not_of_nobody(self):
        shown = self.call("leaks", "--site", "no such place", self.sample()).stdout
        self.assertIn("Never freed: nothing", shown)
        self.assertNotIn("unknown call stacks", shown)

    def test_suppressed_leaks_are_no_leaks(self):
        file = self.sample()
        with open(self.path("a.supp"), "w", encoding="utf-8") as rules:
            rules.write("# known\nleak:libnet.so\n")
        with open(self.path("b.supp"), "w", encoding="utf-8") as rules:
            rules.write("leak:nothing\nthread:x\n")
        result = self.call("leaks", "--suppress", "a.supp", "--error-exitcode", file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libnet.so  (a.supp:2)", result.stdout)
        result = self.call("check", "--max-leak", "0", "--suppress", "a.supp", file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("never freed, but suppressed: 4.00 MiB requested\npassed: "), result.stdout)
        with open(self.path("c.supp"), "w", encoding="utf-8") as rules:
            rules.write("leak:nothing\n")
        result = self.call("check", "--max-leak", "0", "--suppress", "c.supp", file)
        self.assertTrue(result.stdout.endswith(f"\nNext: vramscope leaks --suppress c.supp {file}\n"), result.stdout)
        self.assert_refused(["leaks", "--suppress", "a.supp", "--suppress", "b.supp", file], 2,
                            "b.supp:2: expected leak:PATTERN, found 'thread:x'")
        self.assert_refused(["leaks", "--suppress", "no.supp", file], 2, "no.supp: No such file")


class Refusals(ToolTest):
    def test_reports_in_which_memory_never_ran_out_are_one_line(self):
        os.mkdir(self.path("ranks"))
        for rank in range(4):
            file = self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        self.assertEqual("Memory never ran out in 4 reports.\n\nNext: vramscope report ranks\n", self.call("oom", "--each", "ranks").stdout)
        with self.edited(file) as report:
            report["oom"] = {"count": 1, "events": [{"number": 1, "kind": "device", "device": 0, "bytes": 5 << 20, "site": 1}]}
        shown = self.call("oom", "--each", "ranks").stdout
        self.assertEqual(1, shown.count("ever ran out"), shown)
        self.assertEqual("4 reports of 4 processes", shown.splitlines()[0])
        self.assertIn("\nMemory never ran out in 3 reports.\n\ntrain, rank 3 (4714): ", shown)
        self.assertIn("GPU 0: 5.00 MiB refused, the only refusal\n", shown)
        self.assertEqual(4, len(json.loads(self.call("oom", "--each", "--json", "ranks").stdout)))
        for rank in (1, 2, 3):
            os.unlink(self.path(f"ranks/r{rank}.json"))
        self.assertTrue(self.call("oom", "--each", "ranks").stdout.startswith("Memory never ran out.\n"))


class Maps(ToolTest):
    def test_a_map_of_another_instant_is_refused_with_what_would_have_made_it(self):
        file = self.sample()
        self.assertIn("No segment was held at the end", self.call("map", file).stdout)
        self.assertEqual([], json.loads(self.call("map", "--json", file).stdout)["places"])
        self.assert_refused(["map", "--at", "peak", file], 2, "run with --trace FILE, or with --report-at-peak 10%")
        self.assert_refused(["map", "--at", "oom", file], 2, "memory never ran out")
        self.assert_refused(["map", "--at", "1.5s", file], 2, "a trace does, which run --trace FILE makes")

    def test_a_map_of_the_peak_is_of_the_report_that_was_made_at_it(self):
        file = self.sample()
        self.sample("s.json", pid=7)
        for number in (2, 3):
            with open(self.sample(f"r.{number}.json"), encoding="utf-8") as made:
                report = json.load(made)
            report.update(trigger="peak", sequence=number)
            with open(self.path(f"r.{number}.json"), "w", encoding="utf-8") as written:
                json.dump(report, written, separators=(",", ":"))
        shown = self.call("map", "--at", "peak", file)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        drawn = json.loads(self.call("map", "--at", "peak", "--json", file).stdout)
        self.assertEqual("at report 3 (peak)", drawn["moment"])
        several = self.call("map", "--at", "peak", self.path("r.2.json"), self.path("r.3.json")).stdout
        self.assertEqual(1, several.count("No segment was held"), several)
        self.assert_refused(["map", "--at", "peak", self.path("s.json")], 2, "or with --report-at-peak 10%")
        self.assertEqual(0, self.call("map", "--at", "peak", self.path("r.3.json")).returncode)
        self.assert_refused(["map", "--at", "noon", file], 2, "has no mark or range 'noon'; marks: none; --at also takes end")
        self.assert_refused(["map", "--kind", "disk", file], 2, "'disk' is none of device, ")

    def test_a_map_of_the_peak_says_so_where_memory_ran_out_at_it(self):
        file = self.sample()
        with self.edited(file) as report:
            report["trigger"] = "oom"
            for kind in report["kinds"]:
                kind["current_bytes"] = kind["peak_bytes"]
        for at, moment in (("peak", "at the peak, when memory ran out"), ("end", "when memory ran out")):
            self.assertEqual(moment, json.loads(self.call("map", "--at", at, "--json", file).stdout)["moment"])

    def test_a_map_of_a_report_made_at_a_peak_says_what_that_missed(self):
        file = self.sample()
        with self.edited(file) as report:
            report["trigger"] = "peak"
            report["timeline"]["duration_ns"] = 5_000_000_000
            highest = max((kind for kind in report["kinds"] if kind["kind"] == "device"), key=lambda kind: kind["peak_bytes"])
            highest.update(peak_bytes=96 << 20, current_bytes=60 << 20, peak_ns=4_974_000_000)
            address = 0x7f0000000000
            block = {"address": address, "size": 60 << 20, "requested_size": 60 << 20, "state": "active_allocated", "site": 0, "born_ns": 1}
            report["devices"][0]["segments"] = [
                {"kind": "device", "device": 0, "context": 1, "address": address, "total_size": 60 << 20, "allocated_size": 60 << 20,
                 "active_size": 60 << 20, "requested_size": 60 << 20, "is_small": False, "is_direct": False, "is_dedicated": False,
                 "is_exported": False, "is_expandable": False, "blocks": [block]}]  # fmt: skip
        said = "  written 26.0 ms after the peak, with 60.0 MiB of its 96.0 MiB of GPU 0 live (requested)\n"
        for at in ("end", "peak"):
            self.assertIn(said, self.call("map", "--at", at, file).stdout)
        highest.update(current_bytes=96 << 20)  # written at it
        with open(file, "w", encoding="utf-8") as text:
            json.dump(report, text)
        self.assertNotIn("after the peak", self.call("map", file).stdout)


if __name__ == "__main__":
    harness.main()
