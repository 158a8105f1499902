"""Runs frameworks of the Python registry on the simulated device, natively and in three modes, and compares.

check_frameworks.py BUILD --folder FOLDER [--readme FILE] [--seconds N] [--only WORD] [--list]
Installs each framework into FOLDER first, once, and says before how much it fetches. Prints a line for each
script, SKIPPED with the reason for what cannot be had, and the table, which it also writes to the page. Exits
with 1 when something differed.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import framework_list
import results

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test/end_to_end"))
import programs  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("cache", "dedicated", "observe")
BEGIN = "<!-- scripts/check --frameworks writes this table -->\n"
END = "<!-- end of the frameworks -->\n"
LIMIT_S = 240  # of one run
ROOM = 3  # times as much as is fetched, on the disk
REFUSED = 125  # of a program that the simulated device cannot serve
HEADER = "| Framework | Version | What ran | What was compared | Natively | " + " | ".join(MODES) + " | Not simulated |\n"


class Run(NamedTuple):
    status: int
    output: str
    errors: str
    figures: dict
    problems: list

    def behaviour(self):
        taken = [size for _, size in self.figures.get("allocations", [])]
        return {"exit status": self.status, "output": self.output, "counters": self.figures.get("counters"), "sizes": taken}


def install(framework, folder):
    """The framework's Python, or the reason why there is none."""
    python, note = folder / "bin/python", folder / "installed"
    wanted = " ".join(framework.packages)
    if note.exists() and wanted in note.read_text().splitlines():
        return python, ""
    free = shutil.disk_usage(folder.parent).free / 1e9
    if not python.exists() and free < framework.gigabytes * ROOM:
        return None, f"it takes {framework.gigabytes * ROOM:.0f} GB of disk, and {free:.0f} are free"
    print(f"{framework.name}: pip installs {wanted} (about {framework.gigabytes} GB, where it has none of it)", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, text=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *framework.packages], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr + error.stdout).splitlines() if line.startswith("ERROR")]
        return None, said[-1] if said else f"pip ended with {error.returncode}"
    with note.open("a") as file:
        file.write(wanted + "\n")
    return python, ""


def file_wrapper():
    """A command that runs another where /dev has nvidiactl; [] where it is there; None where that cannot be done."""
    if any(os.path.exists(f"/dev/nvidia{name}") for name in ("0", "ctl")):
        return []
    wrapper = [str(HERE / "with_device_file.sh")]
    done = subprocess.run([*wrapper, "test", "-e", "/dev/nvidiactl"], capture_output=True)
    return wrapper if done.returncode == 0 else None


class Bench:
    """Where the scripts run: each in a folder of its own, with a home that is empty."""

    def __init__(self, build, folder, end):
        self.installation = programs.Installation(build)
        self.end = end  # on the monotonic clock: no run lasts longer
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runs-", dir=folder))

    def run(self, python, script, mode, wrapper, home):
        """Natively: the simulated device alone, as `run --sim` would put it."""
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        settings = script.settings.format(work=work)
        if mode is None:
            settings = ",".join(filter(None, [settings, "says_missing=1"]))
        environment = {
            "PATH": f"{python.parent}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "VRAMSCOPE_SIM": settings,
            "FRAMEWORK_FIGURES": str(work / "figures"), "PYTHONDONTWRITEBYTECODE": "1", **script.variables,
        }  # fmt: skip
        command = [python, HERE / f"frameworks/{script.file}.py"]
        if mode is None:
            environment["LD_LIBRARY_PATH"] = str(self.installation.simulator)
            environment["LD_AUDIT"] = str(self.installation.simulator / "libvramscope_redirect.so")
        else:
            command = [self.installation.tool, "run", "--sim", "--mode", mode, "--output", "%p.json",
                       "--trace", "%p.trace", "--", *command]  # fmt: skip
        limit = max(1, min(LIMIT_S, self.end - time.monotonic()))
        try:
            outcome = programs.run([*wrapper, *command], environment, work, limit)
        except subprocess.TimeoutExpired:
            return Run(-1, "", "", {}, [f"did not end within {limit:.0f} s"])
        figures = json.loads((work / "figures").read_text()) if (work / "figures").exists() else {}
        problems = [] if figures or outcome.status else ["it left no figures"]
        if mode is not None and not problems:
            problems = self.judge(outcome.reports, [self.rows(path) for path in sorted(work.glob("*.trace"))], figures)
        shutil.rmtree(work)
        return Run(outcome.status, outcome.stdout, outcome.stderr, figures, problems)

    def rows(self, trace):
        """Of device memory that came and went, in order: what, address, bytes."""
        text = subprocess.run([self.installation.tool, "trace", "--csv", trace], capture_output=True, text=True)
        return [(row["event"], int(row["address"]), int(row["bytes"])) for row in csv.DictReader(io.StringIO(text.stdout))
                if row["event"] in ("allocation", "free") and row["failed"] == "no"]  # fmt: skip

    def judge(self, reports, traces, figures):
        import recount

        lines = [line for report in reports for line in recount.problems(report, self.installation.recount, amid_calls=True)]
        if not reports:
            return ["no report"]
        lacks = [missing(rows, figures["allocations"]) for rows in traces]
        if figures["allocations"] and all(lacks):
            lines.append(f"no trace has {min(lacks, key=len)[0]} of {len(figures['allocations'])} in its place")
        for address, size in figures["used"]:
            if not any(lies_in_one(rows, address, size) for rows in traces):
                lines.append(f"{size} bytes at {address:#x} lie in no allocation")
        return lines


def missing(rows, allocations):
    """What the framework took that the trace has not, in this order; an address may be unknown."""
    place = iter(rows)
    for number, (address, size) in enumerate(allocations):
        if not any(event == "allocation" and at in (address, at if address is None else address) and bytes_ == size
                   for event, at, bytes_ in place):  # fmt: skip
            return allocations[number:]
    return []


