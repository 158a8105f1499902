"""Runs programs of others on the simulated device, natively and in three modes, and compares.

check_programs.py BUILD [--readme FILE] [--seconds N] [--only WORD]
Prints a line for each case, SKIPPED with the reason for a program that is missing, and the table,
which it also writes to the page. Exits with 1 when something differed.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import csv
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import cases
import results

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test/end_to_end"))
import programs  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("cache", "dedicated", "observe")
BEGIN, END = "<!-- scripts/check --programs writes this table -->\n", "<!-- end of the programs -->\n"
LIMIT_S = 120  # of one run


class Seen(NamedTuple):
    """What a run left behind, all its processes together."""

    stats: dict  # of device memory, added up over devices
    calls: dict  # by function
    total_bytes: int  # of the first device
    sizes: list  # of each allocation of device memory, from the trace


class Run(NamedTuple):
    status: int
    kept: list
    problems: list
    seen: object = None

    def behaviour(self):
        return self.status, self.kept


def make_stand_ins(folder):
    """The libraries and files that the programs need, in one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bin").mkdir(exist_ok=True)
    shutil.copy(HERE / "stand_in_nvcc.sh", folder / "bin/nvcc")
    for source, names in {
        "nvrtc": ["libnvrtc.so"], "nvcuvid": ["libnvcuvid.so.1"],
        "cublas": ["libcublas.so.12", "libcublas.so.13"],
    }.items():  # fmt: skip
        for name in names:
            version = folder / f"{name}.map"
            version.write_text(f"{name} {{ global: *; }};\n")
            compile_one(HERE / f"stand_in_{source}.c", folder / name, version)
    if not (folder / "tiny.gguf").exists():
        subprocess.run([sys.executable, HERE / "tiny_model.py", folder / "tiny.gguf"], check=True)
    (folder / "words").write_text("hello\nworld\npassword\n")
    (folder / "hash").write_text("5644c44f782be7669ce42ceb6f5105e0\n")  # of none of them


def compile_one(source, library, version):
    command = ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", library,
               f"-Wl,-soname,{library.name}", f"-Wl,--version-script,{version}"]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True)


class Bench:
    """Where the programs run: a folder of their own, in which they keep what they keep."""

    def __init__(self, build, folder, end):
        self.end = end  # on the monotonic clock: no run lasts longer
        self.installation = programs.Installation(build)
        self.folder = folder
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=folder))

    def environment(self, case):
        home = str(self.home)
        return {
            "PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "VRAMSCOPE_SIM": case.settings,
            "XDG_CACHE_HOME": home, "XDG_DATA_HOME": home, "GST_REGISTRY": home + "/registry",
            "LD_LIBRARY_PATH": str(self.folder), **case.variables,
        }  # fmt: skip

    def run(self, case, mode=None):
        """Natively: the simulated device alone, as `run --sim` would put it."""
        work = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        environment, command = self.environment(case), list(case.command)
        if mode is None:
            environment["LD_LIBRARY_PATH"] = f"{self.installation.simulator}:{self.folder}"
        else:
            command = [self.installation.tool, "run", "--sim", "--mode", mode, "--output", "%p.json",
                       "--trace", "%p.trace", "--", *command]  # fmt: skip
        try:
            limit = max(1, min(LIMIT_S, self.end - time.monotonic()))
            outcome = programs.run(command, environment, work, limit)
        except subprocess.TimeoutExpired:
            return Run(-1, [], [f"did not end within {limit:.0f} s"])
        finally:
            traces = [self.sizes(path) for path in sorted(work.glob("*.trace"))]
            shutil.rmtree(work)
        lines = re.sub(r"\r|\x1b\[\w*", "\n", outcome.stdout + outcome.stderr)
        kept = sorted(re.findall(case.keep, lines, re.M))
        if mode is None:
            return Run(outcome.status, kept, [])
        problems = [line for report in outcome.reports for line in self.judge(report)]
        if not outcome.reports:
            return Run(outcome.status, kept, ["no report"])
        seen = self.seen(outcome.reports, sum(traces, []))
        return Run(outcome.status, kept, problems + case.says(kept, seen), seen)

    def sizes(self, trace):
        text = subprocess.run([self.installation.tool, "trace", "--csv", trace], capture_output=True, text=True)
        rows = csv.DictReader(io.StringIO(text.stdout))
        return [int(row["bytes"]) for row in rows
                if row["event"] == "allocation" and row["kind"] == "device" and row["failed"] == "no"]  # fmt: skip

    def judge(self, report):
        import recount

        return recount.problems(report, self.installation.recount, amid_calls=True)

    def seen(self, reports, sizes):
        stats, calls = {}, {}
        for report in reports:
            for device in report["devices"]:
                for key, value in device["memory_stats"].items():
                    stats[key] = stats.get(key, 0) + value
            for function in report["functions"]:
                calls[function["name"]] = calls.get(function["name"], 0) + function["calls"]
        totals = [device["total_bytes"] for report in reports for device in report["devices"]]
        return Seen(stats, calls, max(totals, default=0), sizes)


