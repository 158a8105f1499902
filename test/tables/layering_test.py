# Rooms and folders include each other only along the arrows and orders below, checked on every #include
# line; units of a room form no circle, no class or file is too large or too small, and no two classes
# have one name.
# SPDX-License-Identifier: Apache-2.0
"""layering_test.py SOURCE_ROOT"""
import os
import re
import sys

from class_sizes import class_sizes

ROOMS = ("interpose", "allocator", "reporter", "test")

# (including files, included files), both as patterns of paths from the root. One room may always
# include itself; the allocator includes nobody.
ARROWS = [
    (r"interpose/", r"allocator/"),
    (r"interpose/", r"reporter/(base|record|report)/"),
    (r"reporter/", r"allocator/base/.*\.h$"),
    (r"reporter/report/live/", r"allocator/recovery\.h$"),
    (r"reporter/view/trial/", r"(allocator/caching_allocator|interpose/settings/alloc_conf)\.h$"),
    (r"reporter/view/", r"interpose/(settings/options\.h|settings/options\.def|settings/private_variables\.h|settings/use_question\.h|table/functions\.def)$"),
    (r"test/", r""),
]

# What only some files may include, and who.
RESERVED = [
    (r"CLI/", r"reporter/view/command/arguments\.cpp$",
     "only reporter/view/command/arguments.cpp compiles the argument parser"),
    (r"n?curses", r"reporter/view/command/live_terminal\.cpp$",
     "only reporter/view/command/live_terminal.cpp knows ncurses"),
    (r"event2/", r"reporter/view/system/http_server\.cpp$",
     "only reporter/view/system/http_server.cpp knows libevent"),
    (r"sqlite3\.h", r"reporter/view/export/sqlite\.cpp$", "only view/export/sqlite.cpp knows SQLite"),
    (r"(arrow|parquet)/", r"reporter/view/export/tables/parquet_plugin\.cpp$", "only tables/parquet_plugin.cpp knows Arrow's library"),
    (r"\w+\.pb\.h", r"reporter/view/export/(pprof|perfetto)\.cpp$",
     "only the formats of their names know what protoc makes"),
    (r"rapidjson/", r"reporter/report/json_events\.h$", "only reporter/report/json_events.h knows the quick parser"),
    (r"nlohmann/", r"reporter/report/json\.cpp$|test/", "only reporter/report/json.cpp reads JSON"),
    (r"cu(da|pti|rand|blas)\w*(\.h|/)|cupti|nvtx|cub/|generated_cuda", r"interpose/|test/",
     "only interpose and test know CUDA"),
]

# The folders inside a room, top first: each may include itself and those below it. "" stands for the
# files of the room's own folder. A folder that an order does not name is a complaint.
FOLDERS = {
    "interpose": ["face", "routes", "life", "call", "tools", "driver", "loader", "table", "settings",
                  "base"],
    "allocator": ["", "dedicated", "pool", "books", "base"],
    "reporter": ["precompiled", "view", "report", "record", "base"],
    "reporter/record": ["", "trace", "python", "stack"],
    "reporter/report": ["live", "", "traces", "files"],
    "reporter/view": ["", "command", "doctor", "export", "import", "page", "text", "listing", "analysis",
                      "trial", "system", "words"],
}

CODE = (".h", ".cpp", ".c", ".S", ".def", ".inc", ".py")
MAX_LINES = 400  # of a file of code, of tests too; tables (.def) grow with what they list
# A source file of the product that is shorter and has no header of its own (same name, same folder) belongs into
# another one. Short headers are fine: they have a name that others use. So is a verb: one file each.
MIN_LINES = 30
MAX_METHODS = 40  # of a class; deleted ones and those of nested classes do not count

# Complaints that are known (patterns), and why each still stands.
KNOWN = {}


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


def in_rooms(name):
    return name.split("/")[0] in ROOMS and "/" in name


def between_rooms(path, name):
    for reserved, allowed, reason in RESERVED:
        if re.match(reserved, name) and not re.match(allowed, path):
            return reason
    room = path.split("/")[0]
    target = name.split("/")[0]
    if not in_rooms(name) or room == target:
        return None
    if any(re.match(a, path) and re.match(b, name) for a, b in ARROWS):
        return None
    return f"no arrow from {room} to {name}"


def level(room, path):
    """Which of the room's folders the file is in; None: the file is not in the room."""
    if not path.startswith(room + "/"):
        return None
    rest = path[len(room) + 1:]
    return rest.split("/")[0] if "/" in rest else ""


