"""What a run of gpu-check leaves behind: its document, and a folder with what each program said and reported."""
# SPDX-License-Identifier: Apache-2.0
import json
import lzma
import os
import pathlib
import re
import threading

LARGEST = 20 << 20  # bytes of the whole folder, small enough to be carried away
LARGEST_REPORT = 2 << 20  # bytes, packed
LARGEST_OUTPUT = 200_000  # characters


class Document:
    """Everything found so far; each change is on disk at once, whole."""

    def __init__(self, path, **facts):
        self.path = path
        self.lock = threading.Lock()
        self.value = {
            **facts, "modes": [], "questions": [], "measurements": {}, "programs": [], "kills": [],
            "seconds_of_parts": {}, "complete": False,
        }  # fmt: skip

    def save(self):
        if self.path:
            beside = self.path.with_name(self.path.name + ".part")
            beside.write_text(json.dumps(self.value, indent=1) + "\n")
            os.replace(beside, self.path)

    def add(self, key, found):
        with self.lock:
            self.value[key] += found
            self.save()

    def measured(self, mode, lines):
        with self.lock:
            self.value["measurements"].setdefault(mode, []).extend(lines)
            self.save()


class Folder:
    """PROGRAM/MODE.out and .err, and the reports as MODE.NAME.json.xz, until the folder is full."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.left = LARGEST - (2 << 20)  # the rest is for the document and the tables
        self.lock = threading.Lock()

    def write(self, path, data):
        with self.lock:
            if len(data) > self.left:
                return
            self.left -= len(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def add(self, words, mode, variables, done, folder):
        """Of one program that ran in that folder. A later run of the same takes the place of the earlier."""
        named = "_".join([*(f"{key}={value}" for key, value in variables), *words])
        place = self.path / "programs" / re.sub(r"[^A-Za-z0-9_.=-]", "_", named)[:100]
        mode = mode.replace(" ", "-")
        for ending, text in (("out", done.stdout), ("err", done.stderr)):
            if text:
                self.write(place / f"{mode}.{ending}", text[-LARGEST_OUTPUT:].encode())
        if words[0].endswith(".py") or done.status != 0 or words[0].startswith("gpu_"):
            self.add_reports(place, mode, folder)

    def add_reports(self, place, mode, folder):
        """Of programs of the frameworks and of those that failed; the others' are judged where they are written."""
        for report in sorted(pathlib.Path(folder).glob("*.json"))[:4]:
            packed = lzma.compress(report.read_bytes(), preset=1)
            if len(packed) <= LARGEST_REPORT:
                self.write(place / f"{mode}.{report.name}.xz", packed)
