"""consumers.py BUILD [--readme PAGE] [--modules FOLDER]: every export opened by those for whom it is.

Viewers that are pages open in Chromium without a window; FOLDER has npm's node_modules with
playwright-core and speedscope. What is not installed is SKIPPED with the reason. Each must show the
report's own totals. With a page, the table between its marks is written anew.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import export_case  # reads BUILD, too
import brought
import harness

BEGIN, END = "<!-- scripts/check --consumers writes this table -->", "<!-- end of the consumers -->"
DH_VIEW = "/usr/libexec/valgrind/dh_view.html"
# Says what the viewer's model has of a file.
TRACE_VIEWER = """<!DOCTYPE html><meta charset="utf-8"><script src="PARTS/webcomponents.min.js"></script>
<link rel="import" href="PARTS/trace_viewer_full.html"><body><input type="file"><pre></pre><script>
document.querySelector('input').onchange = async (event) => {
  while (!window.tr || !tr.Model || !tr.importer || !tr.importer.Import) await new Promise((on) => setTimeout(on, 100));
  const model = new tr.Model(), file = await event.target.files[0].text();
  await new tr.importer.Import(model).importTraces([file]);
  const threads = model.getAllThreads(), lives = threads.flatMap((t) => t.asyncSliceGroup.slices);
  const calls = new Set(threads.flatMap((t) => t.sliceGroup.slices.map((s) => s.title)));
  const most = model.getAllCounters().map((c) => c.name + ' ' + Math.max(...c.totals)).sort();
  document.querySelector('pre').textContent =
    `${lives.filter((s) => s.startStackFrame).length} lives with stacks, ${most.join(', ')}; calls ${[...calls].sort().join(', ')}`;
};
</script>"""
BROWSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "browse.mjs")


class Skipped(Exception):
    pass


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def tool(name):
    if shutil.which(name) is None:
        raise Skipped(f"{name} is not installed")
    return name


def same(wanted, found):
    if wanted != found:
        raise AssertionError(f"{found} is shown where the report has {wanted}")


class Consumers:
    def __init__(self, folder, modules):
        self.folder, self.modules = folder, modules
        home = export_case.run_once()
        self.inputs = {"report": home + "/r.json", "trace": home + "/t.trace"}
        with open(self.inputs["report"], encoding="utf-8") as file:
            self.report = json.load(file)
        self.device = next(kind for kind in self.report["kinds"] if kind["kind"] == "device")

    def sum(self, column):
        return sum(site[column] for site in self.report["sites"])

    def made(self, form, of, *more):
        path = os.path.join(self.folder, f"{form}.{of}.out")
        done = subprocess.run([harness.TOOL, "export", "--force", "--format", form, "-o", path, *more, self.inputs[of]],
                              capture_output=True, text=True)  # fmt: skip
        if "this build is without" in done.stderr:
            raise Skipped(done.stderr.strip())
        lines = [line for line in done.stderr.splitlines() if " leaves out " not in line]
        same((0, 1), (done.returncode, len(lines)))  # how it is opened
        return path

    # Each gives the consumer with its version, and what it said.

    def pprof(self):
        version = re.search(r"go([\d.]+)", run(tool("go"), "version"))[1]
        for of in self.inputs:
            text = run("go", "tool", "pprof", "-raw", self.made("pprof", of))
            rows = re.findall(r"^ +((?:\d+ +){5}\d+): ", text, re.M)
            columns = list(zip(*(map(int, row.split()) for row in rows)))
            wanted = [self.sum("total_count"), self.sum("total_bytes"), self.sum("live_bytes"), self.sum("peak_bytes")]
            same(wanted, [sum(columns[i]) for i in (0, 1, 3, 5)])
        top = run("go", "tool", "pprof", "-top", "-cum", self.made("pprof", "report"))
        if "main" not in top:
            raise AssertionError("main is not in -top")
        return f"go tool pprof of Go {version}", f"{sum(columns[5]):,} bytes of peak_space in {len(rows)} samples"

    def heaptrack(self):
        version = run(tool("heaptrack_print"), "--version").split()[-1]
        text = run("heaptrack_print", "-f", self.made("heaptrack", "trace", "--kind", "device"))
        calls = int(re.search(r"calls to allocation functions: (\d+)", text)[1])
        same(self.device["allocations"], calls)
        said = re.search(r"peak heap memory consumption: (\S+)", text)[1]
        same(f"{self.device['peak_bytes'] / 1e6:.2f}M", said)
        return f"heaptrack_print {version}", f"{calls} calls, peak {said}"

    def massif(self):
        version = run(tool("valgrind"), "--version").strip().removeprefix("valgrind-")
        for of in self.inputs:
            text = run("ms_print", self.made("massif", of))
            found = re.search(r"100\.00% \(([\d,]+)B\)", text)[1]
            same(f"{self.device['peak_bytes']:,}", found)
        return f"ms_print of valgrind {version}", f"{found} B at the peak"

    def openmetrics(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
            from importlib.metadata import version
        except ImportError:
            raise Skipped("python3-prometheus-client is not installed") from None
        with open(self.made("openmetrics", "report"), encoding="utf-8") as file:
            families = list(text_string_to_metric_families(file.read()))
        peak = [s.value for f in families for s in f.samples
                if s.name == "vramscope_requested_peak_bytes" and s.labels["kind"] == "device"]  # fmt: skip
        same([self.device["peak_bytes"]], peak)
        return f"python3-prometheus-client {version('prometheus_client')}", f"{len(families)} families"

    def sqlite(self):
        """README's questions, each as a query."""
        version = run(tool("sqlite3"), "--version").split()[0]
        questions = {
            "SELECT sum(peak_bytes) FROM peak": self.sum("peak_bytes"),  # what made the peak
            "SELECT sum(leaked_bytes) FROM leaks": self.sum("live_bytes"),  # what was never freed
            "SELECT max(peak_bytes) FROM kinds WHERE kind = 'device'": self.device["peak_bytes"],
            "SELECT sum(total_count) FROM shares": self.sum("total_count"),  # which allocate most
        }
        for of in self.inputs:
            path = self.made("sqlite", of)
            same("ok", run("sqlite3", path, "PRAGMA integrity_check").strip())
            for question, wanted in questions.items():
                same(str(wanted), run("sqlite3", path, question).strip())
        path = self.made("sqlite", "report")
        temporary = sum(site["temporary_count"] for site in self.report["sites"])
        same(str(temporary), run("sqlite3", path, "SELECT sum(temporary_count) FROM temporary").strip())
        used = sum(entry["device_bytes"] for entry in self.report["ledger"])
        same(str(used), run("sqlite3", path, "SELECT sum(device_bytes) FROM owners").strip())  # whose it is
        idle = [b["size"] for s in self.report["devices"][0]["segments"] for b in s["blocks"] if b["state"] == "inactive"]
        found = run("sqlite3", path, "SELECT sum(size) FROM free_pieces JOIN segments USING (segment) WHERE kind = 'device'")
        same(str(sum(idle)), found.strip())  # is it fragmented
        return f"sqlite3 {version}", f"{len(questions) + 3} of README's questions as queries"

    def memory_viz(self):
        """What the page takes for granted, replayed backwards from the segments, as it does."""
        import pickle

        for of in self.inputs:
            with open(self.made("memory_viz", of), "rb") as file:
                snapshot = pickle.load(file)
            live = {}
            for segment in snapshot["segments"]:
                same(segment["total_size"], sum(block["size"] for block in segment["blocks"]))
                same(0, segment["device"])
                at = segment["address"]
                for block in segment["blocks"]:
                    if block["state"] == "active_allocated":
                        live[at] = block["requested_size"]
                    at += block["size"]
            same(self.device["current_bytes"], sum(live.values()))
            events = snapshot["device_traces"][0]
            same(self.device["peak_bytes"] if events else sum(live.values()), replay_backwards(snapshot, live))
        return f"pickle of Python {sys.version.split()[0]}", f"{len(events)} events replayed backwards, {sum(live.values()):,} bytes live"

    def browse(self, form, of, page, keys, wanted):
        for name in ("node", "chromium"):
            tool(name)
        if not self.modules or not os.path.isdir(os.path.join(self.modules, "playwright-core")):
            raise Skipped("playwright-core is not installed (npm)")
        if not os.path.exists(page):
            raise Skipped(f"{page} is not there")
        job = {"page": "file://" + page, "file": self.made(form, of), "keys": keys, "wanted": wanted}
        answer = json.loads(run("node", BROWSE, os.path.dirname(self.modules), shutil.which("chromium"), json.dumps([job])))
        shown = answer["answers"][0]
        same([], shown["errors"])
        if wanted not in shown["text"]:
            raise AssertionError(f"'{wanted}' is not shown: {shown['text'][:300]}")
        return f"in Chromium {answer['version'].split('.')[0]}", shown["text"]

    def speedscope_shows(self, form, of, wanted):
        page = os.path.join(self.modules or "", "speedscope/dist/release/index.html")
        where, _ = self.browse(form, of, page, "3", wanted)  # 3: the view with sums in words
        with open(os.path.join(self.modules, "speedscope/package.json"), encoding="utf-8") as file:
            return f"speedscope {json.load(file)['version']} {where}", f"shows {wanted}"

    def speedscope(self):
        return self.speedscope_shows("speedscope", "trace", f"{self.device['peak_bytes'] / 2**20:.2f} MB")

    def folded(self):
        return self.speedscope_shows("folded", "report", f"{self.device['peak_bytes']:,}")

    def chrome(self):
        """The viewer of chrome://tracing, which Go ships for its own traces; and speedscope."""
        home = run(tool("go"), "env", "GOROOT").strip() + "/src/"
        parts = [home + place + "/static" for place in ("cmd/trace", "internal/trace/traceviewer")]
        parts = [place for place in parts if os.path.exists(place + "/trace_viewer_full.html")]
        if not parts:
            raise Skipped("this Go is without trace_viewer_full.html")
        page = os.path.join(self.folder, "viewer.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(TRACE_VIEWER.replace("PARTS", "file://" + parts[0]))
        allocations = sum(kind["allocations"] for kind in self.report["kinds"])
        wanted = f"{allocations} lives with stacks, GPU 0 {self.device['peak_bytes']}"
        where, text = self.browse("chrome", "trace", page, "", wanted)
        same("cuMemAlloc_v2" in text, True)
        scope, _ = self.speedscope_shows("chrome", "trace", "cuMemAlloc_v2")
        version = re.search(r"go([\d.]+)", run("go", "version"))[1]
        return f"trace viewer of Go {version} {where}, {scope.split(' in ')[0]}", text.strip().partition(";")[0]

    def dhat(self):
        wanted = f"{self.sum('total_bytes'):,} bytes"
        where, text = self.browse("dhat", "trace", DH_VIEW, "", wanted)
        peak = f"At t-gmax: {self.sum('peak_bytes'):,} bytes"
        if peak not in text:
            raise AssertionError(f"'{peak}' is not shown")
        version = run(tool("valgrind"), "--version").strip().removeprefix("valgrind-")
        return f"dh_view of valgrind {version} {where}", f"{wanted} in all, {peak}"

    def parquet(self):
        """Each peak by the installed query, and each event by a second reader."""
        sys.path.append(brought.packages("tables", "pyarrow", "duckdb", "pyarrow"))
        import duckdb
        import pyarrow
        import pyarrow.parquet

        folder = os.path.join(self.folder, "tables")
        run(harness.TOOL, "export", "--format", "parquet", "-o", folder, self.inputs["report"])
        query = harness.SOURCE / "reporter/manual/queries/peak_by_rank.sql"
        database = duckdb.connect()
        database.execute(f"SET file_search_path = '{folder}'")
        with open(os.path.join(folder, "views.sql"), encoding="utf-8") as views:
            database.execute(views.read())
        peaks = {row[3:6] for row in database.execute(query.read_text()).fetchall()}
        wanted = {(kind["kind"], None if kind["kind"] in ("pinned", "registered") else kind["device"], kind["peak_bytes"]) for kind in self.report["kinds"]}
        same({row for row in wanted if row[2] > 0}, peaks)
        (file,) = pathlib.Path(folder, "events").rglob("*.parquet")
        events = pyarrow.parquet.read_table(file, partitioning=None).to_pylist()
        same(self.device["allocations"], sum(row["event"] == "allocation" and row["kind"] == "device" for row in events))
        return f"DuckDB {duckdb.__version__}, pyarrow {pyarrow.__version__}", f"peaks of {len(peaks)} kinds, {len(events)} events"

    def rmm(self):
        """No package has RMM's replay benchmark: its rules, on Python's reader of CSV."""
        import csv

        live, most, rows = {}, 0, 0
        with open(self.made("rmm", "trace"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                address, rows = int(row["Pointer"], 16), rows + 1
                if row["Action"] == "allocate":
                    same(False, address in live)
                    live[address] = int(row["Size"])
                else:
                    same(("free", int(row["Size"])), (row["Action"], live.pop(address)))
                most = max(most, sum(live.values()))
        same((self.device["peak_bytes"], self.device["current_bytes"]), (most, sum(live.values())))
        return "its replay's rules, in Python", f"{rows} rows replayed, peak {most:,}"

    def perfetto(self):
        """No package has Perfetto's reader or its whole schema: protobuf's compiler, and that part of it."""
        version = run(tool("protoc"), "--version").split()[-1]
        schema = str(harness.SOURCE / "reporter/view/export/perfetto.proto")
        with open(self.made("perfetto", "trace"), "rb") as file:
            done = subprocess.run(["protoc", "--decode=vramscope.perfetto.Trace", f"--proto_path={os.path.dirname(schema)}", schema],
                                  stdin=file, capture_output=True, text=True, check=True)  # fmt: skip
        same([], re.findall(r"(?m)^ *\d+[:{ ].*", done.stdout))  # a field that the schema lacks
        most = max(int(found) for found in re.findall(r"counter_value: (\d+)", done.stdout))
        same(self.device["peak_bytes"], most)
        return f"protoc {version}", f"{done.stdout.count('packet {')} packets, peak {most:,}"


def replay_backwards(snapshot, live):
    """The most that was live; AssertionError where a step does not find what it undoes."""
    blocks, most = dict(live), sum(live.values())
    segments = {segment["address"]: segment["total_size"] for segment in snapshot["segments"]}
    for event in reversed(snapshot["device_traces"][0]):
        address, size, action = event["addr"], event["size"], event["action"]
        if action in ("free_completed", "segment_free"):
            into = blocks if action == "free_completed" else segments
            same(None, into.get(address))
            into[address] = size
        elif action in ("alloc", "segment_alloc"):
            same(size, (blocks if action == "alloc" else segments).pop(address, None))
        else:
            same(("free_requested", size), (action, blocks.get(address)))
        for at, bytes_ in blocks.items():
            same(True, any(begin <= at and at + bytes_ <= begin + whole for begin, whole in segments.items()))
        most = max(most, sum(blocks.values()))
    return most


FORMATS = ("folded", "speedscope", "memory_viz", "chrome", "massif", "dhat", "heaptrack", "rmm", "pprof", "perfetto",
           "sqlite", "parquet", "openmetrics")  # fmt: skip


def judged(consumers):
    """(format, consumer, what it said, whether it failed)"""
    for form in FORMATS:
        try:
            yield form, *getattr(consumers, form)(), False
        except (Skipped, unittest.SkipTest) as reason:
            yield form, "-", f"SKIPPED: {reason}", False
        except (AssertionError, subprocess.SubprocessError) as wrong:
            yield form, "-", f"FAILED: {wrong}", True


def write(page, rows):
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    lines = ["", "| format | opened by | which said |", "|---|---|---|"]
    lines += [f"| `{form}` | {consumer} | {said} |" for form, consumer, said, _ in rows]
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--readme")
    parser.add_argument("--modules")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for row in judged(Consumers(folder, given.modules)):
            print("{:12} {}  {}".format(*row[:3]), flush=True)
            rows.append(row)
    failed = sum(row[3] for row in rows)
    skipped = sum(row[2].startswith("SKIPPED") for row in rows)
    if given.readme and not failed:
        write(given.readme, rows)
    print(f"{len(rows) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
