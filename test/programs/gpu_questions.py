#!/usr/bin/env python3
"""Asks the driver what its documents leave open; one line an answer.

`gpu_questions.py NAME` asks one; `--list` says which there are and what the simulated driver
does, as an H200's did (gpu_question.ASKED, test/simulator/OPEN.md). scripts/gpu-check asks each in a process of its own.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gpu_device_questions  # noqa: E402, F401
import gpu_life_questions  # noqa: E402, F401
import gpu_memory_questions  # noqa: E402, F401
import gpu_page_questions  # noqa: E402, F401
import gpu_reach_questions  # noqa: E402, F401
import gpu_work_questions  # noqa: E402, F401
from gpu_driver import KIB, MIB, Driver  # noqa: E402
from gpu_question import QUESTIONS, codes, in_order, question  # noqa: E402

LIMIT_S = 20


def in_another_process(name, handle):
    """What `name` answers in a process that was given the handle."""
    done = subprocess.run(
        [sys.executable, __file__, name, bytes(handle).hex()],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    return done.stdout.strip() or f"ended with {done.returncode}: {done.stderr.strip()[-80:]}"


@question("In another process: open a handle, cuMemFree of the mapping, fall of free memory, close",
          "0, 1, 0, 0")
def imported(gpu):
    return in_another_process("importer", gpu.ipc_handle(gpu.alloc(64 * MIB)))


@question("In another process: open the handle of freed memory", "1",
          "`cuIpcOpenMemHandle` of memory that was freed")  # fmt: skip
def import_of_freed(gpu):
    block = gpu.alloc(64 * MIB)
    handle = gpu.ipc_handle(block)
    gpu.cuMemFree_v2(block)
    return in_another_process("importer", handle).split(",")[0]


@question("A handle opened in the process that made it; cuIpcGetMemHandle inside a block", "201, 0")
def import_of_own(gpu):
    block = gpu.alloc(64 * MIB)
    code, _ = gpu.ipc_open(gpu.ipc_handle(block))
    return codes(code, gpu.cuIpcGetMemHandle(ctypes.byref((ctypes.c_char * 64)()), block + 4096))


def importer(gpu, handle):
    before = gpu.free_memory()
    code, mapped = gpu.ipc_open(handle)
    if code != 0:
        return codes(code)
    freed, fell = gpu.cuMemFree_v2(mapped), before - gpu.free_memory()
    return codes(code, freed, fell // KIB, gpu.cuIpcCloseMemHandle(mapped))


def median_us(function):
    times = []
    for _ in range(200):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return sorted(times)[100] * 1e6


@question("Cost in us, by Python: cuCtxSynchronize idle, cuStreamQuery, cuCtxGetCurrent, cuMemGetInfo",
          "a time")  # fmt: skip
def probe_costs(gpu):
    current = ctypes.c_void_p()
    return ", ".join(
        f"{median_us(function):.1f}"
        for function in (
            gpu.cuCtxSynchronize,
            lambda: gpu.cuStreamQuery(None),
            lambda: gpu.cuCtxGetCurrent(ctypes.byref(current)),
            gpu.free_memory,
        )
    )


def ask(name):
    try:
        return QUESTIONS[name].function(Driver())
    except (OSError, AttributeError, RuntimeError) as error:
        return f"not asked: {error}"


def main():
    if sys.argv[1:2] == ["--list"]:
        for name, asked in in_order().items():
            said = {key: value for key, value in asked._asdict().items() if key != "function"}
            print(json.dumps({"name": name, "question": said.pop("text"), **said}))
    elif sys.argv[1:2] == ["importer"]:
        print(importer(Driver(), bytes.fromhex(sys.argv[2])))
    else:
        for name in sys.argv[1:] or in_order():
            print(f"{name}: {ask(name)}" if len(sys.argv) != 2 else ask(name), flush=True)


if __name__ == "__main__":
    main()
