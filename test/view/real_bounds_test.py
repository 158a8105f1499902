# What is told of several reports of an H200 (real/README.md) agrees with each alone, and a bound is called one.
# SPDX-License-Identifier: Apache-2.0
"""real_bounds_test.py BUILD"""
import itertools
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import MIB, NAMES, RealReports  # noqa: E402

BESIDE = "contexts, code and other processes"


class Merged(RealReports):
    def merged(self, *names):
        path = self.path("-".join(names) + ".merged.json")
        if not os.path.exists(path):
            self.assertEqual(0, self.call("merge", "-o", path, *map(self.real, names)).returncode)
        return path


class Leaks(Merged):
    """PyTorch's cache of one process became a growing leak of 6.79 GiB beside a process without that cache."""

    def left(self, *files):
        told = self.json("leaks", *files)
        caches = {row["cache"]: row["bytes"] for row in told["caches"]}
        return sum(row["bytes"] for row in told["leaks"]), caches, sum(row["bytes"] for row in told["suppressed"])

    def test_several_leave_what_each_left(self):
        alone = {name: self.left(self.real(name)) for name in NAMES}
        for pair in itertools.combinations(("gpt", "gpt-no-cache", "gpt-expandable", "gpt-no-cache-pytorch", "cupy", "nccl"), 2):
            leaked, caches, suppressed = self.left(self.merged(*pair))
            self.assertEqual(leaked, sum(alone[name][0] for name in pair), pair)
            self.assertEqual(suppressed, sum(alone[name][2] for name in pair), pair)
            for cache in {*caches, *alone[pair[0]][1], *alone[pair[1]][1]}:
                self.assertEqual(caches.get(cache), sum(alone[name][1].get(cache, 0) for name in pair), (pair, cache))

    def test_one_call_for_several_says_the_same(self):
        pair = ("gpt", "gpt-no-cache")
        self.assertEqual(self.left(self.merged(*pair)), self.left(*map(self.real, pair)))

    def test_merged_again(self):
        whole = self.path("again.json")
        self.assertEqual(0, self.call("merge", "-o", whole, self.merged("gpt", "gpt-no-cache"), self.real("nccl")).returncode)
        self.assertEqual(self.left(self.merged("gpt", "gpt-no-cache", "nccl")), self.left(whole))

    def test_no_part_is_above_its_whole(self):
        for options in ((), ("--no-default-suppressions",)):
            for pair in (("gpt", "gpt-no-cache"), ("gpt-expandable", "nccl"), ("jax", "cupy")):
                told = self.json("leaks", *options, self.merged(*pair))
                for row in told["leaks"]:
                    self.assertLessEqual(sum(one["bytes"] for one in row["processes"]), row["bytes"], (pair, row["frames"]))
                    self.assertLessEqual(sum(one["count"] for one in row["processes"]), row["count"], (pair, row["frames"]))

    def test_check_judges_each_alone(self):
        for names in (("gpt", "gpt-no-cache"), ("gpt-expandable", "nccl"), ("gpt-expandable", "gpt-no-cache-pytorch", "cupy")):
            result = self.call("check", "--max-leak", "0", self.merged(*names))
            self.assertEqual(0, result.returncode, result.stdout)

    def test_what_lies_beyond_the_largest_places_is_not_known(self):
        """5 allocations of 4 bytes, of PyTorch's and cuDNN's, were a leak of 20 bytes."""
        told = self.json("leaks", "--no-default-suppressions", self.merged("gpt-expandable", "nccl"))
        (one, other) = sorted(told["processes"], key=lambda row: row["least_bytes"] == row["bytes"])
        self.assertEqual(other["bytes"], other["least_bytes"])
        self.assertEqual(sum(row["bytes"] for row in told["leaks"]) + told["without_site_bytes"], one["bytes"] + other["bytes"])

    def test_a_doubt_is_told(self):
        """Two alike, each with 5 places beyond the largest 32, of which 1 is suppressed."""
        with open(self.real("gpt-expandable"), encoding="utf-8") as file:
            report = json.load(file)
        report["process"]["pid"] += 1
        with open(self.path("twin.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        with open(self.path("known.supp"), "w", encoding="utf-8") as file:
            file.write("leak:libcudnn\n")
        both = self.path("both.json")
        self.assertEqual(0, self.call("merge", "-o", both, self.real("gpt-expandable"), "twin.json").returncode)
        options = ("--no-default-suppressions", "--suppress", self.path("known.supp"))
        told = self.json("leaks", *options, both)
        (one, other) = [(row["least_bytes"], row["bytes"]) for row in told["processes"]]
        self.assertEqual(one, other)
        self.assertEqual((-4, 4), (one[0] - sum(one) // 2, one[1] - sum(one) // 2))
        self.assertTrue(2 * one[0] <= sum(row["bytes"] for row in told["leaks"]) <= 2 * one[1])
        self.assertIn("2 processes left at most 5.50 GiB each", self.text("leaks", *options, both))
        result = self.call("check", *options, "--max-leak", str(one[0] + 4), both)
        self.assertEqual(1, result.returncode)
        self.assertIn(f"never freed: at most {one[1]:,} B requested, at least 5.50 GiB: it is not known whether this exceeds the limit of "
                      f"{one[0] + 4:,} B", " ".join(result.stdout.split()))
        self.assertEqual(0, self.call("check", *options, "--max-leak", str(one[1]), both).returncode)


class Used(Merged):
    def test_bounds_of_several_are_added(self):
        """3.19 GiB of contexts of three processes, which was what the last one saw outside itself."""
        names = ("jax", "cupy", "nccl")
        merged = self.merged(*names)
        (device,) = self.json("report", merged)["devices"]
        self.assertIsNone(device["used_peak_bytes"])
        self.assertEqual(device["reserved_of_all_kinds_bytes"],
                         sum(self.json("report", self.real(name))["devices"][0]["reserved_of_all_kinds_bytes"] for name in names))

    def test_processes_reserved_what_their_reports_say(self):
        names = ("jax", "cupy", "nccl", "gpt-async")
        rows = {row["pid"]: row for row in self.json("report", *map(self.real, names))["processes"]}
        for name in names:
            alone = self.json("report", self.real(name))
            self.assertEqual(rows[alone["process"]["pid"]]["reserved_of_all_kinds_bytes"],
                             alone["devices"][0]["reserved_of_all_kinds_bytes"], name)
        self.assertIn("reserved (all kinds)", self.text("report", *map(self.real, names)))

    def test_pages_of_pools_are_reserved(self):
        """real-gpu.md: the pool had 5,670,699,008 bytes, PyTorch's cache beside it 69,206,016."""
        (device,) = self.json("report", self.real("gpt-async"))["devices"]
        self.assertEqual(5670699008 + 69206016, device["reserved_of_all_kinds_bytes"])
        self.assertEqual(1, self.call("check", "--max-reserved", "5739000000", self.real("gpt-async")).returncode)


class Bounds(Merged):
    def test_what_nobody_measured_has_one_name(self):
        for name in NAMES:
            file = self.real(name)
            self.assertRegex(self.text("report", file), rf"\n +used at least .*; {BESIDE} together took .* before the report\n", name)
            self.assertRegex(self.text("peak", file), rf"\n +not known .*{BESIDE}\n", name)
            self.assertNotIn("contexts and code of this process", self.text("peak", file), name)
            self.assertIn("used on GPU 0, contexts and code not measured at most", self.text("check", "--interim", "--max-used", "140GiB", file))
            owners = " ".join(self.text("owners", file).split())
            if " others others " in owners:
                self.assertIn(f"others: {BESIDE}. This report cannot tell them apart, because an earlier version wrote it", owners)

    def test_check_says_at_most_whether_it_passes_or_not(self):
        file = self.real("cupy")
        self.assertIn("passed: reserved (all kinds) on GPU 0 at most 177 MiB (limit 180 MiB)", self.text("check", "--max-reserved", "180MiB", file))
        self.assertIn("reserved (all kinds) on GPU 0: at most 177 MiB, at least 164 MiB: it is not known whether this exceeds the limit of 170 MiB\n",
                      self.text("check", "--max-reserved", "170MiB", file))
        self.assertIn("reserved (all kinds) on GPU 0: at most 177 MiB, at least 164 MiB: at least 64.0 MiB above the limit of 100 MiB\n",
                      self.text("check", "--max-reserved", "100MiB", file))
        self.assertIn("checks failed up to then: used on GPU 0, contexts and code not measured at least 6.89 GiB (limit 10.0 GiB)",
                      " ".join(self.text("check", "--max-used", "10GiB", self.real("beside-others")).split()))

    def test_an_instant_is_named_only_where_it_was_one(self):
        text = " ".join(self.text("check", "--owner", "CuPy", "--max-peak", "50MiB", self.real("cupy")).split())
        self.assertIn("peak of GPU 0, all kinds together: at most 64.0 MiB requested, at least 62.1 MiB: at least 12.1 MiB above "
                      "the limit of 50.0 MiB", text)
        self.assertIn("it is not known whether this exceeds the limit of 63.0 MiB",
                      " ".join(self.text("check", "--owner", "CuPy", "--max-peak", "63MiB", self.real("cupy")).split()))
        self.assertIn("passed: at the peak of GPU 0 64.0 MiB (limit 1.00 GiB)",
                      self.text("check", "--owner", "cuBLAS", "--max-peak", "1GiB", self.real("gpt")))

    def test_host_memory_of_several_kinds_was_not_held_at_once(self):
        """3.16 MiB of 2.00 MiB that were gone when 1.16 MiB came."""
        files = [self.real(name) for name in ("jax", "cupy", "nccl")]
        rows = {row["pid"]: row["host_peak_bytes"] for row in self.json("report", *files)["processes"]}
        self.assertLess(rows[2372], 2 * MIB + 8)
        self.assertNotIn("3.16 MiB", re.sub(r"sum of peaks.*", "", self.text("report", *files)))


if __name__ == "__main__":
    harness.main()
