# The simulated driver's tables agree with functions.def and with the vendor's types of functions.
# SPDX-License-Identifier: Apache-2.0
"""simulator_rows_test.py FUNCTIONS_DEF FOLDER_OF_THE_SIMULATED_DRIVER

The simulator types names and versions again, for it must know functions that the library leaves
alone, and be independent of it. Here each row is compared with the same row of functions.def,
and every name that this and declined.def list has a row.
"""
import pathlib
import re
import sys

import coverage_test

PLAIN = re.compile(r"(?:DRIVER|UNSUPPORTED|FIRST_GENERATION)\((\w+), (\w+), (\d+)(?:, \w+)?\)")
STREAMED = re.compile(r"(?:STREAMED|UNSUPPORTED_STREAMED)\((\w+), (\w+), (\d+), (_pt[sd][sz])(?:, \w+)?\)")
ROW = re.compile(r"(?:UNSUPPORTED_)?(?:DRIVER|STREAMED|UNSUPPORTED|FIRST_GENERATION)\(")
ELSEWHERE = {"cuWGLGetDevice", "cuEventCreateFromEGLSync"}  # Windows and Tegra alone export these
PER_THREAD_SINCE = 7000  # CUDA 7 brought per-thread default streams


def simulated(folder):
    """(symbol -> (asked as, since), lines that are no row)"""
    rows, bad = {}, []
    for path in sorted(folder.glob("*.def")):
        for line in path.read_text().splitlines():
            if not ROW.match(line):
                continue
            if found := PLAIN.match(line):
                symbol, asked, since = found.groups()
            elif found := STREAMED.match(line):
                symbol, asked, since, suffix = found.groups()
                rows[symbol + suffix] = (asked, max(int(since), PER_THREAD_SINCE))
            else:
                bad.append(f"{path.name}: not understood: {line}")
                continue
            if symbol in rows:
                bad.append(f"{path.name}: {symbol} is there twice")
            rows[symbol] = (asked, int(since))
    return rows, bad


def differences(rows, intercepted, known, toolkit):
    for symbol, asked, since, *_ in intercepted:
        row = rows.get(symbol)
        if row and row != (asked, int(since)):
            yield f"{symbol}: {row} in the simulated driver, {(asked, int(since))} in functions.def"
    for symbol, (asked, since) in rows.items():
        flavour = re.search(r"(_pt[sd][sz])?$", symbol).group(0)
        if since <= toolkit and since not in known.get((asked, flavour), {since}):
            yield f"{symbol}: cudaTypedefs.h has no PFN_{asked}_v{since}{flavour}"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: " + __doc__)
    intercepted, bad = coverage_test.rows(
        sys.argv[1], "DRIVER_FUNCTION", r"DRIVER_FUNCTION\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,"
    )
    rows, bad_rows = simulated(pathlib.Path(sys.argv[2]))
    include = coverage_test.default_include()
    known = coverage_test.typedefs(include, "cudaTypedefs.h")
    declined = re.findall(r"^DECLINED\((\w+),", pathlib.Path(sys.argv[1]).with_name("declined.def").read_text(), re.M)
    problems = bad + bad_rows
    # A library that is linked with any of them does not load without it (PyCUDA: cuGLCtxCreate_v2).
    problems += [
        f"{symbol}: the simulated driver has no such name"
        for symbol in [symbol for symbol, *_ in intercepted] + declined
        if symbol not in rows and symbol not in ELSEWHERE
    ]
    problems += differences(rows, intercepted, known, coverage_test.version(include))
    both = sum(symbol in rows for symbol, *_ in intercepted)
    for problem in problems:
        print("simulator rows:", problem)
    print(f"simulator rows: {len(rows)}, {both} of them in functions.def, {len(problems)} problems")
    return 1 if problems or not both else 0


if __name__ == "__main__":
    sys.exit(main())
