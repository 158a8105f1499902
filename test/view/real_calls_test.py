# What is said of driver calls, frees and savings in reports that PyTorch, JAX and others left on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_calls_test.py BUILD"""
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
    def report(self, name):
        with open(self.real(name), encoding="utf-8") as file:
            return json.load(file)

    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())


class Frees(Case):
    """Calls that freed nothing counted as frees, and cuMemRelease did not."""

    TOLD = {"nccl": "396 calls to free memory took 1.14 s and freed 199 allocations",
            "jax": "447 calls to free memory took 96.4 ms and freed 444 allocations",
            "cupy": "32 calls to free memory took 55.0 ms and freed 26 allocations",
            "beside-others": "4 calls that freed nothing took 8.45 us",
            "gpt": "4 calls that freed nothing took 15.7 us",
            "gpt-no-cache": "13,171 calls to free memory took 113 ms and freed 13,167 allocations",
            "torch-oom-at-exit": "34 frees took 53.4 ms"}

    def test_the_closing_line_counts_what_freed_memory(self):
        for name, told in self.TOLD.items():
            for verb in ("report", "sites"):
                self.assertIn(f"; {told} ", self.one_line(verb, self.real(name)), (name, verb))

    def test_it_has_the_frees_of_every_kind(self):
        for name in NAMES:
            frees = sum(row["frees"] for row in self.report(name)["kinds"] if row["kind"] not in VIEWS)
            for told in re.findall(r" (?:in|calls for) ([\d,]+) frees?(?=[ ;]*peak)", self.one_line("report", self.real(name))):
                self.assertEqual(frees, int(told.replace(",", "")), name)

    def test_calls_tell_what_gave_memory_back(self):
        def served(name):
            rows = [row for row in self.json("calls", self.real(name))["served"] if row["what"] == "free_driver"]
            return [(row["calls"], row["freed_nothing"]) for row in rows]

        self.assertEqual([(4, 4)], served("gpt"))
        self.assertEqual([(1, 1)], served("threads"))
        self.assertEqual([(42, 1)], served("fill-refused"))
        self.assertEqual([(7, 6)], served("cupy"))
        self.assertEqual([(16, 0)], served("torch-oom-at-exit"))
        self.assertIn(" calls with nothing to free", self.text("calls", self.real("gpt")))
        self.assertIn(" frees: 41 gave memory back, 1 had nothing to free", self.text("calls", self.real("fill-refused")))
        self.assertIn(" frees that gave memory back", self.text("calls", self.real("torch-oom-at-exit")))

    def test_no_more_gave_memory_back_than_the_driver_got(self):
        for name in NAMES:
            report = self.report(name)
            freed = {device["index"]: device["memory_stats"].get("num_device_free", 0) for device in report["devices"]}
            for row in self.json("calls", self.real(name))["served"]:
                if row["what"] == "free_driver" and row["device"] is not None:
                    self.assertLessEqual(row["calls"] - row["freed_nothing"], freed[row["device"]], name)
                elif row["what"] != "free_driver":
                    self.assertIsNone(row["freed_nothing"], name)


class Saved(Case):
    def saved(self, name):
        return self.json("report", self.real(name))["devices"][0]["saved_driver_calls"]

    def test_what_went_back_later_was_not_saved(self):
        for name in NAMES:
            report = self.report(name)
            stats, timing = report["devices"][0]["memory_stats"], report["devices"][0]["timing"]
            freed = stats["allocation.all.freed"] - stats["num_device_free"]
            self.assertEqual(timing["alloc_hit"]["count"] + freed, self.saved(name), name)
        self.assertIn(
            " 33 from the cache (13.8 %); the cache kept the memory of 199 frees and later released 86 segments: 146 driver calls saved ",
            self.one_line("report", self.real("fill-refused")))
        self.assertIn(" 15 from the cache (46.9 %); the cache kept the memory of 19 frees and later released 2 segments: 32 driver calls saved ",
                      self.one_line("report", self.real("cupy")))

    def test_the_length_of_the_run_is_no_end_of_a_range(self):
        """ "106 ms to 320 ms" of a run of 320 ms, where 86 of the frees came after all. """
        for name, least in (("gpt-no-cache", "489"), ("gpt-no-cache-pytorch", "754"), ("fill-refused", "60.5")):
            self.assertIn(f"\n  the cache saved at least {least} ms in ", self.text("report", self.real(name)))
        self.assertIn("\n  the cache saved 35.6 ms to 66.9 ms in 16 frees (estimated)\n", self.text("report", self.real("torch-oom-at-exit")))

    def test_hits_that_took_as_long_as_the_driver_saved_nothing(self):
        """5 hits of 210 us beside a driver of 183 us."""
        self.assertNotIn("the cache saved", self.text("report", self.real("gpt")))
        self.assertIn("the cache saved", self.text("report", self.real("cupy")))

    def test_nothing_is_estimated_of_sums(self):
        """4 pinned allocations and 6 became enough for an estimate, of 38.7 ms for each."""
        merged = self.path("merged.json")
        self.assertEqual(0, self.call("merge", "-o", merged, *map(self.real, ("jax", "cupy", "nccl"))).returncode)
        text = self.text("report", merged)
        self.assertIn("pinned: 442 of 452 allocations from the cache; 10 driver calls took 68.4 ms\n", text)
        self.assertNotIn("(estimated)", text + self.text("stats", merged))
        for device in self.json("report", merged)["devices"]:
            self.assertIsNone(device["estimated_saved_ns"])


