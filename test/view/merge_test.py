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
        self.assertIn("3 processes of train; 3 are told again by another file, and count once; reports in ", text)
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
        self.assertIn("\nWhat made the peaks, added: ", shown)
        self.assertIn("  pinned      sum of peaks ", shown)
        self.assertIn("  the processes' limits add up to 120 GiB: 9 requests refused\n", shown)
        self.assertEqual([], re.findall(r"^ +\w+ +peak +\d.*", shown, re.MULTILINE))
        self.assertRegex(self.call("peak", merged).stdout, r"GPU 0: sum of peaks .*\n  the peaks of 3 processes, each at its own time, added; .*\n  the highest of them was reached after ")
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

    def test_what_processes_count_as_others_is_bounded_and_not_added(self):
        """Each counted its neighbours' memory as that of others, and the sum was more than there is on a GPU."""
        reports, counted = [], (700, 300, 500, 50, 20, 90)
        for number, path in enumerate(self.some_reports(6)):
            report = json.loads(path.read_text())
            report["process"].update(simulated=False)
            report["devices"][0].update(uuid=f"GPU-{number // 3}", total_bytes=1000, outside_bytes=counted[number] + 5, context_bytes=5,
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
            self.assertEqual({"contexts": 30, "others": 300 + 20}, {row["owner"]: row["device_bytes"] for row in report["ledger"]})
            self.assertEqual(30 + 320, report["devices"][0]["outside_bytes"])
            self.assertEqual(sorted(counted), sorted(process["devices"][0]["others_bytes"] for process in report["processes"]))
        shown = self.call("owners", merged).stdout
        self.assertIn("up to 350 B used on GPU 0", shown)
        self.assertIn("others: outside of these 6 processes there was at most so much", shown)
        self.assertIn("contexts: at most; what other processes took", shown)
        used = json.loads(self.call("owners", "--json", merged).stdout)["devices"][0]["used_bytes"]
        self.assertEqual(350, used)

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
        self.assertTrue(shown.startswith(f"3 processes of train; reports in {parts[0].parent}/\n"), shown)
        for path in parts:
            self.assertIn(f" {path.name}\n", shown)
        text = merged.read_text()
        self.assertEqual({str(path) for path in parts}, {one["report"] for one in json.loads(text)["processes"]})
        merged.write_text(re.sub(r',"report":"[^"]*"', "", text))  # as an earlier version merged
        shown = self.call("report", merged).stdout
        self.assertNotIn("  FILE\n", shown)
        self.assertNotIn(line, shown)

    def leaking(self, *left, places=1):
        """A report a process of what it left in MiB, all in one place, or in as many."""
        for rank, mib in enumerate(left):
            report = copy.deepcopy(self.sample)
            report["process"].update(pid=100 + rank, rank=rank)
            report.update(trigger="exit", sample_bytes=0, joint_peaks=[])
            report["host"].update(segments=[], registrations=[])
            report["devices"] = [{"index": 0, "memory_stats": {}, "segments": []}]
            pattern = report["sites"][0]
            pattern["estimate"] = None
            report["sites"] = [pattern] + [copy.deepcopy(pattern) for _ in range(places - 1)]
            for number, site in enumerate(report["sites"]):
                report["frames"].append({"module": 0, "offset": 64 * (number + 100), "code": None, "line": 0})
                site["frames"] = [len(report["frames"]) - 1]
                site["parts"] = [{"kind": "device", "device": 0}]
                for one in (site, *site["parts"]):
                    one.update(live_bytes=mib << 20, live_count=int(mib != 0), total_count=2, total_bytes=mib << 21)
            report["kinds"] = [{"kind": "device", "device": 0, "peak_bytes": 100 << 20, "peak_site": None,
                                "current_bytes": (places * mib) << 20, "allocations": 2}]
            report["oom"] = {"count": 0, "events": []}
            report["timeline"]["series"] = []
            yield self.write(report)

    def test_a_leak_says_whose_it_is(self):
        parts = list(self.leaking(1, 0, 12, 1, 1))
        for files in ([self.merge(*parts)], parts):
            shown = self.call("leaks", *files).stdout
            self.assertIn("  5 processes left 0 B to 12.0 MiB each, median 1.00 MiB, most in rank 2 (102)\n", shown)
        self.assertRegex(shown, r"(?m)^ +BYTES +COUNT +PROCESSES +MOST +MOST IN +CLASS +MEMORY +WHERE\n"
                                r" +15.0 MiB +4 +4 of 5 +12.0 MiB +rank 2 \(102\) +left +GPU 0 ")
        self.assertEqual(shown.splitlines()[:-1], self.call("leaks", self.merge(*parts)).stdout.splitlines()[:-1])
        merged = self.call("leaks", "--full", self.merge(*parts)).stdout
        self.assertIn(", in 4 of 5 processes, 1.00 MiB to 12.0 MiB, most in rank 2 (102); whether one process allocated", merged)
        listed = json.loads(self.call("leaks", "--json", self.merge(*parts)).stdout)
        self.assertEqual([1 << 20, 0, 12 << 20, 1 << 20, 1 << 20], [one["bytes"] for one in listed["processes"]])
        (leak,) = listed["leaks"]
        self.assertEqual([2, 0, 3, 4], [one["rank"] for one in leak["processes"]])
        for left, words in (((0, 3, 0), ", in rank 1 (101) alone;"), ((2, 2), ", 2.00 MiB in each of 2 processes;"),
                            ((2, 0, 1), ", in 2 of 3 processes: rank 0 (100) 2.00 MiB, rank 2 (102) 1.00 MiB;")):
            self.assertIn(words, self.call("leaks", "--full", self.merge(*self.leaking(*left))).stdout)

    def test_what_a_killed_process_held_is_not_said_to_be_never_freed(self):
        """Seen of ranks of which one was killed: check and leaks called its live memory a leak."""
        for signal, death, short in (("SIGKILL", "was killed by SIGKILL", "killed"), ("", "died", "died")):
            parts = self.leaking_with_a_dead_one(signal, 1, 12, 2, 1)
            merged = self.merge(*parts)
            for files in ([merged], parts):
                failed = self.call("check", "--max-leak", "5MiB", *files)
                self.assertEqual(1, failed.returncode)
                self.assertIn(f"never freed: 12.0 MiB requested, 7.00 MiB above the limit of 5.00 MiB; rank 1 (101) {death}: "
                              "what was live then\n", failed.stdout)
                self.assertIn(f", most in rank 1 (101) ({short})\n", self.call("leaks", "--wide", *files).stdout)
            self.assertNotIn("died", self.call("check", "--max-leak", "1MiB", parts[2]).stdout)
            self.assertTrue(self.call("leaks", parts[1]).stdout.startswith(f"Not freed when rank 1 (101) {death}: 12.0 MiB in "))
            self.assertTrue(self.call("leaks", merged).stdout.startswith(f"Never freed, or live when rank 1 (101) {death}: 16.0 MiB in "))
            self.assertIn(f", in rank 1 (101) ({short}) alone;", self.call("leaks", "--full", self.merge(*self.leaking_with_a_dead_one(signal, 0, 3))).stdout)

    def leaking_with_a_dead_one(self, signal, *left):
        """The second one is recovered."""
        parts = list(self.leaking(*left))
        report = json.loads(parts[1].read_text())
        report["trigger"] = "recovered"
        report["process"]["ended_by"] = signal
        parts[1].write_text(json.dumps(report, separators=(",", ":")))
        return parts

    def test_of_many_places_each_process_keeps_the_largest_and_the_sum_of_the_rest(self):
        merged = self.merge(*self.leaking(3, 3, places=40))
        live = json.loads(merged.read_text())["processes"][0]["live"]
        self.assertEqual((33, None, 8 * 3 << 20, 8), (len(live), *(live[-1][f] for f in ("site", "live_bytes", "live_count"))))
        self.assertIn("  2 processes left 120 MiB each\n", self.call("leaks", merged).stdout)
        merged.write_text(re.sub(r',"live":\[[^]]*\]', "", merged.read_text()))  # as an earlier version merged
        self.assertNotIn("processes left", self.call("leaks", merged).stdout)

    def test_what_a_process_holds_of_a_site_that_is_not_there_is_refused(self):
        merged = self.merge(*self.leaking(1, 2))
        merged.write_text(merged.read_text().replace('"live":[{"site":0', '"live":[{"site":7', 1))
        result = self.call("leaks", merged)
        self.assertEqual(2, result.returncode)
        self.assertIn("processes[0].live.site: expected an index below 1, the number of sites, found 7", result.stderr)

    def test_peaks_and_refusals_of_a_process_at_a_site_that_is_not_there_are_refused(self):
        """By `merge`, too, which numbers sites anew: it read beyond the report's."""
        event = {"number": 1, "kind": "device", "site": 10**8}
        for path, broken in (("kinds[0].peak_site", {"kinds": [{"kind": "device", "peak_site": 10**8}]}),
                             ("joint_peaks[0].peak_site", {"joint_peaks": [{"device": 0, "peak_site": 10**8}]}),
                             ("joint_peaks[0].live.site", {"joint_peaks": [{"live": [{"kind": "device", "site": 10**8}]}]}),
                             ("oom.events[0].site", {"oom": {"count": 1, "events": [event]}})):  # fmt: skip
            merged = self.merge(*self.leaking(1, 2))
            report = json.loads(merged.read_text())
            report["processes"][1].update(broken)
            merged.write_text(json.dumps(report, separators=(",", ":")))
            for words in (["report"], ["merge", "-o", self.folder / "again.json"]):
                result = self.call(*words, merged)
                self.assertEqual(2, result.returncode, (path, words))
                self.assertIn(f"processes[1].{path}: expected an index below 1, the number of sites, found 100000000", result.stderr)

    def test_suppressed_leaks_are_none_of_a_process(self):
        rules = self.folder / "known.supp"
        rules.write_text("leak:train\n")
        shown = self.call("leaks", "--suppress", rules, "--json", self.merge(*self.leaking(1, 2))).stdout
        self.assertEqual([0, 0], [one["bytes"] for one in json.loads(shown)["processes"]])

    def test_check_judges_each_process_of_a_merged_report_as_those_of_a_folder(self):
        parts = list(self.leaking(1, 0, 12))
        for path in parts[1:2]:
            report = json.loads(path.read_text())
            report["kinds"][0]["peak_bytes"] = 150 << 20
            path.write_text(json.dumps(report, separators=(",", ":")))
        merged = self.merge(*parts)
        for limits in (("--max-peak", "100MiB"), ("--max-leak", "1MiB"), ("--max-allocations", "2"), ("--max-total", "1MiB"), ("--no-oom",)):
            found = [[(one["pid"], one["rank"], one["what"], one["value"]) for one in
                      json.loads(self.call("check", *limits, "--json", *files).stdout)["checks"]] for files in ([merged], parts)]
            self.assertEqual(found[1], found[0])
            self.assertEqual([100, 101, 102], [pid for pid, *_ in found[0]])
        of_earlier = json.loads(merged.read_text())
        for process in of_earlier["processes"]:
            del process["total_bytes"]
        earlier = self.write(of_earlier)
        (together,) = json.loads(self.call("check", "--max-allocations", "2", "--json", earlier).stdout)["checks"]
        self.assertEqual((None, "allocations", 6), (together["pid"], together["what"], together["value"]))
        alone = self.call("check", "--max-allocations", "2", earlier).stdout
        self.assertTrue(alone.startswith("failed for all 3 processes together; the highest: allocations 6 of 2 "), alone)
        failed = self.call("check", "--max-peak", "100MiB", "--max-leak", "1MiB", "--max-total", "1", earlier)
        self.assertEqual(1, failed.returncode)
        for line in ("\nrank 1 (101): peak of GPU 0: 150 MiB requested, 50.0 MiB above the limit of 100 MiB\n",
                     "\nrank 2 (102): never freed: 12.0 MiB requested, 11.0 MiB above the limit of 1.00 MiB\n",
                     "\nall 3 processes together: allocated in all: ",
                     "\nThe 3 processes held at most 350 MiB of GPU 0 together at one time.\n"):
            self.assertIn(line, failed.stdout)
        self.assertNotIn("rank 0 (100)", failed.stdout)
        self.assertTrue(failed.stdout.startswith("failed in 2 of 3 processes; the highest: peak of GPU 0 150 MiB of 100 MiB in rank 1 (101), "
                                                 "never freed 12.0 MiB of 1.00 MiB in rank 2 (102)"), failed.stdout)
        passed = self.call("check", "--max-peak", "1GiB", "--max-leak", "12MiB", merged)
        self.assertEqual((0, "passed in each of 3 processes, at most: peak of GPU 0 150 MiB of 1.00 GiB in rank 1 (101), "
                          "never freed 12.0 MiB of 12.0 MiB in rank 2 (102) (requested bytes)"),
                         (passed.returncode, passed.stdout.splitlines()[-1]))
        merged.write_text(re.sub(r',"live":\[[^]]*\]', "", merged.read_text()))  # as an earlier version merged
        failed = self.call("check", "--max-leak", "12MiB", merged).stdout
        self.assertIn("\nall 3 processes together: never freed: 13.0 MiB requested, ", failed)

    def test_of_many_processes_whose_memory_ran_out_three_are_named(self):
        shown = self.call("check", "--max-peak", "1TiB", *self.some_reports(5)).stdout
        self.assertEqual(3, shown.count(" ran out of memory in 3 calls: vramscope oom "), shown)
        self.assertIn("\nSo did 2 more.\npassed in each of 5 processes, ", shown)

    def test_the_peak_says_that_peaks_are_added_and_what_was_held_together(self):
        """Two processes one after the other: never more than one of them at a time."""
        parts = []
        for number, path in enumerate(self.leaking(0, 0)):
            report = json.loads(path.read_text())
            report["timeline"] = {"start_ns": 10**9 * (1 + 10 * number), "duration_ns": 10**9, "series": [
                {"kind": "device", "device": 0, "bucket_ns": 10**9, "highest": [100 << 20], "last": [0]}]}
            path.write_text(json.dumps(report, separators=(",", ":")))
            parts.append(path)
        merged = self.merge(*parts)
        shown = self.call("peak", "--wide", merged).stdout
        self.assertIn("GPU 0: sum of peaks 200 MiB requested", shown)
        self.assertIn("  the peaks of 2 processes, each at its own time, added; at one time they held 100 MiB together, "
                      "as their timelines tell\n", shown)
        (peak,) = json.loads(self.call("peak", "--json", merged).stdout)
        self.assertEqual((2, 100 << 20, 100 << 20),
                         tuple(peak[f] for f in ("processes", "together_lower_bytes", "together_upper_bytes")))
        self.assertNotIn("together", self.call("peak", parts[0]).stdout)
        page = self.call("html", "-o", "-", merged)
        if "has no page" in page.stderr:
            return  # built without npm
        (sentence,) = re.findall(r"GPU 0 held (.*?)\.\"", page.stdout)
        self.assertRegex(sentence, r"^100 MiB in 2 processes together at one time(, .* of the device's \S+ GiB)?; "
                                   r"their own peaks, each at its own time, add up to 200 MiB$")

    def test_what_is_added_is_said_of_owners_maps_and_times(self):
        parts = list(self.some_reports(3))
        for path in parts:
            report = json.loads(path.read_text())
            report["trigger"], report["process"]["ended_by"] = "signal", ""
            path.write_text(json.dumps(report, separators=(",", ":")))
        merged = self.merge(*parts)
        self.assertIn("\nAs each process wrote its report, at different times, added: ", self.call("owners", merged).stdout)
        self.assertIn(" after all processes wrote reports (", self.call("timeline", merged).stdout)
        self.assertIn(" at the end (", self.call("timeline", "--to", "1ms", merged).stdout)
        parts = list(self.some_reports(3))
        for path, trigger in zip(parts, ("exit", "recovered", "exit")):
            report = json.loads(path.read_text())
            report["trigger"] = trigger
            path.write_text(json.dumps(report, separators=(",", ":")))
        ended = self.merge(*parts)
        self.assertIn("\nAs each process ended, at different times, added: ", self.call("owners", ended).stdout)
        self.assertIn(" after all processes ended (", self.call("timeline", ended).stdout)
        self.assertIn("A merged report has no segments; those of each process are in its own report.",
                      self.call("map", merged).stdout)
        timeline = json.loads(self.call("timeline", "--json", merged).stdout)
        peaks = [mark for mark in timeline["marks"] if mark["what"] == "peak"]
        self.assertEqual(len(timeline["series"]), len(peaks))
        for mark in peaks:
            (series,) = [one for one in timeline["series"] if (one["kind"], one["device"]) == (mark["kind"], mark["device"])]
            self.assertEqual(max(series["highest_bytes"]), mark["bytes"])
            self.assertEqual(mark["bytes"], series["highest_bytes"][mark["at_ns"] // series["bucket_ns"]])
            self.assertEqual(mark["at_ns"] + series["bucket_ns"], mark["until_ns"])
        self.assertIn(", at most ", self.call("timeline", merged).stdout.split("     marks  ")[-1])

    def test_of_one_process_the_last_report_counts_once(self):
        later = copy.deepcopy(self.sample)
        later["sequence"] = self.sample["sequence"] + 1
        first, last = self.write(self.sample), self.write(later)
        for verb in ("leaks", "peak", "owners", "timeline", "map", "sites", "stats"):
            listed = self.call(verb, first, last)
            self.assertEqual("vramscope: 1 earlier report of the same processes left aside\n", listed.stderr)
            self.assertNotIn(first.name, listed.stdout)
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
