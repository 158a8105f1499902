"""No verb of the tool touches a file that is not proved to be ours.

A folder of look-alikes is the same after every verb, with every form of argument: names, contents,
modes and times. The verbs are those that the tool lists itself, so that a new one is covered.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import socket
import stat
import struct
import subprocess

import harness
from ours_case import Case, LIVE_BYTES, NEVER, copy

MAGIC = b"vrm-live"
OLD = 1_000_000_000  # long ago
BOOT = "00000000-0000-0000-0000-000000000000"


def header(magic=MAGIC, form=2, parts=14, base=0x3A0000000000, process=0x3A0100000000):
    """Of a live file, as far as it says where its process is."""
    return struct.pack("<8sIIQIIQQQ", magic, form, parts, base, 0, 0, 0, 0, process)


def texts(dead):
    """Contents that are no live file, by name."""
    with open(dead, "rb") as file:
        whole = file.read(4096)
    yield "disk.live.img", bytes(4 << 20)
    yield "empty.live", b""
    yield "todo.live.txt", bytes(8) + b"buy milk\n"
    yield "one.live", b"\0"
    yield "seven.live", bytes(7)
    yield "eight.live", bytes(8)
    yield "page.live", bytes(4096)
    yield "notes.live~1", b"my notes\n"
    yield "report.live.json", b"{}"
    yield "a\nb.live", bytes(64)
    yield b"\xff.live", bytes(64)
    yield " .live", bytes(64)
    yield "-o.live", bytes(64)
    yield "magic.live", MAGIC
    yield "cut.live", MAGIC + struct.pack("<I", 2)
    yield "format.live", header(form=99) + bytes(4096)
    yield "earlier.live", header(form=1) + bytes(4096)
    yield "parts.live", header(parts=13) + bytes(4096)
    yield "nobody.live", header(process=0) + bytes(4096)
    yield "outside.live", header(process=1 << 60) + bytes(4096)
    yield "base.live", header(base=4096) + bytes(4096)
    yield "other.live", header(magic=b"VRM-LIVE") + bytes(4096)
    yield "page-of-ours.live", whole
    yield "half-of-ours.live", whole[:200]
    yield "train.4711.lives", bytes(4096)
    yield ".train.4711.live", bytes(8)
    # Under names like ours, and not exactly so.
    for name in (f"train.{NEVER}.live~", f"train.{NEVER}.live~0", f"train.{NEVER}.live~1000", f"train.0{NEVER}.live",
                 "train.0.live", "train.-1.live", "train.99999999999.live", f".{NEVER}.live", f"{NEVER}.live",
                 f"train.{NEVER}.live.bak", f"train.{NEVER}.Live.live", "train..live"):  # fmt: skip
        yield name, b""
    # Exactly so, but not so long, or with something in it.
    yield f"train.{NEVER}.live", bytes(4096)
    yield f"train.{NEVER}.live~1", b"\0" * 8 + b"text"
    yield f"train.{NEVER}.live~2", MAGIC
    # Of whom runs.
    yield f"train.{os.getpid()}.live", b""
    yield "train.1.live", b""
    # What is called like our other files.
    yield f".vramscope-{NEVER}-1-2-3", b"unfinished"
    yield f".vramscope-{NEVER}-1-2-3-{BOOT}-4-5", b"of another machine"
    yield f".vramscope-{NEVER}-x-2-3-{BOOT}-4-5", b"mine"
    yield ".vramscope-abcdef", b"mine"
    yield "vramscope-note-abcdef", b"/home/ann/report.json\n"
    yield "vramscope-note-ABCDEF", f"vramscope-note 1 {NEVER}-1-2-3-{BOOT}\n".encode()
    yield "vramscope-note-123456", b"vramscope-note 1 \n"
    yield "vramscope.train.4711.json", (harness.SOURCE / "test/reporter/sample.json").read_bytes()
    yield "broken.json", b"{"


def add_look_alikes(folder, dead, user):
    """More than fifty of them, none of which we made."""
    for name, text in texts(dead):
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        pathlib.Path(os.fsdecode(path)).write_bytes(text)
        os.chmod(path, 0o600)
    for name, mode in (("open.live", 0o644), ("group.live", 0o660), ("read.live", 0o400), ("run.live", 0o700)):
        (folder / name).write_bytes(bytes(16))
        (folder / name).chmod(mode)
    copy(dead, folder / dead.name)  # under its name, and still a copy
    copy(dead, folder / "copy.live")
    copy(dead, folder / "open-copy.live")
    (folder / "open-copy.live").chmod(0o644)
    copy(dead, folder / "cut-copy.live")
    os.truncate(folder / "cut-copy.live", 5000)
    for name in ("big.live", f"big.{NEVER}.live~3x"):
        (folder / name).touch(0o600)
        os.truncate(folder / name, LIVE_BYTES)
    os.link(folder / "eight.live", folder / "second.live")
    os.link(folder / "copy.live", folder / "third.live")
    (folder / "link.live").symlink_to(folder / "empty.live")
    (folder / f"link.{NEVER}.live").symlink_to(dead)
    (folder / "nowhere.live").symlink_to("/no/such")
    (folder / "folder.live").mkdir()
    (folder / "folder.live" / "inner.live").touch(0o600)
    (folder / f"train.{NEVER - 1}.live").mkdir()
    os.mkfifo(folder / "fifo.live", 0o600)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.live"))
    paths = [os.path.join(root, name) for root, folders, names in os.walk(os.fsencode(folder)) for name in folders + names]
    for path in paths:
        os.chown(path, user, -1, follow_symlinks=False)
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    if os.geteuid() == 0:
        for name in ("theirs.live", f"theirs.{NEVER}.live"):
            (folder / name).touch(0o600)
            os.chown(folder / name, 12345, 12345)


def state_of(folder):
    """What must not change, by path."""
    found = {}
    for root, folders, names in os.walk(os.fsencode(folder)):
        for name in folders + names:
            path = os.path.join(root, name)
            status = os.lstat(path)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode) and status.st_blocks * 512 < 1 << 26 and status.st_size < 1 << 26:
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[path] = (status.st_mode, status.st_uid, status.st_nlink, status.st_size, status.st_ino,
                           0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns, content)  # fmt: skip
    return found


def verbs_of(tool):
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  (\w+) {2,}", text.split("Subcommands:")[1].split("Examples:")[0], re.MULTILINE)
    assert "recover" in verbs and len(verbs) > 20, verbs
    return verbs


def flags_of(tool, verb):
    text = subprocess.run([tool, verb, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE))


class NothingButOurs(Case):
    def assert_same(self, before, folder, what, written=()):
        after = state_of(folder)
        gone = [path for path in before if path not in after]
        changed = [path for path in before if path in after and before[path] != after[path]]
        new = [path for path in after if path not in before and path not in written]
        self.assertEqual(([], [], []), (gone, changed, new), what)

    def commands(self, verb, folder, flags):
        """Every form of arguments, and where the tool runs."""
        files = sorted(path for path in state_of(folder) if os.path.dirname(path) == os.fsencode(folder))
        files = [os.fsdecode(path) for path in files]
        yield []
        yield [folder]
        yield ["."]
        yield [f"{folder}/*"]
        yield [f"{folder}/*.live*"]
        yield ["--", *files]
        if "--discard" in flags:
            yield ["--discard"]
            yield ["--discard", folder]
            yield ["--discard", "--", *files]
        for file in files if verb in ("recover", "report", "html", "run") else ():
            yield ["--", file]
            if "--discard" in flags:
                yield ["--discard", "--", file]

    def check(self, user, folder, **variables):
        before = state_of(folder)
        self.assertGreater(len(before), 50)
        work = self.place("work", user)
        verbs = verbs_of(self.tool)

        def run(job):
            verb, words, where = job
            if verb in ("html", "merge") and "--output" not in words:
                words = ["--output", work / "written", "--force", *words]
            if verb == "recover":
                words = ["--wait", "0", *words]
            starter = []
            if verb == "serve" and not words:  # it serves until it is ended, and looks twice until then
                words, starter = ["--listen", "0"], ["timeout", "--preserve-status", "2"]
            return verb, words, self.tool_as(user, [verb, *words], where, starter, **variables)

        for verb in verbs:
            flags = flags_of(self.tool, verb)
            jobs = [(verb, words, folder if words == ["."] else work) for words in self.commands(verb, folder, flags)]
            with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count(), 2)) as pool:
                done = list(pool.map(run, jobs))
            for _, words, one in done:
                self.assertGreaterEqual(one.returncode, 0, (verb, words, one.stderr))
            self.assert_same(before, folder, (verb, [one.stderr for _, _, one in done][:3]))
        shutil.rmtree(work)

    def look_alikes(self, name, user):
        dead = self.dead_file(self.folder, VRAMSCOPE_OUTPUT=f"{self.folder}/of-the-dead.json")
        folder = self.place(name, user)
        add_look_alikes(folder, dead, user)
        dead.unlink()
        return folder

    def test_look_alikes_in_a_folder_stay_as_they_are(self):
        for user in self.users():
            self.check(user, self.look_alikes("of", user))

    def test_look_alikes_in_our_own_folder_stay_as_they_are(self):
        for user in self.users():
            runtime = self.place("runtime", user)
            folder = self.look_alikes("of", user)
            own = runtime / f"vramscope-{user}"
            folder.rename(own)
            self.check(user, own, XDG_RUNTIME_DIR=str(runtime))

    def test_look_alikes_in_the_folder_for_temporary_files_stay_as_they_are(self):
        for user in self.users():
            folder = self.look_alikes("of", user)
            before = state_of(folder)
            for words in (["run", "-o", f"{folder}/r.json", "true"], ["doctor"], ["merge", "-o", f"{folder}/m.json", folder]):
                self.tool_as(user, words, folder, TMPDIR=str(folder), VRAMSCOPE_OUTPUT=f"{folder}/r.json")
                written = [os.fsencode(folder / "m.json")]
                self.assert_same(before, folder, words, written)

    def test_what_is_left_alone_is_named(self):
        folder = self.place("of", os.geteuid())
        for name, text in (("disk.live.img", bytes(4 << 20)), ("empty.live", b""), ("todo.live.txt", bytes(8) + b"x")):
            (folder / name).write_bytes(text)
            (folder / name).chmod(0o600)
            os.utime(folder / name, (OLD, OLD))
        done = self.tool_as(os.geteuid(), ["recover", "."], folder)
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        for name in os.listdir(folder):
            self.assertIn(f"left alone: './{name}': byte 1: expected a live file", done.stderr)
        self.assertEqual(3, len(os.listdir(folder)))

    def test_only_the_named_output_changes(self):
        for user in self.users():
            folder = self.look_alikes("of", user)
            report = folder / "vramscope.train.4711.json"
            for verb in verbs_of(self.tool):
                if "--output" not in flags_of(self.tool, verb):
                    continue
                before = state_of(folder)
                words = {"run": ["true"], "diff": [report, report], "export": ["--to", "csv", report], "doctor": [],
                         "recover": [folder], "snapshot": [NEVER], "list": [], "live": [NEVER]}.get(verb, [report])  # fmt: skip
                done = self.tool_as(user, [verb, "-o", folder / "out.txt", *words], folder, TMPDIR=str(folder))
                self.assertIn(done.returncode, (0, 1, 2), (verb, done.stderr))
                self.assert_same(before, folder, (verb, done.stderr), [os.fsencode(folder / "out.txt")])
                (folder / "out.txt").unlink(missing_ok=True)


if __name__ == "__main__":
    harness.main()
