# Claims of single listings about reports of an H200 (real/README.md) that the reports do not bear.
# SPDX-License-Identifier: Apache-2.0
"""real_claims_test.py BUILD"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

VIEWS = ("mapping", "address_range", "import")


class Case(RealReports):
    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())

    def report(self, name):
        with open(self.real(name), encoding="utf-8") as file:
            return json.load(file)

    def verdict(self, *arguments):
        path = self.path("page.html")
        self.assertEqual(self.call("html", "-f", "-o", path, *arguments).returncode, 0)
        with open(path, encoding="utf-8") as page:
            return json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', page.read(), re.S).group(1))["verdict"]


class Snapshot(Case):
    """A snapshot without history: its state passed as the peak."""

    def snapshot(self):
        path = self.path("snapshot.pickle")
        if not os.path.exists(path):
            self.assertEqual(self.call("export", "-f", "--format", "memory_viz", "-o", path, self.real("gpt-no-cache")).returncode, 0)
        return path

    def test_is_not_judged(self):
        file = self.snapshot()
        for words in (("--max-peak", "1GiB"), ("--max-leak", "0"), ("--max-reserved", "1TiB"), ("--max-total", "1TiB"), ("--no-oom",)):
            result = self.call("check", *words, file)
            self.assertEqual((2, ""), (result.returncode, result.stdout), words)
            self.assertRegex(result.stderr, r"^vramscope: '.*snapshot\.pickle' is a snapshot without history: .*\n$")

    def test_is_no_baseline(self):
        for words in ((self.snapshot(), self.real("gpt")), (self.real("gpt"), self.snapshot())):
            result = self.call("check", "--against", *words)
            self.assertEqual((2, ""), (result.returncode, result.stdout), words)
            self.assertEqual(1, result.stderr.count("snapshot without history"))

    def test_beside_a_report_leaves_it_judged(self):
        result = self.call("check", "--max-peak", "1TiB", self.snapshot(), self.real("gpt"))
        self.assertEqual(2, result.returncode)
        self.assertIn("not all judged", result.stdout)

    def test_has_no_peak_in_any_listing(self):
        file = self.snapshot()
        for verb in ("report", "peak", "timeline", "owners", "owners --by thread", "sites", "sites --group library", "sites --tree", "stats", "map", "leaks"):
            text = self.one_line(*verb.split(), file)
            self.assertNotRegex(text, r"AT PEAK|OWN PEAK|peak of|at the peak|At the peak|after 0 ns|0 ns", verb)
            self.assertNotRegex(text, r"TOTAL +\d", verb)
        self.assertIn("GPU 0: 129 MiB at the snapshot", self.one_line("timeline", file))
        self.assertIn("At the snapshot, requested bytes: GPU 0 129 MiB", self.text("owners", file))
        self.assertIn("At the snapshot: 11.5 GiB used on GPU 0", self.text("owners", file))
        self.assertIn("GPU 0 when the snapshot was taken: 11.5 GiB", self.text("map", file))
        self.assertIn("Live at the snapshot: 129 MiB", self.text("leaks", file))
        self.assertFalse(self.json("timeline", file)["marks"])

    def test_has_no_peak_in_metrics(self):
        text = self.text("export", "--format", "openmetrics", self.snapshot())
        self.assertIn("\nvramscope_requested_bytes{", text)
        self.assertNotRegex(text, "peak_bytes|vramscope_(allocations|frees)")

    def test_does_not_tell_whether_memory_ran_out(self):
        file = self.snapshot()
        words = "The snapshot does not tell whether memory ran out."
        self.assertEqual(words, self.text("oom", file).splitlines()[0])
        self.assertIn(words, self.verdict(file))
        self.assertIn("how often memory ran out is not known", self.text("stats", file))

    def test_has_what_was_live_in_its_counters(self):
        stats = self.json("stats", self.snapshot())["devices"]["0"]
        self.assertEqual(135320576, stats["allocated_bytes.all.current"])
        self.assertFalse([key for key in stats if key.endswith((".peak", ".allocated", ".freed")) or key == "num_ooms"])
        self.assertRegex(self.text("stats", self.snapshot()), r"\n  blocks +11 +not known +not known +not known\n")


class Savings(Case):
    """ "saved 435 us to 41.1 ms" where the fastest call of the driver took less than the hits did."""

    def saved(self, name):
        return re.findall(r"the cache saved (.*)", self.text("report", self.real(name)))

    def test_begin_at_nothing_where_there_may_be_a_loss(self):
        self.assertEqual(["up to 41.1 ms in 5 allocations (estimated)"], self.saved("beside-others"))

    def test_say_what_they_are_of(self):
        for name in NAMES:
            for told in self.saved(name):
                self.assertRegex(told, r" in [\d,]+ (allocations?( and [\d,]+ frees)?|frees) \(estimated\)(; what the cache saved in [\d,]+ frees? is not known)?$", name)
        self.assertRegex(self.saved("cupy")[0], r" in 15 allocations \(estimated\); what the cache saved in 17 frees is not known$")
        self.assertRegex(self.saved("fill-refused")[0], r" in 33 allocations and 113 frees \(estimated\)$")
        self.assertRegex(self.saved("torch-oom-at-exit")[0], r" in 16 frees \(estimated\)$")

    def test_are_at_least_what_the_fastest_calls_would_have_taken(self):
        for name in NAMES:
            timing = self.report(name)["devices"][0]["timing"]
            (device,) = self.json("report", self.real(name))["devices"]
            if device["estimated_saved_ns"] is None:
                continue
            spared = device["saved_driver_calls"] - timing["alloc_hit"]["count"]
            most = timing["alloc_hit"]["count"] * timing["alloc_driver"]["min_ns"] + spared * timing["free_driver"]["max_ns"]
            self.assertLessEqual(device["estimated_saved_ns"], most, name)


class Served(Case):
    """12 of 13,182 allocations: those that the driver's pools served had no row."""

    def test_all_kinds_have_rows(self):
        for name in NAMES:
            report, rows = self.report(name), self.json("calls", self.real(name))["served"]
            kinds = [kind for kind in report["kinds"] if kind["kind"] not in VIEWS]
            made = sum(row["calls"] for row in rows if row["what"].startswith("alloc"))
            self.assertEqual(sum(kind["allocations"] for kind in kinds), made, name)
            others = [kind for kind in kinds if kind["kind"] not in ("device", "pinned", "registered")]
            freed = sum(row["calls"] for row in rows if row["what"] == "free_uncached")
            self.assertEqual(sum(kind["frees"] for kind in others), freed, name)
        text = self.text("calls", self.real("gpt-async"))
        self.assertRegex(text, r"\n +13,170 +- +- +GPU 0 stream_ordered +allocations by the driver that bypass the cache\n")
        self.assertIn("How allocations and frees that succeeded were served", text)


