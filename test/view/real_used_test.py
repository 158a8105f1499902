# What is said of memory that was used, reserved or needed of an H200 (real/README.md): no more than the reports bear.
# SPDX-License-Identifier: Apache-2.0
"""real_used_test.py BUILD"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

OUTSIDE = "contexts, code and other processes"
AMOUNT = r"[\d.]+ [KMG]iB"


class Case(RealReports):
    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())

    def facts(self, name):
        with open(self.real(name), encoding="utf-8") as file:
            return json.load(file)["devices"][0]

    def merged(self, *names):
        path = self.path("-".join(names) + ".merged.json")
        if not os.path.exists(path):
            self.assertEqual(0, self.call("merge", "-o", path, *map(self.real, names)).returncode)
        return path


class Used(Case):
    """ "used at most 29.4 GiB": a sample of what lay outside the process, 647 ms before the report."""

    def test_has_no_upper_bound_where_nobody_measured_contexts(self):
        for name in NAMES:
            text = self.text("report", self.real(name))
            self.assertNotIn("used at most", text, name)
            self.assertRegex(text, rf"\n +used at least {AMOUNT} of 140 GiB: contexts and code of this process were not "
                                   rf"measured separately; {OUTSIDE} together took {AMOUNT}, measured [\d.]+ \w+ before the report\n")  # fmt: skip
            (device,) = self.json("report", self.real(name))["devices"]
            self.assertIsNone(device["used_peak_bytes"], name)
            self.assertLessEqual(device["allocated_peak_bytes"], device["reserved_of_all_kinds_least_bytes"], name)

    def test_of_several_is_what_one_of_them_had_at_least(self):
        text = self.one_line("report", self.merged("jax", "cupy", "nccl"))
        self.assertIn("used at least 105 GiB: contexts and code of the processes were not measured", text)
        self.assertNotIn("used at most", text)

    def test_no_limit_is_judged_by_it(self):
        file = self.real("beside-others")
        result = self.call("check", "--interim", "--max-used", "30GiB", file)
        self.assertEqual(1, result.returncode)
        text = " ".join(result.stdout.split())
        self.assertIn("used on GPU 0, contexts and code not measured: at least 6.89 GiB: it is not known whether this exceeds the limit of 30.0 GiB", text)
        (told,) = self.json("check", "--interim", "--max-used", "30GiB", file)["checks"]
        self.assertEqual((False, None, 7396655104), (told["passed"], told["value"], told["at_least"]))
        self.assertIn("contexts and code not measured: at least 6.89 GiB: at least 910 MiB above the limit of 6.00 GiB",
                      self.one_line("check", "--interim", "--max-used", "6GiB", file))

    def test_more_than_the_device_has_cannot_be_used(self):
        result = self.call("check", "--max-used", "140GiB", self.real("gpt"))
        self.assertEqual(0, result.returncode, result.stdout)
        self.assertIn("passed: used on GPU 0, contexts and code not measured at most 140 GiB (limit 140 GiB)", " ".join(result.stdout.split()))

    def test_of_two_runs_has_no_change(self):
        text = self.text("diff", self.real("gpt-no-cache"), self.real("gpt-no-cache-pytorch"))
        self.assertIn("\n  GPU 0, used  at least 11.5 GiB -> at least 6.89 GiB: contexts and code were not measured\n", text)
        (device,) = self.json("diff", self.real("gpt"), self.real("gpt-async"))["devices"]
        self.assertEqual([None, None], [device[side]["used_bytes"] for side in ("before", "after")])

    def test_others_are_of_an_earlier_instant(self):
        for name, age in (("nccl", "2.64 s"), ("jax", "530 ms"), ("beside-others", "647 ms")):
            self.assertRegex(self.one_line("owners", self.real(name)),
                             rf"(At the end|When the report was written): {AMOUNT} of 140 GiB used on GPU 0, NVIDIA H200 "
                             rf"\(other processes measured {age} earlier\) ")  # fmt: skip
            (told,) = self.json("owners", self.real(name))["devices"]
            self.assertEqual(self.facts(name)["free_bytes_age_ns"], told["others_age_ns"])

    def test_at_the_peak_is_told_as_last_seen(self):
        for name in ("beside-others", "nccl"):
            text = self.text("peak", self.real(name))
            self.assertNotIn("AT EXIT", text)
            self.assertIn("LAST SEEN", text)


class Reserved(Case):
    """ "reserved" was segments of the cache in one verb, all kinds in another."""

    def test_of_all_kinds_has_a_name_of_its_own(self):
        file = self.real("gpt-async")
        self.assertIn("reserved (all kinds) on GPU 0: 5.35 GiB, 5.25 GiB above the limit of 100 MiB", self.one_line("check", "--max-reserved", "100MiB", file))
        self.assertRegex(self.text("diff", self.real("gpt"), file), r"\n  GPU 0, reserved \(all kinds\)  6\.89 GiB -> 5\.35 GiB ")
        self.assertNotRegex(self.text("diff", self.real("gpt"), file), r"GPU 0, reserved  ")
        self.assertRegex(self.text("report", file), r"\n +reserved +peak +66\.0 MiB")
        self.assertRegex(self.text("report", file), r"\n +all kinds together: peak 5\.15 GiB requested, 5\.35 GiB reserved\n")

    def test_is_no_less_than_what_was_there_in_the_end(self):
        """real-gpu.md: the pools had 5,670,699,008 bytes, the cache beside them 69,206,016."""
        (device,) = self.json("report", self.real("gpt-async"))["devices"]
        self.assertEqual(5670699008 + 69206016, device["reserved_of_all_kinds_least_bytes"])
        for name in NAMES:
            (device,) = self.json("report", self.real(name))["devices"]
            self.assertLessEqual(device["reserved_current_bytes"], device["reserved_of_all_kinds_least_bytes"], name)
            self.assertLessEqual(device["reserved_of_all_kinds_least_bytes"], device["reserved_of_all_kinds_bytes"], name)

    def test_a_merged_report_keeps_the_bound(self):
        merged = self.merged("gpt-async", "cupy")
        told = self.json("check", "--max-reserved", "5.3GiB", merged)["checks"]
        self.assertEqual({True: 1, False: 1}, {True: sum(row["passed"] for row in told), False: sum(not row["passed"] for row in told)})
        (row,) = [row for row in told if not row["passed"]]
        self.assertEqual(5739905024, row["at_least"])


class Needed(Case):
    """ "the process needs ... and the parts that are not known", which were others' memory."""

    def needed(self, name):
        return re.search(r"the process needs .*", self.text("peak", self.real(name))).group()

    def test_has_nothing_of_others_or_of_idle_pools(self):
        for name in NAMES:
            self.assertNotIn("the parts that are not known", self.text("peak", self.real(name)), name)
        self.assertRegex(self.needed("gpt"), r"PyTorch's cache, plus the process's contexts and code \(not known\)$")
        self.assertRegex(self.needed("gpt-async"), r"GiB, plus the process's contexts and code \(not known\), plus the driver's "
                                                   r"rounding to pages \(not known\)$")  # fmt: skip

    def test_has_one_lower_bound(self):
        for name in NAMES:
            (device,) = self.json("report", self.real(name))["devices"]
            told = re.search(r"needed: ([\d.]+ GiB) to ([\d.]+ GiB);", self.text("report", self.real(name)))
            if told:
                self.assertIn(f"needs {told[1]} to {told[2]}", self.needed(name))
        self.assertIn("needs 5.17 GiB to 6.89 GiB", self.needed("gpt-no-cache-pytorch"))


