"""Listings of real runs fit the width of a page, are not cut in a pipe, and end with a command that works."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import re
import shlex
import unicodedata

import harness

WIDTHS = (60, 72, 80, 120, 200)
VERBS = ("run report sites peak leaks owners oom stats map timeline diff check trace functions options recover merge "
         "export snapshot").split()  # fmt: skip
# Of the report %; those that are so fast that each can be asked for at every width.
OF_A_REPORT = (
    "report %", "report --full %", "report --tree %", "sites %", "sites --by growth %", "sites --histograms %",
    "peak %", "peak --full %", "peak --tree %", "leaks %", "leaks --full %", "owners %", "owners --by range %",
    "oom %", "stats %", "map -n 0 %", "timeline %", "diff wide.json %", "diff --by owner --at total wide.json %",
    "check --max-peak 1KiB --max-leak 0 --max-allocations 1 %", "check --against wide.json %")  # fmt: skip
OF_A_TRACE = ("trace %", "trace --full %", "trace --tree %", "map --at peak %", "timeline %")
NEXT = re.compile(r"^(?:vramscope: n|N)ext: vramscope (.*)$")


def columns(line):
    """How wide a terminal draws it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def may_be_longer(line):
    """Paths and commands, which people copy, and complaints, which are one line."""
    text = line.strip().replace(str(harness.BUILD.resolve()), "/build")  # whose name may have spaces
    is_path = re.fullmatch(r"(?:at |in )?\S*/\S*(?: in \S*/\S*)?|(?:vramscope: )?[Nn]ext: .*|(?:at|in) \S+", text)
    return is_path is not None or text.startswith("vramscope")


class Widths(harness.Case):
    def setUp(self):
        """Reports and traces of a training loop, of one that ran out of memory and of one with ranges."""
        super().setUp()
        self.reports, self.traces = [], []
        for name in ("train", "oom", "ranges"):
            try:
                program = harness.program(name)
            except harness.unittest.SkipTest:
                continue
            self.run_program([program], "cache", folder=self.folder, VRAMSCOPE_TRACE=f"{name}.trace",
                             VRAMSCOPE_OUTPUT=f"{name}.json")  # fmt: skip
            self.reports.append(f"{name}.json")
            self.traces.append(f"{name}.trace")
        self.reports.append(self.with_wide_names(self.reports[0]))

    def with_wide_names(self, name):
        """The report with names whose letters take two columns, or none."""
        report = json.loads((pathlib.Path(self.folder) / name).read_text(encoding="utf-8"))
        report["process"]["executable"] = "/opt/" + "訓練" * 9 + "/学習プログラム"
        report["sources"] = [{"path": "/家/e\u0301tape.py", "bytes": 0, "modified_ns": 0}]
        report["codes"] = [{"name": "層を計算する関数" * 4, "source": 0, "first_line": 1}]
        for frame in report["frames"]:
            frame.update({"module": None, "offset": 0, "code": 0, "line": 7})
        (pathlib.Path(self.folder) / "wide.json").write_text(json.dumps(report), encoding="utf-8")
        return "wide.json"

    def shown(self, words, **variables):
        done = self.run_tool(*shlex.split(words), LC_ALL="C.UTF-8", **variables)
        self.assertIn(done.returncode, (0, 1) if words.startswith(("check", "diff")) else (0,), words + done.stderr)
        return done.stdout

    def all_words(self):
        words = [form.replace("%", report) for report in self.reports for form in OF_A_REPORT]
        words += [form.replace("%", trace) for trace in self.traces for form in OF_A_TRACE]
        return words + ["report .", "peak .", "leaks .", "functions -n 20", "options"]

    def test_each_line_fits_its_page(self):
        for words in [*self.all_words(), "--help", *(f"{verb} --help" for verb in VERBS)]:
            for width in WIDTHS if "wide" in words or "train" in words else (60, 80):
                for line in self.shown(words, COLUMNS=str(width)).splitlines():
                    if not may_be_longer(line):
                        self.assertLessEqual(columns(line), width, f"{words}: {line}")

    def test_nothing_is_cut_in_a_pipe(self):
        for words in self.all_words():
            text = self.shown(words)
            self.assertNotIn("No room for", text, words)
            for line in text.splitlines():
                self.assertFalse(line.endswith("..") and not line.endswith("< .."), f"{words}: {line}")

    def test_the_last_line_is_a_command_that_works(self):
        tried = set()
        for words in self.all_words():
            last = self.shown(words).splitlines()[-1]
            if last.startswith("passed"):  # one line, for the log of a CI job
                continue
            command = NEXT.fullmatch(last)
            self.assertIsNotNone(command, f"{words}: {last}")
            if command[1] in tried or command[1].startswith("trace --csv"):
                continue
            tried.add(command[1])
            self.assertIn("\n", self.shown(command[1]), words)


if __name__ == "__main__":
    harness.main()