def between_folders(path, name):
    for room, order in FOLDERS.items():
        upper, lower = level(room, path), level(room, name)
        if upper is None or lower is None or upper == lower:
            continue
        if upper not in order or lower not in order:
            return f"the order of {room} lacks a folder"
        if order.index(upper) > order.index(lower):
            return f"{lower or 'the top'} stands above {upper} in {room}"
    return None


def unit(path):
    """A header and the source beside it are one."""
    return os.path.splitext(path)[0]


def circles(edges):
    """Groups of units that include each other, in a circle of any length (Tarjan's algorithm)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(one):
        number[one] = lowest[one] = len(number)
        stack.append(one)
        for other in sorted(edges.get(one, ())):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[one] = min(lowest[one], lowest[other])
        if lowest[one] == number[one]:
            group = stack[stack.index(one):]
            del stack[stack.index(one):]
            if len(group) > 1:
                found.append(sorted(group))

    for one in sorted(edges):
        if one not in number:
            visit(one)
    return found


def check_includes(root, paths):
    edges = {}
    for path in paths:
        for number, name in included(root, path):
            reason = between_rooms(path, name)
            if reason:
                yield f"{path}:{number}: includes {name}: {reason}"
            reason = between_folders(path, name)
            if reason:
                yield f"{path}: includes {name}: {reason}"
            room = path.split("/")[0]
            is_code = path.endswith((".h", ".cpp")) and name.endswith(".h") and room != "test"
            if is_code and room == name.split("/")[0] and unit(path) != unit(name):
                edges.setdefault(unit(path), set()).add(unit(name))
    for group in circles(edges):
        yield f"{len(group)} units include each other: {', '.join(group)}"


def check_sizes(root, paths):
    for path in paths:
        if path.endswith(".def"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        lines = text.count("\n")
        if lines >= MAX_LINES:
            yield f"{path}: {lines} lines; stay under {MAX_LINES}"
        if path.startswith("test/") or not path.endswith((".h", ".cpp")):
            continue
        is_alone = path.endswith(".cpp") and unit(path) + ".h" not in paths
        if lines < MIN_LINES and is_alone and "/command/" not in path:
            yield f"{path}: under {MIN_LINES} lines and without a header of its own"
        for name, methods in class_sizes(text).items():
            if methods > MAX_METHODS:
                yield f"{path}: class {name} has over {MAX_METHODS} methods"


def check_names(root, paths):
    """The linker keeps one of two inline members of one name, whatever the classes hold."""
    first = {}
    for path in paths:
        if path.startswith("test/") or not path.endswith(".h"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for name in class_sizes(file.read()):
                if first.setdefault(name, path) != path:
                    yield f"{path}: class {name} has the name of one in {first[name]}"


# What is looked for in a text that was made already is taken from where it was made: its lines, its last command, words
# that it says, and titles of columns.
READ_BACK = re.compile(r"""find\(('\\n'|"\\n|"[A-Z]{3,}|"(Next|Nothing|Total)\b|k[A-Z]\w*Passes)|getline|\.pop_back\(\)|(starts|ends)_with\("\\n""")
# Whose text is not of a report: help, and lines that are being made.
READERS = re.compile(r"reporter/view/(text/(manual|completion)_text|listing/(width|json_text|screen)|command/(arguments|repeated_processes|check|html))\.cpp")


def check_texts(root, paths):
    for path in paths:
        if not re.match(r"reporter/view/(text|listing|command|page)/.*\.cpp$", path) or READERS.match(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if READ_BACK.search(line):
                    yield f"{path}:{number}: reads a text back: {line.strip()}"


def complaints(root):
    paths = sorted(set(files(root)))
    return [*check_includes(root, paths), *check_sizes(root, set(paths)), *check_names(root, paths),
            *check_texts(root, paths)]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: " + __doc__)
    root = sys.argv[1]
    found = complaints(root)
    known = [one for one in found if any(re.match(each, one) for each in KNOWN)]
    problems = [one for one in found if one not in known]
    stale = [each for each in KNOWN if not any(re.match(each, one) for one in found)]
    for one in known:
        print("layering: known:", one)
    for each in stale:
        print("layering: nothing is left of what KNOWN lists as", each)
    for one in problems:
        print("layering:", one)
    count = len(set(files(root)))
    print(f"layering: {count} files, {len(problems)} problems, {len(known)} known")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
