# Reports merged into one: the same in any order and grouping, and each field as the schema says.
# SPDX-License-Identifier: Apache-2.0
"""merge_test.py VRAMSCOPE SAMPLE SCHEMA_MODULE_FOLDER"""
import copy
import json
import random
import re
import sys
import unittest

import jsonschema

from merge_case import MergeTest, SAMPLE

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


class Merge(MergeTest):
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
        self.assertIn("3 processes of train; 3 are also in another file, and count once; reports in ", text)
        result = self.call("merge", "-o", self.folder / "again.json", merged, reports[1])
        self.assertIn("1 report skipped, because other reports contain the same data\n", result.stderr)
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
                self.assertIn(value, ([], None, 0, ""), path)
            if rule == "bound":
                others = sum(row["device_bytes"] for row in once["ledger"] if row["kind"] == "others" and f"[{row['device']}]" in path)
                self.assertEqual(now, 2 * value - others, path)
            elif path.startswith(tuple(f".ledger[{i}]" for i, row in enumerate(once["ledger"]) if row["kind"] == "others")):
                self.assertEqual(now, value, path)  # the same device
            elif rule == "adds" and isinstance(value, int) and not isinstance(value, bool):
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
        self.assertIn("\nWhat made up the sum of peaks: ", shown)
        self.assertIn("  pinned      requested: sum of peaks ", shown)
        self.assertIn("  the processes' limits add up to 120 GiB: 9 requests refused\n", shown)
        self.assertEqual([], re.findall(r"^ +\w+ +peak +\d.*", shown, re.MULTILINE))
        self.assertRegex(self.call("peak", merged).stdout, r"GPU 0: sum of peaks .*\n  sum of the peaks of 3 processes, each at its own time; .*\n  the highest peak of a single process was reached \S+ \S+ after its process began ")
        self.assertIn(", summed over all processes", self.call("stats", merged).stdout)
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
                if name == "ledger" and row[1] == "others":
                    continue  # of each device once: below
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
            report["devices"][0].update(uuid=f"GPU-first-{number // 3}", total_bytes=100 + number)
            path.write_text(json.dumps(report))
        merged = json.loads(self.merge(*reports).read_text())
        sizes = {device["uuid"]: device["total_bytes"] for device in merged["devices"]}
        self.assertEqual((102, 103), (sizes["GPU-first-0"], sizes["GPU-first-1"]))
        self.assertEqual(merged["devices"][0]["free_bytes"], 0)
        shown = self.call("report", self.merge(*reports)).stdout
        self.assertIn("each peak is the sum of the processes' own peaks, which may have", shown)
        self.assertIn("sum of peaks ", shown)
        [following] = re.findall(r"^Next: vramscope (\w+)", shown, re.MULTILINE)
        self.assertNotEqual(following, "report")

    def test_what_processes_count_as_others_is_bounded_and_not_added(self):
        """Each counted its neighbour's memory as that of others, and the sum was more than there is on a GPU."""
        reports, counted = [], (700, 300, 500, 50, 20, 90)
        for number, path in enumerate(self.some_reports(6)):
            report = json.loads(path.read_text())
            report["process"].update(simulated=False)
            report["devices"][0].update(uuid=f"GPU-first-{number // 3}", total_bytes=1000, outside_bytes=counted[number] + 5, context_bytes=5, measured_by="nvml",
                                        module_bytes=0, exported_bytes=0)
            report["ledger"] = [{"device": 0, "kind": kind, "owner": owner, "device_bytes": size, "current_bytes": size, "peak_bytes": size}
                                for kind, owner, size in (("unaccounted", "contexts", 5), ("others", "others", counted[number]))]
            path.write_text(json.dumps(report))
            reports.append(path)
        chance = random.Random(4714)
        for _ in range(4):
            chance.shuffle(reports)
            merged = self.merge(self.merge(*reports[:2]), self.merge(*reports[2:5]), reports[5])
            report = json.loads(merged.read_text())
            used = {device["index"]: device["uuid"] for device in report["devices"]}
            self.assertEqual({("GPU-first-0", "contexts"): 15, ("GPU-first-0", "others"): 300, ("GPU-first-1", "contexts"): 15, ("GPU-first-1", "others"): 20},
                             {(used[row["device"]], row["owner"]): row["device_bytes"] for row in report["ledger"]})
            outside = {device["uuid"]: device["outside_bytes"] for device in report["devices"]}
            self.assertEqual((315, 35), (outside["GPU-first-0"], outside["GPU-first-1"]))
            self.assertEqual(sorted(counted), sorted(process["devices"][0]["others_bytes"] for process in report["processes"]))
        shown = self.call("owners", merged).stdout
        self.assertIn("added: 15 B used on GPU 0 (GPU-first-0), ", shown)
        self.assertIn("added: 15 B used on GPU 0 (GPU-first-1), ", shown)
        self.assertIn("at most 300 B were outside of these 3 processes", shown)  # that used this GPU
        used = [device["used_bytes"] for device in json.loads(self.call("owners", "--json", merged).stdout)["devices"]]
        self.assertEqual([15, 15, 0], used)

    def test_what_an_earlier_version_added_up_is_at_most_the_device(self):
        report = json.loads(self.merge(*self.some_reports(3)).read_text())
        report["devices"][0]["total_bytes"] = 1 << 30
        [rest] = [row for row in report["ledger"] if row["kind"] == "others"]
        rest.update(device_bytes=3 << 30, current_bytes=3 << 30, peak_bytes=3 << 30)
        for process in report["processes"]:
            for device in process["devices"]:
                del device["others_bytes"]
        shown = json.loads(self.call("owners", "--json", self.write(report)).stdout)
        [rest] = [row for row in shown["ledger"] if row["kind"] == "others"]
        self.assertEqual(1 << 30, rest["device_bytes"])

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
        self.assertEqual(["1", "2", "3"], sorted(re.findall(r"^ +(\d) +10\d  ", shown, re.MULTILINE)))
        self.assertIn("No site changed.", self.call("diff", merged, merged).stdout)

    def test_a_merged_report_is_replaced_and_nothing_else(self):
        parts = list(self.some_reports(3))
        other = self.folder / "all.json"
        other.write_text("mine")
        result = self.call("merge", "-o", other, *parts)
        self.assertEqual((2, f"vramscope: -o '{other}' is there already; --force replaces it\n"), (result.returncode, result.stderr))
        self.assertEqual("mine", other.read_text())
        for files, processes in ((parts[:2], 2), (parts, 3)):
            result = self.call("merge", *(["--force"] if processes == 2 else []), "-o", other, *files)
            self.assertEqual((0, f"vramscope: {processes} processes in {other}"),
                             (result.returncode, result.stderr.splitlines()[0]))
            self.assertEqual(processes, len(json.loads(other.read_text())["processes"]))
        self.assertEqual([], list(self.folder.glob("*~1")))
        before = parts[0].read_bytes()
        result = self.call("merge", "-o", parts[0], *parts)
        self.assertEqual(2, result.returncode)
        self.assertIn("is one of the reports to merge; choose another name", result.stderr)
        result = self.call("merge", "-o", parts[2], *parts[:2])
        self.assertEqual(2, result.returncode)
        self.assertIn("is a report, which would be lost; --force replaces it", result.stderr)
        self.assertEqual(before, parts[0].read_bytes())

    def test_of_one_process_the_last_report_counts_once(self):
        later = copy.deepcopy(self.sample)
        later["sequence"] = self.sample["sequence"] + 1
        first, last = self.write(self.sample), self.write(later)
        for verb in ("leaks", "peak", "owners", "timeline", "map", "sites", "stats"):
            listed = self.call(verb, first, last)
            self.assertEqual("vramscope: 1 earlier report of the same processes skipped\n", listed.stderr)
            self.assertNotIn(first.name, listed.stdout)
        result = self.call("merge", "-o", self.folder / "a.json", first, last)
        self.assertIn("1 earlier report of the same processes skipped\n", result.stderr)
        self.assertEqual(len(json.loads((self.folder / "a.json").read_text())["processes"]), 1)
        result = self.call("merge", "-o", self.folder / "b.json", last, last)
        self.assertIn("1 report skipped, because other reports contain the same data\n", result.stderr)
        self.assertEqual((self.folder / "a.json").read_bytes(), (self.folder / "b.json").read_bytes())

    def test_merged_ones_that_share_a_process_are_told(self):
        reports = list(self.some_reports(3))
        result = self.call("merge", "-o", self.folder / "a.json", self.merge(*reports[:2]), self.merge(*reports[1:]))
        self.assertIn("1 report counted again: of a process that is in it already\n", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
