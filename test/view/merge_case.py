# What the tests of merged reports share: reports of processes that differ, and what merge makes of them.
# SPDX-License-Identifier: Apache-2.0
import copy
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

TOOL, SAMPLE = sys.argv[1], pathlib.Path(sys.argv[2])


class MergeTest(unittest.TestCase):
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