class Retries(Case):
    """ "cache emptied to retry": whose, and where nothing was in it?"""

    def test_only_what_went_back_is_said_to_have(self):
        asked = "Vramscope asked the driver again "
        for name, told in (("torch-oom", "once, but its cache had no idle memory to release"),
                           ("torch-oom-at-exit", "2 times; during the run its cache released 2 idle segments"),
                           ("fill-refused", "8 times; during the run its cache released 86 idle segments")):
            for verb in ("report", "stats"):
                self.assertIn(asked + told + " ", self.one_line(verb, self.real(name)), (name, verb))
class Threads(Case):
    """Times are added over threads, and only of a thread known to be the only one they are a share of the run."""

    def total(self, *arguments):
        return re.search(r"\n  Total: (?:.|\n)*?\n(?=  at the|  peak )", self.text(*arguments)).group(0).replace("\n   ", "")

    def test_of_calls_of_functions_the_threads_are_not_known(self):
        for name in NAMES:
            text = self.text("calls", self.real(name))
            self.assertIn(", summed over all threads", text, name)
            self.assertNotIn(" of the run's ", text, name)
        self.assertIn(" summed over all threads (10 threads made allocations); the run took 14.8 s\n", self.text("calls", self.real("jax")))
        self.assertIn(" summed over all threads; the run took 3.58 s\n", self.text("calls", self.real("cupy")))
        self.assertIn(" % of the run's 3.58 s\n", self.text("calls", "--by", "thread", self.real("cupy")))

    def test_of_chosen_rows_the_threads_are_not_known(self):
        """Two of four allocations were another thread's; of 199, all were of one."""
        for name, owner, took in (("gpt", "cuBLAS", "1.09 ms"), ("nccl", "NCCL", "331 ms")):
            for verb in ("report", "owners", "sites", "peak"):
                self.assertIn(f" allocating took {took}, summed over all threads\n", self.total(verb, "--owner", owner, self.real(name)), (verb, name))
        self.assertIn(", summed over all threads\n", self.total("peak", "--kind", "device", "--min-bytes", "300MiB", self.real("gpt")))

    def test_of_one_thread_it_is_a_share(self):
        self.assertRegex(self.total("report", self.real("cupy")), r" allocating took 309 ms, 8\.6 % of the run's 3\.58 s; ")
        self.assertRegex(self.total("sites", "--owner", "CuPy", self.real("cupy")), r" allocating took \S+ \S+, [\d.]+ % of the run's 3\.58 s\n")
        of_one = self.total("owners", "--by", "thread", "--thread", "pt_autograd_0", self.real("nccl"))
        self.assertRegex(of_one, r" allocating took \S+ \S+, <?[\d.]+ % of the run's 12\.8 s\n")
        self.assertIn(", summed over 2 threads; ", self.total("report", self.real("nccl")))


class Counters(Case):
    def test_they_are_our_own(self):
        """torch.cuda.memory_stats said 13,170 allocations, where these are 97."""
        text = self.one_line("stats", self.real("gpt"))
        self.assertIn(" Vramscope's own counters, with PyTorch's names and meanings, but for Vramscope's allocator:"
                      " a segment of PyTorch's cache is one block here. ", text)
        self.assertNotIn("that torch.cuda.memory_stats(0) returns", self.call("stats", "--help").stdout)
        self.assertIn("Vramscope's", self.call("stats", "--help").stdout)


if __name__ == "__main__":
    harness.main()
