# Reports that are judged: by limits, by a baseline, and by what changed between two.
# SPDX-License-Identifier: Apache-2.0
"""checks_test.py BUILD"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import RanksTest, ToolTest  # noqa: E402


class Limits(RanksTest):
    def test_check_fails_where_a_limit_does_not_hold_and_says_who_is_responsible(self):
        file = self.sample()
        held = ("--max-peak", "760MiB", "--max-leak", "4MiB", "--max-allocations", "27")
        result = self.call("check", *held, file)
        self.assertEqual((result.returncode, result.stdout.count("\n")), (0, 1), result.stdout)
        self.assertTrue(result.stdout.startswith("passed: peak of GPU 0 760 MiB (limit 760 MiB), "))
        for option, limit, line in (
                ("--max-peak", "759MiB", "peak of GPU 0: 760 MiB requested, 1.00 MiB above the limit of 759 MiB\n"),
                ("--max-leak", "0", "never freed: 4.00 MiB requested, 4.00 MiB above the limit of 0 B\n"),
                ("--max-total", "1GiB", "allocated in all: 1.62 GiB requested, 640 MiB above the limit of 1.00 GiB\n"),
                ("--max-allocations", "26", "allocations: 27, 1 above the limit of 26\n")):
            result = self.call("check", option, limit, file)
            self.assertEqual(result.returncode, 1, option)
            self.assertIn(line, result.stdout)
            self.assertRegex(result.stdout, r"\n +(BYTES|COUNT)  WHERE\n +\S+")
            found = json.loads(self.call("check", "--json", option, limit, file).stdout)
            self.assertEqual((found["passed"], found["checks"][0]["passed"]), (False, False))
            self.assertTrue(found["checks"][0]["sites"])
        self.assertTrue(self.call("check", *held, file).stdout.endswith(" (requested bytes)\n"))
        self.assert_refused(["check", file], 2, "a limit is missing")
        self.assert_refused(["check", "--max-peak", "much", file], 2, "'much' is not a number of bytes")
        self.assert_refused(["check", "--max-peak", "1", "none.json"], 2, "none.json: No such file")

    def test_check_says_that_memory_ran_out_and_fails_of_it_only_with_no_oom(self):
        file = self.sample()
        with self.edited(file) as report:
            report["oom"] = {"count": 2, "events": []}
        said = f"train ({report['process']['pid']}) ran out of memory in 2 calls: vramscope oom {file}\n"
        result = self.call("check", "--max-peak", "1GiB", file)
        self.assertEqual(0, result.returncode)
        self.assertIn(said, result.stdout)
        result = self.call("check", "--no-oom", file)
        self.assertEqual(1, result.returncode)
        self.assertTrue(result.stdout.startswith(f"failed: train (4711), {file}\n"), result.stdout)
        self.assertIn("calls that ran out of memory: 2, 2 above the limit of 0\n", result.stdout)
        self.assertIn(said, result.stdout)
        self.assertTrue(result.stdout.endswith(f"Next: vramscope oom {file}\n"))
        found = json.loads(self.call("check", "--no-oom", "--json", file).stdout)
        self.assertEqual([2], [one["calls"] for one in found["out_of_memory"]])
        self.assertEqual(0, self.call("check", "--no-oom", self.sample("other.json", pid=7)).returncode)

    def test_check_lists_what_failed_alone_and_the_same_of_several_once(self):
        folder = self.ranks("ranks", 1, 1, 1, 1, 1)
        text = self.call("check", "--max-peak", "1", "--max-leak", "1TiB", folder).stdout
        self.assertTrue(text.startswith("failed in 5 of 5 processes; the highest: peak of GPU 0 "), text)
        self.assertNotIn("...", text.splitlines()[0])
        self.assertNotIn("never freed", text)
        self.assertIn("\nfailed alike: rank 0 (100), rank 1 (101), rank 2 (102), rank 3 (103), rank 4 (104)\n", text)
        self.assertEqual(1, text.count(" above the limit of "), text)
        merged = self.path("all.json")
        self.call("merge", "-o", merged, folder)
        text = self.call("check", "--max-peak", "1", merged).stdout
        self.assertIn("\nrank 0 (100), rank 1 (101), rank 2 (102), rank 3 (103), rank 4 (104): peak of GPU 0: ", text)

    def test_check_says_who_died_and_judges_what_can_be_read(self):
        folder = self.ranks("ranks", 1, 1)
        with self.edited(f"{folder}/1.json") as report:
            report["trigger"], report["process"]["ended_by"] = "recovered", "SIGKILL"
        done = self.call("check", "--max-peak", "1TiB", folder)
        self.assertEqual(0, done.returncode)
        self.assertIn("rank 1 (101) was killed by SIGKILL.\n", done.stdout)
        self.assertEqual([(101, 1, "SIGKILL")], [(one["pid"], one["rank"], one["ended_by"]) for one in
                                                 json.loads(self.call("check", "--json", "--max-peak", "1TiB", folder).stdout)["died"]])
        with open(self.path("garbage.json"), "w", encoding="utf-8") as text:
            text.write("{}x")
        done = self.call("check", "--max-peak", "1TiB", folder, self.path("garbage.json"))
        self.assertEqual(2, done.returncode)
        self.assertIn("garbage.json", done.stderr)
        self.assertIn("passed in each of 2 processes, ", done.stdout)

    def test_check_does_not_pass_what_it_could_not_read(self):
        folder = self.ranks("ranks", 1, 1)
        limits = ["check", "--max-peak", "100GiB"]
        self.assertEqual(0, self.call(*limits, folder).returncode)
        with open(self.path("ranks/1.json"), encoding="utf-8") as file:
            start = file.read(3000)
        with open(self.path("ranks/1.json"), "w", encoding="utf-8") as file:
            file.write(start)
        shown = self.call(*limits, folder)
        self.assertEqual(2, shown.returncode)
        self.assertTrue(shown.stdout.startswith("not all judged, 1 report could not be read; the rest passed: "), shown.stdout)
        self.assertFalse(json.loads(self.call(*limits, "--json", folder).stdout)["passed"])

    def test_check_does_not_pass_a_call_stack_that_is_not_there(self):
        sample = self.sample()
        self.assert_refused(["check", "--max-leak", "0", "--site", "no_such_function", sample], 2,
                            "no call stack passes --site no_such_function")  # fmt: skip

    def test_limits_can_be_those_of_a_part(self):
        file = self.sample()
        for words, status in ((["--kind", "pinned", "--max-peak", "64MiB"], 0),
                              (["--kind", "pinned", "--max-peak", "63MiB"], 1),
                              (["--device", "0", "--max-peak", "1MiB"], 1),
                              (["--kind", "managed", "--max-peak", "0"], 0),
                              (["--owner", "libnet.so", "--max-leak", "0"], 1),
                              (["--owner", "program", "--max-leak", "0"], 0)):
            result = self.call("check", *words, file)
            self.assertEqual((result.returncode, result.stderr), (status, ""), (words, result.stdout))


class Baseline(RanksTest):
    def test_against_a_baseline_leaks_are_told_by_what_grew(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            (site, part) = next((site, part) for site in report["sites"] for part in site["parts"] if part["live_bytes"])
            part["live_bytes"] += 80 << 10
            for kind in report["kinds"]:
                kind["current_bytes"] += (80 << 10) * (kind["kind"] == part["kind"])
        result = self.call("check", "--against", before, "--json", after)
        (failed,) = [one for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual("never freed", failed["what"])
        self.assertEqual([80 << 10], [row["amount"] for row in failed["sites"]])

    def test_against_a_baseline_each_rank_is_to_leak_no_more_than_it_did(self):
        """What moved from one rank to another left the sum as it was."""
        for folder, leaking in (("before", 1), ("after", 0)):
            os.mkdir(self.path(folder))
            for rank in range(2):
                with self.edited(self.sample(f"{folder}/{rank}.json", rank=rank, pid=4711 + rank)) as report:
                    (site, part) = next((site, part) for site in report["sites"] for part in site["parts"] if part["live_bytes"])
                    more = (1 << 20) * (rank == leaking)
                    part["live_bytes"] += more
                    site["live_bytes"] += more
                    for kind in report["kinds"]:
                        kind["current_bytes"] += more * (kind["kind"] == part["kind"])
        self.assertEqual(0, self.call("check", "--against", "before", "before").returncode)
        result = self.call("check", "--against", "before", "after", "--json")
        self.assertEqual(1, result.returncode, result.stdout)
        (failed,) = [one for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual(("never freed", 0), (failed["what"], failed["rank"]))
        self.assertNotEqual([], failed["sites"])

    def test_against_a_baseline_it_is_said_who_died(self):
        for folder in ("before", "after"):
            os.mkdir(self.path(folder))
            for rank in range(2):
                self.sample(f"{folder}/{rank}.json", rank=rank, pid=4711 + rank)
        with self.edited(self.path("after/1.json")) as report:
            report["trigger"] = "recovered"
            report["process"]["ended_by"] = "SIGKILL"
        for limits in ([], ["--max-peak", "1GiB"]):
            shown = self.call("check", "--against", "before", *limits, "after").stdout
            self.assertEqual(1, shown.count("rank 1 (4712) was killed by SIGKILL"), shown)

    def test_against_a_baseline_each_rank_is_compared_with_its_own(self):
        before, swapped = self.ranks("before", 1, 2, 1), self.ranks("swapped", 2, 1, 1)
        result = self.call("check", "--json", "--against", before, swapped)
        failed = [(one["rank"], one["what"]) for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual([(0, "peak of GPU 0")], failed)
        self.assertEqual(1, result.returncode)
        text = self.call("check", "--against", before, swapped).stdout
        self.assertRegex(text, r"\nrank 0 \(100\): peak of GPU 0: .* above the baseline's ")
        self.assertNotIn("The baseline has", text)

    def test_against_a_baseline_the_worst_rank_comes_first_with_what_grew(self):
        before, after = self.ranks("before", 1, 1, 1), self.ranks("after", 2, 3, 1)
        for rank in (0, 1):
            file = f"{after}/{rank}.json"
            with self.edited(file) as report:
                part = next(part for site in report["sites"] for part in site["parts"] if part["kind"] == "device" and part["peak_bytes"])
                part["peak_bytes"] += 900 << 20
                report["kinds"].append({**report["kinds"][0], "kind": "managed", "peak_bytes": 1 << 20})
        text = self.call("check", "--against", before, after).stdout
        first, second = text.index("\nrank 1 (101): peak of GPU 0, all kinds together: "), text.index("\nrank 0 (100): peak of GPU 0, all kinds together: ")
        self.assertLess(first, second)
        self.assertIn("+900 MiB", text[first:second])
        what = {one["what"] for one in json.loads(self.call("check", "--json", "--against", before, after).stdout)["checks"]}
        self.assertIn("sum of peaks of GPU 0, all kinds together", what)
        self.assertIn("peak of GPU 0, all kinds together", what)

    def test_a_rank_that_is_missing_is_told_beside_a_baseline(self):
        before, fewer = self.ranks("before", 1, 1, 1, 1), self.ranks("fewer", 1, 0, 1, 0)
        for kept, said in ((fewer, "The baseline has 4 processes, this 2 (ranks 1, 3 are missing): sums differ for that alone.\n"),
                           (f"{before}/0.json", "The baseline has 4 processes, this 1 (ranks 1, 2, 3 are missing): sums differ for that alone.\n")):
            self.assertTrue(self.call("check", "--against", before, kept).stdout.startswith(said), kept)
        more = self.call("check", "--against", fewer, before)
        self.assertIn("The baseline has 2 processes, this 4: sums differ for that alone.\n", more.stdout)
        other = self.sample("other.json", executable="/app/serve", arguments=["serve"])
        shown = self.call("check", "--against", self.sample(), other).stdout
        self.assertIn("The baseline is of train, this of serve.\n", shown)
        self.assertNotIn("The baseline is of", self.call("check", "--against", self.sample(), self.sample("b.json")).stdout)
        self.assertEqual(1, more.returncode)

    def test_check_against_a_baseline_allows_a_tolerance(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 38 << 20  # 5 %
            report["sites"][0]["parts"][0]["peak_bytes"] += 38 << 20
        self.assertEqual(0, self.call("check", "--against", before, "--tolerance", "5%", after).returncode)
        self.assertEqual(0, self.call("check", "--against", after, before).returncode)
        result = self.call("check", "--against", before, "--tolerance", "4%", after)
        self.assertEqual(result.returncode, 1)
        self.assertIn("peak of GPU 0: 798 MiB requested, 38.0 MiB (5.0 %) above the baseline's 760 MiB; 790 MiB would pass\n", result.stdout)
        self.assertRegex(result.stdout, r"\n +GREW  WHERE\n  \+38.0 MiB  ")
        self.assert_refused(["check", "--tolerance", "2%", after], 2, "--against")


class Diff(ToolTest):
    def test_diff_says_which_run_did_not_end_by_itself(self):
        before, after = self.sample("a.json"), self.sample("b.json", ended_by="SIGKILL")
        for path, trigger in ((before, "exit"), (after, "recovered")):
            with self.edited(path) as report:
                report["trigger"] = trigger
        shown = self.call("diff", before, after).stdout
        self.assertIn(f"\n  from {before}\n  to   {after}, which was killed by SIGKILL\n", shown)

    def test_diff_filters_by_bytes_of_either_report(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 64 << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += 64 << 20
        found = json.loads(self.call("diff", "--json", "--min-bytes", "520MiB", before, after).stdout)
        (row,) = found["rows"]
        self.assertEqual(("grown", 512 << 20, 576 << 20), (row["what"], row["before"]["bytes"], row["after"]["bytes"]))
        self.assertEqual((512 << 20, 576 << 20), (found["before_bytes"], found["after_bytes"]))

    def test_diff_says_what_changed_and_whether_by_too_much(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        self.assertIn("\nNo site changed.\n", self.call("diff", before, after).stdout)
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 64 << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += 64 << 20
        shown = self.call("diff", before, after)
        self.assertEqual(shown.returncode, 0)
        self.assertIn("  GPU 0  760 MiB -> 824 MiB (+64.0 MiB, +8.4 %)\n", shown.stdout)
        self.assertIn("  +64.0 MiB  512 MiB  576 MiB  grown  GPU 0   ", shown.stdout)
        for threshold, status in (("63MiB", 1), ("64MiB", 0), ("7%", 1), ("8%", 0), ("0", 1)):
            result = self.call("diff", "--threshold", threshold, before, after)
            self.assertEqual(result.returncode, status, threshold)
            self.assertEqual(0, self.call("diff", "--threshold", threshold, after, before).returncode)
        found = json.loads(self.call("diff", "--json", "--threshold", "1%", before, after).stdout)
        self.assertTrue(found["crossed"])
        self.assertEqual([(row["what"], row["change_bytes"]) for row in found["rows"]], [("grown", 64 << 20)])
        self.assert_refused(["diff", "--threshold", "much", before, after], 2, "'much' is neither")
        self.assert_refused(["diff", "--by", "colour", before, after], 2, "'colour' is none of site, owner")
        self.assert_refused(["diff", before, "none.json"], 2, "none.json: No such file")


if __name__ == "__main__":
    harness.main()
