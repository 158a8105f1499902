"""Measures on the simulated device what others measured on real GPUs, and compares the figures.

check_figures.py BUILD --folder FOLDER [--readme FILE] [--seconds N] [--only WORD] [--list]
Installs PyTorch, of two versions, and transformers into FOLDER first, once. Prints a line for each figure and the table, which it also
writes to the page. Exits with 1 when a figure is farther off than figure_list.py allows, or was not measured.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import check_frameworks
import figure_list
import results

HERE = pathlib.Path(__file__).resolve().parent
BEGIN = "<!-- scripts/check --figures writes this table -->\n"
END = "<!-- end of the figures -->\n"
HEADER = "| Figure | GPU | Measured with | Measured | `run --sim` | Difference | Source |\n"
LIMIT_S = 300  # of one run


def measure(tool, python, figure, folder, limit):
    """What the script of the figure says: bytes by name, and what went wrong."""
    command = [tool, "run", "--sim", "--sim-device", figure.device, "--output", f"{folder}/%p.json", "--",
               python, HERE / f"public_figures/{figure.script}.py", *figure.arguments]  # fmt: skip
    environment = {"PATH": f"{python.parent}:{os.environ['PATH']}", "HOME": folder, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}, f"did not end within {limit:.0f} s"
    said = {name: int(bytes_) for name, bytes_ in re.findall(r"^figure (\S+) (\d+)$", done.stdout, re.M)}
    return said, "" if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr.strip()[-300:]}"


def percent_off(figure, bytes_):
    there = figure.measured * figure_list.UNITS[figure.unit]
    return (bytes_ - there) / there * 100


def verdict(figure, bytes_):
    """Why the figure is wrong; "" where it is as near as it should be."""
    off = percent_off(figure, bytes_)
    return "" if abs(off) <= figure.within else f"{off:+.2f} % off, of which {figure.within:g} % are allowed"


def shown(number, unit):
    return f"{number:,.0f} {unit}" if unit == "MiB" else f"{number:.4f} {unit}" if unit == "GiB" else f"{number:.2f} {unit}"


def row(figure, bytes_):
    here = "-" if bytes_ is None else shown(bytes_ / figure_list.UNITS[figure.unit], figure.unit)
    off = "not measured" if bytes_ is None else f"{percent_off(figure, bytes_):+.2f} %" + (f" ({figure.why})" if figure.why else "")
    source = figure.source
    return (f"| {figure.what} | {source.gpu} | {source.software} | {shown(figure.measured, figure.unit)} | {here} | {off} "
            f"| [{source.title}]({source.address}) |")  # fmt: skip


def table(rows):
    return HEADER + "|---" * (HEADER.count("|") - 1) + "|\n" + "\n".join(rows) + "\n"


def pythons(figures, folder):
    """The Python of each folder of packages that the figures need, and why one cannot be had, or ""."""
    found = {}
    for packages in [figure.source.packages for figure in figures]:
        if packages.folder not in found:
            found[packages.folder], reason = check_frameworks.install(packages, folder / packages.folder)
            if reason:
                return {}, reason
    return found, ""


def measure_all(figures, tool, pythons, folder, end):
    """Each figure with its bytes, or None, and what is wrong with it. Figures of the same run share it."""
    runs = {}
    for figure in figures:
        key = (figure.script, *figure.arguments, figure.device)
        if key not in runs:
            limit = min(LIMIT_S, end - time.monotonic())
            python = pythons[figure.source.packages.folder]
            runs[key] = measure(tool, python, figure, folder, limit) if limit > 0 else ({}, "the time is over")
        said, wrong = runs[key]
        bytes_ = None if wrong else said.get(figure.name)
        wrong = wrong or (f"says nothing of {figure.name}" if bytes_ is None else verdict(figure, bytes_))
        print(f"{'not ok' if wrong else 'ok'} {figure.what}{': ' + wrong if wrong else ''}", flush=True)
        yield figure, bytes_, wrong


def main():
    arguments = check_frameworks.parsed(__doc__)
    chosen = [figure for figure in figure_list.FIGURES if arguments.only.lower() in figure.what.lower()]
    if arguments.list:
        print("\n".join(f"{figure.what}: {shown(figure.measured, figure.unit)}" for figure in chosen))
        return 0
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.seconds
    found, reason = pythons(chosen, folder)
    if reason:
        print(f"SKIPPED public figures: {reason}")
        return 0
    tool = arguments.build.resolve() / "reporter/view/vramscope"
    with tempfile.TemporaryDirectory(prefix="figures-", dir=folder) as work:
        measured = list(measure_all(chosen, tool, found, work, end))
    rows = [row(figure, bytes_) for figure, bytes_, _ in measured]
    print(table(rows), end="")
    if arguments.readme and rows:
        results.write_rows(arguments.readme, BEGIN, END, "Figure", table, rows)
    failed = sum(bool(wrong) for _, _, wrong in measured)
    print(f"{len(measured) - failed} figures as they should be, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
