"""Programs that are killed amid something, or at any instant: their reports are whole.

VRAMSCOPE_KILLS: how many times the program with four threads is killed (60).
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import tempfile
import time

import harness
import kill_log
import recount
from recover_case import Case, HELD

KILLS = int(os.environ.get("VRAMSCOPE_KILLS", "60"))


class Amid(Case):
    """Kills amid something."""

    def begin_a_report(self, process):
        """Returns when a report is being written. One that was finished between two looks is followed by the next."""
        finished = -1

        def begun():
            nonlocal finished
            if self.half_written(process.pid):
                return True
            if (now := len(list(pathlib.Path(self.folder).glob("*.json")))) > finished:
                finished = now
                process.send_signal(signal.SIGUSR1)
            return False

        self.wait_until(begun)

    def half_written(self, pid):
        return [name for name in os.listdir(self.folder) if name.startswith(f".vramscope-{pid}-")]

    def test_a_kill_while_a_report_is_written(self):
        # Each write of its hundred takes ten milliseconds more: nobody is too late.
        slow = {"LD_PRELOAD": f"{harness.LIBRARY}:{harness.program('libunsteady.so')}", "UNSTEADY_FILES": "10000"}
        for wait in (0, 0.1, 0.3):
            process = self.start_victim("killed", "many", "30000", **slow)
            self.begin_a_report(process)
            time.sleep(wait)
            self.kill(process)
            (unfinished,) = self.half_written(process.pid)
            others = self.leave_beside(unfinished)
            (report,) = self.recovered()
            self.assertEqual(HELD + 30000 * 512, recount.live_bytes(report))
            self.assertEqual(others, sorted(name for name in os.listdir(self.folder) if name.startswith(".")))

    def leave_beside(self, unfinished):
        """Looks much like it, and is not what that process wrote."""
        folder = pathlib.Path(self.folder)
        begin, pid, start, rest = unfinished.split("-", 3)
        rest = rest.rsplit("-", 1)[0]
        own = os.getpid()
        start_of_own = pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
        namespaces, boot = "-".join(rest.split("-")[:2]), "-".join(rest.split("-")[2:7])
        when = rest.split("-")[7]
        names = [f"{unfinished}x", f"{unfinished}-1-x", f"{begin}-{pid}-{start}-{when}-1", f"{begin}-{pid}-{start}-0-{rest}-0",
                 f"{begin}-{own}-{start_of_own}-{rest}-0",  # of a process that runs
                 f"{begin}-4194303-{start}-1{rest}-0",  # of another namespace
                 f"{begin}-4194303-{start}-{namespaces}-{boot[::-1]}-{when}-0"]  # and of another machine
        for name in names:
            (folder / name).touch(0o600)
        same = f"{begin}-{pid}-{start}-{rest}"
        names += [f"{same}-6", f"{same}-7", f"{same}-8", f"{same}-9"]
        (folder / names[-4]).touch(0o644)
        os.link(folder / names[-4], folder / f"{same}-5")
        os.chmod(folder / names[-4], 0o600)
        (folder / names[-3]).touch(0o644)
        (folder / names[-2]).mkdir()
        (folder / names[-1]).symlink_to(folder / names[0])
        return sorted({name for name in os.listdir(folder) if name.startswith(".")} - {unfinished})

    def hidden(self):
        return {name for name in os.listdir(self.folder) if name.startswith(".")}

    def test_a_recover_that_is_killed_leaves_nothing_once_another_has_run(self):
        path = self.dead_file("killed", "many", "30000")
        # Each write of its hundred takes half a second more: nobody is too late.
        slow = {"LD_PRELOAD": harness.program("libunsteady.so"), "UNSTEADY_FILES": "500000", "UNSTEADY_ALL": "1"}
        seen = set()
        for _ in range(3):
            tool = self.start_program([harness.TOOL, "recover", path], **slow)
            self.wait_until(lambda known=frozenset(seen): self.hidden() - known)
            self.kill(tool)
            self.await_maker(*(self.hidden() - seen))
            seen |= self.hidden()
        self.assertEqual(1, len(self.hidden()))  # each takes away what the one before has left
        self.assertEqual(1, len(self.recovered(path)))
        self.assertEqual(set(), self.hidden())

    def await_maker(self, name):
        """The tool writes in a child, which ends with it."""
        self.wait_until(lambda: not os.path.exists(f"/proc/{name.split('-')[1]}"))

    def test_kills_while_the_live_file_grows(self):
        generator = random.Random(2)
        counts, tries = [], 0
        # Later and later, until one came amid its growth.
        while tries < 8 or tries < 30 and max(counts, default=0) <= 1000:
            process = self.start_program([harness.program("killed"), "many", "2000000"], "cache", **self.variables())
            self.wait_until(self.live_files, 0.001)
            time.sleep((0.01 + 0.06 * generator.random()) * max(1, tries - 7))
            tries += 1
            self.kill(process)
            done = self.run_tool("recover", self.live)
            for path in done.stdout.splitlines():
                report = json.loads(pathlib.Path(path).read_text())
                # The schema's judge would take minutes for so many blocks.
                self.assertEqual([], recount.problems(report, harness.INSTALLATION.recount))
                bytes_held = recount.live_bytes(report)
                if bytes_held > HELD:
                    self.assertEqual(0, (bytes_held - HELD) % 512)
                    counts.append((bytes_held - HELD) // 512)
        self.assertGreater(max(counts, default=0), 1000)

    def test_kills_while_it_forks_and_executes(self):
        generator = random.Random(1)
        for way in ("fork", "exec"):
            for _ in range(6):
                process = self.start_victim("killed", way)
                time.sleep(generator.random() * 0.2)
                self.kill(process)
                done = self.run_tool("recover", self.live)
                reports = [json.loads(pathlib.Path(path).read_text()) for path in done.stdout.splitlines()]
                # Amid exec there is nothing, or a file that was only begun.
                self.assertTrue(reports or way == "exec" and "nothing to recover" in done.stderr, done.stderr)
                for report in reports:
                    recount.check(self, report)
                    self.assertEqual(("recovered", process.pid), (report["trigger"], report["process"]["pid"]))
                    self.assertIn(recount.live_bytes(report), (HELD, HELD - 1000, 0), way)
        self.assertLessEqual(len(self.live_files()), 6)


class Kills(Case):
    """Four threads are killed at random instants, and have counted for themselves."""

    def test_a_report_misses_at_most_the_calls_in_flight(self):
        seed = int(os.environ.get("VRAMSCOPE_KILL_SEED", random.SystemRandom().randrange(10**6)))
        print(f"# seed {seed}, {KILLS} kills")
        with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count(), 2)) as pool:
            problems = list(filter(None, pool.map(self.kill_once, range(seed, seed + KILLS))))
        self.assertEqual([], problems[:5], f"{len(problems)} of {KILLS}")

    def kill_once(self, seed):
        folder = tempfile.mkdtemp(dir=self.folder)
        generator = random.Random(seed)
        log = os.path.join(folder, "log")
        with open(log, "wb") as file:
            file.truncate(kill_log.BYTES)
        mode = generator.choice(("cache", "cache", "cache at-reuse", "dedicated", "observe"))
        variables = {"VRAMSCOPE_LIVE_FILE": f"{folder}/%p.live"}
        process = harness.programs.start([harness.program("counted_threads"), log, str(seed)],
                                         harness.environment(mode, **variables), folder, text=True)
        self.addCleanup(harness.programs.end, process)
        process.stdout.readline()
        time.sleep(generator.random() ** 2 * 0.1)
        process.kill()
        process.communicate()
        done = harness.programs.finish([harness.TOOL, "recover", folder], harness.environment(), folder,
                                       harness.DEADLINE_S)
        where = f"seed {seed}, {mode}: "
        if done.returncode != 0:
            return where + done.stderr
        report = json.loads(pathlib.Path(done.stdout.strip()).read_text())
        problems = [error.message for error in recount.validator().iter_errors(report)]
        problems += recount.problems(report, harness.INSTALLATION.recount)
        problems += kill_log.disagreements(report, pathlib.Path(log).read_bytes())
        shutil.rmtree(folder)
        return where + "; ".join(problems) if problems else ""


if __name__ == "__main__":
    harness.main()
