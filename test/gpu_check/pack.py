"""One archive with all that scripts/gpu-check needs, for a machine that can build nothing."""
# SPDX-License-Identifier: Apache-2.0
import io
import os
import pathlib
import re
import subprocess
import tarfile

from plan import ROOT

TOP = "vramscope-gpu-check"
LARGEST = 48 << 20  # bytes of an archive
SCRIPTS = ("scripts/gpu-check", "test/gpu_check/*", "test/end_to_end/*.py", "test/programs/*.py",
           "test/end_to_end/BEHAVIOURS.md", "test/simulator/OPEN.md")  # fmt: skip
# What of a build folder the programs need; no objects.
BUILT = ("interpose/libvramscope.so*", "test/programs/*", "test/recount/recount",
         "test/simulator/*.so*", "test/simulator/*/*.so*", "reporter/view/vramscope")  # fmt: skip
# The tool finds its libraries here, before those of the system (its build_rpath).
LIBRARIES = "reporter/view/libraries"
# Of the C library, which goes with the machine's loader.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util))\.so")


# Starts everything in one go. Where a machine names a folder for what comes back, results go there.
RUN = """#!/bin/sh
# ./run [--sim] [options of gpu-check]: everything, within 400 seconds. Results lie in $OUT, or in ./results.
here=$(cd "$(dirname "$0")" && pwd) || exit 2
exec python3 "$here/scripts/gpu-check" --budget 400 --results "${OUT:-$PWD/results}" "$@"
"""


class NotPacked(Exception):
    pass


def libraries_of(tool):
    """Paths of the libraries that the tool needs beside the C library."""
    listed = subprocess.run(["ldd", str(tool)], capture_output=True, text=True)
    if listed.returncode != 0:
        raise NotPacked(f"ldd {tool}: {listed.stderr.strip()}")
    found = []
    for line in listed.stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        if path.startswith("not found"):
            raise NotPacked(f"{tool} needs {name}, which is not here")
        if path and not OF_THE_SYSTEM.match(name):
            found.append((name, path.split()[0]))
    return found


def write(path, build):
    """Writes the archive, whole or not at all; returns its size in bytes."""
    build = pathlib.Path(build).resolve()
    tool = build / "reporter/view/vramscope"
    if not tool.exists():
        raise NotPacked(f"{tool} is missing; build first")
    beside = path.with_name(path.name + ".part")
    if not path.parent.is_dir():
        raise NotPacked(f"{path}: {path.parent} is not a folder")
    try:
        with tarfile.open(beside, "w:xz", preset=2) as archive:
            start = tarfile.TarInfo(f"{TOP}/run")
            start.size, start.mode = len(RUN), 0o755
            archive.addfile(start, io.BytesIO(RUN.encode()))
            for pattern in SCRIPTS:
                for one in sorted(ROOT.glob(pattern)):
                    if one.is_file():
                        archive.add(one, f"{TOP}/{one.relative_to(ROOT)}")
            for pattern in BUILT:
                for one in sorted(build.glob(pattern)):
                    if one.is_file() and not one.name.startswith("."):
                        archive.add(one, f"{TOP}/build/{one.relative_to(build)}")
            for name, library in libraries_of(tool):
                archive.add(os.path.realpath(library), f"{TOP}/build/{LIBRARIES}/{name}")
        os.replace(beside, path)
    except OSError as error:
        raise NotPacked(f"{path}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise NotPacked(f"{path} has {size >> 20} MiB, {LARGEST >> 20} MiB were expected at most")
    return size
