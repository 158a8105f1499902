"""Tables of many runs: what is in the files, who reads them, and that queries say what Vramscope itself says."""
# SPDX-License-Identifier: Apache-2.0
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import brought
import harness

QUERIES = harness.SOURCE / "reporter/manual/queries"
PAGE = harness.SOURCE / "reporter/view/TABLES.md"
JOB = "train/7 é=%"  # each character of which a path or a web address would take for its own
WEEK_NS = 7 * 24 * 3600 * 10**9
NULL = "__HIVE_DEFAULT_PARTITION__"


def tool(*words, status=0, **variables):
    done = subprocess.run([harness.TOOL, *map(str, words)], capture_output=True, text=True, timeout=harness.DEADLINE_S,
                          env=harness.environment() | variables)  # fmt: skip
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}: {done.stderr}")
    return done


def listed(*words, status=0):
    return json.loads(tool(*words[:1], "--json", *words[1:], status=status).stdout)


@functools.cache
def engine():
    sys.path.append(brought.packages("tables", "pyarrow", "duckdb", "pyarrow"))
    import duckdb  # noqa: PLC0415 - it may not be there

    return duckdb


@functools.cache
def runs():
    """A folder with the reports of two ranks with traces, of the same a week before, and of who ran out of memory."""
    home = tempfile.TemporaryDirectory(prefix="vramscope-tables-")
    folder = pathlib.Path(home.name)
    record = functools.partial(tool, "run", "-q", "--sim")
    for rank in ("0", "1"):
        record("--trace", folder / f"rank{rank}.trace", "--output", folder / f"rank{rank}.json", harness.program("many_events"), "2", "300",
               RANK=rank, WORLD_SIZE="2", TORCHELASTIC_RUN_ID=JOB)  # fmt: skip
    record("--label", "night 7", "--output", folder / "leaking.json", harness.program("leaking"), VRAMSCOPE_SIM="capacity=1GiB")
    report = json.loads((folder / "rank1.json").read_text())
    report["process"]["pid"] += 1
    report["process"]["start_time_ns"] -= WEEK_NS
    report["process"]["report_time_ns"] -= WEEK_NS
    report["timeline"]["start_ns"] -= WEEK_NS
    for kind in report["kinds"]:
        kind["peak_bytes"] //= 2
    (folder / "before.json").write_text(json.dumps(report))
    return home


def reports():
    """Each once, by the name that it has in the tables."""
    found = {path.name.removesuffix(".json"): path for path in pathlib.Path(runs().name).glob("*.json")}
    return {name: path for name, path in found.items() if not re.search(r"\.\d+$", name)}  # of the same process, earlier


@functools.cache
def exported(form):
    home = tempfile.TemporaryDirectory(prefix="vramscope-tables-")
    done = tool("export", "--format", form, "-o", pathlib.Path(home.name, form), runs().name)
    if "in place of Parquet" in done.stderr:
        raise unittest.SkipTest(done.stderr.splitlines()[0])
    return home


def tables(form):
    return pathlib.Path(exported(form).name, form)


