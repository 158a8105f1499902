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
        self.assertIn("2,024,804 calls to 5 driver functions (1 failed) took 10.9 s, summed over all threads (62 threads made allocations); the run took 1.92 s\n", text)
        self.assertIn("974 ms of this was spent waiting for the GPU", text)
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
        self.assertIn("1,012,400 allocations took 5.48 s, summed over 62 threads", text)
        self.assertIn("Only allocations: a report does not record the threads of other calls.", text)
        told = self.json("calls", "--by", "thread", self.real("threads"))
        self.assertEqual(1012400, sum(row["calls"] for row in told["rows"]))
        self.assertEqual({None}, {row["failures"] for row in told["rows"]})

    def test_calls_of_two_reports(self):
        before, after = self.real("gpt"), self.real("gpt-no-cache")
        text = self.text("diff", "--by", "call", before, after)
        self.assertIn("  357 ms in 2,053 calls -> 543 ms in 28,301 calls\n", text)
        self.assertRegex(text, r"\n +\+113 ms +15\.7 us +113 ms +4 +13,171 +cuMemFree_v2\n")
        for by in ("site", "function"):
            self.assertIn("  driver calls  357 ms -> 543 ms: vramscope diff --by call\n", self.text("diff", "--by", by, before, after))
        self.assertNotIn("driver calls", self.text("diff", before, before))
        told = self.json("diff", "--by", "call", before, after)
        self.assertEqual(told["after_ns"] - told["before_ns"], sum(row["change_ns"] for row in told["rows"]))
        for words in (("--at", "end"), ("--device", "0"), ("--threshold", "1MiB")):
            self.assert_refused(["diff", "--by", "call", *words, before, after], 2,
                                "and no memory: it takes --function, but no other filter, --at or --threshold")  # fmt: skip

    def test_functions_are_chosen(self):
        file = self.real("threads")
        text = self.text("calls", "--function", "cuMem(Alloc|Free)", file)
        self.assertIn("Only --function 'cuMem(Alloc|Free)'\nDriver calls\n"
                      "  2,024,801 calls to 2 driver functions took 10.8 s, summed over all threads; the run took 1.92 s\n", text)  # fmt: skip
        self.assertNotIn("waiting for the GPU", text)  # which is told of all calls together
        whole = {row["name"]: row for row in self.json("calls", file)["rows"]}
        told = self.json("calls", "--function", "cuMem(Alloc|Free)", file)
        self.assertEqual([row for row in whole.values() if "cuMem" in row["name"]], told["rows"])
        self.assertEqual((sum(row["calls"] for row in told["rows"]), None, 0, []),
                         (told["calls"], told["waited_ns"], told["threads"], told["served"]))  # fmt: skip
        self.assert_refused(["calls", "--function", "cuFoo", file], 2, "has no call of a function 'cuFoo'; functions: cuMemAlloc_v2, cuMemFree_v2")
        before, after = self.real("gpt"), self.real("gpt-no-cache")
        text = self.text("diff", "--by", "call", "--function", "cuMemFree", before, after)
        self.assertIn("  15.7 us in 4 calls -> 113 ms in 13,171 calls\n", text)
        self.assertIn("Only --function cuMemFree\n", text)
        self.assert_refused(["diff", "--function", "x", before, after], 2, "use it with --by call")

    def test_threads_kinds_and_devices_of_allocations_are_chosen(self):
        file = self.real("jax")
        every = self.json("calls", "--by", "thread", file)
        with self.edited(file) as written:
            counted = {row["kind"]: row["allocations"] for row in written["kinds"] if row["kind"] not in ("mapping", "address_range", "import")}
        self.assertEqual(sum(counted.values()), every["calls"])  # views are none
        for kind, count in counted.items():
            self.assertEqual(count, self.json("calls", "--by", "thread", "--kind", kind, file)["calls"], kind)
        self.assertEqual(every["calls"] - counted["pinned"], self.json("calls", "--by", "thread", "--device", "0", file)["calls"])
        self.assertEqual(1, self.json("calls", "--by", "thread", "--kind", "address_range", file)["calls"])
        self.assertEqual(self.json("calls", "--by", "thread", "--thread", "1255", file)["rows"],
                         [row for row in every["rows"] if row["name"].endswith(" 1255")])  # fmt: skip
        self.assert_refused(["calls", "--by", "thread", "--thread", "loader", file], 2, "has no thread 'loader'; threads: ")

    def test_what_a_report_does_not_tell_of_calls_is_refused(self):
        file = self.real("gpt")
        for words, why in ((("--thread", "x"), "does not tell which thread called a function (vramscope calls --by thread"),
                           (("--from", "1s"), "does not tell the times of single calls; a trace does"),
                           (("--device", "0"), "does not tell which memory the calls of a function were for"),
                           (("--site", "x"), "does not tell which memory the calls of a function were for"),
                           (("--by", "thread", "--function", "x"), "does not tell which functions a thread called"),
                           (("--by", "thread", "--range", "x"), "does not tell more of a thread's calls than kinds and devices")):  # fmt: skip
            self.assert_refused(["calls", *words, file], 2, why)

    def test_several_are_added(self):
        both = self.json("calls", self.real("gpt"), self.real("nccl"))
        each = [self.json("calls", self.real(name))["calls"] for name in ("gpt", "nccl")]
        self.assertEqual(sum(each), both["calls"])
        self.assertIn(", summed over all processes\n", self.text("calls", self.real("gpt"), self.real("nccl")))


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

    def log(self):
        """Of threads 7 and 8, of which 8 frees what 7 allocated."""
        with open(self.path("rmm.csv"), "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n")
            for thread, ms, action, pointer in ((7, 0, "allocate", 16), (7, 30, "allocate", 32), (8, 40, "free", 16), (7, 50, "free", 32)):
                file.write(f"{thread},10:00:00:{ms:03}000,{action},0x{pointer:x},{1000 + pointer},0\n")
        return self.path("rmm.csv")

    def test_each_filter_is_answered(self):
        file = self.log()
        whole = json.loads(self.call("calls", "--json", "--from", "0s", file))
        names = [row["name"] for row in whole["rows"]]
        self.assertEqual((4, 2), (whole["calls"], len(names)))

        def calls(*words):
            return json.loads(self.call("calls", "--json", *words, file))["calls"]

        self.assertEqual(3, calls("--thread", "7"))
        self.assertEqual(1, calls("--thread", "8"))  # it allocated nothing
        self.assertEqual(2, calls("--from", "35ms"))
        self.assertEqual(1, calls("--from", "35ms", "--to", "45ms"))
        self.assertEqual(2, calls("--min-bytes", "1020"))
        self.assertEqual(0, calls("--thread", "8", "--from", "45ms"))
        self.assertIn("Nothing that passes was called.\n", self.call("calls", "--thread", "8", "--from", "45ms", file))
        self.assertEqual(4, sum(calls("--function", f"^{name}$", "--from", "0s") for name in names))
        self.assertEqual(1, calls("--by", "thread", "--thread", "8", "--from", "0s"))
        self.assertEqual(3, calls("--by", "thread", "--from", "10ms"))
        text = self.call("calls", "--thread", "7", file)
        self.assertIn("Only --thread 7\n", text)
        self.assertIn("Next: vramscope calls --by thread --thread 7 ", text)
        missing = self.run_tool("calls", "--thread", "9", file)
        self.assertEqual(2, missing.returncode)
        self.assertIn("has no thread '9'; threads: 7, 8", missing.stderr)


if __name__ == "__main__":
    harness.main()