def differences(native, run):
    if run.status != native.status:
        yield f"ended with {run.status}, natively with {native.status}"
    for text in sorted(set(run.kept) ^ set(native.kept)):
        yield f"only {'natively' if text in native.kept else 'here'}: {text}"


def allocated(run):
    keys = ("allocation.all.allocated", "requested_bytes.all.allocated")
    return run.seen and [run.seen.stats.get(key, 0) for key in keys]


def check_case(bench, program, case):
    """The modes in which something is wrong, and prints what."""
    native = bench.run(case)
    wrong = {}
    if not native.kept:
        wrong["native"] = [f"nothing of its output is compared; it ended with {native.status}"]
    runs = {mode: bench.run(case, mode) for mode in MODES}
    for mode, run in runs.items():
        lines = [*differences(native, run), *run.problems]
        if case.repeatable and allocated(run) != allocated(runs["observe"]):
            lines.append(f"allocated {allocated(run)}, in observe {allocated(runs['observe'])}")
        if lines:
            wrong[mode] = lines
    print(f"{'not ok' if wrong else 'ok'} {program.name}: {case.name} (exit status {native.status})", flush=True)
    for mode, lines in wrong.items():
        for line in lines[:10]:
            print(f"#   {mode}: {line}")
    return wrong


def version_of(program):
    text = subprocess.run(program.version, capture_output=True, text=True).stdout
    found = re.search(r"\d+\.\d+\.\d+", text)
    return found[0] if found else "?"


def table(rows):
    lines = ["| Program | Version | What it does | Natively | " + " | ".join(MODES) + " |",
             "|---|---|---|---|" + "---|" * len(MODES)]  # fmt: skip
    return "\n".join(lines + rows) + "\n"


def row(program, verdicts):
    cells = []
    for mode in ("native", *MODES):
        bad = sum(mode in wrong for wrong in verdicts)
        cells.append(f"{bad} of {len(verdicts)} differ" if bad else "runs" if mode == "native" else "same")
    what = "; ".join(case.name for case in program.cases)
    return f"| {program.name} | {version_of(program)} | {what} | " + " | ".join(cells) + " |"


def write(path, rows):
    """Rows of programs that are not here stay as they are."""
    results.write_rows(path, BEGIN, END, "Program", table, rows)


def why_not(program, end):
    """The reason for which a program is skipped, or nothing."""
    if not shutil.which(program.tool):
        return f"{program.tool} is not installed"
    return program.why_not() or ("the time is over" if time.monotonic() > end else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=840)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    build = arguments.build.resolve()
    sys.argv[1:] = [str(build)]  # for the harness that the judge shares
    folder = build / "real_programs"
    make_stand_ins(folder)
    bench = Bench(build, folder, end)
    rows, failed, skipped = [], 0, 0
    for program in cases.programs(folder, folder / "node_modules"):
        if arguments.only.lower() not in program.name.lower():
            continue
        reason = why_not(program, end)
        if reason:
            print(f"SKIPPED {program.name}: {reason}")
            skipped += 1
            continue
        verdicts = [check_case(bench, program, case) for case in program.cases]
        failed += sum(bool(wrong) for wrong in verdicts)
        rows.append(row(program, verdicts))
    shutil.rmtree(bench.home)
    print(table(rows), end="")
    if arguments.readme and rows:
        write(arguments.readme, rows)
    print(f"{len(rows)} programs, {failed} cases differ, {skipped} programs skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
