"""The check of public figures notices what it is there to notice."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real_programs"))
import check_figures as check  # noqa: E402
import figure_list  # noqa: E402

SOURCE = figure_list.Source("A page", "https://example.org/page", "A100", "PyTorch 2.6.0")


def figure(name="reserved", arguments=(), **more):
    return figure_list.Figure(name, "some model: reserved", 2.5, "GiB", SOURCE, "some", list(arguments), "a100", **more)


class CheckItself(unittest.TestCase):
    def test_a_figure_is_wrong_beyond_its_tolerance(self):
        exact = int(2.5 * 2**30)
        self.assertEqual("", check.verdict(figure(), exact))
        self.assertEqual("", check.verdict(figure(), int(exact * 1.0199)))
        self.assertIn("+2.10 % off", check.verdict(figure(), int(exact * 1.021)))
        self.assertIn("-2.10 % off", check.verdict(figure(), int(exact * 0.979)))
        self.assertEqual("", check.verdict(figure(within=6), int(exact * 1.05)))

    def measured(self, figures, said, wrong=""):
        with unittest.mock.patch.object(check, "measure", return_value=(said, wrong)) as measure:
            with contextlib.redirect_stdout(io.StringIO()):
                rows = list(check.measure_all(figures, "tool", {"figures": pathlib.Path("python")}, "folder", end=float("inf")))
        return rows, measure.call_count

    def test_figures_of_one_run_share_it(self):
        said = {"reserved": int(2.5 * 2**30), "max_reserved": 1}
        rows, runs = self.measured([figure(), figure("max_reserved"), figure(arguments=["other"])], said)
        self.assertEqual(2, runs)
        self.assertEqual([True, False, True], [wrong == "" for _, _, wrong in rows])

    def test_a_run_that_failed_or_says_nothing_of_the_figure_is_wrong(self):
        (_, bytes_, wrong), = self.measured([figure()], {"reserved": int(2.5 * 2**30)}, "ended with 1")[0]
        self.assertEqual((None, "ended with 1"), (bytes_, wrong))
        (_, bytes_, wrong), = self.measured([figure()], {"other": 5})[0]
        self.assertEqual((None, "says nothing of reserved"), (bytes_, wrong))

    def test_what_a_script_prints_is_read_and_its_status_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder, "tool")
            tool.write_text("#!/bin/sh\necho figure reserved 12\necho other 5\nexit ${STATUS:-0}\n")
            tool.chmod(0o755)
            self.assertEqual(({"reserved": 12}, ""), check.measure(tool, tool, figure(), folder, 30))
            tool.write_text("#!/bin/sh\necho no device >&2\nexit 3\n")
            self.assertEqual(({}, "ended with 3: no device"), check.measure(tool, tool, figure(), folder, 30))

    def test_a_row_has_both_figures_their_difference_and_the_source(self):
        cells = check.row(figure(), int(2.55 * 2**30)).split(" | ")
        self.assertEqual(["A100", "PyTorch 2.6.0", "2.5000 GiB", "2.5500 GiB", "+2.00 %"], cells[1:6])
        self.assertEqual("[A page](https://example.org/page) |", cells[6])
        self.assertIn("| - | not measured |", check.row(figure(), None))
        self.assertIn("+2.00 % (padding)", check.row(figure(why="padding", within=6), int(2.55 * 2**30)))

    def test_each_script_of_the_list_is_there_and_each_exception_has_its_reason_on_the_page(self):
        page = (check.HERE.parent / "RESULTS.md").read_text()
        for one in figure_list.FIGURES:
            self.assertTrue((check.HERE / f"public_figures/{one.script}.py").exists(), one)
            self.assertEqual(one.within > 2, bool(one.why), one)
            self.assertIn(f"**{one.why}**" if one.why else "", page)


if __name__ == "__main__":
    unittest.main()
