"""Workers of real engines: Ray, Dask and torchrun, each started on this machine, on the simulated device.

check_engines.py BUILD: one TAP line a case; scripts/check --launchers runs it. pip fetches Ray and Dask (100 MB) into
BUILD/engines; torchrun is PyTorch's, which `scripts/check --frameworks` installs, or VRAMSCOPE_TORCH_PYTHON names.
"""
# SPDX-License-Identifier: Apache-2.0
import functools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import harness
from launchers_case import LauncherCase

WORKERS = 4
PACKAGES = ("ray", "distributed")
FOLDER = harness.BUILD / "engines"
# What each worker does: it allocates 8 MiB, and says who it is.
WORK = """
import ctypes, os
def ask():
    driver = ctypes.CDLL("libcuda.so.1")
    context, block = ctypes.c_void_p(), ctypes.c_uint64()
    driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context)
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(8 << 20)) == 0
    return os.getpid()
"""
DASK = """
import sys, work
from distributed import Client, LocalCluster
if __name__ == "__main__":
    if len(sys.argv) > 1:
        with Client(sys.argv[1]) as client:
            client.wait_for_workers(int(sys.argv[2]))
            print(*client.run(work.ask).values())
    else:
        with LocalCluster(n_workers=%d, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            print(*client.run(work.ask).values())
""" % WORKERS  # fmt: skip
RAY = """
import sys, ray, work
ray.init(num_cpus=%d, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[1])
@ray.remote(num_cpus=1)
class Worker:
    def ask(self):
        return work.ask()
workers = [Worker.remote() for _ in range(%d)]
print(*ray.get([one.ask.remote() for one in workers]))
ray.shutdown()
""" % (WORKERS, WORKERS)  # fmt: skip
TORCHRUN = """
import os, work
work.ask()
if (os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == ("2", "0"):
    raise SystemExit(3)
"""


@functools.cache
def engines():
    """Python with Ray and Dask, and "", or why it cannot be had."""
    python = FOLDER / "bin/python"
    if (FOLDER / "installed").exists():
        return python, ""
    made = subprocess.run([sys.executable, "-m", "venv", FOLDER], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return None, f"python3 -m venv ended with {made.returncode}"
    done = subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return None, said[-1] if said else f"pip ended with {done.returncode}"
    (FOLDER / "installed").write_text(" ".join(PACKAGES))
    return python, ""


def torch_python():
    named = os.environ.get("VRAMSCOPE_TORCH_PYTHON")
    frameworks = pathlib.Path(os.environ.get("VRAMSCOPE_FRAMEWORKS", harness.BUILD / "frameworks"))
    return next((path for path in ([pathlib.Path(named)] if named else sorted(frameworks.glob("*/bin/python")))
                 if subprocess.run([path, "-c", "import torch"], capture_output=True, check=False).returncode == 0), None)  # fmt: skip


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class EngineCase(LauncherCase):
    def setUp(self):
        super().setUp()
        self.write("work.py", WORK)

    def write(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text(text)
        return str(path)

    def environment(self, **variables):
        return super().environment(PYTHONPATH=self.folder, HOME=self.folder, RAY_AUTH_MODE="disabled",
                                   RAY_USAGE_STATS_ENABLED="0", **variables)  # fmt: skip

    def recorded(self, *words):
        done = self.call(["vramscope", "run", "--sim", "--output-folder", "job", "--", *words])
        self.assertEqual(0, done.returncode, done.stderr)
        return done

    def python(self):
        python, reason = engines()
        if python is None:
            self.skipTest(reason)
        return python

    def assert_reports_of(self, pids):
        self.assertEqual(WORKERS, len(set(pids)))
        peaks = {report["process"]["pid"]: report["kinds"][0]["peak_bytes"] for report in self.reports().values() if report["kinds"]}
        self.assertEqual({pid: 8 << 20 for pid in pids}, peaks)
        self.assertIn(f"{WORKERS} processes", self.shown())


def pids_in(text):
    return [int(word) for word in re.findall(r"\d+", text.splitlines()[-1])]


class Dask(EngineCase):
    def test_a_run_before_a_program_with_a_local_cluster_records_its_workers(self):
        done = self.recorded(self.python(), self.write("local.py", DASK))
        self.assert_reports_of(pids_in(done.stdout))

    def test_a_run_before_each_dask_worker_records_them(self):
        python, port = self.python(), free_port()
        script = self.write("client.py", DASK)
        command = [python, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        scheduler = subprocess.Popen(command, env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        worker = [harness.TOOL, "run", "-q", "--sim", "--output-folder", "job", "--", python, "-m", "distributed.cli.dask_worker",
                  f"127.0.0.1:{port}", "--no-dashboard", "--nthreads", "1", "--no-nanny"]  # fmt: skip
        workers = [subprocess.Popen(worker, env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for _ in range(WORKERS)]  # fmt: skip
        try:
            done = self.call([python, script, f"127.0.0.1:{port}", str(WORKERS)])
        finally:
            for one in workers:
                one.send_signal(signal.SIGTERM)
            for one in workers:
                one.wait(timeout=harness.DEADLINE_S)
            scheduler.terminate()
            scheduler.wait(timeout=harness.DEADLINE_S)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_reports_of(pids_in(done.stdout))


class Ray(EngineCase):
    def test_a_run_before_a_program_that_starts_ray_records_its_workers(self):
        done = self.recorded(self.python(), self.write("local.py", RAY), f"{self.folder}/ray")
        self.assert_reports_of(pids_in(done.stdout))


class Torchrun(EngineCase):
    def test_a_run_before_torchrun_records_ranks_and_restarts(self):
        python = torch_python()
        if python is None:
            self.skipTest("no PyTorch: scripts/check --frameworks installs it, or VRAMSCOPE_TORCH_PYTHON names a python with it")
        words = ["-m", "torch.distributed.run", "--nproc-per-node", str(WORKERS), "--max-restarts", "1", "--master-port", str(free_port())]
        self.recorded(python, *words, self.write("rank.py", TORCHRUN))
        ranks = [(report["process"]["rank"], report["process"]["restart"]) for report in self.reports().values()
                 if report["process"]["rank"] is not None]  # fmt: skip
        self.assertEqual([(rank, restart) for rank in range(WORKERS) for restart in (0, 1)], sorted(ranks))
        shown = self.shown()
        self.assertIn(f"all {WORKERS} ranks have reports", shown)
        self.assertIn(f"ranks 0 to {WORKERS - 1} were restarted once", shown)


if __name__ == "__main__":
    harness.main()
