# --sort orders a table by each of its columns, in text, JSON and CSV alike.
# SPDX-License-Identifier: Apache-2.0
"""sort_test.py BUILD"""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from listings_case import ListingsTest, OF_REPORTS, SAMPLE, cell  # noqa: E402


class Sort(ListingsTest):
    def columns(self, *words):
        return next(csv.reader([self.call(*words, "--csv").splitlines()[0]]))

    def sorted_rows(self, column, *words):
        return [row[column] for row in csv.DictReader(io.StringIO(self.call(*words, f"--sort={column}", "--csv"), newline=""))]

    def assert_ordered(self, cells, descending, words):
        known = [value for value in cells if value]
        self.assertEqual(known, [value for value in cells[: len(known)]], words)  # unknown ones are last
        if all(value.lstrip("-").isdigit() for value in known):
            known = [int(value) for value in known]
        self.assertEqual(sorted(known, reverse=descending), known, words)

    def test_every_column_orders_its_table(self):
        rich = self.rich()
        leading = ["file", "pid", "rank"]
        flat = {"sites": rich, "leaks": SAMPLE, "owners": SAMPLE, "owners --by size": SAMPLE, "map": SAMPLE, "timeline": SAMPLE}
        for words, report in flat.items():
            words = words.split() + [report]
            numbers = ("sites", "lifetimes", "sizes", "live_by_age", "live_past", "frames", "estimated", "by_initialiser")
            for column in self.columns(*words):
                if column in leading or column in numbers:
                    continue
                cells = self.sorted_rows(column, *words)
                is_number = any(value.lstrip("-").isdigit() for value in cells)
                self.assert_ordered(cells, is_number and column != "value", (words, column))

    def test_signs_and_rows(self):
        words = "sites", self.rich()
        down = self.sorted_rows("total_bytes", *words)
        up = [row["total_bytes"] for row in csv.DictReader(io.StringIO(self.call(*words, "--sort", "+total_bytes", "--csv")))]
        self.assertEqual(sorted(map(int, up)), list(map(int, up)))
        self.assertEqual(sorted(map(int, down), reverse=True), list(map(int, down)))
        self.assertEqual(up[:2], [str(row["total_bytes"]) for row in
                                  json.loads(self.call(*words, "--sort", "+total_bytes", "-n", "2", "--json"))])  # fmt: skip
        self.assertEqual(down, [str(row["total_bytes"]) for row in json.loads(self.call(*words, "--sort=-total_bytes", "--json"))])

    def test_text_json_and_csv_have_one_order(self):
        for words, column, part in (("functions", "symbol", None), ("options", "default", None), ("owners", "owner", "ledger")):
            report = [] if words in ("functions", "options") else [SAMPLE]
            listing = json.loads(self.call(words, "--sort", column, "--json", *report))
            of_json = [cell(row[column]) for row in (listing[part] if part else listing)]
            self.assertEqual(of_json, self.sorted_rows(column, words, *report))
            self.assertEqual(of_json, sorted(of_json))
        text = self.call("functions", "--sort=-symbol").splitlines()[1:4]
        listed = json.loads(self.call("functions", "--json", "--sort=-symbol", "-n", "3"))
        self.assertEqual([row["symbol"] for row in listed], [line.split()[0] for line in text])
        rich = self.rich()
        listed = json.loads(self.call("sites", "--json", "--sort", "frames", rich))
        text = [line for line in self.call("sites", "--sort", "frames", "--wide", rich).splitlines()[1:] if " < " in line or "(" in line]
        wanted = [row["frames"][0] for row in listed if row["frames"]]
        places = [min((at for at, line in enumerate(text) if frame in line), default=-1) for frame in dict.fromkeys(wanted)]
        self.assertEqual(sorted(places), places)
        for words in ("peak", "report", "leaks", "oom", "map", "timeline", "stats"):
            column = {"map": "free_bytes", "timeline": "peak_bytes", "stats": "value", "oom": "live_bytes"}.get(words, "bytes")
            self.assertNotEqual("", self.call(words, "--sort", "+" + column, SAMPLE))

    def test_a_column_that_is_not_there_is_a_line_that_names_those_that_are(self):
        rich = self.rich()
        verbs = [["check", "--max-peak", "1", SAMPLE], ["diff", SAMPLE, rich], ["report", SAMPLE, rich], ["functions"], ["options"],
                 ["trace", self.trace()], *([*words.split(), report] for words in OF_REPORTS for report in (rich, self.empty()))]  # fmt: skip
        for words in verbs:
            done = self.run_tool(*words, "--sort", "colour")
            self.assertEqual((2, ""), (done.returncode, done.stdout), words)
            self.assertRegex(done.stderr, "^vramscope: --sort: no column is called 'colour'; columns are [a-z0-9_, ]+\n$")

    def test_what_has_no_such_order_says_so(self):
        for words, part in ((["sites", "--tree"], "--sort excludes --tree"), (["trace", "--csv"], "in the order of their ends")):
            file = self.trace() if words[0] == "trace" else self.rich()
            done = self.run_tool(*words, "--sort", "site", file)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    harness.main()
