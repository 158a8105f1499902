"""Each finding of `advise` in a program that has the fault, and not in its twin without it."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import tempfile

import harness
from moments_test import BEGIN, function_of
from trace_case import MIB, TraceTest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "view"))
import listings  # noqa: E402

RANGES = """
import threading
def begin(name): own.vramscope_v1_range_push(name.encode(), None)
def end(): own.vramscope_v1_range_pop(None)
"""
# In each program `fault` is True, or False in the twin.
GROWS = """
table = []
def remember(): table.append(plain(2 * MIB))
for i in range(40):
    mark("request")
    for size in (8, 1): free(plain(size * MIB))
    remember()
    if not fault and len(table) > 4: free(table.pop(0))
if not fault:
    while table: free(table.pop())
"""
# The same, but the program frees all as it ends.
GROWS_UNTIL_END = GROWS.replace("if not fault:\n    while", "if True:\n    while")
# Functions with the names of those by which pools are known.
POOLS = """
def grow(pieces): return [plain(16 * MIB) for _ in range(pieces)]
def as_in(name, pieces):
    def pool(): return grow(pieces)
    pool.__code__ = pool.__code__.replace(co_name=name, co_qualname=name)
    return pool()
first = as_in("rmm::mr::pool_memory_resource::expand_pool", 8)
second = as_in("SingleDeviceMemoryPool.malloc" if fault else "rmm::mr::pool_memory_resource::expand_pool", 6)
for block in first + second: free(block)
"""
SMALL = """
def brief(): return plain(256 << 10)
def lasting(): return plain(256 << 10)
blocks, kept = [], []
if not fault: kept = [lasting() for _ in range(50)]
for i in range(400):
    blocks.append(brief())
    if fault and i % 8 == 7: kept.append(lasting())
for block in blocks: free(block)
large = plain(200 * MIB)
"""
# The lasting blocks are of many functions.
MANY_SMALL = """
def brief(): return plain(256 << 10)
def lasting_of(name):
    def lasting(): return plain(256 << 10)
    lasting.__code__ = lasting.__code__.replace(co_name=name, co_qualname=name, co_firstlineno=1000 + len(makers))
    return lasting
