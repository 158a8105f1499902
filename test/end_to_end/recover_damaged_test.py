"""What becomes of live files that are damaged or somebody else's: one line, and nobody crashes."""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import os
import pathlib
import random
import shutil
import socket
import struct
import tempfile

import harness
from recover_case import Case, extents

DAMAGED = 300  # live files with damage at other places each
LIVE_NUMBER = 280  # where a live file says its number, and its name behind it (LiveHeader)


class Hostile(Case):
    """Live files that are damaged, or anybody's."""

    def test_what_is_no_live_file_of_ours_is_one_line(self):
        place = pathlib.Path(self.folder)
        path = self.dead_file()
        (place / "link.live").symlink_to(path)
        os.mkfifo(place / "fifo.live")
        (place / "text.live").write_text("{}")
        (place / "empty.live").touch()
        for name in ("text.live", "empty.live"):
            (place / name).chmod(0o600)
        open_to_all = place / "open.live"
        self.copy(path, open_to_all)
        open_to_all.chmod(0o644)
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(str(place / "socket.live"))
        for name, part in (("link", "link"), ("fifo", "no plain file"), ("text", "expected a live file"),
                           ("empty", "expected a live file"), ("open", "mode 644"), ("socket", "")):  # fmt: skip
            self.assert_refused(["recover", str(place / (name + ".live"))], name + ".live", part)
        os.link(path, place / "second.live")
        self.assert_refused(["recover", path], "several names")
        os.unlink(place / "second.live")
        self.assertEqual(1, len(self.recovered(path)))

    def test_another_users_file_is_not_trusted(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file to another user")
        path = self.dead_file()
        os.chown(path, 12345, 12345)
        self.assert_refused(["recover", path], "another user")
        self.assertTrue(os.path.exists(path))

    def test_a_file_of_another_version_is_refused(self):
        path = self.dead_file()
        self.overwrite(path, 8, struct.pack("<I", 99))
        self.assert_refused(["recover", path], "this version", "format 99")

    def overwrite(self, path, offset, data):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def copy(self, path, to):
        """Sparse files of some GiB stay sparse."""
        with open(path, "rb") as source, open(to, "wb") as target:
            os.chmod(to, 0o600)
            for begin, end in extents(source):
                source.seek(begin)
                target.seek(begin)
                target.write(source.read(end - begin))
            target.truncate(os.fstat(source.fileno()).st_size)

    def test_truncated_and_changed_files_harm_nobody(self):
        path = self.dead_file()
        with open(path, "rb") as file:
            parts = extents(file)
        generator = random.Random(2026)
        cuts = [0, 1, 7, 8, 9, 31, 63, 100, 4095, 4096, 4097, parts[-1][1] - 1]
        cuts += [generator.randrange(begin, end) for begin, end in parts for _ in range(2)]
        damaged = os.path.join(self.folder, "damaged.live")
        ends = []
        for cut in cuts:
            self.copy(path, damaged)
            os.truncate(damaged, cut)
            ends.append(self.survives(damaged))
        self.assertEqual({2}, set(ends), "a file that lacks something was recovered")
        for number in range(60):
            self.copy(path, damaged)
            self.damage(damaged, parts, generator, number)
            ends.append(self.survives(damaged))

    def damage(self, path, parts, generator, number):
        for _ in range(1 + number % 20):
            begin, end = generator.choice(parts)
            self.overwrite(path, generator.randrange(begin, end), generator.randbytes(1 + number % 8))

    def word_at(self, path, offset):
        with open(path, "rb") as file:
            return os.pread(file.fileno(), 8, offset)

    def adopt(self, path):
        """The copy says that it was made where it lies: for the tool it is no copy any more."""
        self.overwrite(path, LIVE_NUMBER, struct.pack("<Q256s", os.stat(path).st_ino, os.path.basename(path).encode()))

    def survives(self, path):
        """The exit status: a report that is one, or one line."""
        done = self.run_tool("recover", path)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(done.returncode == 0, bool(done.stdout), done.stderr)
        if done.returncode == 2:
            self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        os.unlink(path)
        return done.returncode

    def test_a_live_file_goes_only_for_a_report_that_can_be_read(self):
        path = self.dead_file("killed", "many", "20", VRAMSCOPE_OUTPUT=os.path.join(self.folder, "%p", "r.json"))
        used = words_in_use(path)
        unset = [at for at in used if self.word_at(path, at) == bytes([255]) * 8]  # the rank among them
        seed = int(os.environ.get("VRAMSCOPE_DAMAGE_SEED", "1"))
        print(f"# seed {seed}, {DAMAGED} damaged files, {len(used)} words in use")
        with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count(), 2)) as pool:
            ends = list(pool.map(lambda number: self.recover_damaged(path, used, unset, seed, number), range(DAMAGED)))
        self.assertEqual([], list(filter(None, (problem for _, problem in ends)))[:5])
        self.assertGreater(sum(end == "recovered" for end, _ in ends), DAMAGED // 10)
        self.assertGreater(sum(end == "refused" for end, _ in ends), DAMAGED // 50)

    def test_a_report_whose_name_is_damaged_lies_where_it_says(self):
        path = self.dead_file("killed", "many", "20", VRAMSCOPE_OUTPUT=os.path.join(self.folder, "%p", "r.json"))
        name = b"/r.json\0"  # the folder in front is not there, so that the report would go to the current one
        with open(path, "rb") as file:
            places = [begin + at for begin, end in extents(file)
                      for at in every(os.pread(file.fileno(), end - begin, begin), name)]  # fmt: skip
        self.assertTrue(places)
        for at in places:
            self.overwrite(path, at, b"-")
        self.adopt(path)
        current = os.path.join(self.folder, "current")
        os.mkdir(current)
        done = self.tool_in(current, "recover", path)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(self.folder, os.path.dirname(done.stdout))
        self.assertEqual(0, self.tool_in(current, "report", done.stdout.removesuffix("\n")).returncode)

    def recover_damaged(self, path, used, unset, seed, number):
        """What became of it, and what is wrong with that."""
        folder = tempfile.mkdtemp(dir=self.folder)
        damaged = os.path.join(folder, "damaged.live")
        self.copy(path, damaged)
        generator = random.Random(seed * 1000000 + number)
        if number < len(unset):
            self.overwrite(damaged, unset[number], b"\xfe")  # -2 in place of -1
        elif number % 2:
            self.overwrite(damaged, generator.choice(used) + 7, b"\xff")  # a number becomes a negative one
        else:
            for _ in range(1 + number % 20):
                self.overwrite(damaged, generator.choice(used), generator.randbytes(1 + number % 8))
        self.adopt(damaged)
        done = self.tool_in(folder, "recover", damaged)
        left = sorted(os.listdir(folder))
        where = f"seed {seed}, {number}: {done.stderr!r} {done.stdout!r} {left}"
        if done.returncode == 2:
            return "refused", "" if left == ["damaged.live"] and done.stderr.count("\n") == 1 else where
        # The live file stays where its owner is damaged, so that nobody knows whether that is dead. The report lies
        # elsewhere where its name is damaged, so that its folder exists.
        report = os.path.join(folder, done.stdout.removesuffix("\n"))
        if not set(left) <= {"damaged.live", "r.json"} or not os.path.isfile(report):
            return "lost", where
        shown = self.tool_in(folder, "report", report)
        shutil.rmtree(folder)
        return "recovered", "" if shown.returncode == 0 else where + shown.stderr

    def tool_in(self, folder, *words):
        """Its messages and paths may hold damaged names."""
        return harness.programs.finish([harness.TOOL, *words], harness.environment(), folder, harness.DEADLINE_S,
                                       errors="surrogateescape")  # fmt: skip


def every(data, part):
    """Where the part is in the data."""
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)


def words_in_use(path):
    """Offsets of the words of eight bytes that say something, behind the header."""
    with open(path, "rb") as file:
        found = []
        for begin, end in extents(file):
            bytes_ = os.pread(file.fileno(), end - begin, begin)
            found += [begin + at for at in range(0, len(bytes_), 8) if any(bytes_[at:at + 8]) and begin + at >= 4096]
    return found


if __name__ == "__main__":
    harness.main()
