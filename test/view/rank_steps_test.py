# Questions over ranks: who peaks first and why, in which step they differ, what communication libraries hold.
# SPDX-License-Identifier: Apache-2.0
"""rank_steps_test.py BUILD"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from jobs_case import MIB, START_NS, JobTest  # noqa: E402

SECOND_NS = 10**9


def entry(axis, value, mib, kind="device"):
    return {"axis": axis, "value": value, "device": 0, "kind": kind, "own_peak_bytes": mib * MIB, "peak_bytes": mib * MIB,
            "live_bytes": 0, "total_bytes": mib * MIB, "total_count": 1, "total_ns": 1}  # fmt: skip


class Steps(JobTest):
    def ranks(self, count=8, peak_s=5, **odd):
        """Each peaks after 5 s, of 10; odd: what changes of a rank's report."""

        def usual(report):
            report["axes"] = []
            report["timeline"].update(start_ns=START_NS, duration_ns=10 * SECOND_NS)
            report["kinds"] = [row for row in report["kinds"] if row["kind"] == "device"]
            report["kinds"][0].update(peak_bytes=760 * MIB, peak_ns=peak_s * SECOND_NS)

        def changed(change):
            def both(report):
                usual(report)
                change(report)

            return both

        return self.job(count, **{**{f"r{rank}": usual for rank in range(count)}, **{rank: changed(one) for rank, one in odd.items()}})

    def answer(self, name):
        result = self.call("report", "--json", "job")
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        return json.loads(result.stdout)[name]

    def test_the_rank_that_peaks_first_is_named_with_what_it_held_more(self):
        def early(report):
            report["kinds"][0].update(peak_bytes=960 * MIB, peak_ns=2 * SECOND_NS)
            site = report["sites"][0]
            for part in (site, site["parts"][0]):
                part["peak_bytes"] += 200 * MIB

        self.ranks(r3=early)
        text = self.first_screen("report", "job", rows=60, columns=120)
        self.assertIn("first at its peak: rank 3 (1003), 960 MiB at 2.00 s after the first process began; the median is 3.00 s later", text)
        self.assertIn("+200 MiB ", text.split("first at its peak")[1])
        first = self.answer("first_peak")
        self.assertEqual((1003, "wall", 2 * SECOND_NS, 5 * SECOND_NS), tuple(first[name] for name in ("pid", "clock", "peak_ns", "median_ns")))
        self.assertEqual(200 * MIB, first["sites"][0]["bytes"] - first["sites"][0]["median_bytes"])

    def test_ranks_that_start_later_do_not_peak_first_by_their_own_time(self):
        """By the clock of all rank 6 is the first, though rank 2 needs the least time."""

        def late(report):
            report["timeline"]["start_ns"] += 4 * SECOND_NS
            report["kinds"][0]["peak_ns"] = 3 * SECOND_NS

        def first(report):
            report["kinds"][0]["peak_ns"] = 4 * SECOND_NS

        self.ranks(r2=late, r6=first)
        self.assertEqual(1006, self.answer("first_peak")["pid"])

    def test_where_all_peak_at_one_time_nobody_is_first(self):
        self.ranks()
        self.assertNotIn("first at its peak", self.shown("job"))

    def on_two_gpus(self, at_s, has_timeline=True):
        """A rank that holds 400 MiB of each in one second, and more of one before."""

        def change(report):
            at = [100] * 10
            at[at_s] = 400
            report["kinds"] = [{**report["kinds"][0], "device": device, "peak_bytes": 400 * MIB, "peak_ns": at_s * SECOND_NS + device}
                               for device in (0, 1)]  # fmt: skip
            report["devices"] = [{**report["devices"][0], "index": device, "uuid": f"GPU-{device}"} for device in (0, 1)]
            if has_timeline:
                values = [value * MIB for value in at]
                report["timeline"]["series"] = [
                    {"kind": "device", "device": device, "bucket_ns": SECOND_NS, "highest": values, "last": values} for device in (0, 1)
                ]

        return change

    def test_of_ranks_with_several_gpus_the_time_is_within_a_bucket(self):
        self.ranks(**{f"r{rank}": self.on_two_gpus(2 if rank == 3 else 6) for rank in range(8)})
        found = self.answer("first_peak")
        self.assertEqual((1003, 2 * SECOND_NS, 3 * SECOND_NS, 6 * SECOND_NS, 7 * SECOND_NS, 8), tuple(
            found[name] for name in ("pid", "peak_ns", "peak_until_ns", "median_ns", "median_until_ns", "compared")))  # fmt: skip
        self.assertIn("first at its peak: rank 3 (1003), 800 MiB between 2.00 s and 3.00 s after the first process began; "
                      "the median is at least 3.00 s later", self.shown("job"))  # fmt: skip
        self.assertEqual([1003, 2 * SECOND_NS], [self.answer("peak_times")[0][name] for name in ("pid", "peak_ns")])

    def test_of_two_in_one_bucket_the_first_is_not_known(self):
        self.ranks(**{f"r{rank}": self.on_two_gpus(2 if rank in (3, 5) else 6) for rank in range(8)})
        self.assertEqual((None, "overlap"), (self.answer("first_peak"), self.answer("no_first_peak")))
        self.assertIn("first at its peak is one of rank 3 (1003) and rank 5 (1005), between 2.00 s and 3.00 s after the first process began; "
                      "traces (run --trace '%p.trace') would tell", self.shown("job"))  # fmt: skip

    def test_where_all_may_be_the_first_it_says_so_unless_they_are_close(self):
        self.ranks(**{f"r{rank}": self.on_two_gpus(5) for rank in range(8)})
        self.assertEqual("overlap", self.answer("no_first_peak"))
        self.assertIn("which process is first at its peak is not known: all were there between 5.00 s and 6.00 s after the first process began; "
                      "traces (run --trace '%p.trace') would tell", self.shown("job"))  # fmt: skip

        def briefly(report):
            self.on_two_gpus(5)(report)
            for series in report["timeline"]["series"]:
                series["bucket_ns"] = SECOND_NS // 1000

        self.ranks(**{f"r{rank}": briefly for rank in range(8)})
        self.assertNotIn("first at its peak", self.shown("job"))

    def test_a_rank_whose_time_is_not_known_is_left_out(self):
        def early(report):
            report["kinds"][0].update(peak_bytes=960 * MIB, peak_ns=2 * SECOND_NS)

        self.ranks(r1=early, r4=self.on_two_gpus(1, has_timeline=False))
        self.assertEqual([1001, 7], [self.answer("first_peak")[name] for name in ("pid", "compared")])
        self.assertIn("the median of the 7 processes whose time is known is 3.00 s later", self.shown("job"))

    def test_where_no_time_is_known_the_reason_is_told(self):
        self.ranks(**{f"r{rank}": self.on_two_gpus(1, has_timeline=False) for rank in range(8)})
        self.assertEqual((None, "unknown", []), tuple(self.answer(name) for name in ("first_peak", "no_first_peak", "peak_times")))
        self.assertIn("which process is first at its peak is not known: kinds of memory or GPUs peaked at different times", self.shown("job"))

    def test_the_step_in_which_they_differ_most_is_named(self):
        def steps(*mib):
            def change(report):
                values = [value * MIB for value in mib]
                report["timeline"]["series"] = [{"kind": "device", "device": 0, "bucket_ns": SECOND_NS, "highest": values, "last": values}]
                report["marks"] = [{"time_ns": at * SECOND_NS, "name": "step"} for at in range(len(values))]
                report["marks"].append({"time_ns": 3 * SECOND_NS + 1, "name": f"only in {report['process']['rank']}"})

            return change

        self.ranks(**{f"r{rank}": steps(100, 200, 200, 200) for rank in range(8)}, )
        self.assertEqual({0}, {step["max_bytes"] - step["min_bytes"] for step in self.answer("steps")})
        self.assertNotIn("most apart", self.shown("job"))
        self.ranks(**{f"r{rank}": steps(100, 200, 900 if rank == 5 else 150, 200) for rank in range(8)})
        self.assertIn("most apart after the mark 'step#3' (by timelines, roughly): 900 MiB in rank 5 (1005), median 150 MiB, 150 MiB in rank 0 (1000)",
                      self.shown("job"))  # fmt: skip
        found = self.answer("steps")
        self.assertEqual(("mark", "step#3", 8, 1005, "timeline", 0), tuple(found[0][name] for name in ("what", "name", "processes", "max_pid", "source", "traced")))
        self.assertEqual({"step#1", "step#2", "step#3", "step#4"}, {step["name"] for step in found})

    def test_so_is_a_range_that_all_have(self):
        def ranges(forward, other):
            def change(report):
                report["axes"] = [entry("range", "forward", forward), entry("range", "forward", forward, kind="managed"),
                                  entry("range", "none", 9 * forward), entry("range", "others", 9 * forward),
                                  entry("range", "forward", 5000, kind="pinned"), entry("range", other, 1)]

            return change

        self.ranks(**{f"r{rank}": ranges(100 + 50 * (rank == 2), f"own {rank}") for rank in range(8)})
        self.assertIn("most apart in the range 'forward': 300 MiB in rank 2 (1002), median 200 MiB", self.shown("job"))
        self.assertEqual(["forward"], [step["name"] for step in self.answer("steps")])

    def test_communication_libraries_have_a_line_of_their_own(self):
        def libraries(rank):
            def change(report):
                report["axes"] = [entry("owner", "NCCL", 300 if rank == 4 else 200), entry("owner", "PyTorch", 4000),
                                  entry("owner", "UCX", 10, kind="pinned")]  # fmt: skip
                if rank == 0:
                    report["axes"].append(entry("owner", "NVSHMEM", 64))

            return change

        self.ranks(**{f"r{rank}": libraries(rank) for rank in range(8)})
        self.assertIn("communication libraries: NCCL at most 300 MiB in rank 4 (1004), median 200 MiB, least 200 MiB; "
                      "NVSHMEM at most 64.0 MiB in rank 0 (1000), median 0 B, least 0 B; UCX at most 10.0 MiB in each",
                      self.shown("job"))  # fmt: skip
        self.assertEqual([("NCCL", 8), ("NVSHMEM", 1), ("UCX", 8)], [(one["name"], one["processes"]) for one in self.answer("libraries")])

    def test_of_several_programs_nothing_is_compared(self):
        def other(report):
            report["process"]["executable"] = "/opt/other"
            report["kinds"][0]["peak_ns"] = 1

        self.ranks(r3=other)
        self.assertEqual((None, "programs"), (self.answer("first_peak"), self.answer("no_first_peak")))
        self.assertNotIn("Over time", self.shown("job"))


if __name__ == "__main__":
    harness.main()
