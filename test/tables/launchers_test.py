# FORMAT.md names the same variables of launchers as the product's table does.
# SPDX-License-Identifier: Apache-2.0
"""launchers_test.py SOURCE_ROOT"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
FOLDER = ROOT / "reporter/report"


def rows_of_product():
    text = re.sub(r"^//.*$", "", (FOLDER / "launchers.def").read_text(), flags=re.M)
    rows = re.findall(r"LAUNCHER\(([^)]*)\)", text)
    return [re.findall(r'"([^"]*)"', row) for row in rows]


def rows_of_page():
    text = (FOLDER / "FORMAT.md").read_text().split("### Launchers")[1]
    lines = re.findall(r"^\|(.*)\|$", text.split("\n## ")[0], re.M)
    return [[cell.strip().strip("`") for cell in line.split("|")] for line in lines[2:]]


class Launchers(unittest.TestCase):
    def test_the_page_has_the_rows_of_the_product(self):
        rows = rows_of_product()
        self.assertGreater(len(rows), 5)
        self.assertEqual(rows, rows_of_page())


if __name__ == "__main__":
    unittest.main()
