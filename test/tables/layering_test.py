# The rooms may include each other only along the arrows below; checked on every #include line.
# SPDX-License-Identifier: Apache-2.0
"""layering_test.py SOURCE_ROOT"""
import os
import re
import sys

ROOMS = ("interpose", "allocator", "reporter", "test")

# (including files, included files), both as patterns of paths from the root. One room may always
# include itself; the allocator includes nobody.
ARROWS = [
    (r"interpose/", r"allocator/"),
    (r"interpose/", r"reporter/(record|report)/"),
    (r"reporter/", r"allocator/(ground/.*|snapshot|books/statistics)\.h$"),
    (r"reporter/view/", r"interpose/(settings/options\.h|settings/options\.def|table/functions\.def)$"),
    (r"test/", r""),
]

# What only some files may include, and who.
RESERVED = [
    (r"nlohmann/", r"reporter/report/json\.cpp$|test/", "only reporter/report/json.cpp reads JSON"),
    (r"cu(da|pti|rand|blas)\w*(\.h|/)|cupti|nvtx|cub/|generated_cuda", r"interpose/|test/",
     "only interpose and test know CUDA"),
]

CODE = (".h", ".cpp", ".c", ".S", ".def", ".inc", ".py")
MAX_LINES = 400  # of a file of code; tables (.def) grow with what they list


def files(root):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in sorted(names):
                if name.endswith(CODE):
                    yield os.path.relpath(os.path.join(folder, name), root)


def included(root, path):
    """(line number, path from the root or the name as written) of each #include of the file."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
            if not found:
                continue
            name = found.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            is_beside = "/" not in name and os.path.exists(os.path.join(root, beside))
            yield number, beside if is_beside else os.path.normpath(name)


def complaint(path, name):
    for reserved, allowed, reason in RESERVED:
        if re.match(reserved, name) and not re.match(allowed, path):
            return reason
    room = path.split("/")[0]
    target = name.split("/")[0]
    if target not in ROOMS or "/" not in name or room == target:
        return None
    if any(re.match(a, path) and re.match(b, name) for a, b in ARROWS):
        return None
    return f"no arrow from {room} to {name}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: " + __doc__)
    root = sys.argv[1]
    problems = []
    count = 0
    for path in files(root):
        count += 1
        for number, name in included(root, path):
            reason = complaint(path, name)
            if reason:
                problems.append(f"{path}:{number}: includes {name}: {reason}")
        if path.startswith("test/") or path.endswith(".def"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if lines >= MAX_LINES:
            problems.append(f"{path}: {lines} lines; stay under {MAX_LINES}")
    for problem in problems:
        print("layering:", problem)
    print(f"layering: {count} files, {len(problems)} problems")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
