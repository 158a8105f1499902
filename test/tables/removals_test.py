# Whatever takes a file's name away, gives its name to another or cuts it stands in a table of test/PROMISES.md, with
# what proves that the file is ours and the test of it.
# SPDX-License-Identifier: Apache-2.0
"""removals_test.py SOURCE; prints what is wrong and exits with 1"""
import pathlib
import re
import sys

ROOMS = ("interpose", "allocator", "reporter")
# Calls of the system's or of the standard library's; our own remove() of a list is none of them.
CALL = re.compile(
    r"(?<![\w.>:])(?:::|std::)?(unlink|unlinkat|rename|renameat|renameat2|truncate|ftruncate|rmdir|remove_own_file|remove_proved)\s*\("
    r"|\b(O_TRUNC)\b|\b(?:fs|filesystem)::(remove|remove_all|rename|resize_file|copy_file)\s*\("
    r"|\bstd::(ofstream)\b|\bos\.(remove|unlink|rename|replace|truncate|rmdir)\s*\(|\bshutil\.(rmtree|move)\s*\("
    r"|\bSYS_(renameat2)\b")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M)
BEGIN, END = "<!-- removals -->", "<!-- end of the removals -->"


def calls(source):
    """(file, name of the call) of each place."""
    for room in ROOMS:
        for path in sorted((source / room).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".c", ".py"):
                continue
            text = re.sub(r"//.*|/\*.*?\*/", "", path.read_text())
            for found in CALL.finditer(text):
                yield str(path.relative_to(source)), next(filter(None, found.groups()))


def rows(source):
    page = (source / "test/PROMISES.md").read_text()
    table = page[page.index(BEGIN):page.index(END)]
    for file, what, proof, test in ROW.findall(table):
        if file != "Place":
            yield file, what.strip(), proof.strip(), test.strip()


def problems(source):
    listed = list(rows(source))
    found = set(calls(source))
    for file, call in sorted(found):
        if not any(file == row[0] and call in re.findall(r"\w+", row[1]) for row in listed):
            yield f"{file}: {call} stands in no row of test/PROMISES.md"
    for file, what, proof, test in listed:
        for call in re.findall(r"`(\w+)`", what):
            if (file, call) not in found:
                yield f"test/PROMISES.md lists {call} of {file}, which has none"
        if len(proof) < 20:
            yield f"test/PROMISES.md says no proof of {file}"
        for name, words in re.findall(r"`(\w+)`: ([^;,|]+)", test):
            files = [path for path in (source / "test").rglob(f"{name}.*") if path.suffix in (".py", ".cpp")]
            if not files:
                yield f"test/PROMISES.md names {name} for {file}, which is no test"
            elif not any(has_case(path, words.strip()) for path in files):
                yield f"test/PROMISES.md names '{words.strip()}' of {name}, which has no such case"
        if not re.search(r"`\w+`: ", test) and not re.match("none of its own: .{20}", test):
            yield f"test/PROMISES.md names no test of {file}"


def has_case(path, words):
    """A case whose name, read as a sentence, has these words."""
    squeezed = re.sub(r"[^a-z0-9]", "", words.lower())
    names = re.findall(r"def test_(\w+)|TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", path.read_text())
    return any(squeezed in re.sub(r"[^a-z0-9]", "", "".join(name).lower()) for name in names)


def main():
    source = pathlib.Path(sys.argv[1])
    found = list(problems(source))
    for problem in found:
        print("removals:", problem)
    print(f"removals: {len(set(calls(source)))} calls, {len(list(rows(source)))} rows, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
