"""How the report's format grows: what may be absent, what may be unknown, and that the schema says the same.

Usage: growth_test.py VRAMSCOPE SAMPLE
SPDX-License-Identifier: Apache-2.0
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import report_schema

TOOL, SAMPLE = sys.argv[1], pathlib.Path(sys.argv[2])
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/reports/a4f2d85"
READABLE = jsonschema.Draft7Validator(report_schema.readable())
VERBS = ("report", "stats", "owners", "peak", "sites", "timeline")
NOT_READ = re.compile(r"\.?(tool\.name|.*\]\.(stream|segment_pool_id|id)|.*(segments|registrations|blocks)\[\]\.frames)$")
ANY_KEYS = re.compile(r"(^|.*\.)(options|memory_stats)\.")


def report_with_everything():
    """The sample, small, with the parts that few reports have."""
    report = json.loads(SAMPLE.read_text())
    report["cupti"] = json.loads((GOLDEN / "observe-cupti.json").read_text())["cupti"]
    for site in report["sites"]:
        site["estimate"] = {key: site[key] for key in site if key.endswith(("_bytes", "_count", "_ns")) and not key.startswith(("temporary", "refused", "live_span"))}
        for part in site["parts"]:
            part["estimate"] = dict(site["estimate"])
    for name in ("axes", "functions", "ledger", "kinds"):
        report[name] = report[name][:2]
    for device in report["devices"]:
        device["memory_stats"] = dict(list(device["memory_stats"].items())[:3])
    return report


def members(value, path=""):
    """Each member of each object: (object, key, path as the tool says it)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}" if path else key
            yield value, key, here
            yield from members(inner, here)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from members(inner, f"{path}[{number}]")


def pattern(path):
    return re.sub(r"\[\d+\]", "[]", path)


def places():
    """One member for each place in the format: its number among the report's members, and its path."""
    seen = set()
    for number, (_, _, path) in enumerate(members(REPORT)):
        place = pattern(path)
        if place not in seen and not ANY_KEYS.match(place):
            seen.add(place)
            yield number, path


REPORT = report_with_everything()


def changed(number, change):
    """A copy of that report in which change(object, key) was applied to that member."""
    result = copy.deepcopy(REPORT)
    for at, (parent, key, _) in enumerate(members(result)):
        if at == number:
            change(parent, key)
            return result
    raise IndexError(number)


class Growth(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "r.json")

    def show(self, report, *words):
        self.file.write_text(json.dumps(report))
        return subprocess.run([TOOL, *(words or ("report", "--json")), self.file], capture_output=True, text=True, check=False,
                              timeout=60)

    def assert_refused(self, report, path):
        result = self.show(report)
        self.assertEqual(result.returncode, 2, path)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(f"vramscope: {self.file}: field {path}"), (path, result.stderr))

    def test_a_field_may_be_absent_unless_the_schema_requires_it(self):
        required = set()
        for number, path in places():
            with self.subTest(absent=path):
                without = changed(number, lambda parent, key: parent.pop(key))
                missing = not READABLE.is_valid(without)
                result = self.show(without)
                self.assertEqual(": is missing" in result.stderr, missing, result.stderr)
                if missing:
                    required.add(pattern(path))
                    self.assert_refused(without, path + ": is missing")
        self.assertLess(len(required), 55)
        self.assertIn("process.pid", required)

    def test_a_field_of_a_wrong_type_is_refused_with_its_place(self):
        for number, path in places():
            if NOT_READ.match(pattern(path)):
                continue

            def spoil(parent, key):
                parent[key] = "yes" if isinstance(parent[key], bool) else True

            with self.subTest(wrong=path):
                wrong = changed(number, spoil)
                self.assertFalse(READABLE.is_valid(wrong))
                self.assert_refused(wrong, path + ": expected ")

    def test_an_unknown_field_is_read_and_named_at_each_level(self):
        levels = {pattern(path).rpartition(".")[0]: (number, path) for number, path in places()}
        del levels["schema"]
        for place, (number, path) in levels.items():
            with self.subTest(beside=path):
                newer = changed(number, lambda parent, key: parent.update(later={"x": [1]}))
                self.assertTrue(READABLE.is_valid(newer))
                result = self.show(newer)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                unknown = json.loads(result.stdout)["unknown"]
                self.assertEqual(unknown, [f"{place}.later" if place else "later"])

    def test_a_new_counter_is_read_and_named(self):
        newer = copy.deepcopy(REPORT)
        newer["devices"][0]["memory_stats"]["later.all.current"] = 1
        self.assertEqual(json.loads(self.show(newer).stdout)["unknown"], ["devices[].memory_stats.later.all.current"])

    def test_an_unknown_trigger_is_shown_as_it_is(self):
        newer = {**REPORT, "trigger": "overheated"}
        self.assertTrue(READABLE.is_valid(newer))
        self.assertEqual(json.loads(self.show(newer).stdout)["trigger"], "overheated")
        self.assertIn("written for the reason 'overheated'", self.show(newer, "report").stdout)

    def test_what_has_an_unknown_kind_is_left_out_and_named(self):
        newer = copy.deepcopy(REPORT)
        lists = {"kinds[]": newer["kinds"], "axes[]": newer["axes"], "devices[].segments[]": newer["devices"][0]["segments"],
                 "sites[].parts[]": newer["sites"][0]["parts"], "timeline.series[]": newer["timeline"]["series"]}
        for elements in lists.values():
            elements.append({**elements[0], "kind": "later"})
        newer["axes"].append({**newer["axes"][0], "axis": "later"})
        self.assertTrue(READABLE.is_valid(newer))

        today, later = (json.loads(self.show(report).stdout) for report in (REPORT, newer))

        self.assertEqual(later["unknown"], sorted([*(f"{place}.kind 'later'" for place in lists), "axes[].axis 'later'"]))
        self.assertEqual({**later, "unknown": []}, today)
        self.assertIn("not shown, being unknown to this vramscope: axes[].axis 'later', ", self.show(newer, "report").stdout)

    def test_with_every_optional_field_absent_each_view_still_answers(self):
        def least(value, path=""):
            if isinstance(value, list):
                return [least(inner, f"{path}[]") for inner in value]
            if not isinstance(value, dict) or ANY_KEYS.match(path + "."):
                return value
            return {key: least(inner, f"{path}.{key}" if path else key)
                    for key, inner in value.items() if (f"{path}.{key}" if path else key) not in absent}

        # What holds the lists stays, so that each of their elements is seen without its optional fields.
        kept = {"host", "timeline", "cupti"} | {pattern(path.rpartition("[")[0]) for _, _, path in members(REPORT) if "[" in path}
        absent = set()
        for number, path in places():
            if pattern(path) not in kept and READABLE.is_valid(changed(number, lambda parent, key: parent.pop(key))):
                absent.add(pattern(path))
        self.assertGreater(len(absent), 60)
        bare = least(REPORT)
        self.assertEqual(len(bare["sites"]), len(REPORT["sites"]))
        for document in (bare, {name: bare[name] for name in ("schema", "process")}):
            self.assertTrue(READABLE.is_valid(document))
            for words in [(verb, *json_or_text) for verb in VERBS for json_or_text in ((), ("--json",))]:
                result = self.show(document, *words)
                self.assertEqual((result.returncode, result.stderr), (0, ""), words)

    def test_a_newer_version_is_refused_in_one_clear_line(self):
        newer = {**REPORT, "schema": {"name": "vramscope-report", "version": 2}, "host": 7}
        self.assert_refused(newer, "schema.version: 2 is newer than 1, the newest that this vramscope reads")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
