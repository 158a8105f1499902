"""engine.py BUILD [--page FILE] [--runs N] [--pairs N]: tables of very many events, and how long others take to answer.

Records N runs with traces of the simulated device, and some that run out of memory, exports all of them at once, and asks DuckDB each installed query,
each in a process of its own. With --page, the figures go into the manual's page. Exits with 77 where DuckDB is not there.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import brought  # noqa: E402
import harness  # noqa: E402

BEGIN, END = "<!-- scripts/check --engine writes this table -->", "<!-- end of the engines -->"
QUERIES = harness.SOURCE / "reporter/manual/queries"
THREADS = 4
JOB = "engine"
# Prints how many rows the query has, and the sum of a column where one is named.
ASK = """
import sys, duckdb
database = duckdb.connect()
database.execute("SET enable_progress_bar = false")
database.execute(open("views.sql").read())
rows = database.execute(open(sys.argv[1]).read())
names = [column[0] for column in rows.description]
all_rows = rows.fetchall()
print(len(all_rows), sum(row[names.index(sys.argv[2])] or 0 for row in all_rows))
"""
SECOND = """
import pyarrow, pyarrow.compute, pyarrow.dataset
parts = pyarrow.dataset.partitioning(pyarrow.schema([("job", pyarrow.string()), ("rank", pyarrow.int64())]), flavor="hive")
events = pyarrow.dataset.dataset("events", format="parquet", partitioning=parts)
count = total = 0
for batch in events.to_batches(columns=["bytes"], filter=pyarrow.compute.field("event") == "allocation"):
    count, total = count + batch.num_rows, total + pyarrow.compute.sum(batch["bytes"]).as_py()
print(count, total)
"""


class Measured:
    """What a command printed, how long it took, and the most memory that it held."""

    def __init__(self, words, folder, **variables):
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+") as output:
            with subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=os.environ | variables) as child:
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.output = output.read()
        if child.returncode != 0:
            raise AssertionError(f"{words}: status {child.returncode}: {self.output}")
        self.seconds, self.bytes = time.monotonic() - begin, used.ru_maxrss * 1024

    def cells(self):
        return f"{self.seconds:.1f} s | {self.bytes / (1 << 20):,.0f} MiB"


def processor():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"{len(os.sched_getaffinity(0))} cores of {names[0] if names else 'an unknown processor'}"


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def record(folder, runs, pairs):
    """Of each hundred ranks, one more runs out of memory that it never freed."""
    for rank in range(runs // 100):
        subprocess.run([harness.TOOL, "run", "-q", "--sim", "--output", folder / f"full{rank}.json", harness.program("leaking")], check=True,
                       capture_output=True, env=harness.environment() | {"RANK": str(runs + rank), "VRAMSCOPE_SIM": "capacity=1GiB"})  # fmt: skip
    for rank in range(runs):
        subprocess.run([harness.TOOL, "run", "-q", "--sim", "--trace", folder / f"r{rank}.trace", "--output", folder / f"r{rank}.json",
                        harness.program("many_events"), str(THREADS), str(pairs)], check=True, capture_output=True,
                       env=harness.environment() | {"RANK": str(rank), "WORLD_SIZE": str(runs), "TORCHELASTIC_RUN_ID": JOB})  # fmt: skip


def ask(tables, packages, query, column):
    words = [sys.executable, "-c", ASK, QUERIES / f"{query}.sql", column]
    found = Measured(words, tables, PYTHONPATH=packages, PYTHONDONTWRITEBYTECODE="1")
    rows, total = map(int, found.output.split())
    return found, rows, total


def same(wanted, found, what):
    if wanted != found:
        raise AssertionError(f"{what}: {found:,}, wanted {wanted:,}")


def measure(home, packages, runs, pairs):
    """(what, figures, what it said)"""
    traces, tables = home / "runs", home / "tables"
    traces.mkdir()
    record(traces, runs, pairs)
    allocations = runs * THREADS * pairs
    made = Measured([harness.TOOL, "export", "--format", "parquet", "-o", tables, traces], home)
    if "in place of Parquet" in made.output:
        raise unittest.SkipTest(made.output.splitlines()[0])
    shutil.rmtree(traces)
    yield "`vramscope export`", made, f"{size_of(tables) / (1 << 20):,.0f} MiB of Parquet in {sum(1 for path in tables.rglob('*.parquet')):,} files"
    calls, rows, total = ask(tables, packages, "calls_by_rank", "calls")
    same(2 * allocations + runs, total, "calls")
    yield "`calls_by_rank`", calls, f"{rows:,} rows of {total:,} calls"
    for query, column in (("peak_by_rank", "peak_bytes"), ("peak_by_place", "all_bytes"), ("leaks_by_build", "leaked_bytes"),
                          ("growth_by_week", "peak_bytes"), ("out_of_memory", "refusals")):  # fmt: skip
        found, rows, total = ask(tables, packages, query, column)
        if query == "peak_by_rank":
            same(runs + runs // 100, rows, "ranks")
            peaks = total
        if query == "peak_by_place":
            same(peaks, total, "bytes at the peaks")
        if query == "out_of_memory":
            same(runs // 100, rows, "who ran out of memory")
        yield f"`{query}`", found, f"{rows:,} rows"
    second = Measured([sys.executable, "-c", SECOND], tables, PYTHONPATH=packages, PYTHONDONTWRITEBYTECODE="1")
    count, total = map(int, second.output.split())
    same(allocations, count, "allocations")
    yield "pyarrow, bytes of all allocations", second, f"{count:,} allocations of {total:,} bytes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--page")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=12500, help="allocations and frees of each of four threads")
    arguments = parser.parse_args()
    try:
        packages = brought.packages("tables", "pyarrow", "duckdb", "pyarrow")
        with tempfile.TemporaryDirectory(prefix="vramscope-engine-", dir=harness.BUILD) as home:
            rows = []
            for what, figures, said in measure(pathlib.Path(home), packages, arguments.runs, arguments.pairs):
                rows.append(f"| {what} | {figures.cells()} | {said} |")
                print(rows[-1], flush=True)
    except unittest.SkipTest as reason:
        print(f"SKIPPED {reason}")
        sys.exit(77)
    if arguments.page:
        page = pathlib.Path(arguments.page)
        before, _, rest = page.read_text().partition(BEGIN)
        events = 2 * arguments.runs * THREADS * arguments.pairs
        head = f"{events:,} allocations and frees of {arguments.runs:,} ranks, on {processor()}, with other programs running:\n\n| who | time | memory | which said |\n|---|---|---|---|\n"
        page.write_text(before + BEGIN + "\n\n" + head + "\n".join(rows) + "\n\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
