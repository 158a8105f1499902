"""Records the traces of programs for scripts/bench --traces, and plays them through all policies."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLAYER = "trace_policies"
REPLAYER = "replay_speed"
MUST_MILLIONS = 10  # events a second and core, under the cheapest settings
PYTHON = "/usr/bin/python3"
# In a container's disk or memory: what they write is small, and no byte of the device is touched.
DEVICE = "capacity=80GiB"

# Name in the tables -> what runs. A first word without a slash is a target of the build folder.
PROGRAMS = {
    "a transformer is trained": ["transformer"],
    "pages of a key-value cache": ["page_server"],
    "a join, staged in pinned memory": ["hash_join"],
    "demo: train": ["train"],
    "demo: train_static": ["train_static"],
    "demo: train.py": [PYTHON, os.path.join(ROOT, "test/programs/train.py")],
    "demo: ffmpeg": [
        "/usr/bin/ffmpeg", "-loglevel", "error", "-init_hw_device", "cuda=c:0",
        "-filter_hw_device", "c", "-f", "lavfi", "-i", "testsrc=size=1280x720:rate=30:duration=2",
        "-vf", "format=nv12,hwupload_cuda,hwdownload,format=nv12", "-f", "null", "-",
    ],
}  # fmt: skip
TIMED = [name for name, words in PROGRAMS.items() if not name.startswith("demo")]  # the others are small
# What nvcc links finds the simulated runtime of its own major beside the driver.
RUNTIMES = ["cudart", "cudart.so", "cudart.so.11"]
TARGETS = [words[0] for words in PROGRAMS.values() if "/" not in words[0]] + RUNTIMES + [PLAYER, REPLAYER]


def command_of(words, files):
    """None where the program is not there."""
    if "/" not in words[0]:
        return [os.path.join(ROOT, files[words[0]])] if words[0] in files else None
    return words if shutil.which(words[0]) else None


def record(name, command, environment, folder):
    """Path of the trace, or None when the program failed, which is said."""
    trace = os.path.join(folder, f"{len(os.listdir(folder))}.trace")
    variables = {"VRAMSCOPE_MODE": "observe", "VRAMSCOPE_STACKS": "none", "VRAMSCOPE_TRACE": trace,
                 "VRAMSCOPE_SIM": DEVICE}  # fmt: skip
    done = subprocess.run(command, cwd=folder, env={**environment, **variables},
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode == 0 and os.path.exists(trace):
        return trace
    print(f"bench: {name} ended with {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
    return None


def play(files, environment, folder, device, rounds):
    """Prints the tables; exit status. `files`: target -> path from ROOT. A trace is written in
    `folder`, one program after the other."""
    found = []
    for name, words in PROGRAMS.items():
        command = command_of(words, files)
        if command is None:
            print(f"bench: {words[0]} is not here: no row '{name}'", file=sys.stderr)
            continue
        trace = record(name, command, environment, folder)
        if trace is None:
            return 1
        found.append(f"{name}={trace}")
    player = os.path.join(ROOT, files[PLAYER])
    options = ["--device", str(device), "--rounds", str(rounds)]
    status = subprocess.run([player, *options, *found], check=False).returncode
    return status or time_replays(files, [one for one in found if one.split("=")[0] in TIMED], rounds)


def time_replays(files, found, rounds):
    """Prints how fast `vramscope replay` plays the traces; exit status."""
    command = [os.path.join(ROOT, files[REPLAYER]), "--rounds", str(rounds), *found]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr)
        return 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    print("\nreplay: millions of events a second on one core, by settings")
    missed = 0
    for name in dict.fromkeys(row["replayed"] for row in rows):
        speeds = {row["settings"]: 1000 / row["ns_per_event"] for row in rows if row["replayed"] == name}
        best = max(speeds.values())
        missed += best < MUST_MILLIONS
        judged = "met" if best >= MUST_MILLIONS else "NOT MET"
        print(f"{name} (the fastest must be {MUST_MILLIONS}: {judged}): "
              + ", ".join(f"{settings} {speed:.1f}" for settings, speed in speeds.items()))
    return 1 if missed else 0
