"""What a program leaves that is killed: a report, recovered from its live file, and what becomes of
live files that are damaged or somebody else's.

VRAMSCOPE_KILLS: how many times the program with four threads is killed (60).
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import harness
import recount

DAMAGED = 300  # live files with damage at other places each
LIVE_NUMBER = 280  # where a live file says its number, and its name behind it (LiveHeader)
KILLS = int(os.environ.get("VRAMSCOPE_KILLS", "60"))
SIGNALS = ("INT", "TERM", "HUP", "QUIT", "SEGV", "ABRT", "KILL", "BUS")
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

    def wait_until(self, is_so, pause=0.01):
        end = time.monotonic() + harness.DEADLINE_S
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(pause)

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


class Run(Case):
    """`vramscope run` recovers by itself."""

    def run_victim(self, *command, tool=(), **variables):
        words = ["run", "--sim", *tool, "--", harness.program(command[0]), *command[1:]]
        return self.run_tool(*words, **self.variables(**variables))

    def reports(self):
        reports = harness.read_reports(self.folder)
        for report in reports:
            recount.check(self, report)
        self.assertEqual([], self.live_files())
        return reports

    def test_whatever_signal_ends_the_program_its_report_is_there(self):
        for name in SIGNALS:
            with self.subTest(name):
                number = getattr(signal, "SIG" + name)
                done = self.run_victim("killed", "raise", str(int(number)), tool=["-o", f"{name}.json"])
                self.assertEqual(128 + number, done.returncode, done.stderr)
                lines = done.stderr.splitlines()
                self.assertEqual(f"vramscope: ended by SIG{name}; report recovered in {name}.json", lines[-2])
                self.assertEqual(f"vramscope: next: vramscope report {name}.json", lines[-1])
                self.assertEqual(3, len(lines), done.stderr)
                self.assertIn("GPU 0: 2 allocations", lines[0])
        for report in self.reports():
            self.assertEqual(("recovered", HELD), (report["trigger"], recount.live_bytes(report)))
        ended = sorted(report["process"]["ended_by"] for report in self.reports())
        self.assertEqual(sorted("SIG" + name for name in SIGNALS), ended)

    def test_a_fault_of_the_program_leaves_a_report_in_every_mode(self):
        for mode in ("cache", "dedicated", "observe"):
            for way, name in (("fault", "SIGSEGV"), ("bus", "SIGBUS")):
                done = self.run_victim("killed", way, tool=["--mode", mode, "-o", f"{mode}-{way}.json"])
                self.assertEqual(128 + getattr(signal, name), done.returncode, done.stderr)
                text = self.run_tool("report", f"{mode}-{way}.json")
                self.assertEqual((0, ""), (text.returncode, text.stderr))
                self.assertIn(f"recovered; {name} ended it", text.stdout)
                self.assertIn("use_memory", text.stdout)
        self.assertEqual(6, len(self.reports()))

    def test_a_signal_to_run_itself_ends_the_program_and_recovers_its_report(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            words = [harness.TOOL, "run", "--sim", "-o", f"{number}.json", harness.program("killed"), "wait"]
            tool = self.start_program(words, **self.variables())
            self.assertIn("ready", tool.stdout.readline())
            tool.send_signal(number)
            errors = tool.communicate(timeout=harness.DEADLINE_S)[1]
            self.assertEqual(128 + number, tool.returncode)
            self.assertIn(f"report recovered in {number}.json", errors)
        self.assertEqual(2, len(self.reports()))

    def test_an_interrupt_of_the_terminal_goes_to_all_and_the_report_is_recovered(self):
        words = [harness.TOOL, "run", "--sim", "-o", "r.json", harness.program("killed"), "wait"]
        tool = self.start_program(words, **self.variables())
        self.assertIn("ready", tool.stdout.readline())
        os.killpg(tool.pid, signal.SIGINT)
        errors = tool.communicate(timeout=harness.DEADLINE_S)[1]
        self.assertEqual(128 + signal.SIGINT, tool.returncode)
        self.assertIn("ended by SIGINT; report recovered in r.json", errors)
        self.assertEqual(1, len(self.reports()))

    def test_a_quiet_run_recovers_too(self):
        done = self.run_victim("killed", "raise", "9", tool=["-q"])
        self.assertEqual((137, ""), (done.returncode, done.stderr))
        self.assertEqual(1, len(self.reports()))

    def test_who_wants_no_report_at_the_end_gets_none(self):
        done = self.run_victim("killed", "raise", "9", tool=["--report-at-exit", "off"])
        self.assertEqual(137, done.returncode, done.stderr)
        self.assertEqual([], self.reports())

    def test_workers_of_a_pool_that_are_terminated_have_their_reports(self):
        for workers in (3, 8):
            folder = tempfile.mkdtemp(dir=self.folder)
            script = str(harness.SOURCE / "test/programs/pool.py")
            words = ["run", "--sim", "-o", f"{folder}/%p.json", "--", "/usr/bin/python3", script, str(workers)]
            done = self.run_tool(*words, **self.variables())
            self.assertEqual((0, "ready\n"), (done.returncode, done.stdout), done.stderr)
            reports = harness.read_reports(folder)
            self.assertEqual(workers, len(reports), done.stderr)
            for report in reports:
                recount.check(self, report)
                self.assertEqual(("recovered", 1 << 20), (report["trigger"], recount.live_bytes(report)))
            self.assertIn(f"vramscope: {workers} processes; highest peak 1.00 MiB requested by python3", done.stderr)
            self.assertIn(f"recovered of {workers} descendants that ended without one: python3", done.stderr)
            self.assertLessEqual(len(done.stderr.splitlines()), 3)
            self.assertIn(f"next: vramscope report {os.path.basename(folder)}\n", done.stderr)
            table = self.run_tool("report", folder).stdout
            self.assertEqual(workers, table.count(" died (recovered) "), table)
            self.assertTrue(table.startswith(f"{workers} processes of "), table)
        self.assertEqual([], self.live_files())

    def test_a_descendant_that_was_killed_counts_until_it_ended(self):
        script = """run=$PPID; "$1" wait >ready & victim=$!
            until grep -q ready ready && grep -qs "^Pid:.*[[:space:]]$victim$" /proc/$run/fdinfo/*; do sleep 0.01; done
            kill -9 $victim; wait $victim; "$2"; true"""
        words = ["sh", "-c", script, "sh", harness.program("killed"), harness.program("holes")]
        folder = tempfile.mkdtemp(dir=self.folder)
        done = self.run_tool("run", "--sim", "-o", f"{folder}/%p.json", *words, **self.variables())
        self.assertEqual(0, done.returncode, done.stderr)
        reports = {report["trigger"]: report for report in harness.read_reports(folder)}
        self.assertEqual({"recovered", "exit"}, set(reports), done.stderr)
        victim, last = reports["recovered"], reports["exit"]
        end = victim["timeline"]["start_ns"] + victim["timeline"]["duration_ns"]
        self.assertLess(victim["process"]["report_time_ns"], end)
        self.assertLess(end, last["timeline"]["start_ns"])
        table = self.run_tool("report", folder).stdout
        self.assertIn("GPU 0  2 processes, peak 900 MiB\n", table)
        self.assertEqual(0, self.run_tool("merge", "-o", "all.json", folder).returncode)
        with open(os.path.join(self.folder, "all.json"), encoding="utf-8") as merged:
            (series,) = json.load(merged)["timeline"]["series"]
        self.assertEqual((900 << 20, 0), (max(series["highest"]), series["last"][-1]))

    def test_a_descendant_that_goes_on_is_left_alone(self):
        begin = time.monotonic()
        words = [harness.TOOL, "run", "--sim", harness.program("killed"), "daemon"]
        tool = self.start_program(words, **self.variables())
        daemon = int(tool.stdout.readline().split()[1])
        try:
            tool.wait(timeout=harness.DEADLINE_S)
            self.assertEqual(0, tool.returncode)
            self.assertLess(time.monotonic() - begin, 60)
            self.assertEqual(1, len(self.live_files()))
            self.assertEqual([], harness.read_reports(self.folder))
        finally:
            os.kill(daemon, signal.SIGKILL)
        self.await_end(daemon)
        (report,) = self.recovered()
        self.assertEqual((daemon, HELD), (report["process"]["pid"], recount.live_bytes(report)))

    def await_end(self, pid):
        """Of all its threads: the first may be gone while another still holds the live file."""
        folder = pathlib.Path(f"/proc/{pid}")

        def runs():
            try:
                return "\nState:\tZ" not in (folder / "status").read_text() or len(os.listdir(folder / "task")) > 1
            except OSError:
                return False

        self.wait_until(lambda: not runs())

    def test_when_run_is_killed_too_recover_finds_the_file(self):
        words = [harness.TOOL, "run", "--sim", "-o", "r.json", harness.program("killed"), "wait"]
        tool = self.start_program(words, **self.variables())
        pid = int(tool.stdout.readline().split()[1])
        os.killpg(tool.pid, signal.SIGKILL)
        tool.communicate(timeout=harness.DEADLINE_S)
        self.await_end(pid)
        (report,) = self.recovered()
        self.assertEqual((pid, "recovered", ""), (report["process"]["pid"], report["trigger"], report["process"]["ended_by"]))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "r.json")))

    def test_ffmpeg_that_is_killed_leaves_a_report(self):
        steps = "format=nv12,hwupload_cuda,hwdownload,format=nv12"
        words = [harness.TOOL, "run", "--sim", "-o", "r.json", harness.installed("ffmpeg"), "-hide_banner",
                 "-loglevel", "error", "-init_hw_device", "cuda=c:0", "-filter_hw_device", "c", "-re",
                 "-f", "lavfi", "-i", "testsrc=size=640x360:rate=30", "-vf", steps, "-f", "framemd5", "-"]  # fmt: skip
        tool = self.start_program(words, **self.variables())
        for line in tool.stdout:
            if line.startswith("0,") and int(line.split(",")[1]) >= 5:
                break
        (child,) = pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)
        errors = tool.communicate(timeout=harness.DEADLINE_S)[1]
        self.assertEqual(137, tool.returncode)
        self.assertIn("ended by SIGKILL; report recovered in r.json", errors)
        (report,) = self.reports()
        self.assertGreater(recount.live_bytes(report), 0)
        self.assertIn("libavutil", self.run_tool("report", "r.json").stdout)

    def test_a_program_with_256_MiB_of_addresses_leaves_a_report(self):
        script = f"ulimit -v 262144; exec '{harness.program('killed')}' small 9"
        words = ["run", "--sim", "--sim-memory", "4MiB", "-o", "r.json", "--", "/bin/sh", "-c", script]
        done = self.run_tool(*words, **self.variables(), VRAMSCOPE_SIM="context_bytes=0")
        self.assertEqual(137, done.returncode, done.stderr)
        (report,) = self.reports()
        self.assertEqual(1000, recount.live_bytes(report))


class Recover(Case):
    """`vramscope recover`, and the verbs that show a report, on live files."""

    def test_files_folders_and_processes_can_be_named(self):
        process = self.start_victim("killed", "wait")
        self.kill(process)
        (path,) = self.live_files()
        (report,) = self.recovered(path)
        self.assertEqual((process.pid, 1, HELD), (report["process"]["pid"], report["sequence"], recount.live_bytes(report)))
        self.assertEqual([], self.live_files())
        self.assertTrue(os.path.exists(os.path.join(self.folder, f"vramscope.killed.{process.pid}.json")))

        for _ in range(3):
            self.kill(self.start_victim("killed", "wait"))
        self.assertEqual(3, len(self.recovered(self.live)))

        usual = {"XDG_RUNTIME_DIR": self.folder} if os.access(self.folder, os.W_OK) else {}
        process = self.start_victim("killed", "wait", VRAMSCOPE_LIVE_FILE="memory")
        self.kill(process)
        (report,) = self.recovered(str(process.pid), **usual)
        self.assertEqual(process.pid, report["process"]["pid"])

    def test_the_recovered_report_has_the_name_that_was_asked_for(self):
        process = self.start_victim("killed", "wait")
        process.send_signal(signal.SIGUSR1)
        harness.wait_for_reports(self.folder, 1)
        self.kill(process)
        (report,) = self.recovered()
        self.assertEqual(2, report["sequence"])
        self.assertTrue(os.path.exists(os.path.join(self.folder, f"vramscope.killed.{process.pid}.json")))
        self.assertTrue(os.path.exists(os.path.join(self.folder, f"vramscope.killed.{process.pid}.1.json")))

    def test_a_report_whose_folder_has_gone_comes_to_the_current_one(self):
        gone = os.path.join(self.folder, "gone")
        os.mkdir(gone)
        path = self.dead_file(VRAMSCOPE_OUTPUT=f"{gone}/r.json")
        os.rmdir(gone)
        self.assertEqual(1, len(self.recovered(path)))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "r.json")))

    def test_a_person_sees_a_table_and_the_next_command(self):
        pids = []
        for _ in range(2):
            process = self.start_victim("killed", "wait")
            self.kill(process)
            pids.append(process.pid)
        master, slave = pty.openpty()
        command = [harness.TOOL, "recover", self.live]
        done = subprocess.run(command, stdout=slave, stderr=subprocess.PIPE, text=True, cwd=self.folder, check=True)
        os.close(slave)
        shown = b""
        try:
            while part := os.read(master, 65536):
                shown += part
        except OSError:  # the other end is closed
            os.close(master)
        self.assertEqual("", done.stderr)
        lines = re.sub(r"\x1b\[\d*m", "", shown.decode()).splitlines()
        self.assertEqual(["PROGRAM", "PID", "REPORT"], lines[0].split())
        self.assertEqual(sorted(["killed", str(pid)] for pid in pids), sorted(line.split()[:2] for line in lines[1:3]))
        self.assertRegex(lines[-1], r"^Next: vramscope report \S+\.json \S+\.json$")

    def test_nothing_to_recover_is_one_line(self):
        self.assert_refused(["recover", "4194305"], "process 4194305 does not run")  # beyond pid_max
        self.assert_refused(["recover", self.live], "nothing to recover", self.live)
        self.assert_refused(["recover", f"{self.nowhere}/a.live"], f"{self.nowhere}/a.live", "No such file")

    def test_a_report_is_recovered_in_passing(self):
        for verb in ("report", "stats", "peak", "sites", "owners"):
            path = self.dead_file()
            done = self.run_tool(verb, path)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertRegex(done.stderr, r"^vramscope: report in .*vramscope\.killed\.\d+\.json\n$")
            self.assertFalse(os.path.exists(path))

    def test_a_folder_of_reports_has_those_of_the_killed_too(self):
        self.dead_file()
        shown = self.run_tool("report", self.live)
        self.assertEqual(0, shown.returncode, shown.stderr)
        self.assertRegex(shown.stderr, r"^vramscope: recovered \S+ of killed \(\d+\), which ended without a report\n$")
        self.assertIn("use_memory", shown.stdout)
        self.assertEqual([], self.live_files())

    def test_a_running_process_is_asked(self):
        process = self.start_victim("killed", "wait")
        (path,) = self.live_files()
        self.assert_refused(["recover", self.live], "1 live file of running processes")
        for word in (path, str(process.pid)):
            (report,) = self.recovered(word)
            self.assertEqual("signal", report["trigger"])
        self.assertEqual([path], self.live_files())
        self.kill(process)

    def test_one_that_does_not_answer_is_copied(self):
        process = self.start_victim("killed", "wait", VRAMSCOPE_SIGNAL="none")
        (path,) = self.live_files()
        done = self.run_tool("recover", path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("its tables are copied while it goes on", done.stderr)
        report = json.loads(pathlib.Path(done.stdout.strip()).read_text())
        recount.check(self, report)
        self.assertEqual(("moving", HELD), (report["trigger"], recount.live_bytes(report)))
        self.assertIn("copied while the process went on", " ".join(report["warnings"]))
        self.assertIsNone(process.poll())
        self.assertEqual([path], self.live_files())
        self.kill(process)

    def test_copies_of_four_threads_that_go_on_are_reports(self):
        log = pathlib.Path(self.folder) / "log"
        log.write_bytes(bytes(4 * 16 * 4 * 8))
        process = self.start_victim("counted_threads", str(log), "1", VRAMSCOPE_SIGNAL="none")
        (path,) = self.live_files()
        for _ in range(8):
            done = self.run_tool("recover", "--wait", "0", path)
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            report = json.loads(pathlib.Path(done.stdout.strip()).read_text())
            self.assertEqual([], [error.message for error in recount.validator().iter_errors(report)])
            self.assertEqual("moving", report["trigger"])
        self.assertIsNone(process.poll())
        self.kill(process)

    def test_secrets_stay_out_of_recovered_reports(self):
        path = self.dead_file("killed", "wait", "--token=hunter2", VRAMSCOPE_REDACT="on")
        with open(path, "rb") as file:
            for begin, end in extents(file):
                self.assertNotIn(b"hunter2", os.pread(file.fileno(), end - begin, begin))
        (report,) = self.recovered(path)
        self.assertEqual([], report["process"]["arguments"])

    def events_in(self, trace):
        done = self.run_tool("trace", "--partial", "--json", "-n", "0", trace)
        return json.loads(done.stdout)["events"] if done.returncode == 0 else 0

    def test_the_trace_is_named_and_counted(self):
        process = self.start_victim("killed", "wait", VRAMSCOPE_TRACE="all.trace")
        self.wait_until(lambda: self.events_in("all.trace") > 2)  # it is written every half second
        self.kill(process)
        (report,) = self.recovered()
        self.assertTrue(report["trace"]["path"].endswith("/all.trace"))
        self.assertGreater(report["trace"]["events"], 2)


class LeftOver(Case):
    """Live files that cannot become a report, and those that nobody wants."""

    def dead(self, output, **variables):
        before = set(self.live_files())
        self.kill(self.start_victim("killed", "wait", VRAMSCOPE_OUTPUT=output, **variables))
        (path,) = set(self.live_files()) - before
        return path

    def unwritable(self):
        """Live files whose reports cannot be written where they are to go."""
        folder = os.path.join(self.folder, "is-a-folder.json")
        os.mkdir(folder)
        return [self.dead(output) for output in ("/dev/null", folder, "x" * 300 + ".json", "x/" * 3000 + "%p.json")]

    def test_one_that_cannot_be_recovered_fails_no_other(self):
        bad = self.unwritable()
        good = self.dead("good.json")
        done = self.run_tool("recover", self.live)
        self.assertEqual((0, f"{self.folder}/good.json\n"), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(len(bad), done.stderr.count("\n"), done.stderr)
        self.assertEqual(len(bad), done.stderr.count("recover -o FILE writes it elsewhere, recover --discard throws it away"))
        self.assertEqual(sorted(bad), self.live_files())
        self.assertFalse(os.path.exists(good))
        self.assert_refused(["recover", bad[0]], bad[0], "recover -o FILE")
        self.assertIn("nothing to recover", self.run_tool("recover", self.live).stderr)

    def test_their_reports_can_be_given_other_names(self):
        bad = self.unwritable()
        (report,) = self.recovered("-o", "mine.json", bad[0])
        self.assertEqual(HELD, recount.live_bytes(report))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "mine.json")))
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        os.rename(os.path.join(self.folder, "mine.json"), os.path.join(out, "is-a-folder.json"))
        done = self.run_tool("recover", "-o", out, *bad[1:3])  # nothing is replaced; one name is too long there, too
        self.assertEqual((2, f"{out}/is-a-folder.json~1\n"), (done.returncode, done.stdout), done.stderr)
        self.recovered("-o", "mine.json", bad[2])
        self.recovered("-o", out, bad[3])  # no file system takes its path: it has the usual name
        self.assertRegex(" ".join(sorted(os.listdir(out))), r"^is-a-folder.json is-a-folder.json~1 vramscope\.killed\.\d+\.json$")
        self.assertEqual([], self.live_files())

    def test_a_process_that_runs_is_copied_to_another_name(self):
        process = self.start_victim("killed", "wait")
        (report,) = self.recovered("-o", "mine.json", *self.live_files())
        self.assertTrue(os.path.exists(os.path.join(self.folder, "mine.json")))
        self.assertEqual(("moving", process.pid), (report["trigger"], report["process"]["pid"]))
        self.assertEqual(1, len(self.live_files()))
        self.kill(process)

    def test_they_can_be_thrown_away_and_it_is_said_what_they_hold(self):
        path = self.dead("a.json")
        cut = self.dead("b.json")
        os.truncate(cut, 5000)  # as a limit of the system on the size of files does it
        running = self.start_victim("killed", "wait")
        done = self.run_tool("recover", self.live)
        self.assertIn("the file is too short; recover -o FILE", done.stderr)
        path = self.dead("a.json")
        mine = os.path.join(self.live, "mine.live")
        pathlib.Path(mine).write_bytes(bytes(64))
        os.chmod(mine, 0o600)
        done = self.run_tool("recover", "--discard", self.live)
        self.assertEqual((0, ""), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(3, done.stderr.count("\n"), done.stderr)
        self.assertRegex(done.stderr, rf"discarding '{path}': of killed \(\d+\), which held 6.00 MiB; the file takes \S+ \S+\n")
        self.assertIn("what it holds cannot be read: byte", done.stderr)
        self.assertIn("left alone: '" + mine, done.stderr)
        self.assertEqual(2, len(self.live_files()))
        self.assert_refused(["recover", "--discard", mine], "cannot discard", "expected a live file")
        self.assert_refused(["recover", "--discard", next(name for name in self.live_files() if name != mine)], "its process runs")
        self.kill(running)
        self.assertEqual(0, self.run_tool("recover", "--discard", self.live).returncode)
        self.assertEqual([mine], self.live_files())
        self.assertEqual(["a.json"], sorted(name for name in os.listdir(self.folder) if name.endswith(".json")))


class Misled(Case):
    """Who took over a program that gave up its rights still has its live file, and can say any name there."""

    OBJECTS = harness.LIVE_PART_BYTES  # where the part begins that has the name

    def mislead(self, path, old, new):
        self.assertEqual(len(old), len(new))
        with open(path, "r+b") as file:
            end = os.lseek(file.fileno(), self.OBJECTS, os.SEEK_HOLE)
            objects = os.pread(file.fileno(), end - self.OBJECTS, self.OBJECTS)
            self.assertIn(os.fsencode(old) + b"\0", objects)
            os.pwrite(file.fileno(), objects.replace(os.fsencode(old) + b"\0", os.fsencode(new) + b"\0"), self.OBJECTS)

    def test_recover_writes_no_name_that_is_not_of_a_report(self):
        path = self.dead_file(VRAMSCOPE_OUTPUT="right.json")
        self.mislead(path, f"{self.folder}/right.json", f"{self.folder}/ld.preload")
        self.assert_refused(["recover", path], "does not end in .json", "recover -o FILE writes it elsewhere")
        self.assertEqual(["live"], os.listdir(self.folder))
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        self.recovered("-o", out, path)
        self.assertRegex(" ".join(os.listdir(out)), r"^vramscope\.killed\.\d+\.json$")

    def test_run_writes_only_what_it_was_told_before(self):
        words = [harness.TOOL, "run", "--sim", "-o", "right", "sh", "-c", "\"$0\" wait & echo $!; wait $!",
                 harness.program("killed")]  # fmt: skip
        tool = self.start_program(words, **self.variables())
        victim = int(tool.stdout.readline())
        self.assertIn("ready", tool.stdout.readline())
        (path,) = self.live_files()
        self.mislead(path, f"{self.folder}/right", f"{self.folder}/wrong")
        os.kill(victim, signal.SIGKILL)
        _, said = tool.communicate(timeout=harness.DEADLINE_S)
        self.assertIn("vramscope: report in right; recovered of 1 descendant", said)
        self.assertEqual(["live", "right"], sorted(os.listdir(self.folder)))

    def test_run_gives_the_next_report_the_next_name(self):
        words = [harness.TOOL, "run", "--sim", "-o", "%n.json", harness.program("killed"), "wait"]
        tool = self.start_program(words, **self.variables())
        self.assertIn("ready", tool.stdout.readline())
        (path,) = self.live_files()
        victim = int(path.split(".")[-2])
        os.kill(victim, signal.SIGUSR1)
        harness.wait_for_reports(self.folder, 1)
        variables = pathlib.Path(f"/proc/{victim}/environ").read_text().split("\0")
        (note,) = [one.split("=", 1)[1] for one in variables if one.startswith("VRAMSCOPE_NOTE_FILE=")]
        end = time.monotonic() + harness.DEADLINE_S
        while f"{self.folder}/2.json\n" not in pathlib.Path(note).read_text() and time.monotonic() < end:
            time.sleep(0.01)  # the report has its name a moment before the next one is noted
        os.kill(victim, signal.SIGKILL)
        tool.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(["1.json", "2.json", "live"], sorted(os.listdir(self.folder)))

    def test_what_is_thrown_away_may_have_any_name(self):
        path = self.dead_file(VRAMSCOPE_OUTPUT="right.json")
        program = harness.program("killed")
        self.mislead(path, program, program[:-3] + "\0\1z")
        done = self.run_tool("recover", "--discard", path)
        self.assertEqual((0, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
        self.assertIn("which held 6.00 MiB", done.stderr)
        self.assertEqual([], self.live_files())


class Earlier(Case):
    """What programs left in memory that were killed without `run`, and what the next `run` does."""

    def in_memory(self, script, **variables):
        """The output of a shell where /dev/shm is a small file system of its own."""
        mount = "mount -t tmpfs -o size=64m none /dev/shm"
        if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
            self.skipTest("no file system can be mounted here")
        preload = " ".join(f"{name}='{value}'" for name, value in harness.INSTALLATION.variables("cache").items())
        script = f"""{mount}
            live=/dev/shm/vramscope-$(id -u); tool='{harness.TOOL}'
            leave() {{ for i in $(seq $1); do env {preload} '{harness.program("killed")}' raise 9; done; }}
            run() {{ "$tool" run --sim -o r.json "$@" '{harness.program("linked")}' >&-; }}
            left() {{ echo left: $(ls $live | grep -c "[.]live"); }}
            {script}"""
        variables = {"VRAMSCOPE_LEFT_OVERS": "", **variables}
        done = harness.programs.finish(["unshare", "-rm", "sh", "-c", script], harness.environment(**variables),
                                       self.folder, harness.DEADLINE_S)  # fmt: skip
        self.assertNotIn("not found", done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("vramscope: ")]
        return lines, done.stdout.splitlines()

    def test_run_says_in_its_closing_lines_what_they_take(self):
        hint = r"; 12 live files of dead programs take [\d.]+ MiB in /dev/shm/vramscope-0: vramscope recover$"
        lines, out = self.in_memory("leave 12; run; left; rm r.json; run --live-file off true")
        self.assertEqual(4, len(lines), lines)
        self.assertRegex(lines[1], "report in r.json" + hint)
        self.assertRegex(lines[3], "no report: .*" + hint)
        self.assertEqual(["left: 12"], out)
        for few in ("leave 3; run", "leave 12; VRAMSCOPE_LEFT_OVERS=off; export VRAMSCOPE_LEFT_OVERS; run"):
            lines, _ = self.in_memory("rm -f r.json*; " + few)
            self.assertEqual((3, "vramscope: report in r.json"), (len(lines), lines[1]), few)

    def test_doctor_says_it_too(self):
        _, out = self.in_memory("leave 2; \"$tool\" doctor --sim")
        self.assertIn("2 live files of dead programs take", " ".join(out))
        self.assertIn("vramscope recover", " ".join(out))

    def test_a_report_on_a_terminal_says_it_below(self):
        script = "leave 12; run -q; script -qec \"$tool report r.json\" /dev/null; $tool report r.json | tail -n 1"
        harness.installed("script")
        _, out = self.in_memory(script)
        hints = [line for line in out if "live files of dead programs" in line]
        self.assertEqual(1, len(hints), out)
        self.assertRegex(hints[0], "^vramscope: 12 live files of dead programs take .*: vramscope recover\\s*$")

    def test_beyond_an_age_the_next_run_recovers_them(self):
        lines, out = self.in_memory("leave 3; touch -d '8 days ago' $live/*; leave 2; run --recover-after off; left; rm r.json; run; left")
        self.assertEqual(["left: 5", "left: 2"], out)
        self.assertEqual("vramscope: report in r.json; recovered 3 reports of programs that were killed earlier", lines[-2])
        self.assertEqual(6, len(lines), lines)
        self.assertEqual(3, sum(report["trigger"] == "recovered" for report in harness.read_reports(self.folder)))

    def test_beyond_a_total_the_next_run_recovers_the_oldest(self):
        # Of 64 MiB: a quarter is what forty take.
        lines, out = self.in_memory("leave 50; ls -tr $live | grep [.]live | head -n 3; run --recover-above 0; left; rm r.json; run; left; ls $live")
        oldest, rest = out[:3], out[5:]
        self.assertEqual("left: 50", out[3])
        left = int(out[4].removeprefix("left: "))
        self.assertIn(left, range(35, 48))
        self.assertIn(f"; recovered {50 - left} reports of programs that were killed earlier; {left} live files of dead", lines[-2])
        self.assertEqual(set(), set(oldest) & set(rest))

    def test_what_is_not_proved_ours_stays_however_old(self):
        script = """leave 1; for name in mine.live train.1.live; do cp --sparse=always $live/killed.*.live $live/$name; done
            touch -d '8 days ago' $live/*; run; left"""
        lines, out = self.in_memory(script)
        self.assertEqual(["left: 2"], out)
        self.assertIn("recovered 1 report of", lines[-2])

    def test_those_that_nobody_needs_are_not_told_and_go(self):
        state = 28  # where a live file says that its process wrote its last report, and could not remove it
        finish = f"for file in $live/*.live; do printf '\\001' | dd of=$file bs=1 seek={state} conv=notrunc status=none; done"
        lines, out = self.in_memory(f"leave 12; {finish}; run; left; touch -d '2 minutes ago' $live/*; rm r.json; run; left")
        self.assertEqual(["left: 12", "left: 0"], out)
        self.assertNotIn("live files", " ".join(lines))
        self.assertEqual(["exit"], [report["trigger"] for report in harness.read_reports(self.folder)])

    def test_limits_that_are_none_are_refused(self):
        for words in (["--recover-after", "soon"], ["--recover-above", "101"], ["--recover-after", "-1"]):
            done = self.run_tool("run", *words, "true")
            self.assertEqual((125, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
            self.assertIn(words[1], done.stderr)


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
        where = f"seed {seed}, {number}: {done.stderr}{left}"
        if done.returncode == 2:
            return "refused", "" if left == ["damaged.live"] and done.stderr.count("\n") == 1 else where
        # It stays where its owner is damaged, so that nobody knows whether that is dead.
        if left not in (["r.json"], ["damaged.live", "r.json"]):
            return "lost", where
        shown = self.tool_in(folder, "report", "r.json")
        shutil.rmtree(folder)
        return "recovered", "" if shown.returncode == 0 else where + shown.stderr

    def tool_in(self, folder, *words):
        """Its messages may hold damaged names."""
        return harness.programs.finish([harness.TOOL, *words], harness.environment(), folder, harness.DEADLINE_S,
                                       errors="replace")  # fmt: skip


def words_in_use(path):
    """Offsets of the words of eight bytes that say something, behind the header."""
    with open(path, "rb") as file:
        found = []
        for begin, end in extents(file):
            bytes_ = os.pread(file.fileno(), end - begin, begin)
            found += [begin + at for at in range(0, len(bytes_), 8) if any(bytes_[at:at + 8]) and begin + at >= 4096]
    return found


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


class Kills(Case):
    """Four threads are killed at random instants, and have counted for themselves."""

    SIZES = (1, 513, 4000, 70000, 2**20 - 1, 2**20, 2**20 + 1, 2**21, 5000000, 3 * 2**20 + 77, 9 * 2**20 + 78,
             20 * 2**20 + 1, 1000, 5000, 100000, 2**20 + 79)  # fmt: skip
    DEVICE = 12  # of them; the rest are pinned
    THREADS = 4

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
            file.truncate(self.THREADS * len(self.SIZES) * 4 * 8)
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
        problems += self.disagreements(report, pathlib.Path(log).read_bytes())
        shutil.rmtree(folder)
        return where + "; ".join(problems) if problems else ""

    def disagreements(self, report, log):
        """What of the report is not between what had been done and what had been begun."""
        numbers = struct.unpack(f"<{len(log) // 8}Q", log)
        counts = [[sum(numbers[(thread * len(self.SIZES) + size) * 4 + what] for thread in range(self.THREADS))
                   for what in range(4)] for size in range(len(self.SIZES))]  # fmt: skip
        live = {}
        segments = [segment for device in report["devices"] for segment in device["segments"]]
        for segment in segments + report["host"]["segments"]:
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    key = segment["kind"] == "pinned", block["requested_size"]
                    live[key] = live.get(key, 0) + 1
        for number, (begun, done, free_begun, free_done) in enumerate(counts):
            key = number >= self.DEVICE, self.SIZES[number]
            found = live.pop(key, 0)
            if not done - free_begun <= found <= begun - free_done:
                yield f"{found} live blocks of {key}, not {done - free_begun} to {begun - free_done}"
        if live:
            yield f"blocks that nobody asked for: {live}"
        for kind in report["kinds"]:
            of = [c for n, c in enumerate(counts) if (n >= self.DEVICE) == (kind["kind"] == "pinned")]
            begun, done, free_begun, free_done = map(sum, zip(*of))
            # An allocation in flight may be there as one that was freed again.
            most_frees = free_begun + begun - done
            if not done <= kind["allocations"] <= begun or not free_done <= kind["frees"] <= most_frees:
                yield f"{kind}, not {done} to {begun} and {free_done} to {most_frees}"


if __name__ == "__main__":
    harness.main()
