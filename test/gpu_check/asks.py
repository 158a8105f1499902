"""The questions about pages that one process alone cannot answer: blocks that Vramscope serves, tools of
others over it, and memory that two processes want."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import select
import shutil
import subprocess
import tempfile
import time

from plan import EXPANDABLE, GROWING, NATIVE

# What serves cuMemAlloc -> variables in mode cache. THE list.
KINDS = {"native-safe": (), "expandable_segments": EXPANDABLE, "growing_segments": GROWING}
AS_ALONE = "native-safe"  # whose blocks of 4 MiB are what cuMemAlloc gives
QUESTIONS = "gpu_questions.py"
ROUTED = ("plain_attributes", "plain_exports", "dma_buf_and_texture", "decompression")
WAIT_S = 10  # for an answer of a program


def row(ask, question, expected, here):
    """`expected`: "a time" where there is nothing to compare. An answer "not ..." was not asked."""
    return {"ask": ask, "name": "", "question": question, "simulator": expected, "here": here, "row": "", "by_device": False}


def answer(run, name, mode, variables=(), under=()):
    done, reason = run.run((QUESTIONS, name), mode, 60, variables, under)
    if done is None:
        return f"not asked: {reason}"
    last = done.stdout.strip().splitlines()[-1:]
    return last[0] if last and not done.status else f"ended with {done.status}: {done.first_line()}"


def routed_blocks(run, asked):
    """G5 and G11 again, of blocks that each policy serves, beside the driver's own here."""
    for one in asked:
        if one["name"] not in ROUTED:
            continue
        alone = answer(run, one["name"], NATIVE)
        for kind, variables in KINDS.items():
            here = answer(run, one["name"], "cache", variables)
            expected = alone if kind == AS_ALONE else "a time"
            yield row(one["ask"], f"{one['question']}: blocks of {kind}", expected, here)


def tool(name):
    """Its path, or None. NVIDIA's installers leave it out of PATH."""
    places = (f"/usr/local/cuda*/bin/{name}", f"/opt/nvidia/nsight-compute/*/{name}")
    found = [path for place in places for path in sorted(glob.glob(place))]
    return shutil.which(name) or (found[-1] if found else None)


TOOLS = {
    "compute-sanitizer": ("--error-exitcode", "9"),
    "ncu": ("--launch-count", "2"),
}


def other_tools(run, _):
    """G14: a program that copies by a kernel, under tools that look into kernels."""
    for name, options in TOOLS.items():
        path = tool(name)
        ways = {"no cache": (NATIVE, ()), **{kind: ("cache", variables) for kind, variables in KINDS.items()}}
        for kind, (mode, variables) in ways.items():
            here = f"not asked: {name} is not installed"
            if path is not None and run.simulated:
                here = "not asked: no kernels run here"
            elif path is not None:
                here = answer(run, "copied", mode, variables, (path, *options))
                here = "clean" if here.startswith(("0 ", "==")) else here
            yield row("G14", f"{name} on a program that copies by a kernel, {kind}", "clean", here)


class Commanded:
    """A program that takes and gives memory as it is told (test/programs/commands.cpp)."""

    def __init__(self, run, mode, folder, variables):
        self.process = subprocess.Popen(
            run.command(("commands",)), env=run.environment(mode, folder, variables), cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.heard()

    def heard(self):
        ready, _, _ = select.select([self.process.stdout], [], [], WAIT_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            raise TimeoutError("a program did not answer")
        return line.decode().strip()

    def say(self, words):
        self.process.stdin.write(words.encode() + b"\n")
        self.process.stdin.flush()
        return int(self.heard())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def wanted_by_other(ours, other):
    """A third of what is free lies idle with us; the other wants more than the rest."""
    free = other.say("free")
    idle = free // 3
    if ours.say(f"take {idle}") or ours.say("give"):
        return "not asked: a third of the device cannot be had"
    other.say("take 256")
    wanted = f"take {other.say('free') + idle // 2}"
    if other.say(wanted) == 0:
        return "served at once"
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        ours.say("take 1")
        ours.say("give")
        if other.say(wanted) == 0:
            return "refused, then served"
    return f"refused for {WAIT_S} s"


def two_processes(run, _):
    """G15: idle memory of ours against a cuMemAlloc of another process."""
    question = "Another process wants what lies idle here: at first, and after some calls of ours"
    if not run.is_built(("commands",)):
        yield row("G15", question, "refused, then served", "not asked: not in this build folder")
        return
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        sim = (("VRAMSCOPE_SIM", f"capacity=4GiB,shared={folder}/device"),) if run.simulated else ()
        programs = []
        try:
            for mode in ("cache", NATIVE):
                programs.append(Commanded(run, mode, folder, sim))
            here = wanted_by_other(*programs)
        except (OSError, ValueError) as error:
            here = f"not asked: {error}"
        finally:
            for program in programs:
                program.end()
    yield row("G15", question, "refused, then served", here)


def ask_all(run, document, asked):
    """Each part by itself: what goes wrong in one is a row, and the others are asked."""
    for ask, part in (("G5, G11", routed_blocks), ("G14", other_tools), ("G15", two_processes)):
        try:
            for one in part(run, asked):
                document.add("questions", [one])
        except Exception as error:  # whatever a machine that nobody here has seen comes up with
            document.add("questions", [row(ask, part.__name__, "", f"not asked: {error}")])


def listed(run):
    done, _ = run.run((QUESTIONS, "--list"), NATIVE, 30)
    return [json.loads(line) for line in done.stdout.splitlines()] if done else []
