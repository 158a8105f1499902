# Claims of single listings about reports of an H200 (real/README.md) that the reports do not bear.
# SPDX-License-Identifier: Apache-2.0
"""real_claims_test.py BUILD"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402


class Case(RealReports):
    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())

    def report(self, name):
        with open(self.real(name), encoding="utf-8") as file:
            return json.load(file)

    def verdict(self, *arguments):
        path = self.path("page.html")
        self.assertEqual(self.call("html", "-f", "-o", path, *arguments).returncode, 0)
        with open(path, encoding="utf-8") as page:
            return json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', page.read(), re.S).group(1))["verdict"]


class Rows(Case):
    """Four rows that read alike, which check told apart."""

    def test_of_different_call_stacks_differ(self):
        for name in NAMES:
            for words in (("-n", "0"), ("--with-native", "-n", "0"), ("--by", "count", "-n", "0")):
                file = self.real(name)
                head, *lines = self.text("sites", "--wide", *words, file).split("\n\n")[0].splitlines()
                begin = head.index("MEMORY" if "MEMORY" in head else "WHERE")
                stacks = collections.defaultdict(set)
                for line, row in zip(lines, self.json("sites", *words, file)):
                    stacks[line[begin:]].add(tuple(row["frames"]))
                self.assertFalse([text for text, found in stacks.items() if len(found) > 1], (name, words))

    def test_of_histograms_differ(self):
        text = self.text("sites", "--histograms", "-n", "0", self.real("jax"))
        parts = ["\n".join(part.splitlines()[:2]) for part in text.split("\n\n")]
        self.assertEqual(len(parts), len(set(parts)), parts)


if __name__ == "__main__":
    harness.main()
