# What the tests of jobs share: reports of the ranks of a job, made of the sample.
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import pty
import subprocess
import termios

import harness
from tool_case import TOOL, ToolTest, variables

MINUTE_NS = 60 * 10**9
START_NS = 1_700_000_000 * 10**9
MIB = 1 << 20


class JobTest(ToolTest):
    """Ranks of a job, eight on a host."""

    def setUp(self):
        super().setUp()
        with open(self.sample("sample.json"), encoding="utf-8") as file:
            self.rank = json.load(file)
        self.rank["timeline"]["series"] = []
        self.rank.pop("joint_peaks", None)
        self.rank["segments"] = []
        os.remove(self.path("sample.json"))

    def write(self, name, report):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(report, separators=(",", ":")))
        return path

    def job(self, count, folder="job", of=None, job="4711.0", **changes):
        """Reports of `count` ranks of `of`. changes: by "r3", what makes of that rank's report another, or none."""
        for rank in range(count):
            report = copy.deepcopy(self.rank)
            report["process"].update(pid=1000 + rank, rank=rank, local_rank=rank % 8, world_size=of or count, job=job,
                                     launcher="Slurm", restart=None, hostname=f"node{rank // 8}", executable="/opt/train",
                                     start_time_ns=START_NS + rank, report_time_ns=START_NS + MINUTE_NS)
            change = changes.get(f"r{rank}")
            if change is None or change(report) is not False:
                self.write(f"{folder}/rank{rank}.{1000 + rank}.json", report)
        return folder

    def shown(self, *words, status=0, **more):
        """The text on one line."""
        result = self.call("report", *words, **more)
        self.assertEqual(status, result.returncode, result.stderr)
        return " ".join(result.stdout.split())

    def jobs(self, folder):
        return json.loads(self.call("report", "--json", folder).stdout)["jobs"]

    def first_screen(self, *words, rows=40, columns=80):
        """What a terminal of 40 lines, which views take at least, has room for, on one line."""
        leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (rows, columns))
        environment = harness.environment(**variables(LC_ALL="C.UTF-8", NO_COLOR="1"))
        with subprocess.Popen([TOOL, *words], stdout=follower, cwd=self.folder, env=environment) as child:
            os.close(follower)
            text = b""
            try:
                while part := os.read(leader, 1 << 16):
                    text += part
            except OSError:  # the other end is closed
                pass
            child.wait(timeout=harness.DEADLINE_S)
        os.close(leader)
        lines = text.decode().splitlines()
        self.assertLessEqual(len(lines), rows, text.decode())
        return " ".join(" ".join(lines).split())


def missing(_):
    return False


def change_process(**values):
    return lambda report: report["process"].update(values)
