"""Runs programs natively and in each mode, within a budget, and says what is different."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import programs  # of test/end_to_end, beside the victims
from plan import NATIVE, ROOT

MISSING = 77  # a script's status where its package is not installed
OVER = "the time for the whole run is over"
KEPT = 2000  # characters of output that the JSON file keeps of a failure


class Budget:
    """Seconds that are left for everything."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


class Runner:
    def __init__(self, build, simulated, budget, kept=None):
        self.installation = programs.Installation(build)
        self.build = self.installation.build
        self.library = self.installation.library
        self.simulated = simulated
        self.budget = budget
        self.kept = kept  # results.Folder, or None: only the document
        self.is_complete = True  # until there was no time for a program

    def command(self, words):
        if words[0].endswith(".py"):
            return [sys.executable, str(ROOT / "test/programs" / words[0]), *words[1:]]
        return [str(self.installation.programs / words[0]), *words[1:]]

    def is_built(self, words):
        return pathlib.Path(self.command(words)[0]).exists()

    def environment(self, mode, folder, variables=()):
        result = {k: v for k, v in os.environ.items() if not k.startswith("VRAMSCOPE_")}
        result.update(self.installation.variables(None if mode == NATIVE else mode, self.simulated))
        if mode != NATIVE:
            result["VRAMSCOPE_OUTPUT"] = f"{folder}/%e.%p.json"
        return {**result, **dict(variables)}

    def run(self, words, mode, limit_s, variables=(), under=()):
        """(Outcome, "") or (None, the reason in words); `under`: the words of a tool that starts it."""
        left_s = self.budget.left()
        if left_s <= 1:
            self.is_complete = False
            return None, OVER
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
            try:
                done = programs.run(
                    [*under, *self.command(words)], self.environment(mode, folder, variables), folder,
                    min(limit_s, left_s), unreadable, errors="replace",
                )  # fmt: skip
                if self.kept:
                    self.kept.add(words, mode, variables, done, folder)
                return done, ""
            except OSError as error:
                return None, f"cannot run it: {error.strerror}"
            except subprocess.TimeoutExpired:
                if limit_s <= left_s:
                    return None, f"did not end within {limit_s:.0f} s"
                self.is_complete = False
                return None, OVER

    def modes(self, candidates):
        """Those that the library accepts: it complains about others when CUDA starts."""
        known = []
        for mode in candidates:
            done, _ = self.run(("linked",), mode, 30)
            if done is None or "vramscope: " not in done.stderr:
                known.append(mode)
        return known

    def why_not(self, program):
        """Why the program cannot run here, or ""."""
        if program.device not in ("any", "sim" if self.simulated else "gpu"):
            return f"needs the {program.device} device"
        return "" if self.is_built(program.words) else "not in this build folder"

    def compare(self, program, modes, by_design):
        """Rows of one program: native first, then each mode that is meant for it."""
        modes = [mode for mode in modes if not program.modes or mode in program.modes]
        if reason := self.why_not(program):
            return [row(program.name, "all", "skipped", reason)]
        native, reason = self.run(program.words, NATIVE, program.limit_s, program.variables)
        if native is None:
            return [row(program.name, NATIVE, verdict_of(reason), reason)]
        if native.status == MISSING:
            return [row(program.name, "all", "skipped", native.first_line())]
        note = native.first_line() if native.status else ""
        rows = [row(program.name, NATIVE, "ran", note, status=native.status, seconds=native.seconds,
                    memory=said_memory(native))]  # fmt: skip
        for mode in modes:
            profiled, reason = self.run(program.words, mode, program.limit_s, program.variables)
            rows.append(self.judge(program, mode, by_design, native, profiled, reason))
        return rows

    def judge(self, program, mode, by_design, native, profiled, reason):
        what = program.name
        if profiled is None:
            return row(what, mode, verdict_of(reason), reason)
        numbers = {
            "status": profiled.status,
            "seconds": profiled.seconds,
            "reports": len(profiled.reports),
            "memory": reported_memory(profiled.reports),
            "exports": exporting_calls(profiled.reports),
        }
        difference = first_difference(native, profiled)
        victim = (program.words, dict(program.variables).get("VRAMSCOPE_SIM", ""))
        if difference and by_design(victim, mode):
            return row(what, mode, "by design", difference, **numbers)
        difference = difference or implausible(profiled.reports, self.installation.recount)
        if not difference:
            return row(what, mode, "same", "", **numbers)
        kept = {"stdout": profiled.stdout[-KEPT:], "stderr": profiled.stderr[-KEPT:]}
        return row(what, mode, "FAILED", difference, **numbers, **kept)


def row(what, mode, verdict, note="", **numbers):
    return {"what": what, "mode": mode, "verdict": verdict, "note": note, **numbers}


def verdict_of(reason):
    """Of a program that gave no answer."""
    return "skipped" if reason == OVER else "FAILED"


def unreadable(path, error):
    return {"unreadable": f"{path.name}: {error}"}


def first_difference(native, profiled):
    if native.status != profiled.status:
        last = profiled.stderr.strip()[-120:]
        return f"status {profiled.status} instead of {native.status} {last}"
    before, after = native.stdout.splitlines(), profiled.stdout.splitlines()
    for one, other in zip(before, after):
        if one != other:
            return f"'{other}' instead of '{one}'"
    return "" if len(before) == len(after) else f"{len(after)} lines instead of {len(before)}"


def implausible(reports, recount_program):
    """What is wrong with the numbers of the reports, "" when they add up."""
    import recount  # of test/end_to_end, beside the victims

    for report in reports:
        if "unreadable" in report:
            return f"report {report['unreadable']}"
        for problem in recount.problems(report, recount_program, amid_calls=True):
            return f"report: {problem}"
        for device in report["devices"]:
            stats, total = device["memory_stats"], device["total_bytes"]
            held = stats.get("reserved_bytes.all.peak", 0)
            if total and held > total:
                return f"report: {held} bytes reserved of {total}"
    return ""


def said_memory(run):
    """What a script itself printed about its memory: lines "WHEN KEY NUMBER"."""
    lines = [line.split() for line in run.stdout.splitlines()]
    return {
        f"{words[0]} {words[1]}": int(words[2])
        for words in lines
        if len(words) == 3 and "." in words[1] and words[2].isdigit()
    }


def reported_memory(reports):
    """Of the report with the most memory: our statistics under the keys that scripts print."""
    best = {}
    for report in reports:
        for device in report.get("devices", []):
            stats = device["memory_stats"]
            if stats.get("reserved_bytes.all.peak", 0) >= best.get("reserved_bytes.all.peak", 0):
                best = {key: value for key, value in stats.items() if ".all." in key}
    return best


def exporting_calls(reports):
    """Who exported or asked for handles: function -> calls."""
    calls = {}
    for report in reports:
        for function in report.get("functions", []):
            name = function["name"]
            if function["calls"] and ("Ipc" in name or "Handle" in name or "SetAttribute" in name):
                calls[name] = calls.get(name, 0) + function["calls"]
    return calls
