# Each sentence of SECURITY.md that says what is defended names a test that is there, and the page stays short.
# SPDX-License-Identifier: Apache-2.0
"""security_test.py SOURCE; prints what is wrong and exits with 1"""
import pathlib
import re
import sys

import removals_test

MOST_LINES = 60
ITEM = re.compile(r"^- (.*)$", re.M)
NAMED = re.compile(r" \(`(\w+)`: ([A-Za-z_]+)\)\.$")


def problems(source):
    page = (source / "SECURITY.md").read_text()
    if len(page.splitlines()) > MOST_LINES:
        yield f"SECURITY.md has {len(page.splitlines())} lines; at most {MOST_LINES}"
    items = ITEM.findall(page)
    if len(items) < 20:
        yield f"SECURITY.md has {len(items)} sentences in its lists; they were not found"
    for item in items:
        named = NAMED.search(item)
        if not named:
            yield f"SECURITY.md names no test of: {item}"
            continue
        files = [path for path in (source / "test").rglob(f"{named[1]}.*") if path.suffix in (".py", ".cpp")]
        if not any(removals_test.has_case(path, named[2]) for path in files):
            yield f"SECURITY.md names {named[1]}: {named[2]}, which is no test"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    for problem in found:
        print("security:", problem)
    print(f"security: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
