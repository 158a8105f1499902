"""Which random program notices each deliberate fault first: prints the table, and writes it to a page.

faults.py BUILD [--seconds N] [--readme FILE] [NAME...]
BUILD is configured with -Dfaults=true. The exit status is 1 when a fault stays unnoticed.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ROOM = "native-safe: "  # what begins so is noticed by programs that fill a small device
LOCK = "a lock: "  # and this by threads that do nothing but lock
NAMES = "names of a live file: "  # and this in what a recorder leaves that is killed
SNAPSHOT = "a snapshot: "  # and this in snapshots that are taken while calls go on
LIVE = "live file: "  # and this in what a process leaves that dies at any instruction
BEGIN, END = "<!-- scripts/check --faults writes this table -->\n", "<!-- end of the table -->\n"


def faults():
    """(name, what goes wrong) of each row of faults.def."""
    text = (SOURCE / "allocator/base/faults.def").read_text()
    return re.findall(r'^FAULT\((\w+), "(.*)"\)', text, flags=re.M)


def find(build, name, text, seconds):
    """(seed, calls, seconds, where) of the first difference; None: nothing was noticed."""
    folder = build / "test/differential"
    command = [
        folder / ("room_test" if text.startswith(ROOM) else "differential_test"), folder / "player", build / "interpose/libvramscope.so",
        build / "test/simulator", "--seeds", "1", "1000000000", "--seconds", str(seconds),
        "--until-found", "--quiet",
    ]  # fmt: skip
    if text.startswith(LOCK):
        command = [build / "test/allocator/lock_stress", "--seconds", str(seconds)]
    if text.startswith(LIVE):
        command = [build / "test/allocator/recovery_stress", "--seconds", str(seconds)]
    if text.startswith(SNAPSHOT):
        command = [build / "test/allocator/snapshot_test", "--gtest_filter=*IsThatOfItsFirstInstant*"]
    environment = {**os.environ, "VRAMSCOPE_FAULT": name}
    if text.startswith(NAMES):
        command = [build / "test/reporter/recovery_test", "--gtest_filter=KilledRecorder.*"]
        environment["VRAMSCOPE_KILLS"] = str(10 * seconds)
    output = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    found = re.search(r"^found: seed (\d+), (\d+) calls, ([\d.]+) seconds, in ([^:]*):", output, re.M)
    return found and (found[1], found[2], f"{float(found[3]):.1f}", found[4])


def table(rows):
    lines = ["| Fault | First seed | Calls | Seconds |", "|---|---|---|---|"]
    for (name, text), found in rows:
        cells = " | ".join(found[:3]) if found else "not noticed | | "
        lines.append(f"| {text} (`{name}`) | {cells} |")
    return "\n".join(lines) + "\n"


def write(path, text):
    readme = path.read_text()
    before, rest = readme.split(BEGIN)
    path.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    rows = []
    for name, text in faults():
        if arguments.names and name not in arguments.names:
            continue
        found = find(arguments.build.resolve(), name, text, arguments.seconds)
        rows.append(((name, text), found))
        words = f"seed {found[0]}, {found[1]} calls, {found[2]} s, {found[3]}" if found else "-"
        print(f"{name:32}{words}", flush=True)
    if arguments.readme and not arguments.names:
        write(arguments.readme, table(rows))
    missed = [name for (name, _), found in rows if not found]
    print(f"{len(rows) - len(missed)} of {len(rows)} faults noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
