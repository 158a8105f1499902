"""What was live at an instant of a run, by time or by mark, and what is held from one to another."""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import pathlib
import re
import sys
import tempfile

import harness
from trace_case import MIB, TraceTest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "view"))
import listings  # noqa: E402

BEGIN = """
import ctypes, time
cuda, own = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
MIB = 1 << 20
context = ctypes.c_void_p()
cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
def plain(bytes):
    block = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(bytes)) == 0
    return block
def free(block):
    assert cuda.cuMemFree_v2(block) == 0
def mark(name):
    assert own.vramscope_v1_mark(name.encode()) == 0
"""
# 20 MiB stay; each of five steps has 7 MiB for a while, and leaves 3 MiB.
STEPS = BEGIN + """
def weights(): return plain(20 * MIB)
def activations(): return plain(7 * MIB)
def leftover(): return plain(3 * MIB)
def pinned():
    host = ctypes.c_void_p()
    assert cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(5 * MIB), 0) == 0
kept = weights()
mark("loaded")
for i in range(5):
    mark("step")
    used = activations()
    leftover()
    mark("half")
    free(used)
pinned()
mark("end#1")
"""
# The same in ranges, in which a thread allocates only within a range around it.
EPOCHS = BEGIN + """
def push(name): own.vramscope_v1_range_push(name.encode(), None)
def pop(): own.vramscope_v1_range_pop(None)
def weights(): return plain(20 * MIB)
def activations(): return plain(7 * MIB)
def leftover(): return plain(3 * MIB)
kept = weights()
for i in range(4):
    push("epoch")
    push("forward")
    used = activations()
    pop()
    leftover()
    free(used)
    pop()
    push("empty")
    pop()
    free(plain(MIB))
"""
# Marks that a trace keeps only in part: 700 of one name, after 600 of others.
MANY = BEGIN + """
for i in range(600): mark(f"other {i}")
for i in range(700):
    plain(MIB)
    mark("step")
"""
# A server that sleeps and wakes: it ought to have given back all but 2 MiB while it slept.
SERVER = BEGIN + """
def config(): return plain(2 * MIB)
def model(): return plain(64 * MIB)
def request(): return plain(8 * MIB)
config()
blocks = [model() for _ in range(3)]
mark("sleep")
for block in blocks[1:]: free(block)
mark("asleep")
new = [model(), request()]
mark("wake")
free(new[1])
"""


def function_of(row):
    """The function that calls plain(), or else asks the driver."""
    names = [re.split(r"[ (]", frame)[0] for frame in row["frames"]]
    return next(name for name in names if name != "plain")


