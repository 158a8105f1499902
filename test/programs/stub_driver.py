"""stub_driver.py DRIVER OUTPUT COMPILER...: a library with the driver's names of which each answers with 34,
CUDA_ERROR_STUB_LIBRARY, as the library that toolkits have for linkers does."""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys


def main():
    driver, output, *compiler = sys.argv[1:]
    symbols = subprocess.run(["readelf", "--dyn-syms", "--wide", driver], check=True, capture_output=True, text=True)
    rows = [line.split() for line in symbols.stdout.splitlines() if " FUNC " in line and " UND " not in line]
    names = sorted({row[7].split("@")[0] for row in rows if row[7].startswith("cu")})
    if "cuInit" not in names:
        sys.exit(f"stub_driver: {driver} has no cuInit")
    source = "".join(f'extern "C" int {name}() {{ return 34; }}\n' for name in names)
    command = [*compiler, "-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libcuda.so.1", "-x", "c++", "-", "-o", output]
    subprocess.run(command, input=source, text=True, check=True)


main()
