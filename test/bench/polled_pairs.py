"""What a reader of the live file costs the program that it reads: pairs with and without a poller."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import statistics
import subprocess
import sys
import time

INTERVAL_S = 0.1
PAIRS = 500_000  # of each of the program's rounds, so that each is read at least once
FRAMES = 18
GOAL = ("a pair while it is read ten times a second, beside one that is not", "x", 1.02, 1.01)


def poller(tool, pid, environment):
    """`live` beside the program, from the moment that it is recorded."""
    command = [tool, "live", "--csv", "--interval", str(INTERVAL_S), str(pid)]
    environment = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    while True:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if process.stdout.readline():
            return process
        process.wait()
        time.sleep(0.02)


def ns_per_pair(program, tool, environment, polled):
    """CPU time of a pair, and how often the program was read; None: it failed."""
    process = subprocess.Popen([program, str(1 << 20), str(PAIRS), str(FRAMES)], env=environment,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    reader = poller(tool, process.pid, environment) if polled else None
    printed = process.communicate()[0]
    readings = len(reader.communicate()[0].splitlines()) if reader else 0
    if process.returncode != 0:
        print(f"bench: {program} ended with {process.returncode}", file=sys.stderr)
        return None
    return json.loads(printed)["ran_ns_per_pair"], readings


def measure(program, tool, environment, rounds):
    """{polled: [ns]} and the readings of all runs; both kinds in turn."""
    samples, readings = {False: [], True: []}, 0
    for number in range(rounds):
        for polled in (number % 2 == 0, number % 2 != 0):
            found = ns_per_pair(program, tool, environment, polled)
            if found:
                samples[polled].append(found[0])
                readings += found[1]
    return samples, readings


def report(samples, readings):
    """Prints the figures, and returns the goal as scripts/bench judges it; [] without figures."""
    if not samples[False] or not samples[True]:
        return []
    plain, polled = (statistics.median(samples[kind]) for kind in (False, True))
    print(f"\na pair of 1 MiB, stacks of 20 frames: {plain:.1f} ns ({min(samples[False]):.1f} - {max(samples[False]):.1f}); while "
          f"`live --interval {INTERVAL_S}` reads it: {polled:.1f} ({min(samples[True]):.1f} - {max(samples[True]):.1f}), {readings} readings; "
          f"ratio {polled / plain:.3f} on {processor()}")  # fmt: skip
    what, unit, must, aim = GOAL
    return [(what, polled / plain, unit, must, aim)]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0]}" if names else f"{os.cpu_count()} processors"
