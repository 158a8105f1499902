"""What the tests in Python share: programs on the simulated device, and cases with their names.

Every test file here is a plain unittest; main() prints one TAP line a case, the method's name read
as a sentence, so that each case is counted and each skip says why.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import programs
from programs import MODES, read_reports  # noqa: F401 - of the harness, for the tests

INSTALLATION = programs.Installation(sys.argv[1] if len(sys.argv) > 1 else "build")
BUILD = INSTALLATION.build
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = INSTALLATION.library
SIMULATOR = INSTALLATION.simulator
PROGRAMS = INSTALLATION.programs
TOOL = INSTALLATION.tool
# What an ELF file says of the machine that it is for, at byte 18, what we call that, and the loaders
# of its programs: of glibc and of musl.
MACHINES = {
    b"\x3e": ("x86-64", b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-musl-x86_64.so.1"),
    b"\xb7": ("AArch64", b"/lib/ld-linux-aarch64.so.1", b"/lib/ld-musl-aarch64.so.1"),
}
with open("/bin/true", "rb") as own_program:
    OWN_MACHINE = own_program.read(19)[18:]
OTHER_MACHINE = next(machine for machine in MACHINES if machine != OWN_MACHINE)
MACHINE, LOADER, MUSL_LOADER = MACHINES[OWN_MACHINE]
# From one part of a live file to the next (allocator/base/live_memory.h, whose pages are larger on
# AArch64).
LIVE_PART_BYTES = (1 << 32) + 37 * (65536 if MACHINE == "AArch64" else 4096)
# How programs in Python begin that ask the driver for memory.
ASKS_DRIVER = """
import ctypes, os, sys, time
driver = ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_uint64()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
"""
TIME_LIMITS = int(os.environ.get("TIME_LIMITS", "1"))  # times what they are on a machine: an emulated one is slower
DEADLINE_S = 120 * TIME_LIMITS  # of one program; two busy cores and unlucky neighbours included
# Cases split command lines and compare paths as they are shown, where others would be in quotes.
if set(programs.SEPARATORS) & set(tempfile.gettempdir()):
    tempfile.tempdir = "/tmp"
# Modes of files are those of the usual mask, whoever runs the tests.
os.umask(0o022)
# Programs would inherit what started us ignores, as nohup and a shell's `&` do.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


def program(name):
    """The path of a victim, or a skip when this machine could not build it."""
    path = PROGRAMS / name
    if not path.exists():
        raise unittest.SkipTest(f"{name} was not built (no nvcc here)")
    if name in ("last_error", "train"):
        runtime()
    return str(path)


def runtime():
    """The simulated shared runtime; NVIDIA's own refuses the simulated driver."""
    paths = sorted(path for path in SIMULATOR.glob("libcudart.so.*[0-9]") if path.is_file())
    if not paths:
        raise unittest.SkipTest("the simulated runtime was not built")
    return str(paths[-1])


def installed(name):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


def environment(mode=None, simulator="", **variables):
    """A small environment with the simulated driver in it; `mode` also preloads the library. What
    other tests leave in memory is of no interest."""
    result = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8", "VRAMSCOPE_LEFT_OVERS": "off"}
    result.update(INSTALLATION.variables(mode))
    if simulator:
        result["VRAMSCOPE_SIM"] = simulator
    return {**result, **variables}


def wait_for_reports(folder, count):
    """Reports appear whole or not at all, so seeing their names is enough."""
    end = time.monotonic() + DEADLINE_S
    while len(list(pathlib.Path(folder).glob("*.json"))) < count:
        if time.monotonic() > end:
            raise AssertionError(f"no {count} reports in {folder}: {os.listdir(folder)}")
        time.sleep(0.01)
    return read_reports(folder)


class Case(unittest.TestCase):
    """A test with an empty folder of its own, in which the programs run."""

    maxDiff = 4000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vramscope-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    @property
    def nowhere(self):
        """A folder that is not there: no other can be known to be absent on every machine."""
        return f"{self.folder}/nowhere"

    def run_program(self, command, mode=None, simulator="", folder=None, stdin=None, text=True,
                    **variables):  # fmt: skip
        """The Outcome, in a new folder unless one is given."""
        folder = folder or tempfile.mkdtemp(dir=self.folder)
        return programs.run(
            command, environment(mode, simulator, **variables), folder, DEADLINE_S, stdin=stdin,
            text=text,
        )  # fmt: skip

    def start_program(self, command, mode=None, **variables):
        """A running program with pipes; its reports appear in self.folder."""
        process = programs.start(
            command, environment(mode, **variables), self.folder, stdin=subprocess.PIPE, text=True
        )
        self.addCleanup(programs.end, process)
        return process

    def start_in_container(self, program):
        """A recorded victim in a container of its own, past its first line, with its number here."""
        inside = "mount -t tmpfs tmpfs /dev/shm && exec " + program
        command = ["unshare", "-Urmpf", "--mount-proc", "sh", "-c", inside]
        if subprocess.run([*command[:-1], "mount -t tmpfs tmpfs /dev/shm"], capture_output=True, check=False).returncode:
            self.skipTest("no container can be made here")
        process = self.start_program(command, "cache")
        self.assertIn("ready", process.stdout.readline())
        (pid,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        return process, pid

    def run_tool(self, *arguments, stdin=None, **variables):
        return programs.finish(
            [TOOL, *arguments], environment(**variables), self.folder, DEADLINE_S, stdin=stdin
        )

    def wait_until(self, is_so, pause=0.01):
        end = time.monotonic() + DEADLINE_S
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(pause)

    def only_report(self, outcome):
        """Beside those that were written because memory ran out."""
        reports = [report for report in outcome.reports if report["trigger"] != "oom"]
        self.assertEqual(1, len(reports), outcome.stderr)
        return reports[0]


class TapResult(unittest.TestResult):
    """One line a case, as it ends."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def line(self, case, verdict, directive="", details=""):
        self.number += 1
        name = case.id().split(".")[-1].removeprefix("test_").replace("_", " ").replace("#", "")
        print(f"{verdict} {self.number} {name}{directive}")
        for detail in details.splitlines():
            print(f"# {detail}")
        sys.stdout.flush()

    def addSuccess(self, test):
        self.line(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, "ok", f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, "not ok", details=self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            details = self._exc_info_to_string(err, test)
            self.line(test, "not ok", details=f"{subtest._subDescription()}\n{details}")

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, "not ok", details=self._exc_info_to_string(err, test))


LIVE_FILES = pathlib.Path(f"/dev/shm/vramscope-{os.geteuid()}")


def remove_live_files(program):
    """Those of all processes of a program with this name, which have ended."""
    for path in LIVE_FILES.glob(f"{program}.*"):
        path.unlink(missing_ok=True)


def clear_live_files():
    """Removes what killed victims left in memory, of earlier tests too: nobody recovers it."""
    for path in LIVE_FILES.glob("*.live*"):
        try:
            pid = path.name.split(".live")[0].split(".")[-1]
            if not os.path.exists(f"/proc/{pid}") and time.time() - path.stat().st_mtime > DEADLINE_S:
                path.unlink()
        except OSError:
            pass  # another test was faster


def main():
    clear_live_files()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = TapResult()
    names = sys.argv[2:]  # words of a case's name, to run only those
    for case in [case for group in suite for case in group]:
        if all(word in case.id() for word in names):
            case.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)
