# What verbs write as JSON is as its schema says, which LISTINGS.md shows; CSV has the same fields.
# SPDX-License-Identifier: Apache-2.0
"""listings_test.py BUILD"""
import copy
import csv
import io
import itertools
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import jsonschema  # noqa: E402
import listings  # noqa: E402
from listings_case import ListingsTest, OF_REPORTS, SAMPLE, cell, each_of  # noqa: E402

# In which arrays of the JSON the rows of the CSV are.
ROWS = {"report": ("peak", "live"), "leaks": ("leaks",), "owners": ("ledger",), "timeline": ()}
EVIL = '=1+1,"a"\n@b;\'c\x1b[31m\u202e'
EVIL_SHOWN = "'=1+1,\"a\"?@b;'c?[31m?"
PRINT_SCHEMA = harness.BUILD / "test/view/view_print_schema"
WHOLE = jsonschema.Draft7Validator(listings.SCHEMA)


class Schema(ListingsTest):
    def assert_fits(self, name, *words, status=0):
        listing = json.loads(self.call(*words, status=status))
        self.assertEqual([], listings.problems(name, listing), words)
        self.assertTrue(WHOLE.is_valid(listing), words)
        return listing

    def test_it_is_what_the_columns_say(self):
        wanted = subprocess.run([PRINT_SCHEMA], check=True, capture_output=True, text=True).stdout
        if os.environ.get("VRAMSCOPE_WRITE_GOLDEN"):
            listings.write_schema(wanted)
        self.assertEqual(wanted, listings.FILE.read_text(), "VRAMSCOPE_WRITE_GOLDEN=1 writes listings.schema.json anew")

    def test_it_is_one(self):
        for definition in listings.SCHEMA["definitions"].values():
            jsonschema.Draft7Validator.check_schema(definition)

    def test_without_a_definition_chosen_it_is_one_of_any_verb(self):
        self.assertEqual([{"$ref": f"#/definitions/{name}"} for name in listings.SCHEMA["definitions"]], listings.SCHEMA["anyOf"])
        for listing in ({}, {"a": 1}, "report", [1]):
            self.assertFalse(WHOLE.is_valid(listing), listing)

    def test_every_field_is_described_and_sizes_are_called_bytes(self):
        for name, definition in listings.SCHEMA["definitions"].items():
            for path, field in listings.fields(definition):
                self.assertTrue(field.get("description"), (name, path))
                self.assertNotRegex(path, r"size$|_(us|ms|time)$|bytes\w+$", (name, path))

    def test_of_several_kinds_of_a_gpu_the_curves_are_of_all_and_of_each(self):
        (report,) = SAMPLE.parents[1].glob("golden/reports/0.1.0/kinds.json*")
        curves = self.assert_fits("timeline", "timeline", "--json", report)["series"]
        self.assertEqual(("all", 0), (curves[0]["kind"], curves[0]["device"]))
        self.assertGreater(sum(curve["kind"] != "all" for curve in curves), 1)

    def test_the_page_has_its_tables(self):
        if os.environ.get("VRAMSCOPE_WRITE_GOLDEN"):
            self.test_it_is_what_the_columns_say()
        page = listings.PAGE.read_text()
        wanted = listings.with_tables(page)
        if os.environ.get("VRAMSCOPE_WRITE_GOLDEN"):
            listings.PAGE.write_text(wanted)
            return
        self.assertEqual(wanted, page, "VRAMSCOPE_WRITE_GOLDEN=1 writes the tables of LISTINGS.md anew")
        for name in listings.SCHEMA["definitions"]:
            self.assertIn(f"<!-- fields of {name} -->", page)

    def test_one_report_has_all_that_is_described_and_nothing_else(self):
        for report in (SAMPLE, self.rich(), self.empty(), self.two_devices(), self.merged()):
            for words, name in OF_REPORTS.items():
                for more in ([], ["-n", "1"]):
                    self.assert_fits(name, *words.split(), "--json", *more, report)
            self.assert_fits("device_stats", "stats", "--device", "0", "--json", SAMPLE)

    def test_filters_leave_it_so(self):
        for words in ("report", "sites", "peak", "leaks", "owners", "oom"):
            for more in ("--kind device", "--device 0", "--device 7", "--site Loader", "--min-bytes 1GiB"):
                if words == "owners" and more.startswith("--site"):
                    continue
                done = self.run_tool(words, "--json", *more.split(), SAMPLE)
                if done.returncode == 0:
                    self.assertEqual([], listings.problems(words, json.loads(done.stdout)), (words, more))

    def test_python_lines_stand_for_several_sites(self):
        self.assert_fits("sites", "sites", "--lines", "--json", self.rich())
        self.assert_fits("peak", "peak", "--python-only", "--json", SAMPLE)

    def test_several_reports_are_an_array(self):
        files = SAMPLE, self.rich()
        for words, name in OF_REPORTS.items():
            words = words.split() + each_of(words)
            shown = self.assert_fits("several", *words, "--json", *files)
            self.assertEqual([str(file) for file in files], [one["file"] for one in shown])
            for one, file in zip(shown, files):
                self.assertEqual([], listings.problems(name, one["listing"]), words)
                self.assertEqual(one["listing"], json.loads(self.call(*words, "--json", file)))
        self.assert_fits("processes", "report", "--json", *files)
        self.assert_fits("processes", "report", "--json", "-n", "1", *files)

    def test_other_verbs(self):
        rich = self.rich()
        for by, at in itertools.product(("site", "owner", "kind", "function"), ("peak", "end")):
            self.assert_fits("diff", "diff", "--json", "--by", by, "--at", at, SAMPLE, rich)
        self.assert_fits("call_changes", "diff", "--json", "--by", "call", SAMPLE, rich)
        self.assert_fits("calls", "calls", "--json", self.trace())
        self.assert_fits("diff", "diff", "--json", "--threshold", "1", SAMPLE, rich, status=1)
        limits = "--max-peak 1 --max-leak 0 --max-total 1 --max-allocations 1".split()
        self.assert_fits("check", "check", "--json", *limits, SAMPLE, rich, status=1)
        self.assert_fits("check", "check", "--json", "--against", SAMPLE, rich, status=1)
        self.assert_fits("functions", "functions", "--json")
        self.assert_fits("options", "options", "--json")
        self.assert_fits("trace", "trace", "--json", self.trace())
        self.assert_fits("advice", "advise", "--json", rich)
        self.assert_fits("advice", "advise", "--json", SAMPLE.parents[1] / "golden/reports/0.1.0/kinds.trace")
        self.assert_fits("moment", "peak", "--at", "end", "--json", rich)
        self.assert_fits("between", "check", "--between", "0", "end", "--json", SAMPLE.parents[1] / "golden/reports/0.1.0/kinds.trace")
        self.assert_fits("fit", "fit", "--json", SAMPLE.parents[1] / "golden/reports/0.1.0/kinds.trace")
        self.assert_fits("phase", "fit", "--phase", "step", "--json", self.repeating())
        self.assert_fits("scale", "fit", "--scale", "batch=1,2", "--at", "4", "--json", self.repeating(), self.repeating())
        self.assert_fits("tune", "tune", "--json", SAMPLE.parents[1] / "golden/reports/0.1.0/kinds.trace")
        self.assert_fits("replay", "replay", "--json", SAMPLE.parents[1] / "golden/reports/0.1.0/kinds.trace")
        self.assert_fits("timeline", "timeline", "--json", self.trace())
        self.assert_fits("map", "map", "--json", self.trace())

    def test_a_field_more_is_noticed(self):
        shown = json.loads(self.call("sites", "--json", SAMPLE))
        shown[0]["more"] = 1
        self.assertEqual(1, len(listings.problems("sites", shown)))

    def test_names_of_kinds_are_those_of_reports(self):
        report = (harness.SOURCE / "reporter/report/report.schema.json").read_text()
        kinds = listings.SCHEMA["$defs"]["kind"]["enum"]
        self.assertNotIn("all", kinds)  # those of one GPU, together
        self.assertIn(json.dumps(kinds).replace(" ", ""), report.replace(" ", "").replace("\n", ""))


