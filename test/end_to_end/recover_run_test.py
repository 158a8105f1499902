"""What a program leaves that is killed under `vramscope run`: a report that `run` recovers by itself."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import signal
import tempfile
import time

import harness
import recount
from recover_case import Case, HELD

SIGNALS = ("INT", "TERM", "HUP", "QUIT", "SEGV", "ABRT", "KILL", "BUS")


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
                self.assertIn(f"recovered; the process was killed by {name}", text.stdout)
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
            self.assertIn(f"vramscope: {workers} processes; highest peak 1.00 MiB requested by pool.py", done.stderr)
            self.assertIn(f"recovered of {workers} descendants that ended without one: pool.py", done.stderr)
            self.assertLessEqual(len(done.stderr.splitlines()), 3)
            self.assertIn(f"next: vramscope report {os.path.basename(folder)}\n", done.stderr)
            table = self.run_tool("report", folder).stdout
            self.assertEqual(workers, table.count(" died (recovered) "), table)
            self.assertTrue(table.startswith(f"{workers} processes of "), table)
        self.assertEqual([], self.live_files())

    def test_a_descendant_that_was_killed_counts_until_it_ended(self):
        script = """run=$PPID; "$1" wait >ready & victim=$!
            until grep -q ready ready && grep -qs "^Pid:.*[[:space:]]$victim$" /proc/$run/fdinfo/*; do sleep 0.01; done
            kill -9 $victim; wait $victim; sleep 0.5; "$2"; true"""
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
        self.assertIn("libavutil", self.run_tool("sites", "--full", "r.json").stdout)

    def test_a_program_with_256_MiB_of_addresses_leaves_a_report(self):
        script = f"ulimit -v 262144; exec '{harness.program('killed')}' small 9"
        words = ["run", "--sim", "--sim-memory", "4MiB", "-o", "r.json", "--", "/bin/sh", "-c", script]
        done = self.run_tool(*words, **self.variables(), VRAMSCOPE_SIM="context_bytes=0")
        self.assertEqual(137, done.returncode, done.stderr)
        (report,) = self.reports()
        self.assertEqual(1000, recount.live_bytes(report))


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


if __name__ == "__main__":
    harness.main()
