"""A job of eight ranks under the distribution's Slurm, started on this machine for it, as root.

check_launchers.py BUILD: one TAP line a case, as the tests here; scripts/check --launchers runs it.
Nothing of a Slurm that the machine has is touched: files, ports and socket are the test's own.
"""
# SPDX-License-Identifier: Apache-2.0
import atexit
import functools
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import harness
from launchers_case import RANKS, LauncherCase, is_root, own_lines

CONFIGURATION = """
ClusterName=vramscope
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sinfo")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """One node: this machine."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vramscope-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.running = []
        self.configuration = self.folder / "slurm.conf"

    def start(self, *words, **variables):
        environment = {**os.environ, "SLURM_CONF": str(self.configuration), **variables}
        process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append(process)

    def up(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder,
                                                           controller=free_port(), daemon=free_port()))  # fmt: skip
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                   f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                   f"--seed-file={self.folder}/munged.seed")  # fmt: skip
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D")
        self.wait_for(self.is_idle, "slurmd")

    def is_idle(self):
        found = subprocess.run(["sinfo", "-h", "-o", "%T"], env={**os.environ, "SLURM_CONF": str(self.configuration)},
                               capture_output=True, text=True, check=False)  # fmt: skip
        return found.stdout.strip() == "idle"

    def wait_for(self, is_so, what):
        end = time.monotonic() + harness.DEADLINE_S
        while not is_so():
            if time.monotonic() > end:
                logs = "\n".join(path.read_text(errors="replace")[-1500:] for path in self.folder.glob("*.log"))
                raise AssertionError(f"{what} did not start:\n{logs}")
            time.sleep(0.2)

    def down(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait(timeout=harness.DEADLINE_S)
        shutil.rmtree(self.folder)


@functools.cache
def the_cluster():
    cluster = Cluster()
    atexit.register(cluster.down)
    cluster.up()
    return cluster


class Slurm(LauncherCase):
    def setUp(self):
        super().setUp()
        missing = [name for name in NEEDED if shutil.which(name) is None]
        if missing:
            self.skipTest(f"{', '.join(missing)}: not installed (scripts/setup launchers)")
        if not is_root():
            self.skipTest("Slurm's daemons are started as root")
        self.cluster = the_cluster()

    def srun(self, *words, **variables):
        return self.call(["srun", "-n", RANKS, "--overcommit", *words], SLURM_CONF=str(self.cluster.configuration), **variables)

    def test_run_behind_srun_makes_a_report_of_each_rank_and_the_first_speaks_for_all(self):
        done = self.srun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_all_ranks("Slurm")
        self.assertEqual(3, len(own_lines(done.stderr)), done.stderr)
        self.assertRegex(self.shown(), r"job \d+\.0 of Slurm: all 8 ranks have reports")

    def test_run_before_srun_makes_a_report_of_each_rank(self):
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "job", "srun", "-n", RANKS, "--overcommit",
                          *self.rank_program()], SLURM_CONF=str(self.cluster.configuration))  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_all_ranks("Slurm")

    def test_a_rank_that_is_killed_has_a_report_and_is_named(self):
        variables = {"VICTIM": "3", "RANK_IN": "SLURM_PROCID"}
        done = self.srun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program(), **variables)
        self.assertNotEqual(0, done.returncode)
        self.assertEqual(RANKS, len(self.reports()))
        self.assertRegex(self.shown(), r"rank 3 \(\d+\) was ended by SIGKILL")

    def test_two_jobs_have_two_folders(self):
        for _ in range(2):
            done = self.srun("vramscope", "run", "--sim", "--output-folder", "jobs/%j", *self.rank_program())
            self.assertEqual(0, done.returncode, done.stderr)
        folders = os.listdir(f"{self.folder}/jobs")
        self.assertEqual(2, len(folders), folders)
        for folder in folders:
            self.assert_all_ranks("Slurm", f"jobs/{folder}")

    def test_the_commands_of_a_tree_merge_by_ranks(self):
        self.srun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program())
        self.call(["vramscope", "merge", "-o", "flat.json", "job"])
        printed = self.call(["vramscope", "merge", "--tree", 3, "-o", "all.json", "job"], SLURM_JOB_ID="1").stdout
        self.assertIn("srun -n 3 ", printed)
        done = self.call(["sh", "-e", "-c", printed], SLURM_CONF=str(self.cluster.configuration))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(pathlib.Path(self.folder, "flat.json").read_bytes(), pathlib.Path(self.folder, "all.json").read_bytes())


if __name__ == "__main__":
    harness.main()
