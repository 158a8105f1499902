"""The list of questions to the driver, which gpu_questions.py asks."""
# SPDX-License-Identifier: Apache-2.0

import pathlib
import queue
import threading
from typing import Callable, NamedTuple

# Whose answers the simulated device gives, wherever the table does not say otherwise.
ASKED = "NVIDIA H200, driver 580.159.04 (CUDA 13.0), 2026-11-26"
OPEN = pathlib.Path(__file__).resolve().parents[1] / "simulator/OPEN.md"
QUESTIONS = {}


class Question(NamedTuple):
    text: str
    simulator: str  # what the simulated driver answers, as ASKED; "a time": nothing to compare
    row: str  # how the question begins in OPEN.md, if it is there
    ask: str  # which of the fifteen questions about pages it is a part of (test/gpu_check/README.md)
    limit_s: int
    by_device: bool  # sizes and abilities: another device may answer otherwise
    function: Callable


def question(text, simulator, row="", ask="", limit_s=20, by_device=False):
    def add(function):
        QUESTIONS[function.__name__] = Question(text, simulator, row, ask, limit_s, by_device, function)
        return function

    return add


def codes(*values):
    return ", ".join(str(value) for value in values)


def in_others_capture(gpu, function):
    """The code of function() while another thread captures globally, and of that capture's end."""
    stream, begun, ended = gpu.stream(), queue.Queue(), queue.Queue()

    def capture():
        gpu.set_current(gpu.context)
        begun.put(gpu.begin_capture(stream, 0))
        ended.get()
        begun.put(gpu.end_capture(stream))

    thread = threading.Thread(target=capture)
    thread.start()
    begun.get()
    code = function()
    ended.put(None)
    thread.join()
    return f"{code}/{begun.get()}"


def in_order():
    """The questions as OPEN.md lists them, the worst consequence first, and then those not there."""
    listed = OPEN.read_text() if OPEN.exists() else ""

    def place(item):
        row = item[1].row
        at = listed.find("| " + row) if row else -1
        return at if at >= 0 else len(listed)

    return dict(sorted(QUESTIONS.items(), key=place))
