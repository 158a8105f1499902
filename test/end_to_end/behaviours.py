"""Which behaviours of CUDA a program may rely on, which victims show each, and the table of both.

`behaviours.py BUILD` runs the victims in every mode and writes BEHAVIOURS.md; transparency_test.py
checks that the committed file is what the run gives.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys
from typing import NamedTuple

import harness

TABLE = harness.SOURCE / "test/end_to_end/BEHAVIOURS.md"


class Behaviour(NamedTuple):
    """`shown_by`: names of victims of transparency_test.VICTIMS (all lines of that name), whole
    lines ("oom 96 with capacity=1GiB,context_bytes=0"), or "FILE: case" for a test of its own."""

    text: str
    shown_by: tuple = ()
    reason: str = ""  # why no program can show it here


# Numbered from 1, as in the study that this list comes from.
BEHAVIOURS = [
    Behaviour("Device memory is aligned to at least 256 bytes, and for textures", ("alignment",)),
    Behaviour("Memory keeps what was written, and nobody else's writes reach it", ("contents",)),
    Behaviour("A request for no bytes of device memory is refused and leaves the pointer unchanged", ("zero_sizes",)),
    Behaviour("A request for no bytes of pinned memory gets the driver's answer", ("zero_sizes",)),
    Behaviour("A free of a null pointer succeeds, an unregister of one does not", ("null_frees",)),
    Behaviour("Double, foreign and interior frees are refused, and free nothing", ("double_free",)),
    Behaviour("`cuMemFree` also frees pitched, managed and stream-ordered memory", ("free_kinds", "free_async", "kinds")),
    Behaviour(
        "Work that was submitted before a free, in the memory's context or a peer's, never meets the next owner",
        ("reuse_race", "peers", "pinned_race"),
    ),
    Behaviour("Out of memory is an error code; after a free the program can allocate again", ("oom", "graph_room")),
    Behaviour("After a device fault every call answers that error", ("sticky_error",)),
    Behaviour("The runtime's last error is the driver's code", ("last_error",)),
    Behaviour("Calls fail before `cuInit`, without a context, and after the context's end", ("no_context",)),
    Behaviour(
        "Any thread may free, whatever context is current and whatever call it interrupts",
        ("free_elsewhere", "threads_alloc", "eight_threads", "nested_free", "malloc_hook", "longjmp"),
    ),
    Behaviour("Free memory falls with an allocation and comes back with its free", ("meminfo", "holes", "graph_pending")),
    Behaviour("Ranges, attributes and ids describe the allocation", ("ranges", "kinds")),
    Behaviour("An IPC handle opens at the allocation's start, and each allocation has its own", ("ipc_export", "ipc_processes")),
    Behaviour(
        "Exported memory is not recycled while others may use it",
        (
            "sync_memops",
            "exporter",
            "exports_test.py: an exported segment goes back when it is freed",
        ),
    ),
    Behaviour(
        "Whether calls fail during a stream capture depends on its mode",
        ("capture_contexts", "capture_ends", "capture_free", "capture_room"),
    ),
    Behaviour(
        "Memory that a graph uses keeps its address",
        (
            "graph_blocks",
            "graph_ends",
            "transparency_test.py: memory_of_a_graph_is_not_handed_out_while_a_graph_exists",
        ),
    ),
    Behaviour("Peer access covers present and future allocations", ("peers",)),
    Behaviour("The end or reset of a context frees its memory", ("context_leaves", "context_reset")),
    Behaviour("Frees at exit, when the driver may be gone, do no harm", ("exit_order", "exit_variants", "late_calls")),
    Behaviour("A forked child cannot use CUDA, and its parent goes on", ("fork_child", "forks")),
    Behaviour(
        "A use after free faults",
        reason="the simulated device runs no kernels; the manual, \"Mode cache\", says what a cache hides",
    ),
    Behaviour(
        "An allocation costs what the driver takes",
        reason="this is a time, which scripts/gpu-check measures in each mode",
    ),
    Behaviour("Registration goes by bytes: neighbours, overlaps, interiors", ("register_rules",)),
    Behaviour(
        "Tools outside see the bytes that the process holds",
        reason="nothing answers for them here; reports list what is reserved",
    ),
    Behaviour("A free does not wait for other contexts of the device", ("second_context",)),
    Behaviour("A thread may end inside a call, cancelled or by `pthread_exit`", ("cancelled",)),
]

NO_EXPORT = "A block that is not a whole segment cannot be exported"
# What a mode changes on purpose, and the words of the manual, "Mode cache", that say so. "cache" stands for
# its ways of reuse too.
BY_DESIGN = {
    ("capture_free free", "cache"): "A free during stream capture succeeds",
    ("capture_free free", "dedicated"): "A free during stream capture succeeds",
    ("ipc_export", "cache"): NO_EXPORT,
    ("pinned_race contexts", "cache"): "Some freed pinned memory stays pinned. If GPU work still uses freed pinned memory",
    ("sync_memops", "cache"): NO_EXPORT,
}


def words_of(victim):
    command, simulator = victim
    return " ".join(command) + (f" with {simulator}" if simulator else "")


def by_design(victim, mode):
    """What the manual says of the mode; options behind it change none of that. None: nothing."""
    return BY_DESIGN.get((words_of(victim), mode.split()[0]))


class Runs:
    """Each victim runs once natively and once in each mode, whoever asks."""

    def __init__(self):
        self.outcomes = {}

    def outcome(self, case, victim, mode):
        key = words_of(victim), mode
        if key not in self.outcomes:
            command = [harness.program(victim[0][0]), *victim[0][1:]]
            self.outcomes[key] = case.run_program(command, mode, victim[1])
        return self.outcomes[key]

    def same(self, case, victim, mode):
        native, profiled = self.outcome(case, victim, None), self.outcome(case, victim, mode)
        return (*native.behaviour(), native.stderr) == (*profiled.behaviour(), profiled.stderr)


def has_case(name):
    file, words = name.split(": ")
    text = (harness.SOURCE / "test/end_to_end" / file).read_text()
    return f"def test_{words.replace(' ', '_')}(" in text


def table(case, runs, victims):
    """The file's text. A name that no victim has is an error; a victim may show several rows."""
    notes = []

    def cell(victim, mode):
        if runs.same(case, victim, mode):
            return "same"
        phrase = by_design(victim, mode)
        if phrase is None:
            return "DIFFERS"
        if phrase not in notes:
            notes.append(phrase)
        return f"by design ({notes.index(phrase) + 1})"

    def lines(behaviour):
        if behaviour.reason:
            return [f"| not applicable: {behaviour.reason} |" + " |" * len(harness.MODES)]
        found = []
        for name in behaviour.shown_by:
            if ": " in name:
                assert has_case(name), f"no such case: {name}"
                file, words = name.split(": ")
                found.append(f"| `{file}`: {words} |" + " tested |" * len(harness.MODES))
                continue
            chosen = [v for v in victims if name in (words_of(v), v[0][0])]
            assert chosen, f"no victim is called {name}"
            for victim in chosen:
                cells = "".join(f" {cell(victim, mode)} |" for mode in harness.MODES)
                found.append(f"| `{words_of(victim)}` |{cells}")
        return found or ["| **no victim yet** |" + " |" * len(harness.MODES)]

    rows = []
    for number, behaviour in enumerate(BEHAVIOURS, 1):
        for i, line in enumerate(lines(behaviour)):
            rows.append((f"| {number} | {behaviour.text} " if i == 0 else "| | ") + line)
    head = "| # | A program may rely on | Victim | " + " | ".join(harness.MODES) + " |"
    return "\n".join(
        [
            "# Behaviour × mode × victim",
            "",
            "Written by `test/end_to_end/behaviours.py`; a test compares it with what the victims do.",
            "A victim is a program in `test/programs`. *Same*: output, diagnostics and exit",
            "status are equal with and without Vramscope, on the simulated device.",
            "[The page of results](../RESULTS.md#verified-on-a-gpu) says what was seen on a GPU.",
            "",
            head,
            "|---" * (3 + len(harness.MODES)) + "|",
            *rows,
            "",
            'By design, as [the manual](../../reporter/manual/modes.md) says:',
            "",
            *[f"{number}. {phrase}" for number, phrase in enumerate(notes, 1)],
            "",
        ]
    )


def missing():
    """Numbers of the behaviours that no victim shows yet."""
    return [n for n, b in enumerate(BEHAVIOURS, 1) if not b.shown_by and not b.reason]


def in_readme(phrase):
    """What a mode changes by design stands in the page on modes."""
    page = (harness.SOURCE / "reporter/manual/modes.md").read_text()
    return phrase in re.sub(r"\s+", " ", page)


def main():
    import transparency_test

    case = harness.Case()
    case.setUp()
    try:
        TABLE.write_text(table(case, Runs(), transparency_test.VICTIMS))
    finally:
        case.doCleanups()
    print(f"{TABLE}: written; without a victim: {missing() or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
