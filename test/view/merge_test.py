# Reports merged into one: the same in any order and grouping, and each field as the schema says.
# SPDX-License-Identifier: Apache-2.0
"""merge_test.py VRAMSCOPE SAMPLE SCHEMA_MODULE_FOLDER"""
import copy
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

TOOL, SAMPLE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, sys.argv[3])
import report_schema  # noqa: E402

SCHEMA = report_schema.readable()
WRITTEN = jsonschema.Draft7Validator(report_schema.written())
NOT_ADDED = ("max_split_size", "_time.min", "_time.max", "_time.avg")  # of memory_stats, which have no schema each
VERBS = ("report", "stats", "sites", "peak", "leaks", "oom", "owners", "timeline", "map")


def resolved(schema):
    """The schema and those that it refers to, as one dictionary of properties, items and a rule."""
    result = {"properties": {}, "items": None, "rule": schema.get("x-merged")}
    parts = [schema]
    while parts:
        part = parts.pop()
        if "$ref" in part:
            inner = SCHEMA
            for name in part["$ref"][2:].split("/"):
                inner = inner[name]
            parts.append(inner)
        parts += part.get("allOf", []) + part.get("anyOf", [])
        result["properties"].update(part.get("properties", {}))
        result["items"] = result["items"] or part.get("items")
        result["rule"] = result["rule"] or part.get("x-merged")
    return result


def fields(value, schema, rule, path=""):
    """(path, rule, value) of each number, text and flag."""
    known = resolved(schema)
    rule = known["rule"] or rule
    if isinstance(value, dict):
        for name, inner in value.items():
            here = known["properties"].get(name, {})
            inner_rule = "larger" if name.endswith(NOT_ADDED) else rule
            yield from fields(inner, here, inner_rule, f"{path}.{name}")
    elif isinstance(value, list):
        if not value or rule in ("left out", "lists"):
            yield path, rule, value
        for number, inner in enumerate(value):
            if rule not in ("left out", "lists"):
                yield from fields(inner, known["items"] or {}, rule, f"{path}[{number}]")
    else:
        yield path, rule, value


def declared(schema, path=""):
    """(rule, path) of each field that says what becomes of it; of definitions under their names."""
    if path and "x-merged" in schema:
        yield schema["x-merged"], path
    for name, inner in schema.get("properties", {}).items():
        yield from declared(inner, f"{path}.{name}".removeprefix("."))
    for inner in [schema.get("items"), *schema.get("allOf", []), *schema.get("anyOf", [])]:
        yield from declared(inner, path) if isinstance(inner, dict) else ()
    for name, inner in schema.get("definitions", {}).items():
        yield from declared(inner, name)


