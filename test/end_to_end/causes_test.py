"""Small programs that run out of memory for known causes, each with a twin: what `oom`, `leaks` and the page say of each, at whatever speed it ran."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile

import harness

# What the hint says.
LEAK = "never freed, and kept growing until the end"
HELD = "the program itself holds most of the memory"
KEPT = "that freed nothing"
THIN = ": a leak, or what the program needs"
OVERLAP = "that freed most allocations), whose lifetimes overlapped: if freed earlier, it would have been enough"
PINNED = "fragmentation: the 500 MiB free in pieces would have been enough"
SERVED = None  # memory does not run out
# Of each cause and of its twin: the classes of the places that hold something at the end, what the hint says, and what it must not.
PAIRS = [
    ("leak", {"grows", "kept"}, LEAK, HELD, "weights", {"left"}, KEPT, "grew"),
    ("rare_leak", {"grows"}, LEAK, HELD, "steady", {"left"}, KEPT, "grew"),
    ("small_leak", {"grows", "kept"}, LEAK, HELD, "model", {"left"}, KEPT, "grew"),
    ("requests", {"grows"}, LEAK, HELD, "staged", {"left"}, KEPT, "grew"),
    ("steps", {"grows"}, LEAK, "or what the program needs", "row", {"left"}, THIN, "grew"),
    ("marks", {"grows", "kept"}, LEAK, "or what the program needs", "after_marks", {"left"}, THIN, "grew"),
    ("larger_buffer", {"grows"}, LEAK, KEPT, "buffer", {"late"}, HELD, "grew"),
    ("endless_cache", {"grows"}, LEAK, HELD, "cache", {"left"}, HELD, "grew"),
    ("overlap", set(), OVERLAP, "once", "in_turn", set(), SERVED, ""),
    ("asks_again", {"left", "late"}, THIN + ": vramscope leaks lists the call sites; 200 MiB were free, in pieces", HELD, "asked_once", {"left"}, "fragmentation: the 200 MiB free in pieces", THIN),
    ("pinned_segments", {"left"}, PINNED, "leak", "free_segments", {"left", "late"}, SERVED, ""),
    ("too_large", set(), "it asks for more than the whole GPU has", "holds", "just_fits", {"late"}, SERVED, ""),
]
CAUSES = {row[0]: row[1:4] for row in PAIRS} | {row[4]: row[5:] for row in PAIRS}
FOLDER = tempfile.TemporaryDirectory()


class Causes(harness.Case):
    def run_cause(self, *words):
        """The report of a run, and its trace; once for all tests."""
        folder = pathlib.Path(FOLDER.name, "-".join(words))
        if folder.exists():
            return folder / "x.json", folder / "x.trace"
        folder.mkdir()
        done = self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--trace", folder / "x.trace", "-o", folder / "x.json", "--",
                             harness.program("memory_causes"), *words, VRAMSCOPE_SIM="context_bytes=0")  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        return folder / "x.json", folder / "x.trace"

    def rows(self, path):
        return [(leak["class"], leak["bytes"], leak["count"], leak["frames"]) for leak in self.json_of(path)]

    def json_of(self, path):
        return json.loads(self.run_tool("leaks", "--json", path).stdout)["leaks"]

    def text(self, *words):
        return " ".join(self.run_tool(*words).stdout.split("Next: ")[0].split())

    def test_each_cause_is_told_from_its_twin(self):
        for cause, (classes, said, unsaid) in CAUSES.items():
            with self.subTest(cause):
                final, _ = self.run_cause(cause)
                self.assertEqual(classes, {row[0] for row in self.rows(final)})
                text = self.text("oom", final)
                if said is SERVED:
                    self.assertEqual("Memory never ran out.", text)
                    continue
                hint = text.split("hint: ", 1)[1]
                self.assertIn(said, hint)
                self.assertNotIn(unsaid, hint)
                grows = "grows" in classes
                self.assertNotEqual(grows or "fragmentation" in hint or "whole GPU" in hint, " more free memory would have been enough" in hint)
                self.assertEqual(grows, "look like a leak that grows" in self.page(final))

    def page(self, report):
        path = report.with_suffix(".html")
        done = self.run_tool("html", "-o", path, report)
        self.assertEqual(0, done.returncode, done.stderr)
        return path.read_text()

    def test_a_slow_run_and_its_trace_have_the_same_classes_in_the_same_order(self):
        for cause in CAUSES:
            with self.subTest(cause):
                rows = [self.rows(path) for path in (*self.run_cause(cause), *self.run_cause(cause, "slow"))]
                self.assertEqual([rows[0]] * 4, rows)

    def test_the_rate_of_a_leak_is_told(self):
        told = {
            "rare_leak": ("8.00 MiB every 5 calls of on_error", (8, 5, None, None, None)),
            "steps": ("10.0 MiB every pass of train/step", (10, 1, "train/step", None, None)),
            "marks": ("10.0 MiB every mark 'step'", (10, 1, None, "step", None)),
        }
        for cause, (rate, numbers) in told.items():
            for path in self.run_cause(cause):
                self.assertIn(f"; {rate}", self.text("leaks", path))
                (row,) = [leak for leak in self.json_of(path) if leak["class"] == "grows"]
                found = (row["rate_bytes"] // 1024 ** 2, *(row[name] for name in ("rate_periods", "rate_range", "rate_mark", "full_in_ns")))
                self.assertEqual(numbers, found)
        self.assertEqual([None], [leak["rate_bytes"] for leak in self.json_of(self.run_cause("weights")[0])])
        self.assertIn("kept growing until the end, 10.0 MiB every pass of train/step:", self.text("oom", self.run_cause("steps")[0]))

    def test_how_long_the_device_will_do_is_told_of_a_leak_that_did_not_fill_it(self):
        final, _ = self.run_cause("slow_leak")
        self.assertRegex(self.text("leaks", final), r"; 2\.00 MiB every call of \S+; at this rate the device is full in [0-9.]+ \S+ ")
        self.assertGreater(max(leak["full_in_ns"] or 0 for leak in self.json_of(final)), 1_000_000)


if __name__ == "__main__":
    harness.main()
