# Names that pages get, and the tool where a build has neither pages nor other parts.
# SPDX-License-Identifier: Apache-2.0
"""page_parts_test.py BUILD"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import harness  # noqa: E402
from page_case import SAMPLE  # noqa: E402


class Names(harness.Case):
    """Of pages for which nobody chose a name."""

    def test_each_input_has_a_page_of_its_own(self):
        report = shutil.copy(SAMPLE, pathlib.Path(self.folder, "a.json"))
        other = shutil.copy(SAMPLE, pathlib.Path(self.folder, "b.json"))
        trace = pathlib.Path(self.folder, "a.trace")
        asked = [([report], "a.html"), ([report, other], "a-to-b.html"), ([report, other, report], "vramscope.html")]
        if (harness.PROGRAMS / "train").exists():
            self.run_tool("run", "-q", "--sim", "-o", "t.json", "--trace", trace, "--", harness.PROGRAMS / "train")
            asked.append(([trace], "a.trace.html"))
        for words, name in asked:
            before = set(os.listdir(self.folder))
            self.assertEqual(0, self.run_tool("html", *words).returncode)
            self.assertEqual({name}, set(os.listdir(self.folder)) - before)


class WithoutParts(unittest.TestCase):
    """The tool linked with what a build has where neither npm, SQLite, Parquet, protobuf, ncurses nor libevent is."""

    def run_tool(self, *words, tool=harness.BUILD / "test/page/vramscope_without_parts"):
        return subprocess.run([tool, *words], env=harness.environment(), capture_output=True, text=True, check=False,
                              timeout=harness.DEADLINE_S)  # fmt: skip

    def test_verb_says_in_one_line_why_there_is_no_page(self):
        done = self.run_tool("html", "-o", "-", SAMPLE)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        self.assertIn("this build has no page", done.stderr)

    def test_formats_that_are_left_out_are_refused_and_listed_as_such(self):
        listed = self.run_tool("export", "--help").stdout
        full = self.run_tool("export", "--help", tool=harness.TOOL).stdout
        for name, missing in (("sqlite", "libsqlite3-dev"), ("pprof", "libprotobuf-dev"), ("perfetto", "libprotobuf-dev")):
            row = re.search(rf"^  {name}\b.*(?:\n    .*)*", listed, re.M)[0]
            self.assertIn(f"not in this build: at build time, {missing}", " ".join(row.split()))
            done = self.run_tool("export", "--format", name, "-o", "/dev/null", SAMPLE)
            self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
            self.assertIn(missing, done.stderr)
        self.assertEqual(3, listed.count("not in this build"), full)

    def test_parquet_becomes_csv_with_the_command_that_converts_it(self):
        self.assertIn("this build writes csv instead: at build time, Arrow's Parquet library", " ".join(self.run_tool("export", "--help").stdout.split()))
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_tool("export", "--format", "parquet", "-o", folder, SAMPLE)
            self.assertEqual(0, done.returncode, done.stderr)
            why, written = done.stderr.splitlines()
            self.assertIn("CSV is written in place of Parquet: at build time, Arrow's Parquet library (pyarrow) was missing", why)
            self.assertTrue(written.endswith(f"; to make Parquet of it: cd {folder} && duckdb -f to_parquet.sql"), written)
            self.assertTrue(os.path.isfile(os.path.join(folder, "to_parquet.sql")))

    def test_version_and_doctor_say_what_is_left_out_and_why(self):
        said = self.run_tool("--version", "--verbose").stdout.splitlines()
        found = {one["found"] for one in json.loads(self.run_tool("doctor", "--json").stdout) if one["subject"] == "tool"}
        for row, name, why in zip(said[1:], ("the HTML page", "SQLite", "Parquet", "protobuf", "ncurses", "libevent"), ("npm", "libsqlite3-dev", "pyarrow", "libprotobuf-dev", "libncurses-dev", "libevent-dev"), strict=True):
            self.assertTrue(row.startswith(f"without {name} ("), row)
            self.assertIn(why, row)
            self.assertIn(row.replace("without ", "is built without "), found)
        self.assertEqual(1, len(self.run_tool("--version").stdout.splitlines()))

    def test_version_of_a_whole_build_names_all_parts_as_there(self):
        said = self.run_tool("--version", "--verbose", tool=harness.TOOL).stdout.splitlines()
        self.assertEqual(6, len(said[1:]))
        for row in said[1:]:
            self.assertRegex(row, "^with(out)? (the HTML page|SQLite|Parquet|protobuf|ncurses|libevent) ")

    def test_metrics_are_refused_in_one_line(self):
        for words, status in ((("serve",), 2), (("run", "--metrics", "0", "--", "true"), 125)):
            done = self.run_tool(*words)
            self.assertEqual((status, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn("this build has no server: at build time, libevent-dev was missing or disabled", done.stderr)

    def test_all_else_is_as_ever(self):
        for words in (("--help",), ("report", SAMPLE), ("map", "--json", SAMPLE)):
            ours, full = self.run_tool(*words), self.run_tool(*words, tool=harness.TOOL)
            self.assertEqual((0, full.stdout), (ours.returncode, ours.stdout), words)


if __name__ == "__main__":
    harness.main()
