#!/usr/bin/env python3
"""Compares --policy pytorch with PyTorch's own allocator: all counters after each step.

torch_statistics.py TOOL [--seeds N] [--steps N] [--python PYTHON]
Random tensors come and go on the simulated device, once in PyTorch's cache and once, without it, in
ours. Every key of memory_stats that both have must be equal after each step, and so must be where
the tensors lie in their segments. Exits with 77 where there is no PyTorch of 2.6 with CUDA.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

FACE = pathlib.Path(__file__).resolve().parents[2] / "interpose/face"
MIB = 1 << 20
# settings of the allocator, share of the device, and the device
SETTINGS = [
    ("", 1, "4GiB"),
    ("", 1, "1GiB"),
    ("max_split_size_mb:64", 1, "1GiB"),
    ("max_split_size_mb:21,max_non_split_rounding_mb:30", 1, "4GiB"),
    ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 1, "4GiB"),
    ("garbage_collection_threshold:0.6,max_split_size_mb:40", 0.5, "2GiB"),
    ("expandable_segments:True", 1, "1GiB"),
]


def size(generator, most):
    kind = generator.random()
    if kind < 0.5:
        return generator.choice([generator.randint(1, 2000), generator.randint(1, MIB + 600)])
    if kind < 0.8:
        return generator.randint(MIB, 12 * MIB)
    return generator.randint(10 * MIB, most // (1 if kind > 0.98 else 8))


def play(seed, steps, most, is_ours):
    """One line a step: what was done, where the tensor lies, and the counters."""
    import torch

    torch.cuda.init()
    if is_ours:
        import vramscope as memory
    else:
        memory = torch.cuda
        if (share := float(os.environ["SHARE"])) < 1:
            torch.cuda.set_per_process_memory_fraction(share)
    generator = random.Random(seed)
    live = []
    for _ in range(steps):
        choice, address = generator.random(), 0
        if choice < 0.01:
            done = generator.choice(["empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats"])
            getattr(memory, done)()
        elif choice < 0.6 or not live:
            done = f"empty {size(generator, most)}"
            try:
                live.append(torch.empty(int(done.split()[1]), dtype=torch.uint8, device="cuda"))
                address = live[-1].data_ptr()
            except RuntimeError as error:  # without its cache PyTorch raises no OutOfMemoryError
                done += " refused" if "out of memory" in str(error) else f" failed: {error}"
        else:
            address = live.pop(generator.randrange(len(live))).data_ptr()
            done = "free"
        print(json.dumps([done, address, memory.memory_stats()]))


def run(arguments, seed, settings, is_ours):
    conf, share, capacity = settings
    most = int(capacity[0]) << 30
    environment = {**os.environ, "VRAMSCOPE_SIM": f"capacity={capacity}", "SHARE": str(share)}
    command = [arguments.python, __file__, "--play", str(seed), str(arguments.steps), str(most)]
    with tempfile.TemporaryDirectory() as folder:
        words = [arguments.tool, "run", "--sim", "-q", "-o", f"{folder}/r.json"]
        if is_ours:
            if share < 1:
                conf += f",per_process_memory_fraction:{share}"
            environment |= {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONPATH": str(FACE)}
            words += ["--policy", "pytorch", "--exact-fallback", "off", "--alloc-conf", conf]
            command = [*words, *command, "ours"]
        else:
            where = [*words, "--mode", "off", "sh", "-c", "printf %s \"$LD_LIBRARY_PATH\""]
            environment["LD_LIBRARY_PATH"] = subprocess.run(where, env=environment, capture_output=True, text=True,
                                                            check=True).stdout  # fmt: skip
            environment["PYTORCH_CUDA_ALLOC_CONF"] = conf
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def difference(theirs, ours):
    """What differs first, and at which step; nothing: an empty text."""
    distances = {}  # between the two, of the 2 MiB in which a tensor begins
    for number, ((done, address, stats), (done_too, address_too, stats_too)) in enumerate(zip(theirs, ours)):
        wrong = {key: (value, stats_too[key]) for key, value in stats.items()
                 if key in stats_too and stats_too[key] != value}  # fmt: skip
        distance = distances.setdefault(address // (2 * MIB), address_too - address)
        if done == "free":
            distances = {page: d for page, d in distances.items() if page != address // (2 * MIB)}
        if wrong or done != done_too or distance != address_too - address:
            return f"step {number}, {done} / {done_too}, {address:x} / {address_too:x}: {wrong}"
    return "" if len(theirs) == len(ours) else "not as many steps"


def main():
    if sys.argv[1:2] == ["--play"]:
        return play(*(int(word) for word in sys.argv[2:5]), sys.argv[5:] == ["ours"])
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    asks = "import torch; assert torch.version.cuda; print(torch.__version__)"
    asked = subprocess.run([arguments.python, "-c", asks], capture_output=True, text=True, check=False)
    if not asked.stdout.startswith("2.6."):
        print(f"SKIPPED PyTorch's statistics: {arguments.python} has no PyTorch 2.6 with CUDA")
        return 77
    failed = 0
    for seed in range(1, arguments.seeds + 1):
        for settings in SETTINGS:
            theirs, ours = (run(arguments, seed, settings, is_ours) for is_ours in (False, True))
            wrong = difference(theirs, ours)
            refused = sum(step[0].endswith("refused") for step in theirs)
            keys = len(set(theirs[-1][2]) & set(ours[-1][2]))
            print(f"{'DIFFERS' if wrong else 'equal'} seed {seed} {settings}: {len(theirs)} steps, {refused} refused, "
                  f"{keys} keys {wrong}", flush=True)  # fmt: skip
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
