"""What surrounds a program may lack anything: threads, files, room, names, a steady clock."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
import recount

SELF_CONFINED = {  # way: whether its report can be written
    "threads": True, "threads after": True, "files": False, "files after": False,
    "all_files after": False, "descriptors after": False, "file_bytes after": False, "processes": True, "processes after": True,
    "chroot after": False, "closed": True, "closed after": True, "none": True,
}  # fmt: skip
FAULTS = ("segv", "bus", "fpe", "ill", "abort", "trap", "unhandled", "jump", "nested")
ENDS = ("exit_again", "exit_together", "_exit_thread", "dlclose", "exec_often")
ODD_NAMES = (b"a folder", b"new\nline", b"100%p%e%%", b"not \xff\xfe text", b"-o", "ü €".encode(), b"tab\tand\x1b[31m",
             b"'quote\"", b"~", b"$HOME;`id`", b"x" * 200)  # fmt: skip


class Surroundings(harness.Case):
    def compare(self, command, mode="cache", **variables):
        native = self.run_program(command, **variables)
        if native.status == 77:
            raise unittest.SkipTest("this machine does not let a program confine itself so")
        profiled = self.run_program(command, mode, **variables)
        self.assertEqual(native.behaviour(), profiled.behaviour(), command)
        for report in profiled.reports:
            recount.check(self, report)
        return profiled

    def confined(self, way, mode):
        os.chmod(self.folder, 0o777)
        folder = pathlib.Path(self.folder, "shared")
        folder.mkdir(exist_ok=True)
        os.chmod(folder, 0o777)
        command = [harness.program("confined"), *way.split()]
        native = self.run_program(command, folder=folder)
        shutil.rmtree(folder)
        folder.mkdir()
        os.chmod(folder, 0o777)
        if native.status == 77:
            raise unittest.SkipTest("this machine does not let a program confine itself so")
        profiled = self.run_program(command, mode, folder=folder, VRAMSCOPE_LIVE_FILE="%p.live")
        self.assertEqual(native.behaviour(), profiled.behaviour())
        reports = [report for report in profiled.reports if report["trigger"] == "exit"]
        self.assertEqual(int(SELF_CONFINED[way]), len(reports), profiled.stderr)
        for report in reports:
            recount.check(self, report)
            self.assertEqual(1 << 20, recount.live_bytes(report))
        if not SELF_CONFINED[way]:
            self.assertIn("vramscope: cannot write ", profiled.stderr)
        self.assertEqual([], list(folder.glob(".vramscope-*")))

    def fault(self, choice, mode):
        program = harness.program("ends")
        endings = []
        for preload in (None, mode):
            folder = pathlib.Path(self.folder, str(preload))
            folder.mkdir()
            process = subprocess.Popen(
                [program, f"fault_{choice}"], cwd=folder, env=harness.environment(preload), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 40, 1 << 40)),
            )  # fmt: skip
            output = process.stdout.read(), process.stderr.read()
            _, status = os.waitpid(process.pid, 0)
            process.returncode = 0  # it is gone
            endings.append((status, os.WCOREDUMP(status), output, sorted(folder.glob("*core*")) != []))
        self.assertEqual(*endings)
        return os.WTERMSIG(endings[0][0])

    def test_fatal_signals_are_those_that_they_were(self):
        # Else the comparison compares nothing.
        wanted = {"segv": signal.SIGSEGV, "nested": signal.SIGABRT, "jump": 0, "abort": signal.SIGABRT}
        for choice, number in wanted.items():
            folder = pathlib.Path(self.folder, choice)
            folder.mkdir()
            done = subprocess.run([harness.program("ends"), f"fault_{choice}"], cwd=folder, check=False,
                                  env=harness.environment("cache"), capture_output=True)  # fmt: skip
            self.assertEqual(-number if number else 9, done.returncode, choice)
            self.assertIn(b"handled\n", done.stdout)

    def test_standard_files_may_be_closed(self):
        for closed in ("<&-", ">&- 2>&-", "<&- >&- 2>&-"):
            outcome = self.run_program(["/bin/sh", "-c", f'exec "{harness.program("free_kinds")}" {closed}'], "cache")
            self.assertEqual((0, ""), (outcome.status, outcome.stderr))
            recount.check(self, self.only_report(outcome))

    def test_a_full_disk_is_one_line_and_leaves_nothing(self):
        mount = "mount -t tmpfs -o size=8k none . && cd ."
        if subprocess.run(["unshare", "-rm", "sh", "-c", mount], cwd=self.folder, capture_output=True).returncode:
            raise unittest.SkipTest("no file system can be mounted here")
        program = harness.program("hold")
        # Full from the start: the first of several reports may be small.
        script = (f'{mount}/ && cd "$PWD" && cat /dev/zero >rest 2>/dev/null; '
                  f'"{program}" </dev/null >/dev/null; echo $?; rm rest; ls -A')
        for trigger in ({}, {"VRAMSCOPE_TRACE": "%p.trace"}, {"VRAMSCOPE_INTERVAL": "0.001"}):
            outcome = self.run_program(["unshare", "-rm", "sh", "-c", script], "cache", folder=self.folder, **trigger)
            self.assertEqual("0", outcome.stdout.split()[0])
            self.assertNotIn(".json", outcome.stdout)
            self.assertNotIn(".vramscope-", outcome.stdout)
            self.assertNotIn(".trace", outcome.stdout)
            self.assertIn(os.strerror(28), outcome.stderr)
            self.assertLessEqual(len(outcome.stderr.splitlines()), 2 if trigger else 1, outcome.stderr)

    def test_a_folder_that_is_read_only_is_one_line(self):
        mount = "mount -t tmpfs -o size=1m none . && cd . && mount -o remount,ro ."
        if subprocess.run(["unshare", "-rm", "sh", "-c", mount], cwd=self.folder, capture_output=True).returncode:
            raise unittest.SkipTest("no file system can be mounted here")
        script = f'mount -t tmpfs none . && cd "$PWD" && mount -o remount,ro "$PWD" && "{harness.program("linked")}"'
        native = self.run_program(["unshare", "-rm", "sh", "-c", script])
        outcome = self.run_program(["unshare", "-rm", "sh", "-c", script], "cache")
        self.assertEqual(native.behaviour(), outcome.behaviour())
        (line,) = outcome.stderr.splitlines()
        self.assertIn(os.strerror(30), line)

    def test_run_needs_no_folder_for_temporary_files(self):
        tool, program = (pathlib.Path(path).resolve() for path in (harness.TOOL, harness.program("linked")))
        if pathlib.Path("/tmp") in tool.parents:
            raise unittest.SkipTest("what was built lies in /tmp, which is hidden here")
        hide = "mount -t tmpfs -o ro none /tmp"
        if subprocess.run(["unshare", "-rm", "sh", "-c", hide], capture_output=True).returncode:
            raise unittest.SkipTest("no file system can be mounted here")
        folder = tempfile.mkdtemp(prefix="vramscope-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder)
        script = f'{hide} && exec "{tool}" run --sim "{program}"'
        outcome = self.run_program(["unshare", "-rm", "sh", "-c", script], folder=folder)
        self.assertEqual(0, outcome.status, outcome.stderr)
        self.only_report(outcome)
        self.assertIn("cannot note the reports in '/tmp'", outcome.stderr)

    def test_arguments_may_be_huge(self):
        words = ["x" * 100_000] * 10 + [""] * 20_000 + ["\n\x1b[31m"]
        outcome = self.compare([harness.program("linked"), *words])
        report = self.only_report(outcome)
        self.assertEqual(words, report["process"]["arguments"][1:])
        path = pathlib.Path(self.folder, "huge.json")
        path.write_text(json.dumps(report))
        self.assertLess(len(self.run_tool("report", path).stdout), 2_000_000)

    def test_folders_and_programs_may_have_any_name(self):
        for name in ODD_NAMES:
            folder = os.path.join(os.fsencode(self.folder), name)
            os.mkdir(folder)
            program = os.path.join(folder, name[:100])
            shutil.copy(harness.program("linked"), program)
            for command in ([program], [harness.TOOL, "run", "--sim", "--", program]):
                variables = harness.environment("cache" if command[0] == program else None)
                done = subprocess.run([os.fsencode(word) for word in command], cwd=folder, env=variables,
                                      capture_output=True, check=False)  # fmt: skip
                self.assertEqual(0, done.returncode, (name, done.stderr))
                (path,) = [file for file in os.listdir(folder) if file.endswith(b".json")]
                with open(os.path.join(folder, path), encoding="utf-8") as file:
                    recount.check(self, json.load(file))
                if command[0] != program:
                    lines = done.stderr.splitlines()
                    self.assertEqual(3, len(lines), (name, done.stderr))
                    script = b"PATH=" + os.fsencode(harness.TOOL.parent) + b":$PATH; "
                    script += lines[2].removeprefix(b"vramscope: next: ")
                    following = subprocess.run(["/bin/bash", "-c", script], cwd=folder, capture_output=True, check=False)
                    self.assertEqual(0, following.returncode, (name, lines[2], following.stderr))
                os.unlink(os.path.join(folder, path))

    def test_a_clock_that_is_set_again_and_again_disturbs_nothing(self):
        clock = str(harness.PROGRAMS / "libjumping_clock.so")
        begun = time.monotonic()
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_INTERVAL="0.02",
                                     LD_PRELOAD=f"{harness.LIBRARY}:{clock}")  # fmt: skip
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        harness.wait_for_reports(self.folder, 4)
        _, said = process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual((0, ""), (process.returncode, said))
        reports = harness.read_reports(self.folder)
        most = 10 + (time.monotonic() - begun) / 0.02
        self.assertLess(len(reports), most, "an interval is one of a clock that nobody sets")
        self.assertLessEqual({"interval", "signal", "exit"}, {report["trigger"] for report in reports})
        for report in reports:
            recount.check(self, report)
        for path in pathlib.Path(self.folder).glob("*.json"):
            shown = self.run_tool("report", path)
            self.assertEqual(0, shown.returncode, shown.stderr)
            self.assertNotIn("year", shown.stdout)


def add_cases():
    for way in SELF_CONFINED:
        for mode in ("cache", "observe"):

            def case(self, way=way, mode=mode):
                self.confined(way, mode)

            setattr(Surroundings, f"test_without_{way.replace(' ', '_')} all is the same in mode {mode}", case)
    for choice in FAULTS:

        def fault(self, choice=choice):
            self.fault(choice, "cache")

        setattr(Surroundings, f"test_fault {choice} ends as it does natively", fault)
    for way in ENDS:

        def end(self, way=way):
            outcome = self.compare([harness.program("ends"), way], folder=self.folder, VRAMSCOPE_INTERVAL="0.001")
            self.assertEqual("", outcome.stderr)
            paths = list(pathlib.Path(self.folder).iterdir())
            self.assertEqual([], [path for path in paths if path.name.startswith(".")])
            reports = [json.loads(path.read_text()) for path in paths]
            reports.sort(key=lambda report: report["process"]["report_time_ns"])
            self.assertEqual("exit", reports[-1]["trigger"])
            ends = [report["trigger"] for report in reports if report["trigger"] != "interval"]
            self.assertEqual(["exec"] * (10 if way == "exec_often" else 0) + ["exit"], ends)

        setattr(Surroundings, f"test_end {way} has its report and its status", end)


add_cases()
if __name__ == "__main__":
    harness.main()
