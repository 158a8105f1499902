"""Jobs of several ranks: under the launchers that are installed, and with the variables of others."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import stat
import subprocess

import harness
from launchers_case import RANKS, LauncherCase, is_root, launcher, own_lines


class Installed(LauncherCase):
    def mpirun(self, *words, **variables):
        options = ["--oversubscribe", *(["--allow-run-as-root"] if is_root() else []), "-n", RANKS]
        return self.call([launcher("mpirun.openmpi"), *options, *words], **variables)

    def hydra(self, *words, **variables):
        return self.call([launcher("mpiexec.hydra"), "-n", RANKS, *words], **variables)

    def test_run_behind_open_mpi_makes_a_report_of_each_rank_and_the_first_speaks_for_all(self):
        done = self.mpirun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_all_ranks("Open MPI")
        self.assertEqual(3, len(own_lines(done.stderr)), done.stderr)
        self.assertIn("rank 0 of 8, the others are quiet", done.stderr)
        self.assertIn("next: vramscope report job\n", done.stderr)
        self.assertIn("all 8 ranks have reports", self.shown())

    def test_run_before_open_mpi_makes_a_report_of_each_rank(self):
        options = ["--oversubscribe", *(["--allow-run-as-root"] if is_root() else []), "-n", RANKS]
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "job", launcher("mpirun.openmpi"), *options,
                          *self.rank_program()])  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_all_ranks("Open MPI")
        self.assertIn("next: vramscope report job\n", done.stderr)

    def test_a_rank_of_open_mpi_that_is_killed_has_a_report_and_is_named(self):
        variables = {"VICTIM": "3", "RANK_IN": "OMPI_COMM_WORLD_RANK"}
        done = self.mpirun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program(), **variables)
        self.assertNotEqual(0, done.returncode)
        self.assertEqual("SIGKILL", next(report["process"]["ended_by"] for report in self.reports().values()
                                         if report["process"]["rank"] == 3))  # fmt: skip
        self.assertRegex(self.shown(), r"rank 3 \(\d+\) was ended by SIGKILL")

    def test_each_job_has_a_folder_of_its_own(self):
        for _ in range(2):
            done = self.mpirun("vramscope", "run", "--sim", "--output-folder", "jobs/%j", *self.rank_program())
            self.assertEqual(0, done.returncode, done.stderr)
        folders = os.listdir(f"{self.folder}/jobs")
        self.assertEqual(2, len(folders))
        for folder in folders:
            self.assert_all_ranks("Open MPI", f"jobs/{folder}")

    def test_the_commands_of_a_tree_merge_by_ranks(self):
        self.mpirun("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program())
        self.call(["vramscope", "merge", "-o", "flat.json", "job"])
        printed = self.call(["vramscope", "merge", "--tree", 3, "-o", "all.json", "job"])
        self.assertIn("mpirun -n 3 ", printed.stdout)
        done = self.call(["sh", "-e", "-c", printed.stdout], OMPI_MCA_rmaps_base_oversubscribe="1")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(pathlib.Path(self.folder, "flat.json").read_bytes(), pathlib.Path(self.folder, "all.json").read_bytes())

    def test_run_behind_hydra_makes_a_report_of_each_rank(self):
        done = self.hydra("vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_all_ranks("MPICH")
        self.assertEqual(3, len(own_lines(done.stderr)), done.stderr)


class Variables(LauncherCase):
    """Launchers are known by their variables, so that a loop of a shell stands for each."""

    def place(self, **variables):
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "job", *self.rank_program()], **variables)
        self.assertEqual(0, done.returncode, done.stderr)
        ((name, report),) = self.reports().items()
        return name, report["process"], done.stderr

    def test_torchrun_with_a_restart(self):
        name, place, said = self.place(RANK="5", LOCAL_RANK="1", WORLD_SIZE="8", TORCHELASTIC_RUN_ID="llama",
                                       TORCHELASTIC_RESTART_COUNT="2")  # fmt: skip
        self.assertEqual(f"rank5.restart2.{place['pid']}.json", name)
        self.assertEqual((5, 1, 8, 2, "llama", "torchrun"),
                         tuple(place[key] for key in ("rank", "local_rank", "world_size", "restart", "job", "launcher")))
        self.assertEqual("", said)  # rank 0 speaks

    def test_slurm(self):
        _, place, _ = self.place(SLURM_PROCID="3", SLURM_LOCALID="1", SLURM_STEP_NUM_TASKS="8", SLURM_JOB_ID="4711",
                                 SLURM_STEP_ID="0")  # fmt: skip
        self.assertEqual(("Slurm", 3, "4711.0"), (place["launcher"], place["rank"], place["job"]))

    def test_a_pod_of_kubernetes_has_a_log_of_its_own(self):
        _, place, said = self.place(JOB_COMPLETION_INDEX="2", WORLD_SIZE="4")
        self.assertEqual(("Kubernetes", 2, 4), (place["launcher"], place["rank"], place["world_size"]))
        self.assertEqual(3, len(own_lines(said)))

    def test_without_a_rank_the_program_names_the_report(self):
        name, place, _ = self.place()
        self.assertEqual(f"rank.py.{place['pid']}.json", name)
        self.assertIsNone(place["rank"])

    def test_a_loop_over_hosts(self):
        text = ('for i in 0 1 2; do RANK=$i WORLD_SIZE=3 vramscope run --sim -q --output-folder job "$@" & done; wait')
        done = self.call(["sh", "-c", text, "sh", *self.rank_program()])
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("all 3 ranks have reports", self.shown())

    def test_a_killed_rank_leaves_its_report_in_the_folder(self):
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "new/job", *self.rank_program()], RANK="0",
                         VICTIM="0", RANK_IN="RANK")  # fmt: skip
        self.assertEqual(128 + 9, done.returncode)
        ((name, report),) = self.reports("new/job").items()
        self.assertRegex(name, r"^rank0\.\d+\.json$")
        self.assertEqual("SIGKILL", report["process"]["ended_by"])

    def test_the_library_alone_makes_the_folder_and_other_names_stay(self):
        outcome = self.run_program(self.rank_program(), "cache", VRAMSCOPE_OUTPUT_FOLDER=f"{self.folder}/a/b",
                                   VRAMSCOPE_TRACE="%p.trace", VRAMSCOPE_LABEL="nightly")  # fmt: skip
        self.assertEqual(0, outcome.status, outcome.stderr)
        report, trace = sorted(pathlib.Path(self.folder, "a/b").iterdir(), key=lambda path: path.suffix)
        self.assertEqual("nightly", json.loads(report.read_text())["process"]["options"]["label"])
        self.assertTrue(trace.name.endswith(".trace"))
        self.assertEqual(0o755, stat.S_IMODE(report.parent.stat().st_mode))

    def test_a_folder_that_cannot_be_made_is_one_line(self):
        pathlib.Path(self.folder, "file").write_text("")
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "file/job", *self.rank_program()])
        self.assertEqual(125, done.returncode)
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertIn("file/job", done.stderr)


class Elsewhere(LauncherCase):
    """A `run` before a launcher of other machines' processes says in one line what to do."""

    def said(self, *words, **variables):
        folder = pathlib.Path(self.folder, "bin")
        folder.mkdir(exist_ok=True)
        program = folder / words[0]
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        environment = self.environment(**variables)
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        done = subprocess.run(["vramscope", "run", "--sim", *words], capture_output=True, text=True, check=False,
                              cwd=self.folder, env=environment, timeout=harness.DEADLINE_S)  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stderr.splitlines()[0]

    def test_ssh(self):
        self.assertIn("put run behind it: ssh HOST vramscope run PROGRAM", self.said("ssh", "node1", "./train"))

    def test_mpirun_on_other_hosts(self):
        behind = "put run behind it: mpirun ... vramscope run PROGRAM"
        self.assertIn(behind, self.said("mpirun", "-H", "node1:4,node2:4", "./train"))
        self.assertIn(behind, self.said("mpirun", "--hostfile", "hosts", "./train"))
        self.assertIn(behind, self.said("mpirun", "./train", SLURM_JOB_NUM_NODES="2"))

    def test_mpirun_on_this_host_alone_needs_nothing(self):
        self.assertNotIn("behind", self.said("mpirun", "-H", "localhost:8", "-n", "8", "./train"))

    def test_batch_systems_and_containers(self):
        self.assertIn("put run into the script", self.said("sbatch", "job.sh"))
        self.assertIn("put run behind it: docker", self.said("docker", "run", "image"))
        self.assertIn("vramscope run ray start", self.said("ray", "job", "submit", "x"))
        self.assertIn("srun ... vramscope run PROGRAM", self.said("srun", "./train", SLURM_JOB_NUM_NODES="2"))


if __name__ == "__main__":
    harness.main()