makers = []
for name in "abcdefghij": makers.append(lasting_of(name))
blocks, kept = [], []
if not fault: kept = [makers[i % 10]() for i in range(50)]
for i in range(400):
    blocks.append(brief())
    if fault and i % 8 == 7: kept.append(makers[i // 8 % 10]())
for block in blocks: free(block)
large = plain(200 * MIB)
"""
ROUNDED = """
def sheet(): return plain((2 << 20) + (64 << 10 if fault else 0))
sheets = [sheet() for _ in range(50)]
for one in sheets: free(one)
"""
LATE = """
begin("load")
raw = plain(300 * MIB)
weights = plain(50 * MIB)
if not fault: free(raw)
end()
begin("train")
steps = [plain(4 * MIB) for _ in range(100)]
end()
for one in steps: free(one)
if fault: free(raw)
last = plain(1 * MIB)
free(weights)
"""
OVERLAP = """
def loader(blocks):
    cuda.cuCtxSetCurrent(context)
    begin("loader")
    blocks.append(plain(200 * MIB))
    end()
def prefetch():
    blocks = []
    thread = threading.Thread(target=loader, args=(blocks,))
    thread.start(), thread.join()
    return blocks.pop()
first = prefetch()
if not fault: free(first)
begin("train")
step = plain(300 * MIB)
end()
if fault: free(first)
free(step)
free(prefetch())
"""


class Advise(TraceTest):
    def run_of(self, script, fault, **variables):
        """The trace and the report of a program with the fault, or of its twin."""
        folder = tempfile.mkdtemp(dir=self.folder)
        script = f"{BEGIN}{RANGES}fault = {fault}\n{script}"
        outcome, (trace,) = self.traced([sys.executable, "-c", script], folder=folder, **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        (report,) = pathlib.Path(folder).glob("*.json")
        return trace, report

    def found(self, *words):
        done = self.run_tool("advise", "--json", *words)
        self.assertEqual(0, done.returncode, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([], listings.problems("advice", rows))
        return {row["finding"]: row for row in rows if row["saves_bytes"]}

    def check(self, script, finding, saves, certainty, site=None, of_report=True, **variables):
        """The finding, which the twin does not have."""
        trace, report = self.run_of(script, True, **variables)
        twin, its_report = self.run_of(script, False, **variables)
        self.assertEqual({}, self.found(twin), finding)
        row = self.found(trace)[finding]
        self.assertEqual((saves, certainty), (row["saves_bytes"], row["certainty"]), finding)
        if site:
            self.assertEqual(site, function_of(row["sites"][0]))
        text = self.run_tool("advise", trace).stdout
        self.assertIn(f"1. {row['title']}: ", text)
        (command,) = [line for line in text.splitlines() if line.startswith("  See: vramscope " + row["command"])]
        done = self.run_tool(*command.split()[2:])
        self.assertEqual((0, ""), (done.returncode, done.stderr), command)
        trace.unlink(), twin.unlink()
        self.assertEqual(of_report, finding in self.found(report), finding)
        self.assertEqual({}, self.found(its_report), finding)
        return row

    def test_memory_that_only_grows(self):
        row = self.check(GROWS, "grows", 40 * 2 * MIB, "exact", "remember")
        self.assertEqual((40, 40), (row["count"], row["of_count"]))
        self.assertIn("it grows by 2.00 MiB every mark 'request'", row["evidence"])

    def test_memory_that_grows_until_the_program_frees_it_at_its_end(self):
        row = self.check(GROWS_UNTIL_END, "grows", 39 * 2 * MIB, "exact", "remember")
        self.assertEqual(("sites --by growth", 39, 39), (row["command"], row["count"], row["of_count"]))
        self.assertIn("live at the peak after ", row["evidence"])

    def test_pools_of_two_libraries_side_by_side(self):
        row = self.check(POOLS, "two_pools", 6 * 16 * MIB, "at_most")
        self.assertEqual([("RMM's pool", 128), ("CuPy's pool", 96)], [(party["name"], party["bytes"] // MIB) for party in row["parties"]])

    def test_fragmentation_by_one_call_site(self):
        row = self.check(SMALL, "fragmented", 350 * (256 << 10), "at_most", "lasting", of_report=False)
        self.assertEqual(50, row["sites"][0]["count"])

    def test_fragmentation_when_memory_ran_out(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.traced([harness.program("holes")], simulator="capacity=1GiB,context_bytes=0", folder=folder, VRAMSCOPE_POLICY="pytorch")
        (trace,) = folder.glob("*.trace")
        (refused,) = [path for path in folder.glob("*.json") if json.loads(path.read_text())["trigger"] == "oom"]
        (last,) = set(folder.glob("*.json")) - {refused}
        last.unlink()
        row = self.found(trace)["fragmented"]
        self.assertEqual(("map --at oom", 45), (row["command"], row["count"]))
        trace.unlink()
        row = self.found(refused)["fragmented"]
        self.assertEqual((45 * 17 * MIB, "map"), (row["saves_bytes"], row["command"]))
        self.assertIn("When the report was written its 45 blocks", self.run_tool("advise", refused).stdout)

    def test_small_segments_that_are_mostly_free(self):
        row = self.check(MANY_SMALL, "small_segments", 350 * (256 << 10), "at_most", of_report=False)
        self.assertEqual(8, len(row["sites"]), "the largest")

    def test_requests_just_above_a_page_of_the_driver(self):
        for mode in ("cache", "observe"):
            self.check(ROUNDED, "rounded", 50 * ((2 << 20) - (64 << 10)), "about", "sheet", mode=mode)
        trace, _ = self.run_of(ROUNDED, True, VRAMSCOPE_POLICY="pytorch")
        self.assertEqual({}, self.found(trace), "segments are shared")

    def test_memory_of_a_range_that_is_freed_after_the_peak(self):
        row = self.check(LATE, "freed_late", 300 * MIB, "at_most", "<module>", of_report=False)
        self.assertEqual(["load", "train"], [party["name"] for party in row["parties"]])
        self.assertLess(row["last_ns"], row["peak_ns"])

    def test_phases_of_two_threads_that_overlap_at_the_peak(self):
        row = self.check(OVERLAP, "overlap", 200 * MIB, "at_most", of_report=False)
        self.assertEqual([("train", 300), ("loader", 200)], [(party["name"], party["bytes"] // MIB) for party in row["parties"]])

    def test_nothing_found_is_said_with_what_was_looked_for(self):
        trace, report = self.run_of("free(plain(MIB))\n", False)
        text = self.run_tool("advise", trace).stdout
        self.assertTrue(text.startswith("Nothing found. Looked for: memory that only grows, "), text)
        self.assertIn(", fragmentation and small segments.\n", text)
        self.assertIn("\nThe program has no NVTX ranges. They show ", text)
        self.assertIn("; this answer is from ", self.run_tool("advise", report).stderr)
        trace.unlink()
        text = self.run_tool("advise", report).stdout
        self.assertIn("repeated pinning and temporary allocations.\n", text, "a report at the end has no segments that tell")
        self.assertIn("\nOnly a trace (run --trace FILE) shows fragmentation", text)
        trace, _ = self.run_of('begin("step")\nfree(plain(MIB))\nend()\n', False)
        self.assertIn("that is freed late and ranges that overlap.\n", self.run_tool("advise", trace).stdout)

    def test_n_says_how_many_and_csv_has_a_row_for_each(self):
        trace, _ = self.run_of(ROUNDED + GROWS, True)
        self.assertEqual(2, len(self.found(trace)))
        self.assertIn("  and 1 more finding (-n 0 for all)\n", self.run_tool("advise", "-n", "1", trace).stdout)
        self.assertEqual(1, len(json.loads(self.run_tool("advise", "--json", "-n", "1", trace).stdout)))
        self.assertEqual(1 + len(json.loads(self.run_tool("advise", "--json", trace).stdout)), len(self.run_tool("advise", "--csv", trace).stdout.splitlines()))

    def test_of_a_merged_report_each_process_is_judged(self):
        (trace, first), (other, second) = (self.run_of(GROWS, fault) for fault in (True, False))
        trace.unlink(), other.unlink()
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        files = [path.rename(folder / f"{number}.json") for number, path in enumerate((first, second))]
        merged = folder / "all.json"
        self.assertEqual(0, self.run_tool("merge", "-o", merged, *files).returncode)
        both = json.loads(self.run_tool("advise", "--json", merged).stdout)
        self.assertEqual([["grows"], []], [[row["finding"] for row in one["listing"] if row["saves_bytes"]] for one in both])
        for path in files:
            path.unlink()
        done = self.run_tool("advise", merged)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        self.assertIn("advise judges each by its own report", done.stderr)


if __name__ == "__main__":
    harness.main()