@contextlib.contextmanager
def opened(folder):
    """DuckDB with the views of the folder, which name its files from there."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        database = engine().connect()
        database.execute(pathlib.Path("views.sql").read_text())
        yield database
    finally:
        os.chdir(before)


def documented():
    """{table: [(column, type, meaning)]} as the page says."""
    found = re.findall(r"^## (\w+)\n\n.*\n\n\| column .*\n\|.*\n((?:\|.*\n)*)", PAGE.read_text(), re.M)
    return {table: re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", rows, re.M) for table, rows in found}


def page_of(views):
    """The tables of the page, by the views that the export writes."""
    text = ""
    meanings = collections.defaultdict(str)
    for table, column, kind, meaning in re.findall(r"^  \('(\w+)', '(\w+)', '(\w+)', '(.*)'\)[,)]", views, re.M):
        meanings[table] += f"| `{column}` | {kind} | " + meaning.replace("''", "'") + " |\n"
    for doc, table in re.findall(r"^-- (.*)\nCREATE OR REPLACE VIEW (\w+) ", views, re.M):
        text += f"## {table}\n\nA row is {doc}.\n\n| column | type | meaning |\n|---|---|---|\n{meanings[table]}\n"
    return text


class Queries(harness.Case):
    """Each installed query says what the tool says."""

    def answer(self, name):
        with opened(tables("parquet")) as database:
            rows = database.execute((QUERIES / f"{name}.sql").read_text())
            names = [column[0] for column in rows.description]
            return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]

    def test_there_is_a_case_for_each_installed_query(self):
        installed = set(re.findall(r"'queries/(\w+)\.sql'", (QUERIES / "../meson.build").read_text()))
        self.assertEqual({path.stem for path in QUERIES.glob("*.sql")}, installed)
        cases = {name for name in dir(self) if name.startswith("test_") and name != self._testMethodName}
        self.assertEqual({f"test_{name}" for name in installed}, cases)

    def test_peak_by_rank(self):
        rows = self.answer("peak_by_rank")
        self.assertEqual(sorted((row["peak_bytes"] for row in rows), reverse=True), [row["peak_bytes"] for row in rows])
        said = {}
        for name, path in reports().items():
            place = json.loads(path.read_text())["process"]
            for kind in listed("peak", path):
                said[name, place["job"] or None, place["rank"], kind["kind"], kind["device"]] = (kind["peak_bytes"], kind["current_bytes"])
        self.assertEqual(said, {(row["report"], row["job"], row["rank"], row["kind"], row["device"]): (row["peak_bytes"], row["current_bytes"]) for row in rows})
        self.assertEqual({(JOB, 0), (JOB, 1), (None, None)}, {(row["job"], row["rank"]) for row in rows})

    def test_peak_by_place(self):
        said = collections.defaultdict(list)
        for path in reports().values():
            for kind in listed("peak", path):
                for site in kind["live"]:
                    said[kind["kind"], " < ".join(site["frames"])].append(site["bytes"])
        rows = self.answer("peak_by_place")
        found = {}
        for row in rows:
            (whole,) = [key for key in said if key[0] == row["kind"] and key[1].startswith(row["place"].removesuffix(" < .."))]
            found[whole] = (row["all_bytes"], row["most_bytes"], row["reports"])
        self.assertEqual({key: (sum(all_bytes), max(all_bytes), len(all_bytes)) for key, all_bytes in said.items()}, found)
        self.assertGreater(max(row["reports"] for row in rows), 1)

    def test_leaks_by_build(self):
        said = collections.Counter()
        for path in reports().values():
            report = json.loads(path.read_text())
            (build,) = [module["build_id"] for module in report["modules"] if module["path"] == report["process"]["executable"]]
            for memory in listed("leaks", path)["memory"]:
                said[build, memory["kind"]] += memory["bytes"]
        found = collections.Counter()
        for row in self.answer("leaks_by_build"):
            found[row["build"], row["kind"]] += row["leaked_bytes"]
        self.assertEqual(+said, found)
        self.assertGreater(sum(said.values()), 0)

    def test_growth_by_week(self):
        rows = [row for row in self.answer("growth_by_week") if row["program"] == "many_events"]
        self.assertEqual([1, 2], [row["runs"] for row in rows])
        peaks = [max(kind["peak_bytes"] for name in names for kind in listed("peak", reports()[name])) for names in (["before"], ["rank0", "rank1"])]
        self.assertEqual(peaks, [row["peak_bytes"] for row in rows])
        self.assertEqual([None, peaks[1] - peaks[0]], [row["growth_bytes"] for row in rows])

    def test_out_of_memory(self):
        (row,) = self.answer("out_of_memory")
        said = listed("oom", reports()["leaking"])
        first = said["events"][0]
        self.assertEqual("leaking", row["report"])
        self.assertEqual(said["count"], row["refusals"])
        for field in ("function", "kind", "device", "bytes", "free_bytes", "reserved_bytes", "allocated_bytes"):
            self.assertEqual(first[field], row[field], field)
        self.assertTrue(row["place"].startswith("main (leaking.cpp:"), row)

    def test_calls_by_rank(self):
        rows = self.answer("calls_by_rank")
        for rank in (0, 1):
            said = {row["name"]: (row["calls"], row["failures"], row["total_ns"], row["max_ns"])
                    for row in listed("calls", pathlib.Path(runs().name, f"rank{rank}.trace"))["rows"]}  # fmt: skip
            found = {row["function"]: (row["calls"], row["failures"], row["total_ns"], row["longest_ns"]) for row in rows if row["rank"] == rank}
            self.assertEqual(said, found)
            self.assertEqual(600, said["cuMemAlloc_v2"][0])


class Tables(harness.Case):
    def test_the_page_has_every_column(self):
        text = (tables("csv") / "views.sql").read_text()
        page = PAGE.read_text()
        wanted = page.split("## ")[0] + page_of(text).rstrip("\n") + "\n"
        if os.environ.get("VRAMSCOPE_WRITE_GOLDEN"):
            PAGE.write_text(wanted)
        self.assertEqual(wanted, PAGE.read_text(), "VRAMSCOPE_WRITE_GOLDEN=1 writes the tables of TABLES.md anew")

    def test_files_have_the_columns_of_the_page_and_a_second_reader_reads_them(self):
        engine()
        import pyarrow.dataset  # noqa: PLC0415 - it may not be there

        parts = pyarrow.dataset.partitioning(pyarrow.schema([("job", pyarrow.string()), ("rank", pyarrow.int64())]), flavor="hive")
        names = {"int64": "BIGINT", "string": "VARCHAR", "bool": "BOOLEAN"}
        with opened(tables("parquet")) as database:
            for table, columns in documented().items():
                found = pyarrow.dataset.dataset(table, format="parquet", partitioning=parts)
                schema = next(iter(found.get_fragments())).physical_schema
                self.assertGreater(len(columns), 2)
                self.assertEqual([(name, kind) for name, kind, _ in columns], [(field.name, names[str(field.type)]) for field in schema])
                self.assertEqual((b"1", table.encode()), (schema.metadata[b"vramscope.schema"], schema.metadata[b"vramscope.table"]))
                wanted = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                self.assertEqual(wanted, found.count_rows(), table)
            self.assertEqual([("night 7",)], database.execute("SELECT label FROM processes WHERE report = 'leaking'").fetchall())
            ranks = pyarrow.dataset.dataset("processes", format="parquet", partitioning=parts).to_table(columns=["report", "job", "rank"]).to_pylist()
        self.assertEqual({("rank0", JOB, 0), ("rank1", JOB, 1), ("before", JOB, 1), ("leaking", None, None)}, {tuple(row.values()) for row in ranks})

    def test_every_table_can_be_asked_for_and_knows_its_columns(self):
        with opened(tables("parquet")) as database:
            found = collections.defaultdict(list)
            for table, *column in database.execute('SELECT "table", "column", type, meaning FROM columns').fetchall():
                found[table].append(tuple(column))
            self.assertEqual(documented(), dict(found))
            for table, columns in documented().items():
                described = [row[:2] for row in database.execute(f"DESCRIBE {table}").fetchall()]
                self.assertEqual([row[:2] for row in columns] + [("job", "VARCHAR"), ("rank", "BIGINT")], described)

    def test_csv_has_the_same_rows_and_becomes_parquet(self):
        copy = pathlib.Path(self.folder, "csv")
        shutil.copytree(tables("csv"), copy)
        with opened(copy) as database:
            database.execute((copy / "to_parquet.sql").read_text())
        rows = {}
        for folder in (tables("parquet"), copy, copy / "parquet"):
            with opened(folder) as database:
                rows[folder] = {table: sorted(map(repr, database.execute(f"FROM {table}").fetchall())) for table in documented()}
        wanted, *others = rows.values()
        self.assertGreater(len(wanted["events"]), 2400)
        for other in others:
            for table in documented():
                self.assertEqual(wanted[table], other[table], table)

    def test_sqlite_has_the_same_rows(self):
        file = os.path.join(self.folder, "one.sqlite")
        tool("export", "--format", "sqlite", "-o", file, reports()["leaking"])
        with opened(tables("parquet")) as database, contextlib.closing(sqlite3.connect(file)) as other:
            for table, columns in documented().items():
                names = ", ".join(f'"{name}"' for name, _, _ in columns if name != "report")
                wanted = sorted(map(repr, other.execute(f"SELECT {names} FROM {table}").fetchall()))
                found = database.execute(f"SELECT {names} FROM {table} WHERE report = 'leaking'").fetchall()
                found = [[int(cell) if isinstance(cell, bool) else cell for cell in row] for row in found]
                self.assertEqual(wanted, sorted(repr(tuple(row)) for row in found), table)

    def test_sites_of_events_are_those_of_the_report(self):
        with opened(tables("parquet")) as database:
            counted = database.execute("SELECT report, site, count(*), sum(bytes) FROM events WHERE event LIKE 'allocation%' GROUP BY ALL ORDER BY ALL").fetchall()
            wanted = database.execute("SELECT report, site, total_count, total_bytes FROM shares WHERE report IN ('rank0', 'rank1') ORDER BY ALL").fetchall()
        self.assertEqual(wanted, counted)

    def test_a_trace_by_itself_has_no_rank(self):
        copy = pathlib.Path(self.folder, "traces")
        copy.mkdir()
        shutil.copy(pathlib.Path(runs().name, "rank0.trace"), copy)
        folder = pathlib.Path(self.folder, "out")
        tool("export", "--format", "csv", "-o", folder, copy)
        (file,) = (folder / "events").rglob("*.csv.zst")
        self.assertEqual(f"events/job={NULL}/rank={NULL}/rank0.csv.zst", str(file.relative_to(folder)))


class Folder(harness.Case):
    """What an export does to a folder. As CSV, which every build can write."""

    def export(self, *words, folder="out", status=0):
        return tool("export", "--format", "csv", "-o", os.path.join(self.folder, folder), *words, status=status).stderr

    def files(self, folder="out"):
        return {str(path.relative_to(self.folder)): path.stat().st_mtime_ns for path in pathlib.Path(self.folder, folder).rglob("*") if path.is_file()}

    def test_another_export_adds_to_it_and_replaces_nothing(self):
        path = reports()["before"]
        self.export(path)
        before = self.files()
        said = self.export(path, reports()["leaking"], status=2)
        self.assertIn(f"the tables of '{path}' are in '{self.folder}/out' already, and stay; --force replaces them\n", said)
        self.assertIn("csv of 1 report in ", said)
        kept = {name: when for name, when in before.items() if not name.endswith(".sql")}
        after = self.files()
        self.assertEqual(kept, {name: after[name] for name in kept})
        self.assertTrue(any("leaking" in name for name in after))
        self.export("--force", path)
        self.assertTrue(all(self.files()[name] > when for name, when in kept.items() if "/before." in name))

    def test_a_folder_of_something_else_is_left_alone(self):
        pathlib.Path(self.folder, "notes.txt").write_text("mine\n")
        said = self.export(reports()["before"], folder=".", status=2)
        self.assertRegex(said, "^vramscope: '.*' is not empty and has no tables of Vramscope; choose another folder\n$")
        self.assertEqual(["notes.txt"], os.listdir(self.folder))
        pathlib.Path(self.folder, "views.sql").write_text("-- tables of Vramscope, version 7, as csv\n")
        said = self.export(reports()["before"], folder=".", status=2)
        self.assertRegex(said, "^vramscope: '.*' has other tables than tables of Vramscope, version 1, as csv; choose another folder\n$")

    def test_a_folder_with_nothing_is_said_to_have_nothing(self):
        pathlib.Path(self.folder, "in", "deeper").mkdir(parents=True)
        said = self.export(pathlib.Path(self.folder, "in"), status=2)
        self.assertEqual(f"vramscope: no report is in '{self.folder}/in'\n", said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    def test_it_needs_a_folder(self):
        for words in ((), ("-o", "-")):
            self.assertEqual("vramscope: csv is a folder of tables: -o FOLDER\n", tool("export", "--format", "csv", *words, reports()["before"], status=2).stderr)

    def test_a_broken_report_and_a_broken_trace_are_named_and_left_out(self):
        broken = pathlib.Path(self.folder, "broken.json")
        broken.write_text('{"schema": {"name": "vramscope-report"')
        trace = pathlib.Path(self.folder, "broken.trace")
        whole = pathlib.Path(runs().name, "rank0.trace").read_bytes()
        trace.write_bytes(whole[: len(whole) * 2 // 3])
        said = self.export(broken, trace, reports()["before"], status=2)
        self.assertRegex(said, f"vramscope: '?{re.escape(str(broken))}'?: .*\nvramscope: .*{re.escape(str(trace))}.*\nvramscope: csv of 1 report in ")
        self.assertFalse([name for name in self.files() if "broken" in name or "/." in name])

    def test_each_process_is_there_once(self):
        name = pathlib.Path(runs().name, "rank0")
        self.assertIn("csv of 1 report in ", self.export(f"{name}.trace", f"{name}.json"))
        again = pathlib.Path(self.folder, "again.json")
        shutil.copy(f"{name}.json", again)
        self.assertIn("1 report skipped, because other reports contain the same data\n", self.export(f"{name}.json", again, folder="other"))

    def test_reports_of_one_name_have_names_of_their_own(self):
        for number, name in enumerate(("before", "leaking")):
            pathlib.Path(self.folder, str(number)).mkdir()
            shutil.copy(reports()[name], pathlib.Path(self.folder, str(number), "same.json"))
        self.assertIn("csv of 2 reports in ", self.export(self.folder))
        found = {pathlib.Path(name).name for name in self.files() if "/processes/" in name}
        self.assertEqual({"same.csv.zst", "same.2.csv.zst"}, found)

    def test_after_an_interrupt_no_part_of_a_report_is_left(self):
        many = pathlib.Path(self.folder, "many")
        many.mkdir()
        for number in range(200):
            os.link(pathlib.Path(runs().name, "rank0.trace"), many / f"{number}.trace")
        out = pathlib.Path(self.folder, "out")
        with subprocess.Popen([harness.TOOL, "export", "--format", "csv", "-o", out, many], stderr=subprocess.PIPE, env=harness.environment()) as running:
            self.wait_until(lambda: (out / "processes").exists())
            running.send_signal(signal.SIGINT)
            running.communicate()
        self.assertEqual(-signal.SIGINT, running.returncode)
        self.assertFalse([name for name in self.files() if "/." in name])

    def test_where_the_library_is_gone_csv_is_written_and_the_reason_said(self):
        moved = shutil.copy(harness.TOOL, self.folder)
        out = pathlib.Path(self.folder, "out")
        done = subprocess.run([moved, "export", "--format", "parquet", "-o", out, reports()["before"]], capture_output=True, text=True, env=harness.environment())
        self.assertEqual(0, done.returncode, done.stderr)
        why, written = done.stderr.splitlines()
        self.assertRegex(why, "^vramscope: CSV is written in place of Parquet: .*(/lib/vramscope|Arrow's Parquet library)")
        self.assertTrue(written.endswith(f"; to make Parquet of it: cd {out} && duckdb -f to_parquet.sql"), written)
        self.assertTrue((out / "to_parquet.sql").is_file())

    def test_the_tool_starts_without_the_library_of_parquet(self):
        needed = subprocess.run(["readelf", "-d", harness.TOOL], capture_output=True, text=True, check=True).stdout
        self.assertIn("NEEDED", needed)
        self.assertNotRegex(needed, "(?i)arrow|parquet")


if __name__ == "__main__":
    harness.main()
