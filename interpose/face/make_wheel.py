"""Packs vramscope.py as a wheel, which pip installs without a network or a build.

make_wheel.py MODULE VERSION WHEEL
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import pathlib
import sys
import zipfile

# Equal files have equal bytes: no time of this machine, nothing compressed.
TIME = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16
METADATA = """Metadata-Version: 2.1
Name: vramscope
Version: {version}
Summary: Ask Vramscope from Python, and limit GPU memory in tests
License: Apache-2.0
Requires-Python: >=3.8
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: vramscope\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# pytest loads plugins that are listed so.
ENTRY_POINTS = "[pytest11]\nvramscope = vramscope\n"


def row(name, content):
    """A line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def main():
    module, version, wheel = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder = f"vramscope-{version}.dist-info"
    files = {
        "vramscope.py": module.read_bytes(),
        f"{folder}/METADATA": METADATA.format(version=version).encode(),
        f"{folder}/WHEEL": WHEEL.encode(),
        f"{folder}/entry_points.txt": ENTRY_POINTS.encode(),
    }
    record = f"{folder}/RECORD"
    files[record] = ("".join(row(*file) for file in files.items()) + f"{record},,\n").encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, TIME)
            info.external_attr = MODE
            archive.writestr(info, content)


if __name__ == "__main__":
    main()
