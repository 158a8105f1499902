"""The check of frameworks notices what it is there to notice."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real_programs"))
import check_frameworks as check  # noqa: E402
import framework_list  # noqa: E402

ROWS = [("allocation", 16, 100), ("free", 16, 100), ("allocation", 16, 200), ("allocation", 512, 64)]
SCRIPT = framework_list.Script("first", "the first")
OTHER = framework_list.Script("other", "the other")


def framework(scripts=(SCRIPT,), **more):
    return framework_list.Framework("Some", "some", ["some==1"], 0.1, "some", "sizes", list(scripts), **more)


def run(status=0, output="x", counters=(), sizes=(), errors="", problems=()):
    allocations = [[number, size] for number, size in enumerate(sizes)]
    return check.Run(status, output, errors, {"counters": dict(counters), "allocations": allocations}, list(problems))


class Bench:
    """Answers runs without a program."""

    def __init__(self, folder, native, others):
        self.folder, self.answers = folder, {None: native, **dict.fromkeys(check.MODES, others)}

    def run(self, python, script, mode, wrapper, home):
        return self.answers[mode]


class CheckItself(unittest.TestCase):
    def test_what_was_taken_must_be_in_the_trace_in_its_order(self):
        self.assertEqual([], check.missing(ROWS, [[16, 100], [16, 200], [512, 64]]))
        self.assertEqual([[16, 100]], check.missing(ROWS, [[16, 200], [16, 100]]))
        self.assertEqual([[512, 65]], check.missing(ROWS, [[16, 100], [512, 65]]))
        self.assertEqual([], check.missing(ROWS, [[None, 64]]))
        self.assertEqual([[None, 63]], check.missing(ROWS, [[None, 63]]))

    def test_memory_that_is_used_lies_inside_an_allocation(self):
        self.assertTrue(check.lies_in_one(ROWS, 520, 56))
        self.assertFalse(check.lies_in_one(ROWS, 520, 57))
        self.assertFalse(check.lies_in_one(ROWS, 0, 1))

    def test_another_status_output_counter_or_size_is_a_difference(self):
        native = run(counters={"peak": 1}, sizes=[5])
        self.assertEqual([], list(check.differences(native, run(counters={"peak": 1}, sizes=[5]))))
        for other in (
            run(1, counters={"peak": 1}, sizes=[5]),
            run(output="y", counters={"peak": 1}, sizes=[5]),
            run(counters={"peak": 2}, sizes=[5]),
            run(counters={"peak": 1}, sizes=[6]),
        ):
            self.assertEqual(1, len(list(check.differences(native, other))))

    def verdict(self, native, others):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            return check.check_script(Bench(folder, native, others), framework(), SCRIPT, "python", [])

    def test_a_script_that_fails_natively_or_in_a_mode_is_wrong_and_one_that_cannot_be_served_is_skipped(self):
        self.assertEqual(({}, [], ""), self.verdict(run(), run()))
        self.assertEqual({"native"}, set(self.verdict(run(1), run())[0]))
        self.assertEqual(set(check.MODES), set(self.verdict(run(), run(problems=["no report"]))[0]))
        refused = run(125, errors="vramscope: python: a runtime is inside; link otherwise\n")
        self.assertEqual(({}, [], "a runtime is inside; link otherwise"), self.verdict(refused, run()))

    def test_functions_that_are_not_simulated_are_named(self):
        errors = "vramscope: python: cuOne is not simulated\nother\nvramscope: python3: cuTwo is not simulated\n"
        self.assertEqual(["cuOne", "cuTwo"], check.not_simulated(run(errors=errors)))

    def test_a_row_says_in_which_mode_what_differs(self):
        cells = check.row(framework([SCRIPT, OTHER]), "1", [SCRIPT, OTHER], [{}, {"cache": ["x"]}], ["cuOne"]).split(" | ")
        self.assertEqual(["runs", "1 of 2: the other", "same", "same", "`cuOne` |"], cells[4:])
        cells = check.row(framework(), "1", [SCRIPT], [{"native": ["x"]}], []).split(" | ")
        self.assertEqual(["1 of 1: the first", "-", "-", "-", "- |"], cells[4:])

    def test_rows_of_frameworks_that_were_not_asked_for_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "RESULTS.md")
            page.write_text(f"above\n{check.BEGIN}{check.END}below\n")
            check.write(page, ["| One | 1.0 | x |", check.skipped_row(framework(), "?", "no room")])
            check.write(page, ["| One | 2.0 | x |"])
            text = page.read_text()
        self.assertIn("| One | 2.0 |", text)
        self.assertNotIn("1.0", text)
        self.assertIn("| SKIPPED: no room |", text)
        self.assertEqual(1, text.count("| Framework |"))
        self.assertTrue(text.startswith("above\n") and text.endswith("below\n"))

    def test_each_script_of_the_list_is_there(self):
        for one in framework_list.FRAMEWORKS:
            for script in one.scripts:
                self.assertTrue((check.HERE / f"frameworks/{script.file}.py").exists(), script)

    def test_a_disk_without_room_is_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            python, reason = check.install(framework_list.dataclasses.replace(framework(), gigabytes=1e9), pathlib.Path(folder, "one"))
        self.assertIsNone(python)
        self.assertIn("GB of disk", reason)


if __name__ == "__main__":
    unittest.main()