class Merge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.sample = json.loads(SAMPLE.read_text())
        self.made = itertools.count()

    def call(self, *words):
        environment = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
        return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, check=False, env=environment)

    def write(self, report):
        path = self.folder / f"report{next(self.made)}.json"
        path.write_text(json.dumps(report, separators=(",", ":")))
        return path

    def merge(self, *files):
        path = self.folder / f"merged{next(self.made)}.json"
        result = self.call("merge", "-o", path, *files)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def some_reports(self, count):
        """Of processes that differ in numbers, in call stacks and in how these are numbered."""
        chance = random.Random(4711)
        for pid in range(count):
            report = copy.deepcopy(self.sample)
            report["process"].update(pid=100 + pid, rank=count - pid, hostname=f"node{pid % 3}",
                                     start_time_ns=1000 * chance.randrange(1000))
            report["timeline"]["start_ns"] += chance.randrange(10**9)
            report["trigger"] = ("exit", "recovered")[pid % 2]
            order = list(range(len(report["frames"])))
            chance.shuffle(order)
            report["frames"] = [report["frames"][at] for at in order]
            for site in report["sites"]:
                site["frames"] = [order.index(frame) for frame in site["frames"]]
                if chance.random() < 0.3:
                    site["frames"] = site["frames"][1:]
                for part in [site, *site["parts"]]:
                    part["peak_bytes"] = chance.randrange(1 << 30)
            for kind in report["kinds"]:
                kind["peak_bytes"] = chance.randrange(1 << 30)
            report["warnings"].append(f"warning {chance.randrange(5)}")
            report["modules"][0]["base"] = chance.randrange(1 << 40)
            yield self.write(report)

    def test_any_order_and_grouping_gives_the_same_bytes(self):
        reports = list(self.some_reports(7))
        whole = self.merge(*reports).read_bytes()
        chance = random.Random(4712)
        for _ in range(8):
            groups = list(reports)
            while len(groups) > 1:
                chance.shuffle(groups)
                taken = chance.randrange(2, len(groups) + 1)
                groups = [self.merge(*groups[:taken]), *groups[taken:]]
            self.assertEqual(whole, groups[0].read_bytes())
        self.assertEqual(whole, self.merge(groups[0]).read_bytes())

    def test_merged_ones_beside_their_parts_count_each_process_once(self):
        """Groups of reports, each as files of their own, as a merged one, or as both; some merged once more."""
        reports = list(self.some_reports(6))
        whole = self.merge(*reports).read_bytes()
        chance = random.Random(4713)
        for _ in range(6):
            left, inputs, merged = list(reports), [], []
            chance.shuffle(left)
            while left:
                size = chance.randrange(1, len(left) + 1)
                group, left = left[:size], left[size:]
                beside = chance.randrange(0, size + 1)  # how many of them lie beside it
                is_merged = beside < size or chance.random() < 0.5
                merged += [self.merge(*group)] if is_merged else []
                inputs += group[:beside]
            if len(merged) > 1 and chance.random() < 0.7:
                inputs.append(self.merge(*chance.sample(merged, 2)))
            inputs += merged
            chance.shuffle(inputs)
            self.assertEqual(whole, self.merge(*inputs).read_bytes(), inputs)

    def test_a_merged_report_in_the_folder_of_its_parts_is_not_added_to_them(self):
        reports = list(self.some_reports(3))
        alone = self.call("report", "--json", *reports)
        alone = json.loads(alone.stdout)
        merged = self.merge(*reports)
        shown = json.loads(self.call("report", "--json", merged, *reports).stdout)
        self.assertEqual((alone.pop("repeated"), shown.pop("repeated")), (0, 3))
        self.assertEqual(alone, shown)
        text = self.call("report", merged, *reports).stdout
        self.assertIn("3 processes; 3 are told again by another file, and count once\n", text)
        result = self.call("merge", "-o", self.folder / "again.json", merged, reports[1])
        self.assertIn("1 report left aside, since what it tells is in others, too\n", result.stderr)
        self.assertEqual(merged.read_bytes(), (self.folder / "again.json").read_bytes())
        limits = self.call("check", "--json", "--max-peak", "1TiB", merged, *reports).stdout
        self.assertEqual(sorted(map(str, reports)), sorted(one["file"] for one in json.loads(limits)["checks"]))

    def test_reports_of_nobody_are_told_apart(self):
        self.sample["process"]["pid"] = 0
        shown = json.loads(self.call("report", "--json", self.write(self.sample), self.write(self.sample)).stdout)
        self.assertEqual((len(shown["processes"]), shown["repeated"]), (2, 0))

    def test_each_field_becomes_what_the_schema_says(self):
        once = json.loads(self.merge(SAMPLE).read_text())
        other = copy.deepcopy(self.sample)
        other["process"]["pid"] += 1  # a report of one process counts once
        twice = json.loads(self.merge(SAMPLE, self.write(other)).read_text())
        for process in twice["processes"]:
            process["process"]["pid"] = self.sample["process"]["pid"]
            process["report"] = once["processes"][0]["report"]
        self.assertEqual([], [e.message for e in WRITTEN.iter_errors(twice)])
        first = list(fields(once, SCHEMA, None))
        second = {path: value for path, _, value in fields(twice, SCHEMA, None)}
        self.assertEqual([], [path for path, rule, _ in first if rule is None])
        added = 0
        for path, rule, value in first:
            now = second[path]
            if rule == "left out":
                self.assertIn(value, ([], None, 0), path)
            if rule == "adds" and isinstance(value, int) and not isinstance(value, bool):
                self.assertEqual(now, 2 * value, path)
                added += value != 0
            elif path == ".processes":
                self.assertEqual(now, 2 * value)
            elif rule == "once":
                self.assertEqual(now, value, path)
            elif path != ".oom.events":
                self.assertEqual(now, value, f"{path}: {rule}")
        self.assertGreater(added, 150)

    def test_the_description_lists_the_fields_of_each_rule(self):
        page = report_schema.PATH.with_name("FORMAT.md").read_text()
        page = page[page.index("| `x-merged` | in a merged report | of |"):]
        rows = [row.split("|")[1:4] for row in page[:page.index("\n\n")].splitlines()[2:]]
        wanted = {}
        for rule, path in declared(SCHEMA):
            wanted.setdefault(rule, []).append(path)
        found = {}
        for rules, _, of in rows:
            for rule, part in zip(re.findall("`(.*?)`", rules), of.split(";"), strict=True):
                found[rule] = re.findall("`(.*?)`", part)
        self.assertEqual(wanted, found)

    def test_no_sum_of_peaks_is_called_a_peak(self):
        """Nor is it compared with a device's size, which it may be beyond."""
        merged = self.merge(*self.some_reports(3))
        shown = self.call("report", "--wide", merged).stdout
        shown = shown[shown.index("processes merged"):]
        self.assertIn("  reserved   sum of peaks  66.0 MiB, now 66.0 MiB\n", shown)
        self.assertIn("\nWhat made the peaks, added: ", shown)
        self.assertIn("  pinned      sum of peaks ", shown)
        self.assertIn("  the processes' limits add up to 120 GiB: 9 requests refused\n", shown)
        self.assertEqual([], re.findall(r"^ +\w+ +peak +\d.*", shown, re.MULTILINE))
        self.assertRegex(self.call("peak", merged).stdout, r"GPU 0: sum of peaks .*\n  the highest of them was reached after ")
        self.assertIn(", of all processes added", self.call("stats", merged).stdout)
        self.assertIn("At the peaks of all processes, added, requested bytes: ", self.call("owners", merged).stdout)
        self.assertIn("AT PEAK: of each process, when its memory held most.", self.call("sites", merged).stdout)
        self.assertEqual(3, json.loads(self.call("report", "--json", merged).stdout)["merged_processes"])
        alone = self.call("report", "--wide", self.merge(SAMPLE)).stdout
        self.assertIn("  reserved   peak  22.0 MiB  [", alone)
        self.assertNotIn("sum of peaks", alone)

    def test_a_rule_is_what_becomes_of_two_that_differ(self):
        """Numbers that add, or of which the larger or smaller stays, changed one by one in the second report."""
        other = copy.deepcopy(self.sample)
        other["process"]["pid"] += 1
        changed = {}
        for path, rule, value in list(fields(self.sample, SCHEMA, None)):
            is_number = isinstance(value, int) and not isinstance(value, bool)
            if rule not in ("adds", "larger", "smaller") or not is_number or "memory_stats" in path:
                continue
            place, names = other, re.findall(r"\w+", path)
            names = [int(name) if name.isdigit() else name for name in names]
            if names[0] in ("oom", "timeline", "kinds", "trace") or names[-1] == "limit_bytes":
                continue  # made of the lists of processes
            if rule == "smaller" and value == 0:
                continue  # of no call
            for name in names[:-1]:
                place = place[name]
            place[names[-1]] += 5
            changed[path] = {"adds": 2 * value + 5, "larger": value + 5, "smaller": value}[rule]
        self.assertGreater(len(changed), 200)
        alone = json.loads(self.merge(self.write(self.sample)).read_text())
        both = json.loads(self.merge(self.write(self.sample), self.write(other)).read_text())
        now = {path: value for path, _, value in fields(both, SCHEMA, None)}
        for path, rule, _ in fields(alone, SCHEMA, None):
            if path not in changed or path.startswith((".sites", ".modules", ".frames", ".axes", ".ledger", ".functions")):
                continue  # elements have another order there: below
            self.assertEqual(now[path], changed[path], f"{path}: {rule}")
        def by_key(report, name, key):
            return {tuple(row[k] for k in key): row for row in report[name]}
        for name, key in (("axes", ("axis", "value", "device", "kind")), ("ledger", ("device", "kind", "owner")),
                          ("functions", ("name",))):
            mine, theirs, sums = (by_key(r, name, key) for r in (self.sample, other, both))
            for row, sum_of in sums.items():
                for field, value in sum_of.items():
                    if isinstance(value, int) and field not in key and not field.endswith(("min_ns", "max_ns")):
                        self.assertEqual(value, mine[row][field] + theirs[row][field], (row, field))
        self.assertEqual(len(both["sites"]), len(self.sample["sites"]))
        for field in ("live_bytes", "peak_bytes", "total_bytes", "total_count", "temporary_count", "refused_bytes"):
            self.assertEqual(sum(s[field] for s in both["sites"]) - sum(s[field] for s in alone["sites"]),
                             sum(s[field] for s in json.loads(self.merge(self.write(other)).read_text())["sites"]), field)

    def test_a_device_that_several_processes_had_counts_once(self):
        reports = list(self.some_reports(4))
        for number, path in enumerate(reports):
            report = json.loads(path.read_text())
            report["process"].update(simulated=False)
            report["devices"][0].update(uuid=f"GPU-{number // 3}", total_bytes=100 + number)
            path.write_text(json.dumps(report))
        merged = json.loads(self.merge(*reports).read_text())
        self.assertEqual(merged["devices"][0]["total_bytes"], 102 + 103)
        self.assertEqual(merged["devices"][0]["free_bytes"], 0)
        shown = self.call("report", self.merge(*reports)).stdout
        self.assertIn("each peak is the sum of the processes' own peaks, which need not have", shown)
        self.assertIn("sum of peaks ", shown)
        [following] = re.findall(r"^Next: vramscope (\w+)", shown, re.MULTILINE)
        self.assertNotEqual(following, "report")

    def test_keeps_the_peak_of_each_process(self):
        reports = list(self.some_reports(5))
        merged = json.loads(self.merge(*reports).read_text())
        peaks = {json.loads(path.read_text())["process"]["pid"]: json.loads(path.read_text())["kinds"] for path in reports}
        self.assertEqual(len(merged["processes"]), 5)
        for process in merged["processes"]:
            self.assertEqual([kind["peak_bytes"] for kind in process["kinds"]],
                             [kind["peak_bytes"] for kind in peaks[process["process"]["pid"]]])

    def test_every_verb_reads_it(self):
        merged = self.merge(*self.some_reports(3))
        for verb in VERBS:
            for more in ([], ["--json"]):
                result = self.call(verb, *more, merged)
                self.assertEqual((result.returncode, result.stderr), (0, ""), verb)
        shown = self.call("report", merged).stdout
        self.assertIn("3 processes merged", shown)
        self.assertEqual(["1", "2", "3"], sorted(re.findall(r"^ +(\d) +10\d  train ", shown, re.MULTILINE)))
        self.assertIn("No site changed.", self.call("diff", merged, merged).stdout)

    def test_a_taken_name_is_replaced_unless_it_is_of_a_process(self):
        parts = list(self.some_reports(3))
        other = self.folder / "all.json"
        other.write_text("mine")
        for files, processes in ((parts[:2], 2), (parts, 3)):
            result = self.call("merge", "-o", other, *files)
            self.assertEqual((0, f"vramscope: {processes} processes in {other}"),
                             (result.returncode, result.stderr.splitlines()[0]))
            self.assertEqual(processes, len(json.loads(other.read_text())["processes"]))
        self.assertEqual([], list(self.folder.glob("*~1")))
        before = parts[0].read_bytes()
        result = self.call("merge", "-o", parts[0], *parts)
        self.assertEqual(2, result.returncode)
        self.assertIn("is one of the reports to merge; choose another name", result.stderr)
        self.assertEqual(before, parts[0].read_bytes())

    def test_the_table_names_each_process_s_own_report_and_what_makes_it_differ(self):
        parts = list(self.some_reports(3))
        for number, path in enumerate(parts):
            report = json.loads(path.read_text())
            report["timeline"]["series"] = []
            for kind in report["kinds"]:
                kind["peak_bytes"] = (100 << 20) + (number == 1) * (40 << 20)
            path.write_text(json.dumps(report, separators=(",", ":")))
        apart = self.call("report", *parts).stdout
        (line, *_) = re.findall(r"^ +[+]\d.*the median.*$", apart, re.MULTILINE) or self.fail(apart)
        merged = self.merge(*parts)
        shown = self.call("report", merged).stdout
        self.assertIn(line, shown)
        for path in parts:
            self.assertIn(f" {path}\n", shown)
        text = merged.read_text()
        self.assertEqual({str(path) for path in parts}, {one["report"] for one in json.loads(text)["processes"]})
        merged.write_text(re.sub(r',"report":"[^"]*"', "", text))  # as an earlier version merged
        shown = self.call("report", merged).stdout
        self.assertNotIn("  FILE\n", shown)
        self.assertNotIn(line, shown)

    def test_what_is_added_is_said_of_owners_maps_and_times(self):
        merged = self.merge(*self.some_reports(3))
        self.assertIn(" when each process's report was written, added\n", self.call("owners", merged).stdout)
        self.assertIn("A merged report has no segments; those of each process are in its own report.",
                      self.call("map", merged).stdout)
        timeline = json.loads(self.call("timeline", "--json", merged).stdout)
        peaks = [mark for mark in timeline["marks"] if mark["what"] == "peak"]
        self.assertEqual(len(timeline["series"]), len(peaks))
        for mark in peaks:
            (series,) = [one for one in timeline["series"] if (one["kind"], one["device"]) == (mark["kind"], mark["device"])]
            self.assertEqual(max(series["highest_bytes"]), mark["bytes"])
            self.assertEqual(mark["bytes"], series["highest_bytes"][mark["at_ns"] // series["bucket_ns"]])
        self.assertIn(", at most ", self.call("timeline", merged).stdout.split("marks")[-1])

    def test_of_one_process_the_last_report_counts_once(self):
        later = copy.deepcopy(self.sample)
        later["sequence"] = self.sample["sequence"] + 1
        first, last = self.write(self.sample), self.write(later)
        result = self.call("merge", "-o", self.folder / "a.json", first, last)
        self.assertIn("1 earlier report of the same processes left aside\n", result.stderr)
        self.assertEqual(len(json.loads((self.folder / "a.json").read_text())["processes"]), 1)
        result = self.call("merge", "-o", self.folder / "b.json", last, last)
        self.assertIn("1 report left aside, since what it tells is in others, too\n", result.stderr)
        self.assertEqual((self.folder / "a.json").read_bytes(), (self.folder / "b.json").read_bytes())

    def test_merged_ones_that_share_a_process_are_told(self):
        reports = list(self.some_reports(3))
        result = self.call("merge", "-o", self.folder / "a.json", self.merge(*reports[:2]), self.merge(*reports[1:]))
        self.assertIn("1 report counted again: of a process that is in it already\n", result.stderr)

    def test_one_that_cannot_be_read_leaves_nothing(self):
        broken = self.folder / "broken.json"
        broken.write_text(SAMPLE.read_text().replace('"pid":4711', '"pid":4712')[:-200])
        result = self.call("merge", "-o", self.folder / "none.json", SAMPLE, broken)
        self.assertEqual(result.returncode, 2)
        self.assertIn("broken.json: ends early at byte", result.stderr)
        self.assertFalse((self.folder / "none.json").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
