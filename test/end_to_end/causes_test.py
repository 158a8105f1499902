"""Small programs that run out of memory for known causes: what `oom` and `leaks` say of each, at whatever speed it ran."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

import harness

# The cause, the class of each place that holds something at the end, and what the hint says.
LEAK = "never freed, and grew to the end"
HELD = "the program itself holds most of it"
CAUSES = {
    "leak": ({"grows", "kept"}, LEAK, HELD),
    "weights": ({"left"}, HELD, "grew"),
    "rare_leak": ({"grows"}, LEAK, HELD),
    "steady": ({"left"}, HELD, "grew"),
    "row": ({"left"}, "a leak, or what the program needs", "grew"),
    "staged": ({"left"}, HELD, "grew"),
    "small_leak": ({"grows", "kept"}, LEAK, HELD),
    "model": ({"left"}, HELD, "grew"),
    "too_large": (set(), "it asks for more than the whole GPU has", "grew"),
    "overlap": (set(), HELD, "grew"),
}


class Causes(harness.Case):
    def run_cause(self, cause, *words):
        folder = pathlib.Path(self.folder) / "-".join((cause, *words))
        folder.mkdir()
        done = self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--trace", folder / "x.trace", "-o", folder / "x.json", "--",
                             harness.program("memory_causes"), cause, *words, VRAMSCOPE_SIM="context_bytes=0")  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        (final,) = [path for path in folder.glob("*.json") if json.loads(path.read_text())["trigger"] == "exit"]
        return final, folder / "x.trace"

    def rows(self, path):
        leaks = json.loads(self.run_tool("leaks", "--json", path).stdout)["leaks"]
        return [(leak["class"], leak["bytes"], leak["count"], leak["frames"]) for leak in leaks]

    def test_what_is_a_leak_is_told_from_what_is_held(self):
        for cause, (classes, said, unsaid) in CAUSES.items():
            with self.subTest(cause):
                final, _ = self.run_cause(cause)
                self.assertEqual(classes, {row[0] for row in self.rows(final)})
                hint = " ".join(self.run_tool("oom", final).stdout.split("hint: ", 1)[1].split())
                self.assertIn(said, hint)
                self.assertNotIn(unsaid, hint)
                page = folder_page(self, final)
                self.assertEqual("grows" in classes, "look like a leak that grows" in page)

    def test_growth_makes_it_pointless_to_say_how_much_more_would_have_been_enough(self):
        final, _ = self.run_cause("leak")
        self.assertNotIn("would have been enough", self.run_tool("oom", final).stdout)
        final, _ = self.run_cause("weights")
        self.assertIn("would have been enough", self.run_tool("oom", final).stdout)

    def test_a_slow_run_and_its_trace_have_the_same_classes_in_the_same_order(self):
        for cause in CAUSES:
            with self.subTest(cause):
                rows = [self.rows(path) for path in (*self.run_cause(cause), *self.run_cause(cause, "slow"))]
                self.assertEqual([rows[0]] * 4, rows)

    def test_the_rate_of_a_leak_is_told(self):
        final, _ = self.run_cause("rare_leak")
        self.assertIn("8.00 MiB each 5 calls of on_error", " ".join(self.run_tool("leaks", final).stdout.split()))


def folder_page(case, report):
    path = report.with_suffix(".html")
    done = case.run_tool("html", "-o", path, report)
    case.assertEqual(0, done.returncode, done.stderr)
    return path.read_text()


if __name__ == "__main__":
    harness.main()