class Moments(TraceTest):
    def run_of(self, script, **variables):
        """The trace and the report of a run."""
        folder = tempfile.mkdtemp(dir=self.folder)
        outcome, (trace,) = self.traced([sys.executable, "-c", script], folder=folder, **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        (report,) = pathlib.Path(folder).glob("*.json")
        return trace, report

    def held_at(self, instant, *words):
        """Bytes live then, by kind and innermost function."""
        done = self.run_tool("peak", "--at", instant, "--json", *words)
        self.assertEqual(0, done.returncode, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([], listings.problems("moment", found))
        held = collections.Counter()
        for kind in found["memory"]:
            self.assertEqual(kind["live_bytes"], sum(share["bytes"] for share in kind["live"]))
            for axis in ("owner", "thread", "stream", "range"):
                if "--site" not in words:  # of which a report does not know
                    self.assertEqual(kind["live_bytes"], sum(kind[axis].values()), axis)
            for share in kind["live"]:
                held[function_of(share)] += share["bytes"] // MIB
        return found, dict(held)

    def refusal(self, *words):
        done = self.run_tool(*words)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        return done.stderr

    def test_all_that_was_live_at_a_mark_is_told_by_place(self):
        trace, report = self.run_of(STEPS)
        for file in (trace, report):
            found, held = self.held_at("step#3", file)
            self.assertEqual(("step", 3, 5), tuple(found[name] for name in ("mark", "repetition", "repetitions")))
            self.assertEqual({"weights": 20, "leftover": 6}, held, "what was there before counts")
        self.assertEqual({"weights": 20, "activations": 7, "leftover": 9}, self.held_at("half#3", trace)[1])
        found, held = self.held_at("step", trace)
        self.assertEqual((5, {"weights": 20, "leftover": 12}), (found["repetition"], held), "the last")
        self.assertEqual({"weights": 20}, self.held_at("loaded", trace)[1])
        self.assertEqual({"weights": 20, "leftover": 15, "pinned": 5}, self.held_at("end#1", trace)[1], "a mark of that name")

    def test_the_same_is_told_of_a_time_and_of_the_end(self):
        trace, report = self.run_of(STEPS)
        found, held = self.held_at("half#2", trace)
        self.assertEqual(held, self.held_at(f"{found['at_ns']}ns", trace)[1])
        self.assertIsNone(self.held_at(f"{found['at_ns']}ns", trace)[0]["mark"])
        self.assertEqual(self.held_at("end", report)[1], self.held_at("end", trace)[1])
        self.assertEqual({"leftover": 15}, self.held_at("end", "--site", "leftover", report)[1])
        self.assertEqual([], self.held_at("0ns", trace)[0]["memory"])
        self.assertIn("At 0 ns: 0 B requested bytes live\n", self.run_tool("peak", "--at", "0", trace).stdout)

    def test_of_the_end_the_text_says_whose_it_is(self):
        trace, report = self.run_of(STEPS)
        other = pathlib.Path(self.folder, "other.json")
        changed = json.loads(report.read_text())
        changed["process"]["pid"] += 1
        other.write_text(json.dumps(changed))
        for files, begins in (([trace], "At the end of the trace: 40.0 MiB "), ([report], "At the end: 40.0 MiB "),
                              ([report, other], "When each report was written: 80.0 MiB ")):  # fmt: skip
            self.assertIn(begins, self.run_tool("peak", "--at", "end", *files).stdout)
        changed["trigger"] = "signal"
        other.write_text(json.dumps(changed))
        self.assertTrue(self.run_tool("peak", "--at", "end", other).stdout.startswith("When the report was written: 40.0 MiB "))

    def test_a_map_of_that_instant_has_the_same_bytes(self):
        trace, report = self.run_of(STEPS)
        for file, at in ((trace, "step#3"), (report, "half#3"), (trace, "loaded")):
            held = self.held_at(at, "--kind", "device", file)[0]["memory"][0]["live_bytes"]
            done = self.run_tool("map", "--at", at, "--kind", "device", "--json", file)
            self.assertEqual(0, done.returncode, done.stderr)
            (place,) = json.loads(done.stdout)["places"]
            self.assertEqual(held, place["requested_bytes"], at)
        text = self.run_tool("map", "--at", "step#3", trace).stdout
        self.assertRegex(text, r"GPU 0 at mark step \(3 of 5\), after [0-9.]+ [mu]s: ")

    def test_the_text_says_which_mark_and_leads_to_the_map(self):
        trace, report = self.run_of(STEPS)
        text = self.run_tool("peak", "--at", "step", trace).stdout
        self.assertRegex(text, r"^At mark step \(5 of 5\), after [0-9.]+ ms: 32\.0 MiB requested bytes live")
        self.assertIn("\nGPU 0: 32.0 MiB requested in 5 allocations\n  all of it: owner ", text)
        self.assertRegex(text, r"\n +12\.0 MiB +37\.5 % +4 +leftover ")
        self.assertTrue(text.endswith(f"\nNext: vramscope map --at step {trace}\n"), text)
        self.assertEqual(0, self.run_tool(*text.splitlines()[-1].split()[2:]).returncode)
        for more in ("--tree", "--full", "--csv"):
            self.assertIn("leftover", self.run_tool("peak", "--at", "step", more, trace).stdout)
        done = self.run_tool("peak", "--at", "step#2", report)
        self.assertIn(f"; this answer is from its trace, {trace}\n", done.stderr)

    def test_what_a_file_does_not_have_is_one_line(self):
        trace, report = self.run_of(STEPS)
        for verb in ("peak", "map"):
            self.assertIn("has no mark or range 'stop'; marks: end#1, half, loaded, step; --at also takes end", self.refusal(verb, "--at", "stop", trace))
            self.assertIn("has no mark 'step' number 6; the program set it 5 times", self.refusal(verb, "--at", "step#6", trace))
            self.assertRegex(self.refusal(verb, "--at", "1h", trace), r"ends after [0-9.]+ m?s, before --at 1 h 00 min")
            trace.rename(trace.with_suffix(".other"))
            self.assertIn("give its trace, '", self.refusal(verb, "--at", "step", report))
            trace.with_suffix(".other").rename(trace)
        untraced = json.loads(report.read_text())
        untraced["trace"]["path"] = ""
        report.write_text(json.dumps(untraced))
        self.assertIn("does not tell what was live at step: a trace does, which run --trace FILE makes", self.refusal("peak", "--at", "step", report))
        for verb in ("peak", "map"):
            self.assertIn("has no mark or range 'stop'; marks: end#1, half, loaded, step; --at also takes", self.refusal(verb, "--at", "stop", report))
        self.assertIn("does not go with --from and --to", self.refusal("peak", "--at", "step", "--from", "1ms", trace))

    def test_a_range_is_the_instant_before_its_first_allocation(self):
        trace, report = self.run_of(EPOCHS)
        for file in (trace, report):
            found, held = self.held_at("epoch#3", file)
            self.assertEqual(("epoch", True, 3, 4), tuple(found[name] for name in ("mark", "is_range", "repetition", "repetitions")))
            self.assertEqual({"weights": 20, "leftover": 6}, held)
        self.assertEqual({"weights": 20, "leftover": 9}, self.held_at("epoch", trace)[1], "the last")
        self.assertIn("Before the first allocation in range epoch (2 of 4), after ", self.run_tool("peak", "--at", "epoch#2", trace).stdout)
        self.assertRegex(self.run_tool("map", "--at", "epoch#2", trace).stdout, r"GPU 0 before the first allocation in range epoch \(2 of 4\), after ")
        done = self.run_tool("check", "--between", "epoch#2", "epoch#3", "--max-new", "2MiB", "--json", trace)
        (told,) = json.loads(done.stdout)["traces"]
        self.assertEqual((1, True, 3 * MIB), (done.returncode, told["from"]["is_range"], told["new_bytes"]))
        self.assertIn("has no range 'epoch' number 5; the program entered it and allocated memory 4 times", self.refusal("peak", "--at", "epoch#5", trace))
        self.assertIn("has no allocation in range 'empty', by which its time would be known; --at also takes", self.refusal("peak", "--at", "empty", trace))

    def test_a_mark_goes_before_a_range(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        _, (trace,) = self.traced([harness.program("nvtx_ranges")], folder=folder, NVTX_INJECTION64_PATH=harness.LIBRARY)
        self.assertEqual(("half", False, 1, 1), tuple(self.held_at("half", trace)[0][name] for name in ("mark", "is_range", "repetition", "repetitions")))
        self.assertEqual(("net:reduce", True, 1, 1), tuple(self.held_at("net:reduce", trace)[0][name] for name in ("mark", "is_range", "repetition", "repetitions")))

    def test_of_many_marks_some_are_known_and_the_last_of_these_is_said(self):
        trace, _ = self.run_of(MANY)
        found, _ = self.held_at("step", trace)
        self.assertEqual((689, 700), (found["repetition"], found["repetitions"]), "each sixteenth from the first on")
        self.assertEqual(689 * MIB, sum(kind["live_bytes"] for kind in found["memory"]))
        self.assertEqual(17 * MIB, self.held_at("step#17", trace)[0]["memory"][0]["live_bytes"])
        self.assertIn("the last known one is 'step'#689", self.refusal("peak", "--at", "step#700", trace))

    def between(self, *words, status=0):
        done = self.run_tool("check", "--json", "--between", *words)
        self.assertEqual((status, ""), (done.returncode, done.stderr), words)
        found = json.loads(done.stdout)
        self.assertEqual([], listings.problems("between", found))
        return found

    def test_what_is_held_over_a_sleep_is_told_by_place_and_owner(self):
        trace, report = self.run_of(SERVER)
        found = self.between("sleep", "wake", trace)
        (one,) = found["traces"]
        self.assertTrue(found["passed"] and one["passed"])
        figures = {name: one[f"{name}_bytes"] // MIB for name in ("live", "held", "allocated", "new")}
        self.assertEqual({"live": 194, "held": 66, "allocated": 72, "new": 72}, figures)
        self.assertEqual((4, 2, 2, 2), tuple(one[f"{name}_count"] for name in figures))
        held, new = collections.Counter(), collections.Counter()
        for site in one["sites"]:
            held[function_of(site)] += site["held_bytes"] // MIB
            new[function_of(site)] += site["new_bytes"] // MIB
        self.assertEqual(({"config": 2, "model": 64}, {"model": 64, "request": 8}), (+held, +new))
        self.assertEqual((one["held_bytes"], one["new_bytes"]),
                         tuple(sum(owner[f"{name}_bytes"] for owner in one["owners"]) for name in ("held", "new")))  # fmt: skip
        self.assertEqual(0, self.between("sleep", "asleep", trace)["traces"][0]["new_bytes"])
        self.assertEqual(64 * MIB, self.between("wake", "end", "--site", "model", trace)["traces"][0]["new_bytes"] + 64 * MIB)

    def test_limits_of_what_is_held_and_new_give_the_exit_status(self):
        trace, report = self.run_of(SERVER)
        for limits, status in ((("--max-held", "66MiB"), 0), (("--max-held", "65MiB"), 1), (("--max-new", "72MiB"), 0), (("--max-new", "0"), 1),
                               (("--max-held", "66MiB", "--max-new", "71MiB"), 1)):  # fmt: skip
            self.assertEqual(status == 0, self.between("sleep", "wake", *limits, trace, status=status)["passed"], limits)
        done = self.run_tool("check", "--between", "sleep", "wake", "--max-held", "2MiB", trace)
        self.assertEqual(1, done.returncode)
        self.assertIn("failed: ", done.stdout)
        self.assertIn("Held: live at A and at B: 66.0 MiB in 2 allocations, 64.0 MiB above the limit of 2.00 MiB\n", done.stdout)
        self.assertRegex(done.stdout, r"\n +64\.0 MiB +1 +(GPU 0 +)?model ")
        rows = self.run_tool("check", "--csv", "--between", "sleep", "wake", trace).stdout.splitlines()
        self.assertEqual(["file", "site"], rows[0].split(",")[:2])
        self.assertEqual(5, len(rows), rows)
        self.assertEqual(0, self.run_tool("check", "--between", "sleep", "wake", report).returncode)

    def test_instants_in_the_wrong_order_and_other_limits_are_one_line(self):
        trace, report = self.run_of(SERVER)
        self.assertIn("--between takes the earlier instant first", self.refusal("check", "--between", "wake", "sleep", trace))
        self.assertIn("has no mark or range 'nap'", self.refusal("check", "--between", "nap", "wake", trace))
        self.assertIn("not by other limits", self.refusal("check", "--between", "sleep", "wake", "--max-peak", "1", trace))
        self.assertIn("--max-held", self.refusal("check", "--max-held", "1", report))
        trace.unlink()
        self.assertIn("does not tell what was live at sleep: give its trace, '", self.refusal("check", "--between", "sleep", "wake", report))


if __name__ == "__main__":
    harness.main()