def lies_in_one(rows, address, size):
    return any(event == "allocation" and at <= address and address + size <= at + bytes_ for event, at, bytes_ in rows)


def differences(native, run):
    theirs, ours = native.behaviour(), run.behaviour()
    for part, value in theirs.items():
        if ours[part] != value:
            yield f"{part}: {ours[part]}, natively {value}"


def not_simulated(run):
    return re.findall(r"^vramscope: \S+: (\S+) is not simulated$", run.errors, re.M)


def check_script(bench, framework, script, python, wrapper):
    """The modes in which something is wrong, what was asked in vain, and why it is skipped; prints all of it."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=bench.folder))
    native = bench.run(python, script, None, wrapper, home)
    if native.status == REFUSED:
        return {}, [], native.errors.strip().splitlines()[-1].split(": ", 2)[-1]
    wrong = {}
    if native.status != 0 or native.problems:
        wrong["native"] = [*native.problems, f"it ended with {native.status}", *native.errors.splitlines()[-8:]]
    for mode in () if wrong else MODES:
        run = bench.run(python, script, mode, wrapper, home)
        lines = [*differences(native, run), *run.problems]
        if lines:
            wrong[mode] = lines + (run.errors.splitlines()[-8:] if run.status else [])
    print(f"{'not ok' if wrong else 'ok'} {framework.name}: {script.what}", flush=True)
    for mode, lines in wrong.items():
        for line in lines[:12]:
            print(f"#   {mode}: {line[:400]}", flush=True)
    return wrong, not_simulated(native), ""


def version_of(python, framework):
    asks = f"import importlib.metadata; print(importlib.metadata.version({framework.version_of!r}))"
    return subprocess.run([python, "-c", asks], capture_output=True, text=True).stdout.strip() or "?"


def row(framework, version, ran, verdicts, asked):
    cells = []
    for mode in ("native", *MODES):
        bad = [script.what for script, wrong in zip(ran, verdicts) if mode in wrong]
        never = [script for script, wrong in zip(ran, verdicts) if "native" in wrong]
        if mode != "native" and len(never) == len(ran):
            cells.append("-")
        else:
            cells.append(f"{len(bad)} of {len(ran)}: {', '.join(bad)}" if bad else "runs" if mode == "native" else "same")
    what = "; ".join(script.what for script in ran)
    names = ", ".join(f"`{name}`" for name in sorted(set(asked))[:4]) or "-"
    return f"| {framework.name} | {version} | {what} | {framework.compared} | " + " | ".join(cells) + f" | {names} |"


def skipped_row(framework, version, reason):
    return f"| {framework.name} | {version} | - | - | SKIPPED: {reason} |" + " - |" * (len(MODES) + 1)


def table(rows):
    return HEADER + "|---" * (HEADER.count("|") - 1) + "|\n" + "\n".join(rows) + "\n"


def write(path, rows):
    """Rows of frameworks that were not asked for stay as they are."""
    results.write_rows(path, BEGIN, END, "Framework", table, rows)


def check_framework(bench, framework, folder):
    """Its row, how many scripts differ, and whether it was skipped. None for a row: what stands there stays."""

    def skip(reason, version="?"):
        print(f"SKIPPED {framework.name}: {reason}", flush=True)
        return skipped_row(framework, version, reason), 0, True

    if time.monotonic() > bench.end:
        return None, skip("the time is over")[1], True
    wrapper = file_wrapper() if framework.device_file else []
    if wrapper is None:
        return skip("it looks for /dev/nvidiactl or /dev/nvidia0 before it asks the driver, and nothing can be mounted here")
    python, reason = install(framework, folder / framework.folder)
    if reason:
        return skip(reason)
    version = version_of(python, framework)
    ran, verdicts, asked = [], [], []
    for script in framework.scripts:
        if time.monotonic() > bench.end:
            print(f"SKIPPED {framework.name}: {script.what}: the time is over")
            continue
        wrong, names, reason = check_script(bench, framework, script, python, wrapper)
        if reason:
            return skip(reason, version)
        ran.append(script)
        verdicts.append(wrong)
        asked += names
    return row(framework, version, ran, verdicts, asked), sum(bool(wrong) for wrong in verdicts), False


def parsed(description):
    """The arguments of a check that installs others' programs into a folder of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=1740)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    arguments = parsed(__doc__)
    chosen = [one for one in framework_list.FRAMEWORKS if arguments.only.lower() in one.name.lower()]
    if arguments.list:
        for one in chosen:
            print(f"{one.name}: {' '.join(one.packages)}, about {one.gigabytes} GB; {len(one.scripts)} scripts")
        return 0
    build, folder = arguments.build.resolve(), arguments.folder.resolve()
    sys.argv[1:] = [str(build)]  # for the harness that the judge shares
    folder.mkdir(parents=True, exist_ok=True)
    fetched = {one.folder: one.gigabytes for one in chosen if not (folder / one.folder / "installed").exists()}
    if fetched:
        print(f"{len(fetched)} folders to fill in {folder}: pip fetches about {sum(fetched.values()):.1f} GB", flush=True)
    bench = Bench(build, folder, time.monotonic() + arguments.seconds)
    rows, failed, skipped = [], 0, 0
    for framework in chosen:
        line, wrong, is_skipped = check_framework(bench, framework, folder)
        rows += [line] if line else []
        failed += wrong
        skipped += is_skipped
    shutil.rmtree(bench.folder, ignore_errors=True)
    print(table(rows), end="")
    if arguments.readme and rows:
        write(arguments.readme, rows)
    print(f"{len(chosen) - skipped} frameworks, {failed} scripts differ, {skipped} frameworks skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
