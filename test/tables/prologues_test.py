# Each exported function of the driver begins with instructions that mean the same elsewhere: tools
# that intercept by code (UCX) copy the first bytes of a function and put a jump in their place.
# SPDX-License-Identifier: Apache-2.0
"""prologues_test.py LIBRARY FUNCTIONS_DEF"""
import re
import subprocess
import sys

MOVED_BYTES = 14  # a jump to any address: 6 bytes, and the 8 of the address

LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(\S.*)?$")


def functions(lines, wanted):
    """Name -> [(offset, bytes, instruction)] of those in `wanted`, from the lines of `objdump -d`."""
    found, name, start = {}, None, 0
    for line in lines:
        if not line.startswith(" "):
            head = re.match(r"^([0-9a-f]+) <(\w+)>:$", line)
            name = head.group(2) if head and head.group(2) in wanted else None
            if name:
                start = int(head.group(1), 16)
                found[name] = []
        elif name and (code := LINE.match(line)):
            size = len(code.group(2).split())
            found[name].append((int(code.group(1), 16) - start, size, code.group(3) or ""))
    return found


def problem_of(instructions):
    """"" or what of the first bytes cannot be moved."""
    end = 0
    for offset, size, instruction in instructions:
        if offset >= MOVED_BYTES:
            return ""
        word = instruction.split()[0] if instruction else ""
        if "%rip" in instruction:
            return f"reads what is beside it: {instruction}"
        if re.match(r"j|call|loop|ret|xbegin|sys", word):
            return f"goes elsewhere: {instruction}"
        end = offset + size
    return "" if end >= MOVED_BYTES else f"ends after {end} bytes"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: " + __doc__)
    library, table = sys.argv[1:]
    with open(table, encoding="utf-8") as file:
        rows = re.findall(r"^DRIVER_FUNCTION\(\s*(\w+)", file.read(), flags=re.M)
    # Line by line: all at once is 20 MiB, over which a test's malloc writes again and again.
    with subprocess.Popen(["objdump", "-d", "-w", library], stdout=subprocess.PIPE, text=True) as dump:
        code = functions((line.rstrip("\n") for line in dump.stdout), set(rows))
    if dump.returncode:
        return 1
    problems = {row: problem_of(code.get(row, [])) for row in rows}
    for row, problem in problems.items():
        if problem:
            print(f"prologues: {row} cannot be patched: {problem}")
    bad = sum(map(bool, problems.values()))
    print(f"prologues: {len(rows)} functions, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
