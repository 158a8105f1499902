# Every memory-looking entry of the installed driver header is intercepted or declined with a reason.
# SPDX-License-Identifier: Apache-2.0
"""coverage_test.py FUNCTIONS_DEF DECLINED_DEF [--cuda INCLUDE_FOLDER] [--compiler CXX]

A new CUDA release turns this red: give each new entry a row in functions.def, or in declined.def
with the reason why not.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What can create, end, export, describe or move the life of memory. Copies and fills (cuMemcpy*,
# cuMemset*) and the nodes of graphs that perform them only touch memory that exists already.
MEMORY_LOOKING = re.compile(
    r"Mem(?!cpy|set|Op)|Array|Mipmapped|Pointer|Ipc|ExternalMem|Graphics|GL|VDPAU|Multicast"
    r"|LogicalEndpoint|PrimaryCtx|Ctx(Create|Destroy|Attach|Detach|SetLimit)|GreenCtx|PeerAccess"
    r"|Capture|Graph(Instantiate|Launch|Upload|ExecDestroy|ExecUpdate|Destroy|Clone|AddNode)"
    r"|UserObject|Stream(Create|Destroy)|SetAddress|Get(Global|Managed)|(Tex|Surf)ObjectCreate"
    r"|TensorMap|SetArray|Checkpoint|AsyncNotification|RDMA|ExportTable|GetProcAddress|^cuInit$")
NOT_MEMORY = re.compile(r"SharedMemConfig|SMem")  # on-chip memory of a kernel

# The toolkit whose entries declined.def names (CUDA_VERSION); an older one lacks some of them.
WRITTEN_FOR = 13000

# The oldest toolkit to build with. Rows that are younger stand in "#if VRAMSCOPE_TOOLKIT >= since".
OLDEST = 11080
DECLARED_BY_US = {"cuGetProcAddress_v2"}  # so that newer runtimes are served in any case

# The graphics headers need headers of other vendors, so their tables of types are read instead.
GRAPHICS = ["cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h"]


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def rows(path, macro, pattern):
    """(groups of each row with the version that its #if asks for, lines that are no row)"""
    found, bad, needed = [], [], 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if condition := re.match(r"#if VRAMSCOPE_TOOLKIT >= (\d+)$", line):
                needed = int(condition.group(1))
            elif line.startswith("#endif"):
                needed = 0
            elif line.startswith(macro + "("):
                match = re.match(pattern, line)
                if match:
                    found.append((*match.groups(), needed))
                else:
                    bad.append(line.strip())
    return found, bad


def types_of(parameters):
    """A parameter list without names, spelled in one way."""
    types = []
    for parameter in without_comments(parameters).split(","):
        text = re.sub(r"\b(GLuint|GLenum)\b", "unsigned int", parameter)
        text = re.sub(r"(CUdeviceptr)_v2\b", r"\1", text)
        text = re.sub(r"\b(?!int\b|const\b|unsigned\b|size_t\b|CU\w+)[a-zA-Z]\w*\s*$", "", text.strip())
        types.append(re.sub(r"\s+", "", text))
    return types


def default_include():
    """Of the toolkit that all scripts choose."""
    chosen = subprocess.run([ROOT / "scripts/cuda"], capture_output=True, text=True).stdout.strip()
    if chosen and os.path.exists(os.path.join(chosen, "include", "cuda.h")):
        return os.path.join(chosen, "include")
    sys.exit("coverage: no cuda.h found; name its folder with --cuda")


def header_symbols(include, compiler):
    """Exported names, as the driver exports them: the internal switch shows every ABI at once."""
    command = compiler + ["-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-I", include,
                          "-include", "cuda.h", "-x", "c++", os.devnull]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"CUresult\s+(cu[A-Z]\w+)\s*\(", text))


def version(include):
    with open(os.path.join(include, "cuda.h"), encoding="utf-8") as file:
        return int(re.search(r"#define CUDA_VERSION (\d+)", file.read()).group(1))


