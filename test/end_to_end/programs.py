"""Starts programs natively or under the library, on the simulated device or a real one.

All that runs programs from Python goes through here: the end-to-end tests, the test of the command
line tool and gpu-check. Needs python3 and a build folder, which may come from another machine.
"""
# SPDX-License-Identifier: Apache-2.0
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple

MODES = ("cache", "cache at-reuse", "dedicated", "observe", "off")


SEPARATORS = " :;"  # of LD_PRELOAD and LD_LIBRARY_PATH, which know no quotes (ld.so(8))


def without_separators(folder):
    """A path of the folder in which no separator stands: its own, or a link that lives as long as this process."""
    folder = pathlib.Path(folder).resolve()
    if not set(SEPARATORS) & set(str(folder)):
        return folder
    for place in (tempfile.gettempdir(), "/dev/shm", "/tmp"):
        if not set(SEPARATORS) & set(place) and os.access(place, os.W_OK | os.X_OK):
            own = tempfile.mkdtemp(prefix="vramscope-link-", dir=place)
            os.chmod(own, 0o755)  # tests start programs as other users, too
            atexit.register(remove_by, os.getpid(), own)
            link = pathlib.Path(own, "folder")
            link.symlink_to(folder)
            return link
    raise SystemExit(f"{folder} has one of \"{SEPARATORS}\" in it, and there is no folder for a link to it")


def preloadable(library):
    library = pathlib.Path(library)
    return without_separators(library.parent) / library.name


def remove_by(pid, folder):
    """By the process that made it, not by its children."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


class Installation:
    """What of a build folder programs need."""

    def __init__(self, build):
        self.build = without_separators(build)
        self.library = self.build / "interpose/libvramscope.so"
        self.simulator = self.build / "test/simulator"
        self.programs = self.build / "test/programs"
        self.recount = self.build / "test/recount/recount"
        self.tool = self.build / "reporter/view/vramscope"

    def variables(self, mode=None, simulated=True):
        """Those of the environment that put a program on the simulated device and, with a mode,
        under the library. A mode may have a way of reuse behind it: "cache at-reuse"."""
        result = {"LD_LIBRARY_PATH": str(self.simulator)} if simulated else {}
        if mode:
            result["LD_PRELOAD"] = str(self.library)
            result["VRAMSCOPE_MODE"], *reuse = mode.split()
            if reuse:
                result["VRAMSCOPE_REUSE"] = reuse[0]
        return result


class Outcome(NamedTuple):
    """What a program did. A negative status: ended by that signal."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    reports: list

    def behaviour(self):
        return self.status, self.stdout

    def first_line(self):
        lines = (self.stdout + self.stderr).strip().splitlines()
        return lines[0] if lines else ""


def start(command, variables, folder, **how):
    """A running program, the first of a session: its children can be ended with it."""
    return subprocess.Popen(
        [str(word) for word in command], cwd=folder, env=variables, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True, **how,
    )  # fmt: skip


def end(process):
    """Ends it and its children if it still runs, and waits."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def finish(command, variables, folder, limit_s, stdin=None, text=True, **how):
    """The finished process, with output, or TimeoutExpired: then nothing of it is left."""
    source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    process = start(command, variables, folder, stdin=source, text=text, **how)
    try:
        output, errors = process.communicate(stdin, timeout=limit_s)
    except BaseException:
        end(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run(command, variables, folder, limit_s, unreadable=None, **how):
    """The Outcome, with the reports that lie in the folder afterwards."""
    begin = time.monotonic()
    done = finish(command, variables, folder, limit_s, **how)
    seconds = time.monotonic() - begin
    reports = read_reports(folder, unreadable)
    return Outcome(done.returncode, done.stdout, done.stderr, seconds, reports)


def read_reports(folder, unreadable=None):
    """All reports in the folder, in the order of processes and sequence numbers. What is no JSON
    becomes what `unreadable` makes of path and error; without it, it is an error here."""
    reports = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            reports.append(json.loads(path.read_text()))
        except ValueError as error:
            if unreadable is None:
                raise
            reports.append(unreadable(path, error))
    return sorted(reports, key=order)


def order(report):
    return report.get("process", {}).get("pid", 0), report.get("sequence", 0)
