# What the tests of listings share: reports and traces of which verbs list all there is, and the words to ask.
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import pickle
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import hostile_files_test as made  # noqa: E402

WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
SAMPLE = harness.SOURCE / "test/reporter/sample.json"

# Words, and the definition of the schema that is theirs.
OF_REPORTS = {
    "report": "report",
    "sites": "sites",
    "sites --group function": "groups",
    "sites --group line": "groups",
    "peak": "peak",
    "leaks": "leaks",
    "owners": "owners",
    "owners --by thread": "axis",
    "owners --by size": "axis",
    "calls": "calls",
    "calls --by thread": "calls",
    "oom": "oom",
    "stats": "stats",
    "map": "map",
    "timeline": "timeline",
}


def each_of(words):
    """The option by which a verb shows several reports one by one; a map always does."""
    return [] if words.split()[0] == "map" else ["--each"]


def cell(value):
    """As CSV has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return (" < " if value and isinstance(value[0], str) else " ").join(map(str, value))
    return "".join(c if c >= " " else "?" for c in str(value))


class ListingsTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.sample = json.loads(SAMPLE.read_text())

    def path(self, name):
        return os.path.join(self.folder, name)

    def repeating(self):
        """A memory snapshot of PyTorch with a range that is entered twice."""
        times = range(1, 9, 4)
        actions = [{"action": what, "addr": 1 << 30, "size": 1 << 20, "stream": 0, "time_us": at + after, "frames": []}
                   for at in times for after, what in ((0, "alloc"), (1, "free_completed"), (2, "alloc"), (3, "free_completed"))]
        marks = [{"device": 0, "time_us": at + after, "name": "step", "stage": stage} for at in times for after, stage in ((2, "START"), (3, "END"))]
        with open(self.path("repeating.pickle"), "wb") as file:
            pickle.dump({"segments": [], "device_traces": [actions], "external_annotations": marks}, file)
        return self.path("repeating.pickle")

    def call(self, *words, status=0):
        done = self.run_tool(*words, LC_ALL="C")
        self.assertEqual((status, ""), (done.returncode, done.stderr), words)
        return done.stdout

    def write(self, name, report):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return self.path(name)

    def rich(self):
        subprocess.run([WRITE_SAMPLE, self.path("rich.json")], check=True)
        return self.path("rich.json")

    def empty(self):
        report = copy.deepcopy(self.sample)
        for part in ("sites", "threads", "frames", "kinds", "joint_peaks", "ledger", "devices", "axes", "functions"):
            report[part] = []
        report["host"]["segments"] = report["host"]["registrations"] = []
        report["oom"] = {"count": 0, "events": []}
        report.pop("symbols", None)  # of frames
        return self.write("empty.json", report)

    def two_devices(self):
        report = copy.deepcopy(self.sample)
        report["process"]["pid"] += 1  # of one process one report counts
        for part in ("devices", "kinds", "ledger"):
            more = copy.deepcopy(report[part][0])
            more["index" if part == "devices" else "device"] = 3
            report[part].append(more)
        return self.write("devices.json", report)

    def merged(self):
        path = self.path("merged.json")
        done = self.run_tool("merge", "-o", path, SAMPLE, self.rich())
        self.assertEqual(0, done.returncode, done.stderr)
        return path

    def trace(self):
        facts = made.chunk(made.FACTS, made.function(0, b"cuInit") + made.function(1, b"cuMemAlloc_v2"))
        events = made.chunk(made.EVENTS, made.call(0) + made.call(1), events=2, lane=0)
        with open(self.path("x.trace"), "wb") as file:
            file.write(made.trace(facts, events, made.chunk(made.MARK, b"\0\0")))
        return self.path("x.trace")
