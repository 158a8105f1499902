# What is said of jobs of many ranks: who is missing, died, was restarted, or does not fit the others.
# SPDX-License-Identifier: Apache-2.0
"""jobs_test.py BUILD"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from jobs_case import MIB, MINUTE_NS, START_NS, JobTest, change_process, missing  # noqa: E402


class Jobs(JobTest):
    def test_a_job_of_which_all_ranks_reported_says_so(self):
        self.assertIn("job 4711.0 of Slurm: all 8 ranks have reports", self.shown(self.job(8)))
        (job,) = self.jobs("job")
        self.assertEqual(("4711.0", "Slurm", 8, list(range(8)), [], 0),
                         tuple(job[name] for name in ("job", "launcher", "ranks", "reported", "missing", "missing_count")))

    def test_missing_ranks_are_named_by_the_number_that_there_should_be(self):
        self.job(62, of=64, r17=missing, r40=missing)
        self.assertIn("job 4711.0 of Slurm: 60 of 64 ranks have reports; ranks 17, 40, 62 and 63 are missing", self.shown("job"))
        self.assertEqual([17, 40, 62, 63], self.jobs("job")[0]["missing"])

    def test_many_missing_ranks_are_named_as_ranges_and_counted(self):
        self.job(2, of=100_000)
        self.assertIn("2 of 100,000 ranks have reports; ranks 2 to 1025 and more are missing", self.shown("job"))
        (job,) = self.jobs("job")
        self.assertEqual((1024, 99_998), (len(job["missing"]), job["missing_count"]))

    def test_a_report_that_is_alone_says_of_how_many_ranks(self):
        self.job(8, **{f"r{rank}": missing for rank in range(1, 8)})
        self.assertIn("rank 0 of 8", self.shown("job"))

    def test_without_the_number_of_ranks_gaps_are_named(self):
        unknown = change_process(world_size=None)
        self.job(4, r0=unknown, r1=missing, r2=unknown, r3=unknown)
        self.assertIn("rank 1 is missing among the ranks up to 3; how many there were is not known", self.shown("job"))

    def test_without_a_gap_and_the_number_of_ranks_nothing_is_said(self):
        unknown = change_process(world_size=None)
        self.job(2, r0=unknown, r1=unknown)
        self.assertNotIn("the job", self.shown("job"))
        self.assertNotIn("job 4711.0", self.shown("job"))

    def test_who_died_is_named_with_the_signal(self):
        def killed(report):
            report["trigger"] = "recovered"
            report["process"]["ended_by"] = "SIGKILL"

        self.job(8, r5=killed)
        text = self.shown("job")
        self.assertIn("all 8 ranks have reports", text)
        self.assertIn("rank 5 (1005) was ended by SIGKILL", text)

    def test_who_was_restarted_is_named_with_how_often(self):
        self.job(8, r3=change_process(restart=1), r6=change_process(restart=2))
        text = self.shown("job")
        self.assertIn("rank 3 was restarted once", text)
        self.assertIn("rank 6 was restarted twice", text)
        self.assertEqual([{"rank": 3, "times": 1}, {"rank": 6, "times": 2}], self.jobs("job")[0]["restarted"])

    def test_processes_of_a_rank_that_ran_one_after_the_other_are_told(self):
        """Restarts of a launcher that does not count them, or a second run into the same folder."""
        self.job(4)
        later = {"start_time_ns": START_NS + 2 * MINUTE_NS, "report_time_ns": START_NS + 3 * MINUTE_NS}
        self.job(4, folder="again", r2=change_process(pid=2002, **later))
        os.rename(self.path("again/rank2.1002.json"), self.path("job/rank2.2002.json"))
        self.assertIn("rank 2 has reports of processes that ran one after the other", self.shown("job"))
        self.assertEqual([2], self.jobs("job")[0]["in_sequence"])

    def test_two_jobs_in_one_folder_are_told_apart(self):
        self.job(4)
        self.job(3, folder="other", of=4, job="4712.0")
        for name in os.listdir(self.path("other")):
            os.rename(self.path(f"other/{name}"), self.path(f"job/b{name}"))
        for rank in range(3):
            with self.edited(self.path(f"job/brank{rank}.{1000 + rank}.json")) as report:
                report["process"]["pid"] += 1000
        text = self.shown("job")
        self.assertIn("7 processes of train", text)  # none is lost
        self.assertIn("these are reports of 2 jobs", text)
        self.assertIn("job 4711.0 of Slurm: all 4 ranks have reports", text)
        self.assertIn("job 4712.0 of Slurm: 3 of 4 ranks have reports; rank 3 is missing", text)

    def test_ranks_of_another_build_and_of_another_version_are_named(self):
        def rebuilt(report):
            report["modules"].append({"path": "/opt/train", "build_id": "bbbb", "base": 4096})

        def usual(report):
            report["modules"].append({"path": "/opt/train", "build_id": "aaaa", "base": 4096})

        def newer(report):
            usual(report)
            report["tool"]["version"] = "0.9.0"

        self.job(4, r0=usual, r1=usual, r2=rebuilt, r3=newer)
        text = self.shown("job")
        self.assertIn("rank 2 runs another build of the program (bbbb) than ranks 0, 1 and 3 (aaaa)", text)
        self.assertIn("rank 3 was recorded by another version of Vramscope (0.9.0) than ranks 0 to 2 (0.1.0)", text)
        self.call("merge", "-o", "all.json", "job")
        self.assertIn("rank 2 runs another build of the program (bbbb)", self.shown("all.json"))

    def test_hosts_whose_clocks_differ_by_minutes_are_named(self):
        late = change_process(start_time_ns=START_NS + 5 * MINUTE_NS, report_time_ns=START_NS + 6 * MINUTE_NS)
        self.job(16, **{f"r{rank}": late for rank in range(8, 16)})
        text = self.shown("job")
        self.assertIn("16 processes of train", text)
        self.assertIn("ranks on node1 began 5 min", text)
        self.assertIn("after those on node0: they started late, or the clocks differ", text)

    def test_one_that_cannot_be_read_is_one_line_and_the_rest_is_shown(self):
        self.job(4)
        with open(self.path("job/rank2.1002.json"), "r+", encoding="utf-8") as file:
            file.truncate(3000)
        result = self.call("report", "job")
        self.assertEqual(2, result.returncode)
        self.assertEqual(1, result.stderr.count("\n"), result.stderr)
        self.assertIn("rank2.1002.json", result.stderr)
        self.assertIn("3 of 4 ranks have reports; rank 2 is missing", " ".join(result.stdout.split()))

    def test_hostile_numbers_are_shown_and_take_no_time(self):
        huge = change_process(rank=2**63 - 1, world_size=2**63 - 1, restart=2**63 - 1, job="\x1b[31m\n" * 50)
        self.job(2, r1=huge)
        text = self.shown("job")
        self.assertNotIn("\x1b", text)
        self.assertIn("2 processes", text)

    def test_texts_of_a_report_control_no_terminal(self):
        def usual(report):
            report["modules"].append({"path": "/opt/train", "build_id": "aaaa", "base": 4096})

        def odd(report):
            report["modules"].append({"path": "/opt/train", "build_id": "\x1b[2Jb", "base": 4096})
            report["tool"]["version"] = "\x1b[2Jv"
            report["process"].update(hostname="\x1b[2Jh", launcher="\x1b[2Jl", start_time_ns=START_NS + 5 * MINUTE_NS)

        self.job(2, r0=usual, r1=odd)
        text = self.shown("job")
        self.assertIn("another build", text)
        self.assertIn("another version", text)
        self.assertIn("the clocks differ", text)
        self.assertNotIn("one after the other", text)
        self.assertNotIn("\x1b", text)


class ManyFiles(JobTest):
    def test_ten_thousand_reports_are_one_line_each_and_none_is_lost(self):
        small = {name: self.rank[name] for name in ("schema", "tool", "trigger", "sequence", "process", "kinds")}
        small["kinds"] = [{**small["kinds"][0], "peak_site": None}]
        count = 10_000
        for rank in range(count):
            small["process"].update(pid=1000 + rank, rank=rank, world_size=count, job="4711.0", launcher="Slurm",
                                    executable="/opt/train", start_time_ns=START_NS + rank)
            self.write(f"job/rank{rank}.{1000 + rank}.json", small)
        text = self.shown("job")
        self.assertIn("10,000 processes of train", text)
        self.assertIn("all 10,000 ranks have reports", text)
        merged = self.call("merge", "-o", "all.json", "job")
        self.assertEqual(0, merged.returncode, merged.stderr)
        self.assertIn("10,000 processes in all.json", merged.stderr)


class OddRank(JobTest):
    """One rank of 64 that is not as the others: the first screen names it."""

    def peak_of(self, kind, peak):
        def change(report):
            for row in report["kinds"]:
                if row["kind"] == kind:
                    row["peak_bytes"] = peak

        return change

    def assert_named(self, rank, *words):
        text = self.first_screen("report", "job")
        for word in words:
            self.assertIn(word, text)
        self.assertIn(f"rank {rank}", text)

    def test_by_its_device_peak(self):
        self.job(64, r37=self.peak_of("device", 20 << 30))
        self.assert_named(37, "rank 37 (1037): peak 20.0 GiB")

    def test_by_its_pinned_memory(self):
        self.job(64, r37=self.peak_of("pinned", 4096 * MIB))
        self.assert_named(37, "rank 37 (1037): host memory 4.00 GiB")

    def test_by_each_kind_of_memory(self):
        """Of others it has so much that the sum of all kinds tells nothing."""
        device = ("device", "managed", "stream_ordered", "array", "physical", "graph")
        host = ("pinned", "registered", "host")

        def peaks(odd):
            def change(report):
                report["kinds"] = [{"kind": kind, "device": 0, "current_bytes": 0, "peak_site": None, "allocations": 1,
                                    "peak_bytes": (8192 if kind in ("device", "pinned") else 100) * MIB + 60 * MIB * (kind == odd)}
                                   for kind in device + host]  # fmt: skip

            return change

        for kind in device[1:] + host[1:]:
            self.job(64, **{f"r{rank}": peaks(kind if rank == 37 else "") for rank in range(64)})
            self.assert_named(37, f"rank 37 (1037): {kind} memory 160 MiB, 60.0 MiB above the median of 100 MiB")
        kinds = {row["kind"]: row for row in json.loads(self.call("report", "--json", "job").stdout)["kinds"]}
        self.assertEqual([{"pid": 1037, "peak_bytes": 160 * MIB}], kinds["host"]["odd"])
        self.assertEqual((1037, 100 * MIB, []), (kinds["host"]["max_pid"], kinds["host"]["median_bytes"], kinds["array"]["odd"]))

    def test_by_the_time_that_allocating_took(self):
        def slow(report):
            report["sites"][0]["parts"][0]["total_ns"] = 9 * 10**9

        self.job(64, r37=slow)
        self.assert_named(37, "rank 37 (1037): allocating took 9.")

    def test_by_its_absence(self):
        self.job(64, r37=missing)
        self.assert_named(37, "63 of 64 ranks have reports; rank 37 is missing")

    def test_by_its_death(self):
        def killed(report):
            report["trigger"] = "recovered"
            report["process"]["ended_by"] = "SIGKILL"

        self.job(64, r37=killed)
        self.assert_named(37, "rank 37 (1037) was ended by SIGKILL")

    def test_none_is_named_of_equal_ones(self):
        self.job(64)
        self.assertNotIn("Differences", self.first_screen("report", "job"))


if __name__ == "__main__":
    harness.main()
