# What -o leaves: who may read it, and what is not in it.
# SPDX-License-Identifier: Apache-2.0
"""outputs_test.py BUILD"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
SECRET = "--token=hunter2"
# Verbs that make a file of a report, each with -o.
LISTINGS = (["report"], ["peak"], ["sites"], ["owners"], ["leaks"], ["stats"], ["timeline"], ["map"], ["oom"],
            ["check", "--max-leak", "0"], ["peak", "--csv"], ["report", "--json"], ["sites", "--csv"],
            ["export", "--format", "speedscope"], ["export", "--format", "openmetrics"], ["html"])  # fmt: skip


class Outputs(harness.Case):
    def setUp(self):
        super().setUp()
        self.report = self.path("r.json")
        subprocess.run([WRITE_SAMPLE, self.report], check=True)
        with open(self.report, encoding="utf-8") as file:
            content = json.load(file)
        content["process"]["arguments"] = ["./train", SECRET]
        self.write("r.json", json.dumps(content))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        path = pathlib.Path(self.path(name))
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return str(path)

    def call(self, *words, status=0, how=None):
        done = subprocess.run([harness.TOOL, *words], capture_output=True, text=True, check=False, cwd=self.folder,
                              env=harness.environment(), timeout=harness.DEADLINE_S, **(how or {}))  # fmt: skip
        self.assertEqual(status, done.returncode, (words, done.stderr))
        return done

    def has_verb(self, words):
        return words[0] != "html" or "no page" not in self.run_tool("html", "-o", "-", self.report).stderr

    def test_redact_leaves_arguments_out_of_every_verb(self):
        for number, words in enumerate(LISTINGS):
            if not self.has_verb(words):
                continue
            status = 1 if words[0] == "check" else 0
            self.call(*words, "--redact", "-o", f"out{number}", self.report, status=status)
            self.assertNotIn(b"hunter2", pathlib.Path(self.path(f"out{number}")).read_bytes(), words)
        self.assertIn("hunter2", self.call("report", self.report).stdout)
        self.assertNotIn("hunter2", self.call("report", "--redact", self.report).stdout)

    def test_redact_leaves_arguments_out_of_merged_reports(self):
        self.call("merge", "--redact", "-o", "all.json", self.report)
        self.assertNotIn("hunter2", pathlib.Path(self.path("all.json")).read_text(encoding="utf-8"))
        self.call("merge", "-o", "whole.json", self.report)
        self.assertIn("hunter2", pathlib.Path(self.path("whole.json")).read_text(encoding="utf-8"))
        for words in (["report"], ["report", "--json"], ["diff", "whole.json"]):
            self.assertNotIn("hunter2", self.call(*words, "--redact", "whole.json").stdout, words)


if __name__ == "__main__":
    harness.main()
