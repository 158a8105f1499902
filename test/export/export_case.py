"""What the tests of exports share: a program that ran once, its report and trace, and the calls of the tool."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

COSTS = {"peak": "peak_bytes", "leaked": "live_bytes", "total": "total_bytes", "count": "total_count"}
OF_BOTH = ("folded", "speedscope", "memory_viz", "memory_viz_json", "chrome", "massif", "dhat",
           "openmetrics", "pprof", "perfetto", "sqlite")  # fmt: skip


@functools.cache
def run_once():
    """A folder with the report and the trace of a program."""
    train = harness.program("train")
    home = tempfile.mkdtemp(prefix="vramscope-export-")
    atexit.register(shutil.rmtree, home)
    command = [harness.TOOL, "run", "--sim", "--trace", home + "/t.trace", "--output", home + "/r.json", train]
    subprocess.run(command, check=True, capture_output=True, cwd=home, env=harness.environment())
    return home


class Export(harness.Case):
    """Of a program that ran once, with a trace."""

    def marked(self):
        path = os.path.join(self.folder, "marked.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.report, "range_marks": 1, "marks": [{"time_ns": 1500, "name": "epoch 1"}]}, file)
        return path

    def setUp(self):
        super().setUp()
        home = run_once()
        self.trace, self.path = home + "/t.trace", home + "/r.json"
        with open(self.path, encoding="utf-8") as file:
            self.report = json.load(file)
        self.device = next(kind for kind in self.report["kinds"] if kind["kind"] == "device")

    def export(self, form, path, *more, binary=False):
        done = subprocess.run([harness.TOOL, "export", "--format", form, *more, path],
                              capture_output=True, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        if b"this build is without" in done.stderr:
            self.skipTest(done.stderr.decode().strip())
        said = re.fullmatch(rb"(vramscope: \w+ in [^ ]+ \([\d.]+ [KMG]?i?B\); to open it: .*\n)?(vramscope: \w+ leaves out .*\n)?", done.stderr)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIsNotNone(said, done.stderr)
        self.assertEqual("-o" in more, said[1] is not None, done.stderr)
        return done.stdout if binary else done.stdout.decode("utf-8")

    def lost(self, form, path, *more, status=0):
        """What is said besides how the file is opened."""
        to = os.path.join(self.folder, "lost")
        done = subprocess.run([harness.TOOL, "export", "--format", form, "-o", to, *more, path], capture_output=True, text=True,
                              env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        if "this build is without" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(status, done.returncode, done.stderr)
        self.assertEqual(status == 0, os.path.exists(to), done.stderr)
        if status == 0:
            self.assertGreater(os.path.getsize(to), 0)
            os.unlink(to)
        return [line for line in done.stderr.splitlines() if status != 0 or " leaves out " in line]

    def of_both(self, form, *more, binary=False):
        for path in (self.path, self.trace):
            with self.subTest(path):
                yield path, self.export(form, path, *more, binary=binary)

    def sum_of_sites(self, cost):
        return sum(site[COSTS[cost]] for site in self.report["sites"])
