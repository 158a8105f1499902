"""Runs the tests in an emulated system of another machine: scripts/check --aarch64.

check_emulated.py BUILD [--only WORD...] [--as-built] [--resume | --kept] [--readme FILE]

BUILD is what scripts/aarch64 has set up. Prints a row for each test, and a table: what ran, what
passed, and what could not run with the reason; with --readme it is written there, too. --only: tests
with one of these words in their names. --as-built: nothing is compiled before. --resume: what a test
found is kept in BUILD/emulated and taken from there, unless it failed; the table says of how many the
sources have changed since. --kept: nothing runs, the table is made of what is kept. What a case lacks
there is asked of the emulated system itself (probes.py): a case that fails for another reason has
failed.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import probes

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- scripts/check --aarch64 writes this table -->", "<!-- end of the emulated -->"
SLOWER = 8  # than on this machine, at most; of time limits
SEQUENCES, SECONDS = "200", "1080"  # as many of them as are begun in that time
ROOMS = ("allocator", "differential", "end_to_end", "export", "interpose", "model", "reporter", "simulator", "view")
# By name: why they do not run there at all.
LEFT_OUT = {
    "install": "builds and installs, which is the same for all machines",
    "model": "250,000 operations and 250,000 more: an emulator takes an hour",
    "room": "random programs on a small device: the others are enough",
    "soak": "runs for a time, in which an emulator does little",
}
# Whose Python is that of this machine: it reads what the emulated tool says, and is most of the time.
JUDGED_HERE = ("reporter growth",)


class Test(NamedTuple):
    room: str
    name: str
    command: list
    protocol: str
    timeout: int
    environment: dict
    needs: list  # files that the build makes


class Case(NamedTuple):
    name: str
    result: str  # passed, failed, skipped
    why: str = ""


class Kept:
    """What tests found, in a file each, with a digest of the sources that it is of."""

    # All tests stand on these; beside them each has the folder of its room, of scripts the one that it is.
    SHARED = ("allocator", "interpose", "reporter", "test/programs", "test/recount", "test/simulator", "test/end_to_end")

    def __init__(self, build):
        self.folder = build / "emulated"
        self.folder.mkdir(exist_ok=True)
        listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True)
        paths = [path for path in listed.stdout.splitlines() if not path.endswith(".md") and (SOURCE / path).is_file()]
        self.digests = {path: hashlib.sha256((SOURCE / path).read_bytes()).hexdigest() for path in paths}

    def digest(self, test):
        scripts = [os.path.relpath(word, SOURCE) for word in test.command if word.endswith("_test.py")]
        folders = tuple(folder + "/" for folder in (*self.SHARED, "test/" + test.room))
        of = [path for path in self.digests if path in scripts or path.startswith(folders) and not path.endswith("_test.py")]
        return hashlib.sha256(json.dumps([test.command, [(path, self.digests[path]) for path in sorted(of)]]).encode()).hexdigest()

    def file(self, test):
        return self.folder / (re.sub(r"\W+", "_", test.name) + ".json")

    def put(self, test, output, cases):
        self.file(test).write_text(json.dumps({"sources": self.digest(test), "output": output, "cases": cases}))

    def get(self, test):
        """(output, cases), or None, and whether the sources have changed since."""
        if not self.file(test).exists():
            return None, False
        kept = json.loads(self.file(test).read_text())
        return (kept["output"], [Case(*case) for case in kept["cases"]]), kept["sources"] != self.digest(test)


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, what], check=True, capture_output=True, text=True).stdout)


def room_of(build, command):
    for part in command[:2]:
        for base in (build, SOURCE):
            path = os.path.relpath(os.path.join(build, part), base)
            if path.startswith("test" + os.sep):
                return path.split(os.sep)[1]
    return ""


def tests_of(build):
    made = {target["id"]: target["filename"] for target in introspect(build, "--targets")}
    for test in introspect(build, "--tests"):
        command = ["/usr/bin/python3" if word.endswith("/python3") else word for word in test["cmd"]]  # that system's
        if test["name"] == "differential":
            command = [SEQUENCES if word == "650" else word for word in command] + ["--seconds", SECONDS]
            kept = command.index("--kept")  # with every option: most of the time
            del command[kept : kept + 2]
        needs = [path for target in test["depends"] for path in made[target]]
        yield Test(room_of(build, command), test["name"], command, test["protocol"], test["timeout"], test["env"], needs)


def gtest_cases(output):
    skips = re.findall(r"Skipped\n(.*)\n(?:.*\n)*?\[  SKIPPED \] (\S+)", output)
    why = {name: text.removeprefix("SKIPPED: ") for text, name in skips}
    for word, name in re.findall(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*ms\)$", output, flags=re.M):
        if word == "SKIPPED":
            yield Case(name, "skipped", why.get(name, "no reason given"))
        else:
            yield Case(name, "passed" if word == "OK" else "failed")


def tap_cases(output):
    for found in re.finditer(r"^(ok|not ok) \d+ (.*)\n((?:#.*\n)*)", output, flags=re.M):
        word, name, details = found.groups()
        name, _, reason = name.partition(" # SKIP ")
        if reason:
            yield Case(name, "skipped", reason)
        else:
            yield Case(name, "passed" if word == "ok" else "failed", details)


def run(build, test, left_out):
    """(output, cases) of one test, without those cases."""
    command = list(test.command)
    if left_out and command[0] == "/usr/bin/python3":
        command.insert(1, str(SOURCE / "test/emulated/left_out.py"))
    try:
        environment = {**os.environ, **test.environment, "TIME_LIMITS": str(SLOWER), "LEFT_OUT": json.dumps(left_out)}
        inside = [] if test.name in JUDGED_HERE else [build / "inside"]
        done = subprocess.run([*inside, *command], cwd=build, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", timeout=test.timeout * SLOWER)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace"), [Case("the whole test", "failed", "it took too long")]
    parse = {"gtest": gtest_cases, "tap": tap_cases}.get(test.protocol, lambda _: [])
    cases = list(parse(done.stdout))
    if test.protocol == "exitcode" and done.returncode == 77:  # as meson reads it
        return done.stdout, [Case(test.name, "skipped", (done.stdout.strip().splitlines() or ["no reason given"])[-1])]
    ended = done.returncode >= 0 and (test.protocol != "tap" or re.search(r"^1\.\.\d", done.stdout, re.M))
    if not ended or done.returncode and not any(case.result == "failed" for case in cases):
        cases.append(Case("the whole test", "failed", f"status {done.returncode}"))
    if test.protocol == "exitcode" and not done.returncode:
        cases.append(Case(test.name, "passed"))
    return done.stdout, cases


class Row:
    """What became of the cases of some tests."""

    def __init__(self, title):
        self.title, self.tests, self.passed, self.failed, self.reasons = title, 0, 0, [], {}

    def add(self, test, cases, facts):
        self.tests += 1
        for case in cases:
            reason = case.why if case.result == "skipped" else probes.reason(facts, test.name, case.name, case.why)
            if case.result == "passed":
                self.passed += 1
            elif reason:
                self.reasons[reason] = self.reasons.get(reason, 0) + 1
            else:
                self.failed.append(f"{test.name}: {case.name}")

    @classmethod
    def of(cls, test, cases, facts):
        row = cls(test.name)
        row.add(test, cases, facts)
        return row

    def __str__(self):
        notes = [f"{count}: {why}" for why, count in sorted(self.reasons.items())] + [f"FAILED {name}" for name in self.failed]
        return f"| {self.title} | {self.passed} | {sum(self.reasons.values())} | {'; '.join(notes).replace('|', '/')} |"


def write_table(readme, lines):
    text = readme.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    readme.write_text(text[:begin] + "\n\n" + "\n".join(lines) + "\n\n" + text[end:])


def about(build, older):
    """A line over the table: when, by which emulator, and how many tests ran before something changed."""
    own = build / "emulator/usr/bin/qemu-aarch64"  # of scripts/aarch64
    said = subprocess.run([own if own.exists() else "qemu-aarch64-static", "--version"], check=True, capture_output=True, text=True)
    before = f"; {len(older)} of the tests ran before the last change of what they test" if older else ""
    return f"Of {datetime.date.today()}, by qemu {re.search(r'version ([0-9.]+)', said.stdout)[1]}{before}:"


def chosen(build, words):
    for test in tests_of(build):
        if test.room in ROOMS and test.name not in LEFT_OUT and (not words or any(word in test.name for word in words)):
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--as-built", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--readme", type=pathlib.Path)
    args = parser.parse_args()
    build = args.build.resolve()
    os.environ["QEMU_LD_PREFIX"] = str(build / "root")  # for the build, which runs some of what it makes
    facts = probes.facts(build)
    for fact, holds in facts.items():
        print(f"the emulated system {fact}: {'yes' if holds else 'no'}", flush=True)
    # What meson tells of the tests may be older than the build's files.
    subprocess.run(["ninja", "-C", build, "--quiet", "build.ninja"], check=True)
    tests = sorted(chosen(build, args.only), key=lambda test: test.room in ("differential", "end_to_end"))
    needed = sorted({os.path.relpath(path, build) for test in tests for path in test.needs})
    if not args.as_built and subprocess.run(["ninja", "-C", build, "--quiet", *needed], check=False).returncode:
        sys.exit("check_emulated: what the tests need cannot be built")
    kept, rows, older = Kept(build), {}, []

    def find(test):
        before, is_older = kept.get(test) if args.resume or args.kept else (None, False)
        if before and (args.kept or not Row.of(test, before[1], facts).failed):
            older.extend([test.name] * is_older)
            return before
        if args.kept:
            return "", [Case("has not come to its end", "failed")]
        found = run(build, test, probes.lacking(facts, test.name))
        kept.put(test, *found)
        return found

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(find, test): test for test in tests}
        for done in concurrent.futures.as_completed(running):
            test, (output, cases) = running[done], done.result()
            alone = Row.of(test, cases, facts)
            if alone.failed:
                print(output)
            print(alone, flush=True)
            title = f"`{test.room}`" + (f" {test.name}" if test.room == "end_to_end" else "")
            rows.setdefault(title, Row(title)).add(test, cases, facts)
    for name, why in LEFT_OUT.items():
        rows[name] = Row(f"`{name}`")
        rows[name].reasons[why] = 1
    lines = ["| Tests | Passed | Could not run | Why |", "|---|---|---|---|", *(str(rows[title]) for title in sorted(rows))]
    print("\n".join(lines))
    if args.readme:
        write_table(args.readme, [about(build, older), "", *lines])
    passed, failed = (sum(count(row) for row in rows.values()) for count in (lambda r: r.passed, lambda r: len(r.failed)))
    print(f"{passed} passed, {failed} failed, {sum(sum(row.reasons.values()) for row in rows.values())} skipped")
    sys.exit(failed != 0 or passed == 0)


if __name__ == "__main__":
    main()
