"""Prints what gpu-check found."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
from gpu_question import ASKED  # noqa: E402

WIDEST = 90  # characters of a cell


def table(head, rows):
    cells = [[str(cell)[:WIDEST] for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def programs(rows, modes):
    """One line a program, one column a mode; what is not the same is told below."""
    print("\nPrograms: the same output, exit status and plausible reports as without Vramscope?\n")
    names = list(dict.fromkeys(row["what"] for row in rows))
    columns = list(dict.fromkeys(["native", *modes, *(row["mode"] for row in rows if row["mode"] != "all")]))
    lines = []
    for name in names:
        mine = {row["mode"]: row for row in rows if row["what"] == name}
        whole = mine.get("all")
        cells = [in_cell(whole or mine.get(mode)) for mode in columns]
        lines.append([name, *cells])
    table(["program", *columns], lines)
    told = [row for row in rows if row["note"] and row["verdict"] != "same"]
    if told:
        print("\nOf these:\n")
        table(["program", "mode", "verdict", "note"],
              [[r["what"], r["mode"], r["verdict"], r["note"]] for r in told])  # fmt: skip


def in_cell(row):
    if row is None:
        return ""
    seconds = f" {row['seconds']:.2f} s" if "seconds" in row else ""
    return row["verdict"] + seconds


DIFFERS = "differs from the table"
BY_DEVICE = "differs, as devices may"
SKIPPED = "not "  # how an answer begins that the machine could not give


def questions(answers):
    pages = sorted((a for a in answers if a["ask"]), key=lambda a: int(a["ask"][1:].split(",")[0]))
    if pages:
        print(f"\nPages and footprint, G1 to G15: what is expected ({ASKED}), and this driver\n")
        table(
            ["", "question", "expected", "here", ""],
            [[a["ask"], a["question"], expected(a), a["here"], verdict(a)] for a in pages],
        )
    others = [a for a in answers if not a["ask"]]
    if others:
        print(f"\nQuestions: what the simulated device does ({ASKED}), and this driver\n")
        table(
            ["question", "simulated", "here", ""],
            [[a["question"], expected(a), a["here"], verdict(a)] for a in others],
        )
    told = [a for a in answers if verdict(a) in (DIFFERS, BY_DEVICE) or len(a["here"]) > WIDEST]
    for answer in told:
        print(f"\n{answer['question']}\n  expected: {expected(answer)}\n  here:     {answer['here']}")


def expected(answer):
    return "" if answer["simulator"] == "a time" else answer["simulator"]


def verdict(answer):
    """Whether this driver does what the table says."""
    here = answer["here"]
    if here.startswith(SKIPPED) and here != "not exported":
        return "SKIPPED"
    if answer["simulator"] == "a time" or answer["simulator"].startswith(SKIPPED):
        return ""
    if here == answer["simulator"]:
        return "same"
    return BY_DEVICE if answer["by_device"] else DIFFERS


def in_words(result):
    """A value as a person reads it; the JSON file has it exactly."""
    value = result["value"]
    if result["unit"] != "bytes" or value < 1024:
        return f"{value:.4g}"
    return f"{value / 1024:.4g} KiB" if value < 1 << 20 else f"{value / (1 << 20):.6g} MiB"


def measurements(columns):
    print("\nMeasurements (first: the driver serves it; others: medians)\n")
    names = []
    for results in columns.values():
        names += [r["what"] for r in results if r["what"] not in names]
    rows = []
    for name in names:
        cells, unit = [], ""
        for results in columns.values():
            found = next((r for r in results if r["what"] == name), {})
            unit = unit or found.get("unit", "")
            cells.append(found.get("note") or in_words(found) if found else "")
        rows.append([name, unit, *cells])
    table(["what", "unit", *columns], rows)


def own_statistics(rows):
    """What scripts say of their memory natively, and what our reports say in each mode."""
    lines = []
    for native in (row for row in rows if row["mode"] == "native" and row.get("memory")):
        for row in rows:
            if row["what"] != native["what"] or not row.get("memory") or row is native:
                continue
            for key in ("allocation.all.allocated", "allocated_bytes.all.peak"):
                said = max((v for k, v in native["memory"].items() if k.endswith(key)), default=0)
                lines.append([native["what"], row["mode"], key, said, row["memory"].get(key, 0)])
    if lines:
        print("\nStatistics: the program's own without us, our report's of the same program\n")
        table(["program", "mode", "key", "its own, native", "our report"], lines)


def kills(rows):
    """One line for all programs that were killed, and one for each that left a wrong report."""
    if not rows:
        return
    exact = sum(not row["problem"] for row in rows)
    calls = sum(row["calls"] for row in rows)
    print(f"\nKilled programs: {exact} of {len(rows)} left an exact report ({calls:,} calls in their own logs)")
    for row in rows:
        if row["problem"]:
            print(f"  seed {row['seed']}, {row['mode']}: {row['problem']}")