def typedefs(include, name):
    """(name asked for, flavour) -> versions that the table of function types knows."""
    path = os.path.join(include, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        text = without_comments(file.read())
    known = {}
    for asked, since, flavour in re.findall(r"PFN_(cu[A-Z]\w+?)_v(\d+)(_pt[sd][sz])?\)", text):
        known.setdefault((asked, flavour), set()).add(int(since))
    return known


def graphics_types(include):
    """(name asked for, flavour, version) -> parameters, from the graphics tables."""
    types = {}
    for header in GRAPHICS:
        path = os.path.join(include, header)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = without_comments(file.read())
        pattern = r"PFN_(cu[A-Z]\w+?)_v(\d+)(_pt[sd][sz])?\)\(([^;]*)\);"
        for asked, since, flavour, parameters in re.findall(pattern, text):
            types[(asked, flavour, int(since))] = types_of(parameters)
    return types


def check_rows(functions, known, graphics, toolkit):
    """Names, versions and flavours are those of the toolkit, and none of its versions is left out."""
    listed = {}
    for symbol, asked, since, flavour, parameters, needed in functions:
        listed.setdefault((asked, flavour), set()).add(int(since))
        if int(since) > OLDEST and needed != int(since) and symbol not in DECLARED_BY_US:
            yield f"{symbol}: needs #if VRAMSCOPE_TOOLKIT >= {since}"
        if needed > toolkit or symbol in DECLARED_BY_US:
            continue
        theirs = graphics.get((asked, flavour, int(since)))
        if theirs is not None and types_of(parameters) != theirs:
            yield f"{symbol}: {types_of(parameters)} differs from the header's {theirs}"
        if theirs is None and int(since) not in known.get((asked, flavour), set()):
            yield f"{symbol}: cudaTypedefs.h has no PFN_{asked}_v{since}{flavour}"
    for asked in sorted({asked for asked, _ in listed}):
        for flavour in ("", "_ptsz", "_ptds"):
            missing = known.get((asked, flavour), set()) - listed.get((asked, flavour), set())
            for since in sorted(missing):
                yield f"{asked}: version {since}{flavour} would be answered with an older one"


def graphics_symbols(include):
    symbols = set()
    for header in GRAPHICS:
        for asked, flavour in typedefs(include, header):
            newest = asked + ("_v2" if (asked, "") in typedefs(include, header)
                              and len(typedefs(include, header)[(asked, "")]) > 1 else "")
            symbols.add(newest + flavour)
            if not flavour:
                symbols.add(asked)
    return symbols


def asked_name(symbol):
    return re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", symbol)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("functions")
    parser.add_argument("declined")
    parser.add_argument("--cuda", default=None)
    parser.add_argument("--compiler", nargs="+", default=["c++"])
    options = parser.parse_args()
    include = options.cuda or default_include()

    functions, bad = rows(options.functions, "DRIVER_FUNCTION",
                          r"DRIVER_FUNCTION\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,\s*(\w*)\s*,"
                          r"\s*\(([^)]*)\)")
    declined, bad_declined = rows(options.declined, "DECLINED",
                                  r'DECLINED\((\w+),\s*"([^"]{10,})"\)\s*$')
    problems = [f"not understood: {line}" for line in bad + bad_declined]

    listed = [row[0] for row in functions]
    refused = [row[0] for row in declined]
    for name in sorted(set(listed) & set(refused)):
        problems.append(f"{name}: is intercepted, yet on declined.def")
    for names, place in ((listed, "functions.def"), (refused, "declined.def")):
        for name in sorted({n for n in names if names.count(n) > 1}):
            problems.append(f"{name}: twice in {place}")

    for name, reason, _ in declined:
        if re.search(r"\blater\b", reason):
            problems.append(f"{name}: is put off ({reason}); give it a row, or the reason why not")

    universe = header_symbols(include, options.compiler) | graphics_symbols(include)
    looking = {n for n in universe if MEMORY_LOOKING.search(n) and not NOT_MEMORY.search(n)}
    for name in sorted(looking - set(listed) - set(refused)):
        problems.append(f"{name}: neither in functions.def nor in declined.def")
    for name in sorted(set(refused) - universe if version(include) >= WRITTEN_FOR else []):
        problems.append(f"{name}: on declined.def, but not in the installed headers")

    known = typedefs(include, "cudaTypedefs.h")
    problems += check_rows(functions, known, graphics_types(include), version(include))
    names = {asked_name(n) for n in listed + refused}
    for asked in sorted({a for a, _ in known if MEMORY_LOOKING.search(a)
                         and not NOT_MEMORY.search(a)} - names):
        problems.append(f"{asked}: in cudaTypedefs.h, but neither listed nor declined")

    for problem in problems:
        print("coverage:", problem)
    print(f"coverage: {len(universe)} entries in {include}, {len(looking)} look like memory; "
          f"{len(listed)} intercepted, {len(refused)} declined, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
