"""A figure is the same number wherever it is told: in texts, JSON, CSV, pages and exports."""
# SPDX-License-Identifier: Apache-2.0
import collections
import csv
import functools
import glob
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FILTERS = ((), ("--kind", "device"), ("--kind", "pinned"), ("--device", "0"))
LISTINGS = ("sites", "peak", "leaks", "owners")


def run(*words, status=(0,)):
    done = subprocess.run([harness.TOOL, *words], capture_output=True, env=harness.environment(), timeout=harness.DEADLINE_S)
    if done.returncode not in status:
        raise AssertionError(f"{words}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode() if done.returncode == 0 else ""


def page_of(path, *words):
    return json.loads(run("html", "-o", "-", *words, path).split('id="report">')[1].split("</script>")[0])


@functools.cache
def made():
    """A folder with reports and a trace that the golden ones do not have."""
    home = tempfile.TemporaryDirectory(prefix="vramscope-figures-")
    path = functools.partial(os.path.join, home.name)
    for name, words in (("train", ("--trace", path("train.trace"))), ("sampled", ("--sample-bytes", "1MiB"))):
        run("run", "--sim", *words, "--output", path(name + ".json"), harness.program("train"))
    run("run", "--sim", "--sample-bytes", "64KiB", "--output", path("kinds.json"), harness.program("kinds"))
    with open(path("train.json"), encoding="utf-8") as file:
        report = json.load(file)
    for rank in range(3):
        report["process"].update(rank=rank, pid=4000 + rank)
        report["process"]["start_time_ns"] += 1_000_000
        with open(path(f"rank{rank}.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
    run("merge", "-o", path("all.json"), *(path(f"rank{rank}.json") for rank in range(3)))
    return home


def samples():
    """(path, filter): the golden reports with two of the filters, what was made here with all."""
    golden = sorted(glob.glob(os.path.join(ROOT, "test/golden/reports/*/*.json")))
    for number, path in enumerate(golden):
        yield path, ()
        yield path, FILTERS[1 + number % (len(FILTERS) - 1)]
    for path in sorted(glob.glob(os.path.join(made().name, "*.json")) + glob.glob(os.path.join(made().name, "*.trace"))):
        if not re.search(r"rank[12]\.json$", path):  # as the first, but for a number
            yield from ((path, words) for words in FILTERS)


def sums(rows):
    """Of (key, bytes), without what adds up to nothing."""
    result = collections.Counter()
    for key, amount in rows:
        result[key] += amount
    return {key: amount for key, amount in result.items() if amount}


class Figures(harness.Case):
    def each(self, check):
        for path, words in samples():
            with self.subTest(f"{os.path.basename(path)} {' '.join(words)}"):
                check(path, words)

    def database(self, path, *words):
        file = os.path.join(self.folder, "figures.sqlite")
        if os.path.exists(file):
            os.unlink(file)
        run("export", "--format", "sqlite", "-o", file, *words, path, status=(0, 2))
        if not os.path.exists(file):
            return None
        return sqlite3.connect(file)

    def folded(self, cost, path, *words):
        """Sums by memory, the outermost frame."""
        lines = run("export", "--format", "folded", "--cost", cost, *words, path, status=(0, 2)).splitlines()
        return sums((line.split(";")[0], int(line.rsplit(" ", 1)[1])) for line in lines)

    def test_bytes_at_the_peak(self):
        def check(path, words):
            told = {}
            for row in json.loads(run("peak", "--json", *words, path)):
                if row["kind"] == "all":  # those of one device together, at an instant of their own
                    continue
                for site in row["live"]:
                    told[site["site"], row["kind"], row["device"]] = site["bytes"]
            told = {key: amount for key, amount in told.items() if amount}
            database = self.database(path, *words)
            if database is None:
                return
            rows = database.execute("SELECT kind, ifnull(device, 0), sum(peak_bytes) FROM peak GROUP BY kind, device")
            by_memory = sums(((kind, device), amount) for (_, kind, device), amount in told.items())
            self.assertEqual(by_memory, sums(((kind, device), amount) for kind, device, amount in rows))
            amounts = self.folded("peak", path, *words)
            self.assertEqual(sorted(by_memory.values()), sorted(amounts.values()))

        self.each(check)

    def test_bytes_that_were_never_freed(self):
        def check(path, words):
            leaks = json.loads(run("leaks", "--json", "--no-default-suppressions", *words, path))
            told = sums(((row["kind"], row["device"]), row["bytes"]) for row in leaks["leaks"])
            database = self.database(path, *words)
            if database is None:
                return
            rows = database.execute("SELECT kind, ifnull(device, 0), sum(never_freed_bytes) FROM shares GROUP BY kind, device")
            self.assertEqual(told, sums(((kind, device), amount) for kind, device, amount in rows))
            usual = json.loads(run("leaks", "--json", *words, path))["leaks"]
            leaked = sums(((row["kind"], row["device"]), row["bytes"]) for row in usual)
            rows = database.execute("SELECT kind, ifnull(device, 0), sum(leaked_bytes) FROM leaks GROUP BY kind, device")
            self.assertEqual(leaked, sums(((kind, device), amount) for kind, device, amount in rows))
            self.assertEqual(sorted(leaked.values()), sorted(self.folded("leaked", path, *words).values()))
            kept = sum(told.values()) - sum(leaked.values())
            self.assertEqual(kept, sum(self.folded("kept", path, *words).values()))
            # For people: "never freed: 24.0 KiB in 1 allocation", "24.0 KiB in 1 allocation was never freed".
            count = sum(row["count"] for row in leaks["leaks"])
            text = " ".join(run("sites", *words, path).split())
            counts = re.search(r"; (?:never|not) freed[^:]*: [\d.,]+ [KMG]?i?B in ([\d,]+) allocations?", text)
            self.assertEqual(count, 0 if counts is None else int(counts[1].replace(",", "")), text)
            page = page_of(path, *words)
            counts = re.search(r"in ([\d,]+) allocations? (?:was|were) (?:never|not) freed", " ".join(page["verdict"]))
            if not leaks["leaks"] or counts is not None:
                self.assertEqual(count, 0 if counts is None else int(counts[1].replace(",", "")), page["verdict"])

        self.each(check)

    def test_share_of_temporary_allocations(self):
        compared = 0
        def check(path, words):
            nonlocal compared
            # Of both the text is for people: "1,234 temporary (12.3 %)", "1,234 of 10,000 allocations (12.3 %) were temporary".
            text = " ".join(run("sites", "-n", "0", *words, path).split())
            page = page_of(path, *words)
            in_text = re.search(r"([\d,]+)(?: of [\d,]+ known ones)? temporary \(([<\d.]+ %)[;)]", text)
            in_page = re.search(r"([\d,]+) of [\d,]+ allocations? \(([<\d.]+ %)\) were temporary", " ".join(page["verdict"]))
            if in_page is None:
                self.assertTrue(in_text is None or in_text[1] == "0", text)
                return
            self.assertEqual(in_text.groups(), in_page.groups())
            listed = json.loads(run("sites", "--json", "-n", "0", *words, path))
            if not any(site["estimated"] for site in listed):  # sites of the calls that were chosen, then
                self.assertEqual(int(in_text[1].replace(",", "")), sum(site["temporary_count"] or 0 for site in listed))
            compared += 1

        self.each(check)
        self.assertGreater(compared, 4)

    def test_rows_as_json_and_as_csv(self):
        def check(path, words):
            for verb in LISTINGS:
                rows = json.loads(run(verb, "--json", *words, path, status=(0, 2)) or "[]")
                table = list(csv.DictReader(io.StringIO(run(verb, "--csv", *words, path, status=(0, 2)))))
                rows = rows["leaks"] if isinstance(rows, dict) and verb == "leaks" else rows
                if not isinstance(rows, list) or len(rows) != len(table):
                    continue
                for one, other in zip(rows, table):
                    for key in one.keys() & other.keys():
                        if isinstance(one[key], int) and not isinstance(one[key], bool):
                            self.assertEqual(str(one[key]), other[key], f"{verb}: {key}")

        self.each(check)


if __name__ == "__main__":
    harness.main()
