"""What the tests of programs that are killed share: the victim, its live file, its report."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import signal

import harness
import recount

HELD = 6 * 1024 * 1024 + 1000  # bytes that the victim `killed` has when it ends


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        self.live = os.path.join(self.folder, "live")
        os.mkdir(self.live, 0o700)

    def variables(self, **more):
        """Live files lie in a folder of the case, and not where those of others are."""
        return {"VRAMSCOPE_LIVE_FILE": os.path.join(self.live, "%e.%p.live"), **more}

    def start_victim(self, *command, mode="cache", **variables):
        """Running, and past its first line of output."""
        process = self.start_program([harness.program(command[0]), *command[1:]], mode,
                                     **self.variables(**variables))
        self.assertIn("ready", process.stdout.readline())
        return process

    def kill(self, process, number=signal.SIGKILL):
        process.send_signal(number)
        process.communicate(timeout=harness.DEADLINE_S)

    def live_files(self):
        return sorted(os.path.join(self.live, name) for name in os.listdir(self.live))

    def dead_file(self, *command, **variables):
        """The live file of a victim that was killed."""
        self.kill(self.start_victim(*(command or ("killed", "wait")), **variables))
        (path,) = self.live_files()
        return path

    def recovered(self, *words, **variables):
        """The reports that `recover` prints the paths of, which removes the live files."""
        done = self.run_tool("recover", *(words or [self.live]), **variables)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        reports = [json.loads(pathlib.Path(self.folder, path).read_text()) for path in done.stdout.splitlines()]
        for report in reports:
            recount.check(self, report)
        return reports

    def assert_refused(self, words, *parts):
        done = self.run_tool(*words)
        self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


def extents(file):
    """(begin, end) of what a sparse file has."""
    found, at, size = [], 0, os.fstat(file.fileno()).st_size
    while at < size:
        try:
            begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
        except OSError:
            break
        at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
        found.append((begin, at))
    return found
