"""The tables of test/RESULTS.md that the checks of others' programs write."""
# SPDX-License-Identifier: Apache-2.0


def write_rows(path, begin, end, title, table, rows):
    """Writes rows into the page's table between the lines `begin` and `end`: a row replaces the one with the same
    first cell, and those of programs that were not asked stay. title: the first cell of the header."""
    before, rest = path.read_text().split(begin)
    old, after = rest.split(end)
    kept = {line.split("|")[1].strip(): line for line in old.splitlines() if line.startswith("| ")}
    kept.pop(title, None)
    kept.update({line.split("|")[1].strip(): line for line in rows})
    path.write_text(before + begin + "\n" + table(list(kept.values())) + "\n" + end + after)
