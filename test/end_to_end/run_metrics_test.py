# `run --metrics` serves the metrics of a run, and the program does not notice.
# SPDX-License-Identifier: Apache-2.0
"""run_metrics_test.py BUILD"""
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import urllib.error

import harness
import programs
from serve_case import ServeCase

# Says what a program can see of others: its children, its parent's name, its files, its session.
LOOKS = harness.ASKS_DRIVER + """
driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(5 << 20))
own = os.fork()
if own == 0: os._exit(3)
waited = []
try:
    while True: waited.append(os.waitpid(-1, 0))
except ChildProcessError: pass
print("own", waited == [(own, 3 << 8)], flush=True)
print("parent", open(f"/proc/{os.getppid()}/comm").read().strip(), flush=True)
files = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")]
print("sockets", sum(f.startswith("socket:") for f in files), flush=True)
print("leader", os.getpgrp() == os.getppid() or os.getpgrp() == os.getpid(), os.getsid(0) == os.getppid(), flush=True)
print("masks", [l.split()[1] for l in open("/proc/self/status") if l.startswith(("SigBlk", "SigIgn"))], flush=True)
print("ready", flush=True)
sys.stdin.readline()
sys.exit(7)
"""
PYTHON = "/usr/bin/python3"


class RunMetrics(ServeCase):
    def run_of(self, *words, program=(PYTHON, "-c", LOOKS)):
        """A run under the simulated device that waits; the address that it says is in self.url."""
        command = [harness.TOOL, "run", "--sim", *words, "--", *program]
        run = programs.start(command, harness.environment(), self.folder, stdin=subprocess.PIPE, text=True)
        self.addCleanup(programs.end, run)
        if "--metrics" in words and "-q" not in words:
            line = run.stderr.readline()
            self.assertRegex(line, r"^vramscope: serving http://127\.0\.0\.1:\d+/metrics\n$")
            self.url = line.split()[-1].removesuffix("/metrics")
        said = []
        for line in run.stdout:
            if line == "ready\n":
                break
            said.append(line)
        return run, said

    def finish(self, run):
        output = run.communicate("\n", timeout=harness.DEADLINE_S)
        return run.returncode, output

    def servers_of(self, run):
        """Children of the run that are not the program."""
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="ascii").split()
        return [int(pid) for pid in children if PYTHON not in pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[0]]

    def test_the_run_is_served_while_it_runs(self):
        run, _ = self.run_of("--metrics", "0")
        text = self.scraped_until("vramscope_processes", 1)
        self.assertEqual(5 << 20, self.value(text, "vramscope_requested_bytes", kind="device"))
        self.assertTrue(self.get("/debug/pprof/memory")[1])
        status, (output, said) = self.finish(run)
        self.assertEqual((7, ""), (status, output))
        self.assertIn("vramscope: report in ", said)
        with self.assertRaises((urllib.error.URLError, ConnectionError)):
            self.scrape()

    def test_the_program_sees_what_it_sees_without(self):
        run, said = self.run_of("--metrics", "0")
        self.scraped_until("vramscope_processes", 1)
        without, expected = self.run_of()
        self.assertEqual(expected, said)
        self.assertEqual(["own True\n", "parent vramscope\n"], said[:2])
        self.assertEqual((7, 7), (self.finish(run)[0], self.finish(without)[0]))

    def test_only_the_run_is_served(self):
        other = self.start()
        run, _ = self.run_of("--metrics", "0")
        text = self.scraped_until("vramscope_processes", 1)
        self.assertNotIn(f'pid="{other.pid}"', text)
        other.communicate("quit\n", timeout=harness.DEADLINE_S)
        self.finish(run)

    def test_a_child_that_ends_is_counted(self):
        child = harness.ASKS_DRIVER + "driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20))"
        parent = f"import subprocess, sys, time; time.sleep(0); subprocess.run([sys.executable, '-c', '''{child}; time.sleep(3)''']); print('ready', flush=True); sys.stdin.readline()"
        run, _ = self.run_of("--metrics", "0", program=(PYTHON, "-c", parent))
        self.scraped_until("vramscope_ended_processes_total", 1, how="exit")
        self.assertEqual(0, self.finish(run)[0])

    def test_signals_of_the_group_and_a_killed_run_leave_no_server(self):
        for act in (lambda run: os.killpg(run.pid, signal.SIGTERM), lambda run: run.kill()):
            run, _ = self.run_of("--metrics", "0")
            (server,) = self.servers_of(run)
            act(run)
            run.wait(timeout=harness.DEADLINE_S)
            self.wait_until(lambda: not os.path.exists(f"/proc/{server}"))  # noqa: B023 - called at once
            with contextlib.suppress(ProcessLookupError):  # the program of a killed run goes on
                os.killpg(run.pid, signal.SIGKILL)

    def test_nobody_waits_for_the_server_to_close_a_pipe(self):
        run, _ = self.run_of("--metrics", "0")
        (server,) = self.servers_of(run)
        pipes = {os.readlink(f"/proc/{run.pid}/fd/{number}") for number in (0, 1, 2)}
        files = pathlib.Path(f"/proc/{server}/fd").iterdir()
        self.assertEqual(set(), pipes & {os.readlink(file) for file in files})
        self.finish(run)

    def test_a_run_without_standard_files_is_served(self):
        command = f"exec {harness.TOOL} run --sim --metrics {self.free_port()} -- {harness.program('pools')} <&- >&- 2>&-"
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=harness.environment(), check=False, timeout=harness.DEADLINE_S)
        self.assertEqual(0, done.returncode)

    def free_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def test_a_port_in_use_and_no_address_keep_the_program_from_starting(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            for address, word in ((port, "Address already in use"), ("203.0.113.7:0", "no address of this machine"), ("1:2:3", r"no [ADDRESS:]PORT")):
                done = self.run_tool("run", "--sim", "--metrics", address, "--", "touch", "started")
                self.assertEqual((125, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
                self.assertRegex(done.stderr, re.escape(word))
        self.assertEqual([], os.listdir(self.folder))

    def test_quiet_says_nothing(self):
        run, _ = self.run_of("-q", "--metrics", "0")
        status, output = self.finish(run)
        self.assertEqual((7, ("", "")), (status, output))


if __name__ == "__main__":
    harness.main()
