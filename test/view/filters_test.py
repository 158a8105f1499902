# Rows that verbs show: which pass a filter, how many, in which order.
# SPDX-License-Identifier: Apache-2.0
"""filters_test.py BUILD"""
import json
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import ToolTest  # noqa: E402


class Filters(ToolTest):
    def test_every_listing_takes_the_same_filters(self):
        file = self.sample()
        for verb in ("sites", "peak", "leaks", "owners", "oom", "report"):
            whole = self.call(verb, "--json", file).stdout
            pinned = self.call(verb, "--json", "--kind", "managed", file)
            self.assertEqual((pinned.returncode, pinned.stderr), (0, ""), verb)
            if verb != "oom":  # the sample has none
                self.assertNotEqual(whole, pinned.stdout, verb)
            if verb != "oom":  # each has its time
                named = "trace" if verb == "report" else verb
                self.assert_refused([verb, "--from", "1s", file], 2, f"run --trace FILE makes: vramscope {named} --from 1s FILE")
        self.assert_refused(["sites", "--thread", "x", file], 2, "owners --by thread")
        self.assert_refused(["sites", "--site", "a(", file], 2, "'a(' is no regular expression")
        self.assert_refused(["sites", "--kind", "vram", file], 2, "'vram' is none of device, pinned")
        self.assert_refused(["sites", "--min-bytes", "lots", file], 2, "64KiB")

    def test_what_a_filter_names_and_no_report_has_is_said(self):
        file = self.sample()
        for verb in ("report", "sites", "peak", "leaks", "owners", "oom", "map", "timeline", "stats"):
            self.assert_refused([verb, "--device", "7", file], 2, "r.json' has no device 7; devices: 0, 1")
        self.assert_refused(["check", "--device", "7", "--max-peak", "1", file], 2, "has no device 7")
        self.assert_refused(["export", "--format", "folded", "--device", "7", file], 2, "has no device 7")
        for tool, opens in (("ms_print", "massif"), ("dh_view", "dhat"), ("heaptrack_gui", "heaptrack")):
            self.assert_refused(["export", "--format", tool, file], 2, f"'{tool}' is no format; {tool} opens {opens}; formats are")
        self.assert_refused(["export", "--format", "masif", file], 2, "'masif' is no format; nearest is massif; formats are")
        self.assert_refused(["diff", "--device", "7", file, file], 2, "has no device 7")
        self.assert_refused(["leaks", "--owner", "prgram", file], 2, "no owner 'prgram'; owners: program")
        self.assert_refused(["owners", "--by", "thread", "--thread", "x", file], 2, "has no thread 'x'")
        other = self.sample("s.json")
        self.assertEqual(self.call("peak", "--owner", "program", file, other).returncode, 0)

    def test_each_verb_says_which_filters_it_can_answer(self):
        file = self.sample()
        self.assert_refused(["timeline", "--site", "x", file], 2, "vramscope timeline --site x FILE")
        self.assert_refused(["map", "--thread", "x", file], 2, "vramscope map --thread x FILE")
        self.assert_refused(["stats", "--kind", "pinned", file], 2, "vramscope stats takes --device, and vramscope peak, leaks and sites take --kind")
        self.assert_refused(["stats", "--range", "x", file], 2, "for a trace, vramscope peak, leaks, sites and owners take --range")
        self.assert_refused(["oom", "--stream", "3", file], 2, "is not known")
        self.assert_refused(["report", "--site", "x", file, self.sample("s.json")], 2, "--each")
        shown = self.call("sites", "--kind", "gpu", "--site", "nowhere", file)
        self.assertEqual(shown.stdout, "Only --kind gpu --site nowhere\nNothing that passes was allocated.\n")
        for verb in ("report", "peak", "leaks", "map"):
            self.assertNotIn("Next:", self.call(verb, "--site", "nowhere", file).stdout, verb)

    def test_times_of_a_trace_choose_what_was_allocated_then_and_say_so(self):
        log = self.path("rmm.csv")
        with open(log, "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n")
            for ms, action, pointer, size in ((0, "allocate", 16, 3000), (30, "allocate", 32, 100), (50, "free", 32, 100)):
                file.write(f"1,10:00:00:{ms:03}000,{action},0x{pointer:x},{size},0\n")
        times = ["--from", "30ms", "--to", "40ms"]
        head = ("Only --from 30ms --to 40ms: what was allocated then; all that was held then: "
                f"vramscope timeline --from 30ms --to 40ms {log}\n")  # fmt: skip
        for verb in ("peak", "sites", "leaks", "owners", "owners --by size"):
            shown = self.call(*verb.split(), *times, log).stdout
            self.assertTrue(shown.startswith(head), shown)
            self.assertNotIn("LIVE AT THE PEAK", shown)
            self.assertEqual(verb == "peak", "ALLOCATED IN THAT TIME, LIVE AT ITS PEAK" in shown)
            shown = self.call(*verb.split(), "--kind", "device", log).stdout
            self.assertTrue(shown.startswith("Only --kind device\n"), shown)
            self.assertEqual(verb == "peak", "LIVE AT THE PEAK" in shown)
        self.assertIn("peak 100 B", self.call("peak", *times, log).stdout)
        held = self.call(*shlex.split(head.rpartition(": vramscope ")[2])).stdout
        self.assertIn("3.03 KiB", held)  # of 3,100 bytes
        self.assertTrue(held.startswith("Only --from 30ms --to 40ms\n"), held)
        self.assertRegex(self.call("peak", *times, self.path("*.csv")).stdout, r"timeline --from 30ms --to 40ms FILE\n")

    def test_help_lists_the_filters_that_can_be_answered_and_says_of_what(self):
        file = self.sample()
        values = {"--device": "0", "--kind": "device", "--owner": "program", "--site": ".", "--min-bytes": "1",
                  "--thread": "x", "--stream": "x", "--range": "x", "--from": "1ns", "--to": "1s"}  # fmt: skip
        more = {"check": ["--max-peak", "100GiB"], "diff": [file], "export": ["--format", "folded"], "html": ["-o", "-"]}
        for verb in ("report", "sites", "peak", "leaks", "owners", "oom", "map", "timeline", "stats", "check", "diff", "export", "calls"):
            help_text = re.sub(r"\n {20,}", " ", self.call(verb, "--help").stdout)
            for option, value in values.items():
                lines = [line for line in help_text.splitlines() if line.strip().startswith(option + " ")]
                takes_traces = verb in ("sites", "peak", "leaks", "owners", "timeline", "export")
                if option == "--min-bytes" and verb not in ("stats", "check", "calls"):
                    self.assertEqual(takes_traces, "rows (in a trace: blocks) of at least BYTES" in lines[0], lines)
                result = self.call(verb, option, value, *more.get(verb, []), file)
                answered = result.returncode == 0 or " has no " in result.stderr
                listed = len(lines) == 1 and "traces only" not in lines[0]
                self.assertEqual(listed, answered, (verb, option, lines, result.stderr))
                if not answered and lines:
                    self.assertIn(f"vramscope {verb} ", result.stderr, "the same of a trace")

    def test_devices_on_which_nothing_passes_are_not_listed(self):
        file = self.sample()

        def devices(*words):
            return [device["index"] for device in json.loads(self.call("report", "--json", *words, file).stdout)["devices"]]

        self.assertIn(0, devices())
        self.assertEqual([0], devices("--device", "0"))
        self.assertEqual([], devices("--kind", "pinned"))
        self.assertEqual([], devices("--site", "nowhere"))


