# Ranks over time: `timeline` of several reports lays them over each other, and names those that differ.
# SPDX-License-Identifier: Apache-2.0
"""ranks_test.py BUILD"""
import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import listings  # noqa: E402
from jobs_case import MIB, MINUTE_NS, START_NS, JobTest  # noqa: E402

SECOND_NS = 10**9


def curve(*mib, kind="device"):
    """By the second."""
    values = [value * MIB for value in mib]

    def change(report):
        rank = report["process"]["rank"]
        report["timeline"].update(start_ns=START_NS + rank, duration_ns=len(values) * SECOND_NS)
        report["timeline"]["series"].append({"kind": kind, "device": 0, "bucket_ns": SECOND_NS, "highest": values, "last": values})
        report["kinds"] = [row for row in report["kinds"] if row["kind"] != kind]
        report["kinds"].append({"kind": kind, "device": 0, "current_bytes": 0, "peak_bytes": max(values), "peak_site": None,
                                "peak_ns": values.index(max(values)) * SECOND_NS + SECOND_NS // 2, "allocations": 1})  # fmt: skip

    return change


def both(*changes):
    def change(report):
        for one in changes:
            one(report)

    return change


class RanksOverTime(JobTest):
    USUAL = (100, 400, 800, 400, 800, 400, 800, 400, 100, 0)
    ODD = (100, 400, 800, 400, 800, 900, 1300, 900, 100, 0)

    def job_of(self, count, usual=USUAL, **odd):
        for row in self.rank["kinds"]:
            row["peak_bytes"] = 0
        changes = {f"r{rank}": curve(*usual) for rank in range(count)}
        return self.job(count, **{**changes, **odd})

    def over(self, *words):
        result = self.call("timeline", "--json", *words)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        listing = json.loads(result.stdout)
        self.assertEqual([], listings.problems("ranks", listing))
        return listing

    def test_a_screen_has_the_median_and_the_odd_ones_by_name_with_their_peak_and_when(self):
        self.job_of(64, r37=curve(*self.ODD))
        text = self.first_screen("timeline", "job", rows=24, columns=80)
        self.assertIn("64 ranks of train over each other, 10.0 s", text)
        self.assertIn("━ median, at most 800 MiB", text)
        self.assertIn("a rank 37 (1037): peak 1.27 GiB at 6.50 s; 500 MiB above the median of 400 MiB at 5.22 s", text)
        self.assertEqual(1, text.count(": peak "), text)
        self.assertIn("aaaaaa", text)

    def test_of_equal_ranks_none_is_named(self):
        self.job_of(64)
        text = self.first_screen("timeline", "job", rows=24)
        self.assertIn("none is far from the median", text)
        self.assertNotIn(": peak", text)

    def test_the_steps_are_those_of_a_recount(self):
        curves = {rank: [(rank * 37 + second * 11) % 97 + 3 for second in range(10)] for rank in range(23)}
        self.job_of(23, **{f"r{rank}": curve(*values) for rank, values in curves.items()})
        over = self.over("job")
        self.assertEqual(23, len(over["ranks"]))
        for step in over["steps"]:
            first = max(0, step["from_ns"] - 22) // SECOND_NS
            if first != min(9, (step["from_ns"] + over["step_ns"]) // SECOND_NS):
                continue  # two seconds have a part in it, of ranks that began up to 22 ns later
            values = sorted(MIB * of[first] for of in curves.values())
            self.assertEqual((23, values[0], values[2], statistics.median(values), values[20], values[-1]),
                             tuple(step[name] for name in ("ranks", "least_bytes", "low_bytes", "median_bytes", "high_bytes", "most_bytes")))

    def test_one_that_is_a_step_behind_is_not_far(self):
        self.job_of(16, r3=curve(100, *self.USUAL[:-1]))
        self.assertEqual(1, sum(rank["is_far"] for rank in self.over("job")["ranks"]))  # a second is 20 steps
        long = [value for value in self.USUAL for _ in range(60)]
        self.job_of(16, long, r3=curve(100, *long[:-1]))
        self.assertEqual(0, sum(rank["is_far"] for rank in self.over("job")["ranks"]))

    def test_a_rank_that_was_killed_is_there_while_it_lived(self):
        def killed(report):
            report["trigger"] = "recovered"
            report["process"]["ended_by"] = "SIGKILL"

        self.job_of(8, r5=both(curve(*self.ODD[:7]), killed))
        over = self.over("job")
        self.assertEqual((5, 7 * SECOND_NS + 5), (over["ranks"][0]["rank"], over["ranks"][0]["end_ns"]))
        self.assertEqual({7, 8}, {step["ranks"] for step in over["steps"]})
        self.assertRegex(self.first_screen("timeline", "job", rows=24), r"rank 5 \(1005\): .*was killed by SIGKILL at 7.00 s")

    def test_where_the_hosts_clocks_differ_each_has_its_own_time(self):
        def late(report):
            report["timeline"]["start_ns"] += 5 * MINUTE_NS

        self.job_of(16, **{f"r{rank}": both(curve(*self.USUAL), late) for rank in range(8, 16)})
        self.assertEqual(("start", None), (self.over("job")["clock"], self.over("job")["start_ns"]))
        self.assertEqual(10 * SECOND_NS, self.over("job")["duration_ns"])
        self.assertIn("time 0 is the start of each process", self.first_screen("timeline", "job"))
        wall = self.over("--clock", "wall", "job")
        self.assertEqual(("wall", START_NS), (wall["clock"], wall["start_ns"]))
        self.assertEqual(5 * MINUTE_NS + 10 * SECOND_NS + 15, wall["duration_ns"])

    def test_a_job_whose_clocks_agree_has_their_time(self):
        self.job_of(16)
        self.assertEqual(("wall", START_NS), (self.over("job")["clock"], self.over("job")["start_ns"]))
        self.assertEqual("start", self.over("--clock", "start", "job")["clock"])
        self.assertIn("'sun' is none of automatic, start, wall", self.call("timeline", "--clock", "sun", "job").stderr)

    def test_kinds_are_added_up_as_a_bound_and_can_be_chosen(self):
        self.job_of(8, r2=both(curve(*self.USUAL), curve(*self.ODD, kind="managed")))
        odd = self.over("job")["ranks"][0]
        self.assertEqual((2, True, 2100 * MIB), (odd["rank"], odd["is_bound"], odd["peak_bytes"]))
        self.assertIn("upper bounds", self.first_screen("timeline", "job", rows=24))
        chosen = self.over("--kind", "managed", "job")["ranks"]
        self.assertEqual([(2, False, 1300 * MIB)], [(rank["rank"], rank["is_bound"], rank["peak_bytes"]) for rank in chosen if rank["peak_bytes"]])

    def test_without_device_memory_it_is_of_the_host(self):
        self.job_of(8, **{f"r{rank}": curve(*self.USUAL, kind="pinned") for rank in range(8)})
        self.assertTrue(self.over("job")["is_of_host"])
        self.assertIn("of host memory", self.first_screen("timeline", "job", rows=24))

    def test_a_merged_report_has_its_sum_or_its_ranks(self):
        self.job_of(8, r5=curve(*self.ODD))
        self.call("merge", "-o", "all.json", "job")
        self.assertIn("series", json.loads(self.call("timeline", "--json", "all.json").stdout))
        merged, apart = self.over("--ranks", "all.json"), self.over("job")
        for listing in (merged, apart):
            for rank in listing["ranks"]:
                del rank["file"]
        self.assertEqual(apart, merged)

    def test_ranks_of_what_has_none_are_refused(self):
        self.job_of(2)
        for words in (["--each", "job"], ["--site", "x", "job"]):
            result = self.call("timeline", "--ranks", *words)
            self.assertEqual((2, 1), (result.returncode, result.stderr.count("\n")), result.stderr)
            self.assertIn("--ranks lays processes of reports over each other", result.stderr)
        self.assertEqual(0, self.call("timeline", "--ranks", "job/rank0.1000.json").returncode)

    def test_each_has_a_timeline_of_its_own(self):
        self.job_of(4)
        self.assertEqual(4, len(json.loads(self.call("timeline", "--each", "--json", "job").stdout)))

    def test_a_window(self):
        self.job_of(8, r5=curve(*self.ODD))
        over = self.over("--from", "2s", "--to", "4s", "job")
        self.assertEqual((2 * SECOND_NS, 4 * SECOND_NS), (over["from_ns"], over["to_ns"]))
        self.assertEqual(0, sum(rank["is_far"] for rank in over["ranks"]))

    def test_rows_of_csv_are_the_steps_of_the_json(self):
        self.job_of(3)
        over = self.over("job")
        rows = self.call("timeline", "--csv", "job").stdout.splitlines()
        self.assertEqual("pid,rank,from_ns,highest_bytes,median_bytes", rows[0])
        self.assertEqual(sum(len(rank["highest_bytes"]) for rank in over["ranks"]), len(rows) - 1)
        self.assertEqual([1, 2], [rank["rank"] for rank in self.over("--sort", "rank", "-n", "2", "job")["ranks"]][::-1])

    def test_of_a_thousand_ranks_a_screen_has_all(self):
        self.job_of(1000, r37=curve(*self.ODD), r998=curve(*[3 * value for value in self.USUAL]))
        text = self.first_screen("timeline", "job", rows=24)
        self.assertIn("1,000 ranks of train", text)
        self.assertEqual(["998", "37"], re.findall(r"rank (\d+) \(\d+\): peak", text))

    def test_one_that_cannot_be_read_is_named_and_left_out(self):
        self.job_of(4)
        with open(self.path("job/rank2.1002.json"), "r+", encoding="utf-8") as file:
            file.truncate(3000)
        result = self.call("timeline", "job")
        self.assertEqual((2, 1), (result.returncode, result.stderr.count("\n")))
        self.assertIn("rank2.1002.json", result.stderr)
        self.assertIn("4 ranks have reports; rank 2 is missing", " ".join(result.stdout.split()))

    def test_reports_without_a_timeline_are_counted(self):
        self.job_of(4)
        self.job(1, folder="old")
        os.rename(self.path("old/rank0.1000.json"), self.path("job/rank9.1009.json"))
        with self.edited(self.path("job/rank9.1009.json")) as report:
            report["process"].update(pid=1009, rank=9)
            report["kinds"][0]["peak_bytes"] = MIB
        self.assertEqual(1, self.over("job")["untimed"])
        self.assertIn("1 process left out", self.first_screen("timeline", "job"))

    def test_hostile_times_take_no_time(self):
        def hostile(report):
            report["timeline"].update(start_ns=2**64 - 1, duration_ns=2**64 - 1)

        self.job_of(3, r1=both(curve(*self.USUAL), hostile))
        for clock in ("automatic", "start", "wall"):
            self.assertEqual(3, len(self.over("--clock", clock, "job")["ranks"]))


if __name__ == "__main__":
    harness.main()
