# diff --history: the runs in a folder, one a line, and how the peak grew.
# SPDX-License-Identifier: Apache-2.0
"""history_test.py BUILD"""
import copy
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
import listings  # noqa: E402
from jobs_case import MIB, START_NS, JobTest  # noqa: E402

DAY_NS = 86_400 * 10**9


class History(JobTest):
    def night(self, day, peak, name=None, **process):
        report = copy.deepcopy(self.rank)
        report["process"].update({"pid": 1000 + day, "rank": None, "executable": "/opt/train",
                                  "start_time_ns": START_NS + day * DAY_NS, **process})
        for row in report["kinds"]:
            row["peak_bytes"] = peak if row["kind"] == "device" else 0
        return self.write(name or f"nightly/night{day:03}.json", report)

    def history(self, *words, status=0):
        result = self.call("diff", *words[:-1], "--history", words[-1])
        self.assertEqual(status, result.returncode, result.stderr)
        return result.stdout

    def test_a_growth_of_two_percent_a_week_is_seen(self):
        for week in range(9):
            self.night(7 * week, int((1000 + week % 3) * MIB * 1.02**week), options={"label": f"commit{week}"})
        text = self.history("nightly")
        lines = text.splitlines()
        self.assertEqual(9, sum("night" in line for line in lines))
        self.assertIn("2024-01-09", lines[2])  # the newest first
        self.assertIn("commit8", lines[2])
        self.assertRegex(" ".join(text.split()), r"the peak grew by (1\.9|2\.0|2\.1) % a week \(median\) over 9 runs in 56 days")
        found = json.loads(self.history("--json", "nightly"))
        self.assertEqual([], listings.problems("history", found))
        self.assertEqual(9, len(found["runs"]))
        self.assertAlmostEqual(20, found["trends"][0]["thousandths_a_week"], delta=1)

    def test_one_odd_night_is_no_growth(self):
        for day in range(10):
            self.night(day, (3000 if day == 4 else 1000) * MIB)
        text = " ".join(self.history("nightly").split())
        self.assertIn("the peak changed by less than 0.1 % a week", text)
        self.assertIn("+200.0 %", text)

    def test_a_folder_or_a_job_is_one_run(self):
        self.job(4, folder="nightly/first")
        self.job(3, folder="nightly", job="4712.0")
        self.night(3, 1000 * MIB)
        rows = json.loads(self.history("--json", "nightly"))["runs"]
        self.assertEqual([1, 3, 4], sorted(row["processes"] for row in rows))
        self.assertIn("nightly/first", [row["file"] for row in rows])

    def test_each_program_is_compared_with_itself(self):
        for day in range(4):
            self.night(day, 1000 * MIB, name=f"nightly/a{day}.json")
            self.night(day, 10 * MIB, name=f"nightly/b{day}.json", executable="/opt/other", pid=2000 + day)
        rows = json.loads(self.history("--json", "nightly"))["runs"]
        self.assertEqual({None, 0}, {row["change_bytes"] for row in rows})
        self.assertIn("other: the peak changed", " ".join(self.history("nightly").split()))

    def test_scripts_of_python_are_several_programs(self):
        for day in range(4):
            for number, script in enumerate(("train.py", "serve.py"), 1):
                self.night(day, number * 1000 * MIB, name=f"nightly/{script}{day}.json", pid=1000 * number + day,
                           executable="/usr/bin/python3.11", arguments=["python3", f"/opt/{script}"])  # fmt: skip
        text = self.history("nightly")
        self.assertEqual(4, sum(" train.py " in line for line in text.splitlines()), text)
        self.assertIn("serve.py: the peak changed", " ".join(text.split()))
        found = json.loads(self.history("--json", "nightly"))
        self.assertEqual({None, 0}, {row["change_bytes"] for row in found["runs"]})
        self.assertEqual({"train.py", "serve.py"}, {row["program"] for row in found["runs"]})
        self.assertEqual(["serve.py", "train.py"], [row["program"] for row in found["trends"]])

    def test_texts_of_a_report_control_no_terminal(self):
        for day in range(3):
            self.night(day, 1000 * MIB, executable="/opt/\x1b[2Jp", options={"label": "\x1b[2Jl"})
            self.night(day, 1000 * MIB, name=f"nightly/b{day}.json", pid=2000 + day)
        self.assertNotIn("\x1b", self.history("nightly"))

    def test_csv_has_a_row_for_each_run(self):
        for day in range(3):
            self.night(day, 1000 * MIB)
        lines = self.history("--csv", "nightly").splitlines()
        self.assertEqual(4, len(lines))
        self.assertTrue(lines[0].startswith("start_time_ns,label,executable,"))

    def test_one_that_cannot_be_read_is_named_and_the_rest_is_shown(self):
        self.night(0, MIB)
        with open(self.night(1, MIB), "r+", encoding="utf-8") as file:
            file.truncate(3000)
        result = self.call("diff", "--history", "nightly")
        self.assertEqual(2, result.returncode)
        self.assertIn("night001.json", result.stderr)
        self.assertIn("night000.json", result.stdout)

    def test_mistakes_are_one_line(self):
        os.mkdir(self.path("empty"))
        self.assert_refused(["diff", "--history", "empty"], 2, "no report is in 'empty', nor in a folder in it")
        self.assert_refused(["diff", "--history", "nowhere"], 2, "'nowhere' is no folder")
        self.assert_refused(["diff", "--history", "empty", "a", "b"], 2, "it takes no BEFORE and AFTER")
        self.assert_refused(["diff"], 2, "BEFORE and AFTER are missing")
        self.assert_refused(["diff", "a"], 2, "AFTER is missing")
        self.assert_refused(["diff", "a", "b", "c"], 2, "two reports")


if __name__ == "__main__":
    harness.main()