class Rows(ListingsTest):
    def rows(self, *words, status=0):
        return list(csv.DictReader(io.StringIO(self.call(*words, "--csv", status=status), newline="")))

    def json_rows(self, words, listing):
        if words == "peak":
            return [row for kind in listing if kind["kind"] != "all" for row in kind["live"]]
        if words == "stats":
            every = [*listing["devices"].items(), (None, listing["host"])]
            return [{"device": device, "name": name, "value": value} for device, all in every for name, value in all.items()]
        if words == "map":
            return [block for place in listing["places"] for segment in place["segments"] for block in segment["blocks"]]
        if words == "oom":
            return [row for event in listing["events"] for row in [{k: v for k, v in event.items() if not isinstance(v, list) or k in ("sites", "frames")},
                                                               *event["shares"], *event["pins"]]]
        if words == "timeline":
            return [{"highest_bytes": high, "last_bytes": last}
                    for curve in listing["series"] for high, last in zip(curve["highest_bytes"], curve["last_bytes"])]  # fmt: skip
        if words.startswith("calls"):
            return listing["rows"]
        if words in ROWS:
            return [row for part in ROWS[words] for row in listing[part]]
        return listing

    def test_csv_has_the_rows_of_json(self):
        for report in (SAMPLE, self.rich(), self.empty()):
            for words in OF_REPORTS:
                found = self.rows(*words.split(), report)
                wanted = self.json_rows(words, json.loads(self.call(*words.split(), "--json", report)))
                self.assertEqual(len(wanted), len(found), words)
                for one, other in zip(wanted, found):
                    shown = {name: cell(one[name]) for name in other if name in one and (name, words) != ("device", "stats")}
                    self.assertEqual(shown, {name: other[name] for name in shown}, words)
                    left_out = set(one) - set(other) - ({"processes"} if words == "leaks" else set())
                    self.assertEqual(set(), left_out, words)
                    self.assertEqual(str(report), other["file"])

    def test_several_reports_are_one_table(self):
        for words in OF_REPORTS:
            each = each_of(words)
            both = self.rows(*words.split(), *each, SAMPLE, self.rich())
            self.assertEqual(self.rows(*words.split(), SAMPLE) + self.rows(*words.split(), self.rich()), both, words)
        self.assertEqual(["4711", "4712"], sorted(row["pid"] for row in self.rows("report", SAMPLE, self.two_devices())))

    def test_other_verbs(self):
        rich = self.rich()
        for words, part in (["diff", SAMPLE, rich], "rows"), (["functions"], None), (["options"], None):
            wanted = json.loads(self.call(*words, "--json"))
            found = self.rows(*words)
            self.assertEqual(len(wanted[part] if part else wanted), len(found), words)
            self.assertEqual(3, len(self.rows(*words, "-n", "3")))
        checks = ["check", "--max-peak", "1", "--max-leak", "0", SAMPLE, rich]
        self.assertEqual(["false"] * 4, [row["passed"] for row in self.rows(*checks, status=1)])
        self.assertEqual(2, len(self.rows("trace", self.trace())))
        self.assertEqual(1, len(self.rows("trace", "-n", "1", self.trace())))
        for view in ("--with-native", "--python-only", "--native-only"):
            self.assertIn("cuMemAlloc_v2", self.call("trace", view, self.trace()))

    def test_rows_are_written_as_they_are_made(self):
        report = copy.deepcopy(self.sample)
        report["modules"].append({**report["modules"][0], "path": "/" + "m" * 200})
        report["frames"].append({**report["frames"][0], "module": len(report["modules"]) - 1, "offset": 16})
        report["sites"][0]["frames"] = [len(report["frames"]) - 1] * 128
        segment = next(segment for segment in report["devices"][0]["segments"] if segment["blocks"][0]["site"] == 0)
        block = segment["blocks"][0]
        size = 512
        segment["total_size"] = 4000 * size
        segment["blocks"] = [{**block, "address": block["address"] + i * size, "size": size, "requested_size": size} for i in range(4000)]
        path = self.write("large.json", report)
        with subprocess.Popen([harness.TOOL, "map", "--csv", path], stdout=subprocess.PIPE) as process:
            length = 0
            while part := process.stdout.read(1 << 20):
                length += len(part)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode)
        self.assertGreater(length, 90 << 20)
        self.assertLess(used.ru_maxrss, 80 << 10)  # KiB

    def test_output_that_cannot_be_written_is_one_line(self):
        for words in (["sites", SAMPLE], ["report", SAMPLE, self.two_devices()], ["functions"]):
            done = self.run_tool(*words, "--csv", "-o", "/dev/full")
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), words)
            self.assertIn("cannot write '/dev/full': No space left on device", done.stderr)

    def test_a_file_is_left_alone_where_no_report_can_be_read(self):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("kept")
        done = self.run_tool("sites", "--csv", "-o", self.path("rows.csv"), self.path("none.json"))
        self.assertEqual(2, done.returncode)
        with open(self.path("rows.csv"), encoding="utf-8") as file:
            self.assertEqual("kept", file.read())

    def hostile(self, name=EVIL):
        report = copy.deepcopy(self.sample)
        for entry in report["ledger"]:
            entry["owner"] = name
        for entry in report["axes"]:
            entry["value"] = name
        report["process"].update(executable=name, hostname=name)
        return self.write("=hostile,\"name\".json", report)

    def test_names_cannot_make_cells_or_lines(self):
        path = self.hostile()
        owners = self.rows("owners", path)
        self.assertEqual(len(self.sample["ledger"]), len(owners))
        self.assertEqual({(path, EVIL_SHOWN)}, {(row["file"], row["owner"]) for row in owners})
        self.assertEqual({EVIL_SHOWN}, {row["value"] for row in self.rows("owners", "--by", "thread", path)})

    def test_no_text_begins_as_a_formula_does_and_numbers_stay_numbers(self):
        """A spreadsheet executes what a program or a file called itself."""
        for begin in "=+-@\t\r":
            path = self.hostile(begin + "cmd|' /C calc'!A0")
            calls = [(words.split(), 0) for words in OF_REPORTS] + [(["diff", SAMPLE], 0), (["check", "--max-peak", "1"], 1)]
            for words, status in calls:
                for row in self.rows(*words, path, status=status):
                    for name, value in row.items():
                        is_number = re.fullmatch(r"-?[0-9]+", value)
                        self.assertTrue(is_number or not value.startswith(tuple("=+-@\t\r")), (words, name, value))
        smaller = copy.deepcopy(self.sample)
        for kind in smaller["kinds"]:
            kind["peak_bytes"] = 0
        rows = self.rows("diff", "--by", "kind", SAMPLE, self.write("smaller.json", smaller))
        self.assertTrue(any(re.fullmatch(r"-[0-9]+", row["change_bytes"]) for row in rows), rows)

    def test_sqlite_reads_it(self):
        path = self.hostile()
        for words in ("owners", "sites", "map", "oom", "stats"):
            rows = self.rows(words, path)
            with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
                file.write(self.call(words, "--csv", path))
            database = self.path(words + ".db")
            if shutil.which("sqlite3"):
                orders = [".import --csv rows.csv rows", ".save " + os.path.basename(database)]
                subprocess.run(["sqlite3", ":memory:", *orders], cwd=self.folder, check=True, stdin=subprocess.DEVNULL)
            else:
                with sqlite3.connect(database) as made_here:
                    made_here.execute("create table rows (" + ", ".join(f'"{name}"' for name in rows[0]) + ")")
                    places = ", ".join("?" * len(rows[0]))
                    made_here.executemany(f"insert into rows values ({places})", [tuple(row.values()) for row in rows])
            found = sqlite3.connect(database).execute("select * from rows").fetchall()
            self.assertEqual([tuple(row.values()) for row in rows], found, words)


if __name__ == "__main__":
    harness.main()
