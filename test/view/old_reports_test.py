"""Reports of earlier versions are still read, and the views still say the same of them.

Usage: old_reports_test.py VRAMSCOPE [--write], which writes the texts anew instead of comparing.
SPDX-License-Identifier: Apache-2.0
"""
import difflib
import os
import pathlib
import subprocess
import sys
import unittest

TOOL = os.path.abspath(sys.argv[1])
REPORTS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "reports"
VERBS = ("report", "stats", "owners", "peak", "sites", "timeline")


def shown(report):
    """What each verb prints, under the command."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VRAMSCOPE_", "LD_"))}
    parts = []
    for verb in VERBS:
        result = subprocess.run([TOOL, verb, report.name], cwd=report.parent, capture_output=True,
                                env={**kept, "LC_ALL": "C", "TZ": "UTC"}, text=True, check=False, timeout=120)
        parts.append(f"$ vramscope {verb} {report.name}\n{result.stdout}{result.stderr}")
        if result.returncode != 0:
            parts.append(f"exit status {result.returncode}\n")
    return "\n".join(parts)


class OldReports(unittest.TestCase):
    maxDiff = None

    def test_each_is_read_and_shown_as_ever(self):
        reports = sorted(REPORTS.glob("*/*.json"))
        self.assertGreaterEqual(len(reports), 12)
        for report in reports:
            with self.subTest(report=report.name):
                wanted = report.with_suffix(".txt").read_text(encoding="utf-8")
                found = shown(report)
                difference = difflib.unified_diff(wanted.splitlines(), found.splitlines(), "as ever", "now", lineterm="")
                self.assertEqual(wanted, found, "\n".join(difference))


if __name__ == "__main__":
    if sys.argv[2:] == ["--write"]:
        for path in sorted(REPORTS.glob("*/*.json")):
            path.with_suffix(".txt").write_text(shown(path), encoding="utf-8")
    else:
        unittest.main(argv=sys.argv[:1])
