# What is told of several reports of an H200 at once (real/README.md): no figure of processes that none of them had.
# SPDX-License-Identifier: Apache-2.0
"""real_several_test.py BUILD"""
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

PYTORCH = ("gpt", "gpt-async", "gpt-expandable", "gpt-no-cache", "gpt-no-cache-pytorch", "nccl", "torch-oom-at-exit")


class Case(RealReports):
    def merged(self, *names):
        path = self.path("-".join(names) + ".merged.json")
        if not os.path.exists(path):
            self.assertEqual(0, self.call("merge", "-o", path, *map(self.real, names)).returncode)
        return path

    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())


class Classes(Case):
    """Two processes that each allocated in two tenths of their runs "grew" over three."""

    def growing(self, *files):
        return {tuple(row["frames"]) for row in self.json("leaks", "--no-default-suppressions", *files)["leaks"] if row["class"] == "grows"}

    def test_grow_only_if_one_process_does(self):
        alone = {name: self.growing(self.real(name)) for name in PYTORCH}
        for pair in itertools.combinations(PYTORCH, 2):
            either = alone[pair[0]] | alone[pair[1]]
            self.assertLessEqual(self.growing(*map(self.real, pair)), either, pair)
            self.assertLessEqual(self.growing(self.merged(*pair)), either, pair)

    def test_grow_with_the_process_that_does(self):
        self.assertTrue(self.growing(self.real("gpt")))
        self.assertTrue(self.growing(self.merged("gpt", "gpt-no-cache")))


class Differences(Case):
    """ "the median 0 B" of five processes with 590 MiB and more: it was one process, and one kind of its memory."""

    def report(self, *names):
        return self.json("report", *map(self.real, names))

    def test_name_the_process_beside_which_they_stand(self):
        text = self.text("report", *map(self.real, PYTORCH))
        self.assertNotRegex(text, r"\(.*, the median | in the median\)")
        self.assertRegex(text, r"\n +\+1\.44 GiB +main \(gpt\.py:53\).*\(1\.44 GiB here, 24\.1 KiB in gpt\.py \(4536\)\)\n")
        (one,) = [one for one in self.report(*PYTORCH)["differences"] if one["pid"] == 6257]
        held = {site["median_bytes"] for site in one["sites"]}
        self.assertEqual({24640, 618135552, 618135556}, held)  # 590 MiB of stream-ordered memory, of stacks that read alike

    def test_are_of_one_instant_and_of_all_kinds(self):
        for names in (PYTORCH, ("jax", "cupy", "nccl"), ("gpt", "gpt-async", "gpt-expandable")):
            told = self.report(*names)
            peaks = {row["pid"]: row["peak_bytes"] for row in told["processes"]}
            for one in told["differences"]:
                self.assertLessEqual(sum(site["bytes"] for site in one["sites"]), peaks[one["pid"]])
                self.assertLessEqual(sum(site["median_bytes"] for site in one["sites"]), peaks[one["median_pid"]])
                self.assertLessEqual({site["kind"] for site in one["sites"]}, {"all"})

    def test_of_host_memory_explain_no_more_than_it(self):
        """3.16 MiB of 2.00 MiB, of two instants."""
        text = self.text("report", *map(self.real, ("jax", "cupy", "nccl")))
        rows = re.search(r"host memory 0 B, 2\.00 MiB below the median of 2\.00 MiB\n((?:    .*\n)+)", text).group(1)
        self.assertEqual(1, len(rows.splitlines()), rows)


class Refusals(Case):
    """One request counted twice once a second report stood beside it."""

    def test_are_repeated_as_alone(self):
        alone = self.json("oom", self.real("torch-oom-at-exit"))
        for files in ([self.real("torch-oom-at-exit"), self.real("gpt")], [self.merged("torch-oom-at-exit", "gpt")]):
            told = self.json("oom", *files)
            self.assertEqual((alone["count"], alone["requests"]), (told["count"], told["requests"]))
            self.assertEqual([None, 1], [event["repeats"] for event in told["events"]])
            text = self.text("oom", *files)
            self.assertIn("\n  the 2nd is the same request: PyTorch asked again, once it had emptied its cache\n", text)
            self.assertIn("136 GiB of the live memory, in 34 blocks from 1 call site, was freed later", text)
            self.assertEqual(1, text.count(" refused, the "))

    def test_have_the_number_that_their_process_gave_them(self):
        text = self.text("oom", "-n", "0", self.real("torch-oom-at-exit"), self.real("fill-refused"))
        self.assertEqual(1, text.count("the 1st of 2 of frameworks.py (6531)"))
        self.assertEqual(1, text.count("the 1st of 8 of fill (6566)"))

    def test_were_served_as_much_later_as_alone(self):
        """ "0 ns later", where the time of one of them did not begin with that of all."""
        alone = re.findall(r"a request of this size was served (.*) later", self.text("oom", "-n", "0", self.real("fill-refused")))
        self.assertTrue(alone)
        files = (self.real("torch-oom-at-exit"), self.real("fill-refused"))
        self.assertEqual(alone, re.findall(r"a request of this size was served (.*) later", self.text("oom", "-n", "0", *files)))
        for event in self.json("oom", "-n", "0", *files)["events"]:
            self.assertTrue(event["served_ns"] is None or event["served_ns"] >= event["time_ns"], event["number"])


class Owners(Case):
    """ "3.59 GiB used": 0.40 GiB, and 3.19 GiB that one of them saw outside itself at most."""

    def test_add_no_bound_to_a_sum(self):
        names = ("jax", "cupy", "nccl")
        merged = self.merged(*names)
        text = self.one_line("owners", merged)
        self.assertRegex(text, r"As each process ended, at different times, added: 406 MiB used on GPU 0, NVIDIA H200, without contexts "
                               r"and code, which were not measured ")  # fmt: skip
        self.assertIn("others, not in it: when the process that saw least outside itself looked, at most 3.19 GiB were outside of these 3 processes", text)
        self.assertNotRegex(self.text("owners", merged), r"\n.* others +others\n")
        own = sum(row["device_bytes"] for name in names for row in self.json("owners", self.real(name))["ledger"] if row["kind"] != "others")
        (device,) = self.json("owners", merged)["devices"]
        self.assertEqual(own, device["used_bytes"])
        self.assertIsNone(device["others_age_ns"])


class Legend(Case):
    """ "freed before the next allocation of the thread": earlier versions also counted what was freed last."""

    def test_of_reports_of_earlier_versions_says_what_they_counted(self):
        for files in ([self.merged("gpt", "gpt-no-cache")], [self.real("gpt-no-cache")], [self.real(name) for name in NAMES[:3]]):
            text = self.one_line("sites", *files)
            self.assertIn("TEMP: share of the allocations that were freed before their thread's next allocation; a thread's last allocation counts if it was freed.", text)


if __name__ == "__main__":
    harness.main()