class Chosen(Case):
    """ "GPU 0 held 702 MiB at its peak": what one call site held then."""

    def test_rows_have_no_peak_of_their_own(self):
        told = self.verdict("--site", "gpt.py:23", self.real("gpt-no-cache"))
        self.assertEqual("What passes held 702 MiB of all 5.15 GiB of GPU 0 at the peak of GPU 0, 1.38 s after the first call.", told[0])
        self.assertNotIn("its peak", " ".join(told))
        told = " ".join(self.verdict("--owner", "PyTorch", self.real("gpt-no-cache")))
        self.assertIn("What passes held 5.09 GiB of all 5.15 GiB of GPU 0 at the peak of GPU 0", told)

    def test_everything_is_what_passes(self):
        self.assertIn("everything that passes was freed", self.one_line("peak", "--site", "gpt.py:23", self.real("gpt-no-cache")))


class Rows(Case):
    """Four rows that read alike, which check told apart."""

    def test_of_different_call_stacks_differ(self):
        for name in NAMES:
            for words in (("-n", "0"), ("--with-native", "-n", "0"), ("--by", "count", "-n", "0")):
                file = self.real(name)
                head, *lines = self.text("sites", "--wide", *words, file).split("\n\n")[0].splitlines()
                begin = head.index("MEMORY" if "MEMORY" in head else "WHERE")
                stacks = collections.defaultdict(set)
                for line, row in zip(lines, self.json("sites", *words, file)):
                    stacks[line[begin:]].add(tuple(row["frames"]))
                self.assertFalse([text for text, found in stacks.items() if len(found) > 1], (name, words))

    def test_of_histograms_differ(self):
        text = self.text("sites", "--histograms", "-n", "0", self.real("jax"))
        parts = ["\n".join(part.splitlines()[:2]) for part in text.split("\n\n")]
        self.assertEqual(len(parts), len(set(parts)), parts)


class Cached(Case):
    """ "74.7 MiB is cached: free memory", of which 2.78 MiB lay inside live blocks."""

    def test_is_told_in_its_parts(self):
        text = self.one_line("owners", self.real("cupy"))
        self.assertIn("74.7 MiB (2.2 %) is kept by vramscope beyond what was requested: 70.0 MiB idle, which is released before a request is "
                      "refused, and when other processes take memory; 1.96 MiB free beside live blocks and 2.78 MiB of rounding, which "
                      "cannot be released: see vramscope map.", text)  # fmt: skip
        self.assertIn("68.1 GiB (99.3 %) is kept by vramscope beyond what was requested: idle memory, which is released",
                      self.one_line("owners", self.real("fill-refused")))

    def test_parts_are_those_of_the_map(self):
        (place,) = [one for one in self.json("map", self.real("cupy"))["places"] if one["kind"] == "device"]
        self.assertAlmostEqual(1.96 * 2**20, place["stranded_bytes"], delta=6000)
        self.assertAlmostEqual(2.78 * 2**20, place["allocated_bytes"] - place["requested_bytes"], delta=6000)


class Instants(Case):
    def test_the_end_of_a_window_is_not_the_end(self):
        text = self.text("timeline", "--from", "1", "--to", "3", self.real("nccl"))
        self.assertIn("GPU 0, all kinds: at most 188 MiB, 188 MiB at 3.00 s (", text)
        self.assertNotIn("at the end", text)
        self.assertIn(" at the end (", self.text("timeline", self.real("nccl")))

    def test_a_run_that_was_measured_in_time_has_no_tenths_of_allocations(self):
        for files in ([self.real("gpt-no-cache")], [self.real("gpt"), self.real("gpt-no-cache")]):
            text = self.one_line("leaks", "--no-default-suppressions", *files)
            self.assertNotRegex(text, "tenths? of the run's allocations|measured in allocations")
            self.assertRegex(text, "the run's time|measured in time")

    def test_intervals_begin_with_the_first_allocation(self):
        self.assertIn("GREW: 3/9 means that 9 intervals have begun since the run's first allocation", self.one_line("sites", self.real("cupy")))


if __name__ == "__main__":
    harness.main()
