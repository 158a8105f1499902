# What the tests of launchers share: jobs of eight ranks on the simulated device.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness

RANKS = 8
# One rank allocates, and ends by SIGKILL while the others wait for it; VICTIM: which.
RANK = harness.ASKS_DRIVER + """
assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20)) == 0
if os.environ.get("VICTIM") == os.environ.get(os.environ.get("RANK_IN", ""), "none"):
    os.kill(os.getpid(), 9)
"""


def launcher(name):
    """Its path, or a skip."""
    path = shutil.which(name)
    if path is None:
        raise harness.unittest.SkipTest(f"{name} is not installed (scripts/setup test, scripts/setup launchers)")
    return path


class LauncherCase(harness.Case):
    """Launches, and looks at what is in the folder of the job."""

    def environment(self, **variables):
        environment = harness.environment(**variables)
        environment["PATH"] = f"{harness.TOOL.parent}:{environment['PATH']}"
        environment.setdefault("HOME", self.folder)
        return environment

    def call(self, words, **variables):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=self.folder,
                              env=self.environment(**variables), timeout=harness.DEADLINE_S)  # fmt: skip

    def rank_program(self):
        path = pathlib.Path(self.folder) / "rank.py"
        path.write_text(RANK)
        return [sys.executable, str(path)]

    def reports(self, folder="job"):
        """By name, without what a launcher's SIGKILL left of a report that was being written."""
        files = sorted((pathlib.Path(self.folder) / folder).glob("*.json"))
        return {path.name: json.loads(path.read_text()) for path in files if path.stat().st_size != 0}

    def assert_all_ranks(self, launcher_name, folder="job", ranks=RANKS):
        reports = self.reports(folder)
        places = [report["process"] for report in reports.values()]
        self.assertEqual(list(range(ranks)), sorted(place["rank"] for place in places), list(reports))
        self.assertEqual({launcher_name}, {place["launcher"] for place in places})
        self.assertEqual({ranks}, {place["world_size"] for place in places})
        self.assertEqual(list(range(ranks)), sorted(place["local_rank"] for place in places))
        self.assertEqual(1, len({place["job"] for place in places}))
        for name, report in reports.items():
            self.assertEqual(f"rank{report['process']['rank']}.{report['process']['pid']}.json", name)
        return reports

    def shown(self, folder="job"):
        return " ".join(self.call(["vramscope", "report", folder]).stdout.split())


def own_lines(text):
    return [line for line in text.splitlines() if line.startswith("vramscope: ")]


def is_root():
    return os.geteuid() == 0
