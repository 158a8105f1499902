"""What is proved to be ours goes, and only that: what dead processes began, and never finished."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
import pathlib
import signal
import subprocess
import time

import harness
from ours_case import Case, LIVE_BYTES, NEVER, copy

OWNER_BOOT = 280 + 8 + 256 + 32  # where a live file says the boot id (LiveHeader::owner, Maker::boot_id)


class Ours(Case):
    """What is proved to be ours goes, and only that."""

    def test_a_copy_gives_a_report_and_stays(self):
        dead = self.dead_file(self.folder)
        kept = pathlib.Path(self.folder) / "kept.live"
        os.mkdir(os.path.join(self.folder, "of"))
        copy(dead, os.path.join(self.folder, "of", dead.name))
        copied = pathlib.Path(self.folder) / "of" / dead.name
        dead.rename(kept)
        for path, why in ((copied, "copy"), (kept, "renamed")):
            done = self.tool_as(os.geteuid(), ["recover", path], self.folder)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(f"'{path}' stays: it is a copy, or was renamed", done.stderr)
            self.assertTrue(path.exists(), why)
        done = self.tool_as(os.geteuid(), ["recover", copied.parent], self.folder)
        self.assertIn(f"left alone: '{copied}': it is a copy", done.stderr)
        kept.rename(dead)  # as it was made
        done = self.tool_as(os.geteuid(), ["recover", dead], self.folder)
        self.assertEqual((0, "", False), (done.returncode, done.stderr, dead.exists()))

    def begun(self, name, size=0):
        self.runtime = pathlib.Path(self.folder, "runtime")  # as systems make it: its user's alone
        own = self.runtime / f"vramscope-{os.geteuid()}"
        own.mkdir(0o700, parents=True, exist_ok=True)
        self.runtime.chmod(0o700)
        (own / name).touch(0o600)
        os.truncate(own / name, size)
        return own / name

    def test_what_a_dead_process_only_began_in_our_own_folder_goes(self):
        paths = [self.begun(f"my.train.{NEVER}.live"), self.begun(f"train.{NEVER}.live~7"),
                 self.begun(f"train.{NEVER}.live~8", LIVE_BYTES)]  # fmt: skip
        alive = self.begun(f"train.{os.getpid()}.live", LIVE_BYTES)
        locked = self.begun(f"train.{NEVER}.live~9", LIVE_BYTES)  # of a process elsewhere, maybe
        lock = os.open(locked, os.O_RDWR)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.tool_as(os.geteuid(), ["recover"], self.folder, XDG_RUNTIME_DIR=str(self.runtime))
        self.assertEqual([], [path for path in paths if path.exists()])
        self.assertTrue(alive.exists() and locked.exists())

    def hidden(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("."))

    def test_a_merge_that_is_killed_leaves_nothing_once_another_has_run(self):
        sample = str(harness.SOURCE / "test/reporter/sample.json")
        slow = {"LD_PRELOAD": harness.program("libunsteady.so"), "UNSTEADY_FILES": "900000", "UNSTEADY_ALL": "1"}
        tool = self.start_program([self.tool, "merge", "-o", "all.json", sample], **slow)
        end = time.monotonic() + harness.DEADLINE_S
        while not self.hidden() and time.monotonic() < end:
            time.sleep(0.01)
        tool.kill()
        tool.communicate()
        self.assertEqual(1, len(self.hidden()))
        done = self.tool_as(os.geteuid(), ["merge", "-o", "all.json", sample], self.folder)
        self.assertEqual((0, []), (done.returncode, self.hidden()), done.stderr)

    def test_an_unfinished_file_that_names_nobody_stays(self):
        mine = pathlib.Path(self.folder, ".vramscope-0-0-0-0--17-0")
        mine.write_text("mine")
        mine.chmod(0o600)
        sample = str(harness.SOURCE / "test/reporter/sample.json")
        done = self.tool_as(os.geteuid(), ["merge", "-o", "all.json", sample], self.folder)
        self.assertEqual((0, [mine.name]), (done.returncode, self.hidden()), done.stderr)

    def elsewhere(self, dead):
        """It says that it was made during another run of the machine."""
        with open(dead, "r+b") as file:
            file.seek(OWNER_BOOT)
            first = file.read(1)
            file.seek(OWNER_BOOT)
            file.write(b"1" if first == b"0" else b"0")

    def test_one_of_another_machine_stays_and_one_of_an_earlier_boot_goes(self):
        dead = self.dead_file(self.folder)
        self.elsewhere(dead)
        done = self.tool_as(os.geteuid(), ["recover", self.folder], self.folder)
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn("1 live file of running processes", done.stderr)
        done = self.tool_as(os.geteuid(), ["recover", "--discard", dead], self.folder)
        self.assertIn("whether its process still runs cannot be told here", done.stderr)
        self.assertTrue(dead.exists())
        # As if the machine had been started after the file was changed last, by whole seconds.
        while int(time.time()) - int(dead.stat().st_ctime) < 3:
            time.sleep(0.1)
        uptime = int(float(pathlib.Path("/proc/uptime").read_text().split()[0]))
        later = ["unshare", "-rT", "--boottime", str(-uptime)]
        if subprocess.run([*later, "true"], capture_output=True).returncode:
            self.skipTest("no clock of its own is to be had here")
        if subprocess.run(["stat", "-f", "-c", "%T", self.folder], capture_output=True, text=True).stdout.strip() not in \
                ("ext2/ext3", "xfs", "btrfs", "overlayfs", "f2fs", "zfs"):  # fmt: skip
            self.skipTest("no disk of this machine is here")
        done = harness.programs.finish([*later, self.tool, "recover", self.folder], harness.environment(), self.folder,
                                       harness.DEADLINE_S)  # fmt: skip
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertFalse(dead.exists())

    def notes(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("vramscope-note-"))

    def start_run(self):
        words = [harness.TOOL, "run", "--sim", "--", harness.program("killed"), "wait"]
        tool = self.start_program(words, VRAMSCOPE_LIBRARY=str(harness.LIBRARY), TMPDIR=self.folder,
                                  VRAMSCOPE_LIVE_FILE=f"{self.folder}/%p.live")  # fmt: skip
        self.assertIn("ready", tool.stdout.readline())
        return tool

    def run_true(self):
        done = self.tool_as(os.geteuid(), ["run", "-q", "true"], self.folder)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_the_note_of_a_run_that_was_killed_goes_with_the_next_one(self):
        killed, alive = self.start_run(), self.start_run()
        self.assertEqual(2, len(self.notes()))
        for name in self.notes():
            path = pathlib.Path(self.folder) / name
            self.assertEqual(0o100600, path.stat().st_mode)
            self.assertTrue(path.read_text().startswith("vramscope-note 1 "))
        of_alive = [name for name in self.notes()
                    if f" 1 {alive.pid}-" in (pathlib.Path(self.folder) / name).read_text()]  # fmt: skip
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        self.run_true()
        self.assertEqual(of_alive, self.notes())
        note = pathlib.Path(self.folder) / of_alive[0]
        alive.send_signal(signal.SIGTERM)
        self.assertIn("report recovered in", alive.communicate(timeout=harness.DEADLINE_S)[1])
        self.assertFalse(note.exists())

    def test_the_note_of_a_run_that_was_killed_goes_with_recover(self):
        killed, alive = self.start_run(), self.start_run()
        of_alive = [name for name in self.notes()
                    if f" 1 {alive.pid}-" in (pathlib.Path(self.folder) / name).read_text()]  # fmt: skip
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        self.assertEqual(2, len(self.notes()))
        self.tool_as(os.geteuid(), ["recover", self.folder], self.folder)
        self.assertEqual(of_alive, self.notes())
        alive.send_signal(signal.SIGTERM)
        alive.communicate(timeout=harness.DEADLINE_S)

    def test_a_note_that_somebody_changed_is_nobody_elses_to_remove(self):
        killed = self.start_run()
        (name,) = self.notes()
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        folder = pathlib.Path(self.folder)
        note = folder / name
        text = note.read_bytes()
        for change, undo in ((lambda: note.chmod(0o644), lambda: note.chmod(0o600)),
                             (lambda: os.link(note, folder / "link"), lambda: (folder / "link").unlink()),
                             (lambda: note.write_bytes(text.replace(b"vramscope-note 1", b"vramscope-note 2", 1)),
                              lambda: note.write_bytes(text)),
                             (lambda: note.rename(folder / f"{name}x"), lambda: (folder / f"{name}x").rename(note))):  # fmt: skip
            change()
            before = self.notes()
            self.run_true()
            self.assertEqual(before, self.notes())
            undo()
        self.run_true()
        self.assertEqual([], self.notes())


if __name__ == "__main__":
    harness.main()
