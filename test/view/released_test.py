"""What each released version wrote, a report and a trace of it, is read by every verb of today.

Usage: released_test.py VRAMSCOPE
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
KEPT = SOURCE / "test/golden/reports"
SHOWS_NO_REPORT = {"run", "recover", "snapshot", "list", "live", "serve", "ctl", "attach", "detach", "functions", "options", "completion", "manual", "doctor",
                   "symbols"}
OF_TRACES = {"trace": [], "replay": [], "fit": [], "tune": [], "timeline": [], "map": ["--at", "0.001s"], "html": ["-o", "written"]}
NEEDS = {"export": ["--format", "folded"], "check": ["--max-peak", "1TiB"], "html": ["-o", "written"], "merge": ["-o", "written"]}
SAY_WHERE = {"html", "merge"}  # on stderr


def vramscope(*words, folder=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VRAMSCOPE_", "LD_"))}
    return subprocess.run([TOOL, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, timeout=120,
                          env={**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC"})  # fmt: skip


def versions():
    """Those that the changelog has, the one in the making included."""
    return re.findall(r"^## (\d+\.\d+\.\d+) \(", (SOURCE / "CHANGELOG.md").read_text(), re.M)


class Released(unittest.TestCase):
    def files(self, pattern):
        for version in versions():
            found = sorted((KEPT / version).glob(pattern))
            self.assertTrue(found, f"test/golden/reports/{version} has no {pattern}")
            yield from found

    def is_read(self, *words):
        with self.subTest(" ".join(map(str, words))), tempfile.TemporaryDirectory() as folder:
            done = vramscope(*words, folder=folder)
            left = "".join(path.read_text(errors="replace") for path in pathlib.Path(folder).iterdir())
            if "this build has no page" in done.stderr:
                return
            said = "" if words[0] in SAY_WHERE else re.sub(r"vramscope: \w+ leaves out .*\n", "", done.stderr)
            self.assertEqual((0, ""), (done.returncode, said), done.stderr)
            self.assertTrue(done.stdout or left)

    def verbs(self):
        listed = vramscope("--help").stdout.split("Subcommands:")[1].split("Examples:")[0]
        return set(re.findall(r"^  ([a-z]+)", listed, re.M)) - SHOWS_NO_REPORT

    def test_reports_are_read_by_every_verb(self):
        for report in self.files("*.json"):
            for verb in sorted(self.verbs() - {"trace", "replay", "fit", "tune"}):
                self.is_read(verb, *NEEDS.get(verb, []), report, *([report] if verb == "diff" else []))

    def test_traces_are_read_by_every_verb_that_takes_them(self):
        for trace in self.files("*.trace"):
            for verb, more in OF_TRACES.items():
                self.is_read(verb, *more, trace)
            for name in ("heaptrack", "rmm"):
                self.is_read("export", "--format", name, trace)

    def test_the_report_says_which_version_wrote_it(self):
        for report in self.files("*.json"):
            self.assertIn(f'"name":"vramscope","version":"{report.parent.name}"', report.read_text()[:200])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
