# The small runtime exports every name that the vendor's library of the same major exports, and the
# loader finds both under the same versions.
# SPDX-License-Identifier: Apache-2.0
"""runtime_names_test.py FOLDER_OF_OURS FOLDER_OF_THE_TOOLKIT; exits with 77 where the toolkit has none"""
import os
import subprocess
import sys

SONAMES = ("libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                          text=True).stdout
    return {line.split()[-1].replace("@@", "@") for line in text.splitlines()}


def vendors(folder, soname):
    """The toolkit's library, where it has that major."""
    for place in ("lib64", "lib", "targets/x86_64-linux/lib"):
        path = os.path.join(folder, place, soname)
        if os.path.exists(path):
            return path
    return None


def main():
    ours, toolkit = sys.argv[1:3]
    compared = missing = 0
    for soname in SONAMES:
        library = vendors(toolkit, soname)
        if library is None:
            continue
        compared += 1
        for name in sorted(exported(library) - exported(os.path.join(ours, soname))):
            print(f"{soname} lacks {name}")
            missing += 1
    print(f"{compared} libraries compared, {missing} names missing")
    return 77 if compared == 0 else int(missing != 0)


sys.exit(main())
