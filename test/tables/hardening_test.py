# The library and the tool are linked so that their own tables cannot be written to, and the tool,
# which reads files of others, notices most writes past its memory; the library never waits where a
# thread of the program can be cancelled. Read back from the ELF files.
# SPDX-License-Identifier: Apache-2.0
"""hardening_test.py LIBRARY TOOL OUR_ARCHIVES_IN_THE_TOOL... [--fortified]"""
import re
import subprocess
import sys


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True,
                          text=True).stdout


def asks_for(archive):
    """What its objects want from elsewhere."""
    names = subprocess.run(["nm", archive], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\bU (\w+)", names))


def check_linked(path):
    """What costs nothing at run time: both have it."""
    segments, dynamic = readelf("--program-headers", path), readelf("--dynamic", path)
    if "GNU_RELRO" not in segments:
        yield "has no segment that is read-only after relocation (-z relro)"
    if not re.search(r"FLAGS_1\).*\bNOW\b", dynamic):
        yield "binds functions when they are called, so that its table stays writable (-z now)"
    if not re.search(r"GNU_STACK\s+(0x\w+\s+){5}RW\s", segments):
        yield "wants an executable stack (-z noexecstack)"
    if re.search(r"LOAD\s+(0x\w+\s+){5}RWE", segments):
        yield "has a segment that can be written and executed"


# Points where a thread can be cancelled, and no work that could be undone: a cancelled thread would
# be unwound from there through functions of ours that let nothing pass (allocator/base/nap.h).
WAITS = {"nanosleep", "clock_nanosleep", "usleep", "sleep", "pause", "pthread_cond_wait", "sem_wait"}


# Of gcc 13 and later: the unwinder waits there while another thread registers code that it compiled.
UNWINDER_OF_GCC_13 = "version_lock_lock_exclusive"


def check_library(path):
    names = set(re.findall(r"\bUND (\w+)", readelf("--dyn-syms", path)))
    is_in_unwinder = UNWINDER_OF_GCC_13 in readelf("--syms", path)
    for name in sorted(WAITS & names - ({"pthread_cond_wait"} if is_in_unwinder else set())):
        yield f"calls {name}, at which a thread of the program can be cancelled"


def check_tool(path):
    if not re.search(r"FLAGS_1\).*\bPIE\b", readelf("--dynamic", path)):
        yield "is at the same address in each run (-pie)"


def check_compiled(archives, fortified):
    checked = set()
    for archive in archives:
        names = asks_for(archive)
        checked |= {name for name in names if re.fullmatch(r"__\w+_chk", name)}
        if "__stack_chk_fail" not in names:
            yield archive, "does not check its stack (-fstack-protector-strong)"
    if fortified and not checked:
        yield archives[0], "calls no checked function of the C library (-D_FORTIFY_SOURCE=2)"


def main():
    paths = [word for word in sys.argv[1:] if word != "--fortified"]
    if len(paths) < 3:
        sys.exit("usage: " + __doc__)
    library, tool, *archives = paths
    problems = [(path, problem) for path in (library, tool) for problem in check_linked(path)]
    problems += [(library, problem) for problem in check_library(library)]
    problems += [(tool, problem) for problem in check_tool(tool)]
    problems += check_compiled(archives, "--fortified" in sys.argv)
    for path, problem in problems:
        print(f"hardening: {path}: {problem}")
    print(f"hardening: {len(paths)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
