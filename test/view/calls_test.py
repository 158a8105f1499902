# calls lists the driver calls of reports and traces, and diff --by call those of two reports.
# SPDX-License-Identifier: Apache-2.0
"""calls_test.py BUILD"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from listings_case import ListingsTest  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402


class OfReports(RealReports):
    def test_times_in_the_driver_are_read_at_once(self):
        text = self.text("calls", self.real("threads"))
        self.assertIn("2,024,804 driver calls of 5 functions, 1 failed: 10.9 s, of 62 threads added; the run took 1.92 s\n", text)
        self.assertIn("974 ms of it waiting for the GPU", text)
        self.assertRegex(text, r"\n +5\.30 s +48\.7 % +1,012,401 +0 +2\.05 us +65\.5 us +1\.04 ms +cuMemFree_v2\n")
        self.assertRegex(text, r"\n +1,012,400 +974 ms +982 us +GPU 0 +waits for the GPU, before freed memory was used again\n")
        self.assertTrue(text.endswith(f"Next: vramscope calls --by thread {self.real('threads')}\n"))
        self.assertIn("Next: vramscope calls ", self.text("report", self.real("threads")))
        self.assertNotIn("Next: vramscope calls ", self.text("report", self.real("gpt")))

    def test_all_calls_are_there_the_longest_time_first(self):
        for name in NAMES:
            told = self.json("calls", self.real(name))
            with self.edited(self.real(name)) as written:
                functions = {row["name"]: row for row in written["functions"]}
            self.assertEqual(set(functions), {row["name"] for row in told["rows"]}, name)
            times = [row["total_ns"] for row in told["rows"]]
            self.assertEqual(sorted(times, reverse=True), times)
            self.assertEqual(sum(times), told["total_ns"])
            self.assertEqual(sum(row["calls"] for row in functions.values()), told["calls"])
            for row in told["rows"]:
                of = functions[row["name"]]
                self.assertEqual([of[k] for k in ("calls", "failures", "total_ns", "max_ns")],
                                 [row[k] for k in ("calls", "failures", "total_ns", "max_ns")])  # fmt: skip
                self.assertTrue(of["min_ns"] <= row["median_ns"] <= row["p99_ns"] <= row["max_ns"], row)
                self.assertIsNone(row["waited_ns"])
            waited = sum(place["timing"]["sync"]["total_ns"] for place in [*written["devices"], written["host"]])
            self.assertEqual(waited, told["waited_ns"] or 0, name)

    def test_threads_have_their_allocations(self):
        text = self.text("calls", "--by", "thread", self.real("threads"))
        self.assertIn("1,012,400 allocations: 5.48 s, of 62 threads added", text)
        self.assertIn("Allocations alone: of other calls a report does not keep the thread.", text)
        told = self.json("calls", "--by", "thread", self.real("threads"))
        self.assertEqual(1012400, sum(row["calls"] for row in told["rows"]))
        self.assertEqual({None}, {row["failures"] for row in told["rows"]})

    def test_calls_of_two_reports(self):
        before, after = self.real("gpt"), self.real("gpt-no-cache")
        text = self.text("diff", "--by", "call", before, after)
        self.assertIn("  357 ms in 2,053 calls of 2 threads added -> 543 ms in 28,301 calls of 2 threads added\n", text)
        self.assertRegex(text, r"\n +\+113 ms +15\.7 us +113 ms +4 +13,171 +cuMemFree_v2\n")
        for by in ("site", "function"):
            self.assertIn("  driver calls  357 ms -> 543 ms: vramscope diff --by call\n", self.text("diff", "--by", by, before, after))
        self.assertNotIn("driver calls", self.text("diff", before, before))
        told = self.json("diff", "--by", "call", before, after)
        self.assertEqual(told["after_ns"] - told["before_ns"], sum(row["change_ns"] for row in told["rows"]))
        for words in (("--at", "end"), ("--device", "0"), ("--threshold", "1MiB")):
            self.assert_refused(["diff", "--by", "call", *words, before, after], 2, "and no memory: leave filters, --at and --threshold out")

    def test_several_are_added(self):
        both = self.json("calls", self.real("gpt"), self.real("nccl"))
        each = [self.json("calls", self.real(name))["calls"] for name in ("gpt", "nccl")]
        self.assertEqual(sum(each), both["calls"])
        self.assertIn(", of all processes added\n", self.text("calls", self.real("gpt"), self.real("nccl")))


class OfTraces(ListingsTest):
    def test_each_call_of_each_thread(self):
        file = self.trace()
        trace = json.loads(self.call("trace", "--json", file))
        for by in ("function", "thread"):
            told = json.loads(self.call("calls", "--by", by, "--json", file))
            self.assertEqual(sum(row["calls"] for row in trace["functions"]), told["calls"])
            self.assertEqual(sum(row["total_ns"] for row in trace["functions"]), told["total_ns"])
            self.assertEqual(sum(row["waited_ns"] for row in told["rows"]), told["waited_ns"])
        text = self.call("calls", "--by", "thread", file)
        self.assertNotIn("Allocations alone", text)
        self.assertIn("WAITED  THREAD\n", text)


if __name__ == "__main__":
    harness.main()
