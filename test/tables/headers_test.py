# Each header of the rooms compiles alone. Most are what their own source includes first, which
# scripts/check compiles without precompiled headers: those are proved by that.
# SPDX-License-Identifier: Apache-2.0
"""headers_test.py SOURCE_ROOT BUILD_FOLDER

Flags are those with which the build compiles a source of the same room, the one with most.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

ROOMS = ("allocator", "interpose", "reporter")


def compile_flags(root, build):
    """Room -> (compiler, flags) of its source with most flags."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    flags = {}
    for entry in commands:
        source = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        if not source.endswith(".cpp"):
            continue
        words = shlex.split(entry["command"])
        start = next(i for i, word in enumerate(words) if word.startswith("-"))
        kept = [word for word in words[start:] if word.startswith(("-I", "-D", "-isystem", "-std"))]
        # A source that stands for several of its room (unity builds) lies in the build folder.
        start_of_rooms = build if source.startswith(build + os.sep) else root
        room = os.path.relpath(source, start_of_rooms).split(os.sep)[0]
        # The tool compiles the settings of interpose, too, with its own flags.
        is_own = entry["output"].split(os.sep)[0] == room
        if is_own and len(kept) > len(flags.get(room, ((), ()))[1]):
            flags[room] = (words[start - 1:start], kept)
    return flags


def is_first_of_its_source(root, header):
    """Whether the source beside the header begins with it."""
    source = os.path.join(root, header[: -len(".h")] + ".cpp")
    if not os.path.exists(source):
        return False
    with open(source, encoding="utf-8") as file:
        first = next((line for line in file if line.startswith("#include")), "")
    return first == f'#include "{header}"\n'


def headers(root):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in sorted(names):
                header = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(".h") and not is_first_of_its_source(root, header):
                    yield room, header


def compile_alone(root, build, path, compiler, kept):
    """What the compiler says about the header; None when it is content."""
    command = compiler + kept + ["-I", root, "-Wall", "-Wextra", "-fsyntax-only", "-x", "c++",
                                 "-include", os.path.join(root, path), os.devnull]
    result = subprocess.run(command, cwd=build, capture_output=True, text=True)
    return result.stderr if result.returncode else None


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: " + __doc__)
    root, build = map(os.path.abspath, sys.argv[1:])
    flags = compile_flags(root, build)
    paths = []
    for room, path in headers(root):
        if room in flags:
            paths.append((path, *flags[room]))
        else:
            print(f"headers: {path} left out: no source of its room is built")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda each: compile_alone(root, build, *each), paths))
    failed = [(path[0], text) for path, text in zip(paths, said) if text is not None]
    for path, text in failed:
        print(f"headers: {path} does not compile alone:\n{text}")
    print(f"headers: {len(paths)} headers, {len(failed)} fail")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
