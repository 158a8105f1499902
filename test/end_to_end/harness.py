"""Runs programs on the simulated device, natively or under the library, and reads their reports.

Every test file here is a plain unittest; main() prints one TAP line a case, the method's name read
as a sentence, so that each case is counted and each skip says why.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = BUILD / "interpose/libvramscope.so"
SIMULATOR = BUILD / "test/simulator"
PROGRAMS = BUILD / "test/programs"
TOOL = BUILD / "reporter/view/vramscope"
MODES = ("cache", "cache at-reuse", "dedicated", "observe", "off")
DEADLINE_S = 120  # of one program; two busy cores and unlucky neighbours included


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
    """A small environment with the simulated driver in it; `mode` also preloads the library.

    A mode may have a way of reuse behind it: "cache at-reuse".
    """
    result = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8"}
    result["LD_LIBRARY_PATH"] = str(SIMULATOR)
    if simulator:
        result["VRAMSCOPE_SIM"] = simulator
    if mode:
        result["LD_PRELOAD"] = str(LIBRARY)
        result["VRAMSCOPE_MODE"], *reuse = mode.split()
        if reuse:
            result["VRAMSCOPE_REUSE"] = reuse[0]
    return {**result, **variables}


class Outcome:
    """What a program did: exit status (negative: ended by that signal), output and reports."""

    def __init__(self, finished, folder):
        self.status = finished.returncode
        self.stdout = finished.stdout
        self.stderr = finished.stderr
        self.reports = read_reports(folder)

    def behaviour(self):
        return self.status, self.stdout


def read_reports(folder):
    """All reports in the folder, in the order of their sequence numbers."""
    reports = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")]
    return sorted(reports, key=lambda report: (report["process"]["pid"], report["sequence"]))


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

    def run_program(self, command, mode=None, simulator="", stdin=None, text=True, **variables):
        folder = tempfile.mkdtemp(dir=self.folder)
        finished = subprocess.run(
            command,
            cwd=folder,
            env=environment(mode, simulator, **variables),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=text,
            timeout=DEADLINE_S,
        )
        return Outcome(finished, folder)

    def start_program(self, command, mode=None, **variables):
        """A running program with pipes; its reports appear in self.folder."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment(mode, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end_program, process)
        return process

    @staticmethod
    def end_program(process):
        process.kill()
        process.communicate()

    def run_tool(self, *arguments, **variables):
        return subprocess.run(
            [str(TOOL), *map(str, arguments)],
            cwd=self.folder,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )

    def only_report(self, outcome):
        self.assertEqual(1, len(outcome.reports), outcome.stderr)
        return outcome.reports[0]


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

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, "not ok", details=self._exc_info_to_string(err, test))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = TapResult()
    names = sys.argv[2:]  # words of a case's name, to run only those
    for case in [case for group in suite for case in group]:
        if all(word in case.id() for word in names):
            case.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)
