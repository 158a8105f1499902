"""Prints what gpu-check found."""
# SPDX-License-Identifier: Apache-2.0
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
    columns = ["native", *modes]
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


def questions(answers):
    print("\nOpen questions: what the simulated device does, and this driver\n")
    table(
        ["question", "simulated", "here", ""],
        [[a["question"], a["simulator"], a["here"], verdict(a)] for a in answers],
    )


def verdict(answer):
    """Whether the simulated device does what this driver does."""
    here = answer["here"]
    if answer["simulator"] == "a time" or here.startswith("not "):
        return "" if here != "not exported" else "SIMULATOR DIFFERS"
    return "same" if here == answer["simulator"] else "SIMULATOR DIFFERS"


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
