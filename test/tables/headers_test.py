# Each header of the rooms compiles alone.
# SPDX-License-Identifier: Apache-2.0
"""headers_test.py SOURCE_ROOT BUILD_FOLDER

Flags are those with which the build compiles a source of the same room, the one with most.
"""
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
        room = os.path.relpath(source, root).split(os.sep)[0]
        if len(kept) > len(flags.get(room, ((), ()))[1]):
            flags[room] = (words[start - 1:start], kept)
    return flags


def headers(root):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield room, os.path.relpath(os.path.join(folder, name), root)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: " + __doc__)
    root, build = map(os.path.abspath, sys.argv[1:])
    flags = compile_flags(root, build)
    failed = count = 0
    for room, path in headers(root):
        if room not in flags:
            print(f"headers: {path} left out: no source of its room is built")
            continue
        compiler, kept = flags[room]
        command = compiler + kept + ["-I", root, "-Wall", "-Wextra", "-fsyntax-only", "-x", "c++",
                                     "-include", os.path.join(root, path), os.devnull]
        result = subprocess.run(command, cwd=build, capture_output=True, text=True)
        count += 1
        if result.returncode:
            failed += 1
            print(f"headers: {path} does not compile alone:\n{result.stderr}")
    print(f"headers: {count} headers, {failed} fail")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