class Rows(ToolTest):
    def test_json_has_all_rows_unless_told(self):
        file = self.sample()
        with open(file, encoding="utf-8") as report:
            changed = json.load(report)
        changed["sites"] = [dict(changed["sites"][0], id=i) for i in range(50)]
        with open(file, "w", encoding="utf-8") as report:
            json.dump(changed, report)
        for verb, rows in (("sites", lambda found: found), ("leaks", lambda found: found["leaks"]),
                           ("peak", lambda found: found[0]["live"])):
            found = {count: len(rows(json.loads(self.call(verb, "--json", *words, file).stdout)))
                     for count, words in (("all", []), ("3", ["-n", "3"]))}
            self.assertEqual(found["3"], min(3, found["all"]), verb)
            self.assertIn(found["all"], (0, 50), verb)  # of a site with nothing live none leaks

    def test_rows_are_sorted_by_what_a_column_is_called_in_the_text(self):
        file = self.sample()
        self.sample("s.json", pid=7)
        for verb, title, name in (("sites", "now", "live_bytes"), ("sites", "-NOW", "-live_bytes"), ("sites", "at-peak", "peak_bytes"),
                                  ("owners", "now", "current_bytes"), ("peak", "REQUESTED", "bytes"), ("leaks", "bytes", "bytes"),
                                  ("sites", "+temp", "+temporary_count"), ("sites", "count", "total_count")):  # fmt: skip
            shown = [self.call(verb, "--csv", f"--sort={column}", file) for column in (title, name)]
            self.assertEqual((0, ""), (shown[0].returncode, shown[0].stderr), title)
            self.assertEqual(shown[1].stdout, shown[0].stdout, title)
        self.assertEqual(0, self.call("report", "--sort", "now", file, "s.json").returncode)
        self.assert_refused(["sites", "--sort", "nowhere", file], 2, "no column is called 'nowhere'; columns are site, ")


if __name__ == "__main__":
    harness.main()
