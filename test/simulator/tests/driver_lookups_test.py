# SPDX-License-Identifier: Apache-2.0
"""What cuGetProcAddress answers, compared with what NVIDIA's drivers answered.

driver_lookups_test.py SIMULATOR LIBRARY GOLDEN: our simulated driver, at several versions, with and
without the library in front of it. driver_lookups_test.py --driver FOLDER GOLDEN [--library LIBRARY]
[--write]: the libcuda.so.1 in that folder, which needs no device. Exits with 1 where an answer differs.
"""
import argparse
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "end_to_end"))
import programs  # noqa: E402

VERSIONS = (2000, 2010, 2020, 3000, 3010, 3020, 4000, 4010, 4020, 5000, 5050, 6000, 6050, 7000, 7050, 8000, 9000, 9010,
            9020, 10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010,
            12020, 12030, 12040, 12050, 12060, 12080, 13000)  # fmt: skip
FLAGS = {"legacy": 1, "per_thread": 2, "both": 3}  # of which per-thread streams win
NOT_FOUND, NOT_SUFFICIENT = 1, 2  # of CUdriverProcAddressQueryResult


def read(golden):
    """{(name, kind): [(version, function)]}"""
    found = {}
    with open(golden, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                name, kind, *steps = line.split()
                found[name, kind] = list(zip(map(int, steps[::2]), steps[1::2]))
    return found


def ask():
    """In a process of its own: names come on stdin; prints {name: {kind: [(status, function)]}}."""

    class Symbol(ctypes.Structure):
        _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                    ("address", ctypes.c_void_p)]  # fmt: skip

    process = ctypes.CDLL(None)
    process.dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    driver = ctypes.CDLL("libcuda.so.1")
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    newer = getattr(driver, "cuGetProcAddress_v2", None)

    def answer(name, at, flags):
        found, status = ctypes.c_void_p(), ctypes.c_int(-1)
        wide = ctypes.c_ulonglong(flags)
        older = ctypes.c_void_p()
        code = driver.cuGetProcAddress(name.encode(), ctypes.byref(older), at, wide)
        if newer is None:
            found, status.value = older, 0 if code == 0 else NOT_SUFFICIENT
        elif newer(name.encode(), ctypes.byref(found), at, wide, ctypes.byref(status)) != 0:
            return -1, "an error"
        if (code == 0) != bool(found.value) or (code == 0 and older.value != found.value):
            return -1, "cuGetProcAddress and its second version differ"
        if not found.value:
            return status.value, None
        symbol = Symbol()
        known = process.dladdr(found.value, ctypes.byref(symbol)) and symbol.address == found.value
        return status.value, symbol.name.decode() if known else "no exported function"

    names = sys.stdin.read().split()
    answers = {name: {kind: [answer(name, at, flags) for at in VERSIONS] for kind, flags in FLAGS.items()} for name in names}
    with open("/proc/self/maps", encoding="utf-8") as file:
        preloaded = any("/libvramscope.so" in line for line in file)
    json.dump({"version": version.value, "preloaded": preloaded, "answers": answers}, sys.stdout)


def asked(names, **environment):
    for variable, path_of in (("LD_LIBRARY_PATH", programs.without_separators), ("LD_PRELOAD", programs.preloadable)):
        if variable in environment:
            environment[variable] = str(path_of(environment[variable]))
    done = subprocess.run([sys.executable, __file__, "--ask"], input=" ".join(names), text=True, check=True,
                          stdout=subprocess.PIPE, env={**os.environ, **environment})  # fmt: skip
    answers = json.loads(done.stdout)
    if answers["preloaded"] != ("LD_PRELOAD" in environment):
        sys.exit(f"the library was not preloaded as {environment}")
    return answers


def expected(golden, name, kind, own_version):
    steps = (kind != "legacy" and golden.get((name, "per_thread"))) or golden[name, "legacy"]
    steps = [step for step in steps if step[0] <= own_version]
    for at in VERSIONS:
        there = [function for since, function in steps if since <= at]
        # Without its second version, from CUDA 12 on, cuGetProcAddress does not tell why.
        why = NOT_SUFFICIENT if steps or own_version < 12000 else NOT_FOUND
        yield [0, there[-1]] if there else [why, None]


def differences(golden, told):
    """A line each."""
    lines = []
    for name, kinds in told["answers"].items():
        for kind, answers in kinds.items():
            wanted = list(expected(golden, name, kind, told["version"]))
            for at, one, other in zip(VERSIONS, wanted, answers):
                if one != other:
                    lines.append(f"driver {told['version']}: {name} at {at}, {kind}: {other}, not {one}")
    return lines


def simulated(arguments):
    simulator, library, path = arguments
    golden = read(path)
    names = sorted({name for name, _ in golden})
    lines = []
    for version in (11080, 12000, 12020, 12040, 12050):
        around = {"LD_LIBRARY_PATH": simulator, "VRAMSCOPE_SIM": f"driver_version={version}"}
        alone = asked(names, **around)
        lines += differences(golden, alone)
        if asked(names, LD_PRELOAD=library, **around)["answers"] != alone["answers"]:
            lines.append(f"driver {version}: behind the library it answers otherwise")
    return lines


def steps_of(answers):
    """[(version, function)] of what begins to be answered at that version."""
    functions = [function for _, function in answers]
    return [(at, one) for at, one, before in zip(VERSIONS, functions, [None, *functions]) if one not in (None, before)]


def write(golden, told):
    with open(golden, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#")]
    with open(golden, "w", encoding="utf-8") as file:
        file.writelines(head)
        for name, kinds in told["answers"].items():
            legacy, per_thread = steps_of(kinds["legacy"]), steps_of(kinds["per_thread"])
            for kind, steps in (("legacy", legacy), ("per_thread", per_thread if per_thread != legacy else [])):
                if steps:
                    print(name, kind, *(f"{at} {function}" for at, function in steps), file=file)


def real(folder, path, library, to_write):
    around = {"LD_LIBRARY_PATH": folder}
    if to_write:
        exported = subprocess.run(["nm", "-D", "--defined-only", f"{folder}/libcuda.so.1"], check=True, text=True,
                                  capture_output=True).stdout  # fmt: skip
        symbols = {line.split()[-1].split("@")[0] for line in exported.splitlines()}
        names = sorted({re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", name) for name in symbols if name.startswith("cu")})
        write(path, asked(names, **around))
    golden = read(path)
    names = sorted({name for name, _ in golden})
    alone = asked(names, **around)
    lines = differences(golden, alone)
    if library and asked(names, LD_PRELOAD=library, **around)["answers"] != alone["answers"]:
        lines.append("behind the library it answers otherwise")
    print(f"driver {alone['version']}: {len(names)} names")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ask", action="store_true")
    parser.add_argument("--driver")
    parser.add_argument("--library", default="")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    if options.ask:
        return ask()
    if options.driver:
        lines = real(options.driver, *options.paths, options.library, options.write)
    else:
        lines = simulated(options.paths)
    print("\n".join(lines[:50]) or "all as the golden file tells")
    return min(len(lines), 1)


if __name__ == "__main__":
    sys.exit(main())
