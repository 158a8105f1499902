# The preload library exports what its table says and nothing else, and needs little of the system.
# SPDX-License-Identifier: Apache-2.0
"""exports_test.py LIBRARY FUNCTIONS_DEF FACE_HEADER [READELF]"""
import re
import subprocess
import sys

# Exported beside the rows of functions.def: the loader's door and process life.
ALSO = """dlsym
sigaction __sigaction signal bsd_signal sysv_signal __sysv_signal ssignal
sigset sigignore siginterrupt
_exit _Exit InitializeInjection
execl execle execlp execv execve execvp execvpe fexecve execveat""".split()
OPTIONAL = {"InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"}

NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
NEWEST_GLIBC = (2, 34)
AIMED_GLIBC = (2, 28)
# More, and the loader finds no room for it beside LD_AUDIT, and small threads none on their stacks.
MOST_THREAD_LOCAL_BYTES = 1024


def readelf(tool, option, library):
    return subprocess.run([tool, "-W", option, library], check=True, capture_output=True,
                          text=True).stdout


def dynamic_symbols(text):
    """(exported names as printed, imported names) of `readelf --dyn-syms`."""
    exported, imported = set(), set()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        binding, visibility, section, name = fields[4], fields[5], fields[6], fields[7]
        if section == "UND":
            imported.add(name)
        elif binding in ("GLOBAL", "WEAK", "UNIQUE") and visibility in ("DEFAULT", "PROTECTED"):
            exported.add(name)
    return exported, imported


def check_exports(exported, rows, face):
    for name in sorted(n for n in exported if "@" in n):
        yield f"{name}: exported with a version; interception of versioned references would fail"
    names = {n.split("@")[0] for n in exported}
    expected = set(rows) | set(ALSO) | set(face)
    for name in sorted(expected - names):
        origin = "a row of functions.def" if name in rows else "an agreed export"
        origin = "declared in the face" if name in face else origin
        yield f"{name}: {origin}, but not exported"
    for name in sorted(names - expected - OPTIONAL):
        yield f"{name}: exported, but neither a row of functions.def nor agreed"


def check_dynamic(text):
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if name not in NEEDED:
            yield f"needs {name}; only {', '.join(sorted(NEEDED))} are allowed"
    if re.search(r"\(TEXTREL\)|\bTEXTREL\b", text):
        yield "has text relocations"


def check_stack(text):
    found = re.search(r"GNU_STACK\s+(?:0x\w+\s+){5}([RWE ]+?)\s+0x", text)
    if not found:
        yield "has no GNU_STACK header: the stack would be executable"
    elif "E" in found.group(1):
        yield "asks for an executable stack"


def check_thread_local(text):
    found = re.search(r"^\s*TLS(?:\s+0x\w+){4}\s+0x(\w+)", text, flags=re.M)
    taken = int(found.group(1), 16) if found else 0
    if taken > MOST_THREAD_LOCAL_BYTES:
        yield (f"takes {taken} bytes of each thread for its variables, at most "
               f"{MOST_THREAD_LOCAL_BYTES} are allowed: use allocator/base/thread_buffer.h")


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: " + __doc__)
    library, table, header = sys.argv[1:4]
    tool = sys.argv[4] if len(sys.argv) == 5 else "readelf"
    with open(table, encoding="utf-8") as file:
        rows = re.findall(r"^DRIVER_FUNCTION\(\s*(\w+)", file.read(), flags=re.M)
    with open(header, encoding="utf-8") as file:
        face = re.findall(r"^VRAMSCOPE_EXPORT int (\w+)\(", file.read(), flags=re.M)
    exported, imported = dynamic_symbols(readelf(tool, "--dyn-syms", library))
    versions = sorted({tuple(map(int, v.split(".")))
                       for v in re.findall(r"GLIBC_(\d+\.\d+(?:\.\d+)?)",
                                           readelf(tool, "--version-info", library))})
    problems = list(check_exports(exported, rows, face))
    problems += check_dynamic(readelf(tool, "--dynamic", library))
    segments = readelf(tool, "--program-headers", library)
    problems += check_stack(segments)
    problems += check_thread_local(segments)
    newest = versions[-1] if versions else (0,)
    if newest > NEWEST_GLIBC:
        late = sorted(n for n in imported if "@GLIBC_" + ".".join(map(str, newest)) in n)
        problems.append(f"needs GLIBC_{'.'.join(map(str, newest))} for {', '.join(late)}")

    for problem in problems:
        print(f"exports: {library}: {problem}")
    print(f"exports: {len(exported)} symbols, {len(rows)} rows, newest GLIBC_"
          f"{'.'.join(map(str, newest))} (limit {'.'.join(map(str, NEWEST_GLIBC))}, aim "
          f"{'.'.join(map(str, AIMED_GLIBC))}), {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
