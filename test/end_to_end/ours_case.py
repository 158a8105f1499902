"""What the tests share of what is ours: the tool as several users, and live files of the dead."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import signal
import subprocess

import harness

NOBODY = 65534
LIVE_BYTES = 14 * harness.LIVE_PART_BYTES  # of a live file as it is made
NEVER = 4194303  # the number of no process: those of machines with fewer end before it


class Case(harness.Case):
    """Each runs as the user who tests and, where that is root, as an ordinary user."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.tool, self.library = (self.open_copy(path) for path in (harness.TOOL, harness.LIBRARY))

    def open_copy(self, path):
        """The build folder may be closed to others, as homes are."""
        copied = shutil.copy(path, self.folder)
        os.chmod(copied, 0o755)
        return copied

    def users(self):
        return [os.geteuid()] + [NOBODY] * (os.geteuid() == 0)

    def place(self, name, user, mode=0o700):
        path = pathlib.Path(self.folder) / f"{name}-{user}"
        path.mkdir(mode)
        os.chown(path, user, -1)
        return path

    def tool_as(self, user, words, folder, before=(), **variables):
        """before: a command that starts it."""
        other = {} if user == os.geteuid() else {"user": user, "group": user, "extra_groups": []}
        more = {"VRAMSCOPE_LIBRARY": self.library, "TMPDIR": self.folder, **variables}
        return harness.programs.finish([*before, self.tool, *map(str, words)], harness.environment(**more), folder,
                                       harness.DEADLINE_S, **other)  # fmt: skip

    def dead_file(self, folder, **variables):
        """The live file of a victim that was killed."""
        process = self.start_program([harness.program("killed"), "wait"], "cache",
                                     VRAMSCOPE_LIVE_FILE=f"{folder}/%e.%p.live", **variables)  # fmt: skip
        self.assertIn("ready", process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=harness.DEADLINE_S)
        (path,) = pathlib.Path(folder).glob(f"*.{process.pid}.live")
        return path


def copy(source, target):
    """Of a sparse file, sparse."""
    subprocess.run(["cp", "--sparse=always", str(source), str(target)], check=True)
    os.chmod(target, 0o600)