class Changes(Case):
    """ "How much it changed is not known", where the bounds leave no doubt."""

    def line(self, what, before, after):
        text = self.text("diff", self.real(before), self.real(after))
        return next(line.strip() for line in text.splitlines() if line.startswith(f"  GPU 0, {what}  "))

    def test_of_bounds_that_do_not_meet_are_known(self):
        self.assertRegex(self.line("reserved (all kinds)", "gpt", "gpt-expandable"), r"6\.89 GiB -> 5\.50 GiB \(-1\.39 GiB, -20\.2 %\)$")
        self.assertRegex(self.line("reserved (all kinds)", "jax", "nccl"), r"105 GiB -> 594 MiB to 596 MiB \(-104 GiB\)$")
        self.assertRegex(self.line("reserved (all kinds)", "nccl", "cupy"), r"594 MiB to 596 MiB -> 164 MiB to 177 MiB \(-\d+ MiB to -\d+ MiB\)$")

    def test_of_bounds_that_meet_are_not_known(self):
        with open(self.real("cupy"), encoding="utf-8") as file:
            another = json.load(file)
        another["process"]["pid"] += 1  # of one report it is known: nothing changed
        with open(self.path("another.json"), "w", encoding="utf-8") as file:
            json.dump(another, file)
        self.assertRegex(self.line("reserved (all kinds)", "cupy", "another"), r"164 MiB to 177 MiB -> 164 MiB to 177 MiB: bounds, so the change is not known$")

    def test_of_rows_are_of_several_instants(self):
        text = self.one_line("diff", self.real("jax"), self.real("nccl"))
        self.assertIn("Each row is at the peak of its own kind of memory. These peaks may be at different times", text)
        self.assertNotIn("Each row is at the peak of its own", self.text("diff", self.real("torch-oom"), self.real("fill-refused")))


if __name__ == "__main__":
    harness.main()
