"""The command line tool as a person meets it: launching, exit statuses, bad input."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import shutil
import signal
import sys

import harness
import programs
import recount


class CommandLine(harness.Case):
    def launch(self, *arguments):
        return self.run_tool("run", "--sim", *arguments)

    def refused(self, finished, status, *words):
        """Ended with that status and one line that says what is wrong."""
        self.assertEqual(status, finished.returncode, finished.stderr)
        self.assertEqual(1, len(finished.stderr.splitlines()), finished.stderr)
        for word in words:
            self.assertIn(word, finished.stderr)

    def make_report(self, name="report.json"):
        path = pathlib.Path(self.folder) / name
        finished = self.launch("--output", path, "--", harness.program("linked"))
        self.assertEqual(0, finished.returncode, finished.stderr)
        return path

    def test_a_launched_program_keeps_its_output_and_gets_at_most_three_lines(self):
        native = self.run_program([harness.program("linked")])
        finished = self.launch("--", harness.program("linked"))
        self.assertEqual((0, native.stdout), (finished.returncode, finished.stdout))
        self.assertLessEqual(len(finished.stderr.splitlines()), 3, finished.stderr)
        self.assertIn("vramscope report", finished.stderr)
        recount.check(self, harness.read_reports(self.folder)[0])

    def test_the_next_command_that_it_names_works(self):
        finished = self.launch("--", harness.program("linked"))
        line = next(l for l in finished.stderr.splitlines() if "vramscope report" in l)
        name = line.split("vramscope report ")[1].split()[0].strip("'\"`.")
        shown = self.run_tool("report", pathlib.Path(self.folder) / name)
        self.assertEqual(0, shown.returncode, shown.stderr)

    def test_exit_statuses_are_those_of_the_program_or_of_a_shell(self):
        expected = {"return": 6, "exit": 7, "_exit": 8, "quick_exit": 10,
                    "kill": 128 + signal.SIGKILL, "abort": 128 + signal.SIGABRT}  # fmt: skip
        for way, status in expected.items():
            finished = self.launch("--", harness.program("exit_variants"), way)
            self.assertEqual(status, finished.returncode, way)

    def test_a_program_that_is_not_there_gives_127(self):
        self.refused(self.launch("--", "no-such-program"), 127, "no-such-program")

    def test_a_file_that_cannot_be_executed_gives_126(self):
        path = pathlib.Path(self.folder) / "data"
        path.write_text("data")
        self.refused(self.launch("--", str(path)), 126, str(path))

    def test_a_program_needs_no_dashes_before_it(self):
        finished = self.launch(harness.program("exit_variants"), "exit")
        self.assertEqual(7, finished.returncode)

    def test_standard_input_reaches_the_program(self):
        finished = self.run_tool("run", "--sim", "--", "/bin/cat", stdin="through")
        self.assertEqual(("through", 0), (finished.stdout, finished.returncode))

    def test_bad_usage_is_refused(self):
        for arguments in (["run", "--no-such-option", "--", "true"], ["no-such-verb"], ["report"]):
            finished = self.run_tool(*arguments)
            self.assertIn(finished.returncode, (2, 125), arguments)
            self.assertTrue(finished.stderr, arguments)
            self.assertEqual("", finished.stdout)

    def test_help_names_every_option(self):
        finished = self.run_tool("run", "--help")
        self.assertEqual(0, finished.returncode)
        table = (harness.SOURCE / "interpose/settings/options.def").read_text()
        for name in option_names(table):
            self.assertIn("--" + name.replace("_", "-"), finished.stdout)

    def test_the_readme_shows_the_run_that_a_person_gets(self):
        shutil.copy(harness.program("train"), self.folder)
        run = self.launch("./train")
        name = next(pathlib.Path(self.folder).glob("*.json")).name
        report = self.run_tool("report", name)
        text = f"$ vramscope run --sim ./train\n{run.stderr}\n$ vramscope report {name}\n{report.stdout}"
        readme = (harness.SOURCE / "README.md").read_text()
        shown = re.search(r"^    \$ vramscope run --sim .*?(?=^\S)", readme, re.M | re.S)[0]
        shown = re.sub(r"^    ", "", shown, flags=re.M).rstrip() + "\n"
        self.assertEqual(without_chance(text), without_chance(shown))

    def test_an_output_that_cannot_be_written_does_not_stop_the_program(self):
        native = self.run_program([harness.program("linked")])
        profiled = self.run_program([harness.program("linked")], "cache", VRAMSCOPE_OUTPUT=f"{self.nowhere}/r.json")
        self.assertEqual((0, native.stdout), profiled.behaviour())
        self.assertIn(f"{self.nowhere}/r.json", profiled.stderr)

    def test_run_overwrites_nothing(self):
        taken = pathlib.Path(self.folder, "r.json")
        for _ in range(2):
            finished = self.launch("--output", taken, "--", harness.program("linked"))
            self.assertEqual(0, finished.returncode, finished.stderr)
        self.assertIn("report in r.json~1 (r.json was taken)", finished.stderr)
        self.assertEqual(["r.json", "r.json~1"], sorted(os.listdir(self.folder)))
        old = self.run_tool("check", "--max-peak", "1TiB", taken)
        self.assertEqual(1, old.returncode, old.stdout)
        self.assertIn(f"'{taken}' is not from the last run with this output name, which wrote '{taken}~1'", " ".join(old.stdout.split()))
        self.assertEqual((0, ""), (lambda new: (new.returncode, new.stderr))(self.run_tool("check", "--max-peak", "1TiB", f"{taken}~1")))
        self.assertEqual(0, self.run_tool("check", "--max-peak", "1TiB", self.folder).returncode)
        self.assertIn("which wrote", self.run_tool("peak", taken).stderr)

    def test_check_of_one_of_eight_workers_with_one_name_does_not_pass(self):
        name = pathlib.Path(self.folder, "q.json")
        line = f'for i in 1 2 3 4 5 6 7 8; do "{harness.program("linked")}" > /dev/null & done; wait'
        ran = self.launch("--output", name, "--", "/bin/sh", "-c", line)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(8, len(os.listdir(self.folder)))
        checked = self.run_tool("check", "--max-peak", "1TiB", name)
        self.assertEqual(1, checked.returncode, checked.stdout)
        self.assertRegex(" ".join(checked.stdout.split()), r"q.json~\d' \(and \d others? newer than it\)|q.json~\d' --interim")
        self.assertIn(" in each of 8 processes", self.run_tool("check", "--max-peak", "1TiB", self.folder).stdout)

    def test_reports_of_python_carry_the_scripts_name(self):
        script = pathlib.Path(self.folder, "train.py")
        script.write_text("import ctypes\nctypes.CDLL('libcuda.so.1').cuInit(0)\n")
        for words, name in ((["-u", script], "train.py"), (["-c", script.read_text()], "python")):
            ran = self.launch("--", sys.executable, *words)
            self.assertRegex(ran.stderr, rf"report in vramscope\.{re.escape(name)}[\d.]*\.\d+\.json\n")
        ran = self.launch("--redact", "--", sys.executable, script)
        self.assertNotIn("train", ran.stderr)

    def test_run_starts_no_program_whose_output_cannot_be_written(self):
        for option in ("--output", "--trace"):
            finished = self.launch(option, f"{self.nowhere}/%p.x", "--", harness.program("linked"))
            self.assertEqual((125, ""), (finished.returncode, finished.stdout))
            self.assertIn(f"in '{self.nowhere}/': No such file or directory", finished.stderr)

    def test_a_truncated_report_is_refused_wherever_it_is_cut(self):
        whole = self.make_report().read_bytes()
        cut = pathlib.Path(self.folder) / "cut.json"
        for length in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 3):
            cut.write_bytes(whole[:length])
            self.refused(self.run_tool("report", cut), 2, "cut.json")

    def test_foreign_files_are_refused(self):
        foreign = {
            "text.json": b"hello",
            "list.json": b"[]",
            "other.json": b'{"schema": {"name": "other", "version": 1}}',
            "binary.json": bytes(range(256)) * 10,
            "deep.json": b"[" * 100000,
        }
        for name, content in foreign.items():
            path = pathlib.Path(self.folder) / name
            path.write_bytes(content)
            self.refused(self.run_tool("report", path), 2, name)
        self.refused(self.run_tool("report", self.folder + "/absent.json"), 2, "absent.json")
        self.refused(self.run_tool("report", self.folder), 2, self.folder)
        fifo = self.folder + "/fifo"
        os.mkfifo(fifo)
        self.refused(self.run_tool("report", fifo), 2, "nobody writes")

    def test_a_report_is_read_from_a_pipe_whose_writer_is_slow(self):
        path = self.make_report()
        command = f'"{harness.TOOL}" report <(read line <&3; cat "{path}")'
        shell = self.start_program(["/bin/bash", "-c", f"exec 3<&0; {command}"])
        output, errors = shell.communicate("go on\n", timeout=harness.DEADLINE_S)
        self.assertEqual((0, ""), (shell.returncode, errors))
        self.assertIn("What made up the peak", output)

    def test_a_report_of_another_version_is_refused(self):
        path = self.make_report()
        report = json.loads(path.read_text())
        report["schema"]["version"] = 999
        path.write_text(json.dumps(report))
        self.refused(self.run_tool("report", path), 2, "999")

    def test_the_closing_lines_say_once_what_the_simulated_device_makes_up(self):
        train, line = harness.program("train"), "; each context is assumed to take as much memory as on an H200\n"
        self.assertEqual(1, self.launch("--", train).stderr.count(line))
        self.assertNotIn(line, self.run_tool("run", "--sim", "--", train, VRAMSCOPE_SIM="context_bytes=0").stderr)

    def test_a_program_that_ends_with_125_itself_gets_its_closing_lines(self):
        finished = self.launch("--", "/bin/sh", "-c", f'"{harness.program("linked")}"; exit 125')
        self.assertEqual(125, finished.returncode)
        self.assertIn("next: vramscope report", finished.stderr)
        finished = self.launch("--", "/bin/sh", "-c", "exit 125")
        self.assertEqual(125, finished.returncode)
        self.assertIn("CUDA did not start", finished.stderr)

    def changed(self, name, old, new, at=None):
        """A copy of a program of the system's with other bytes at one place."""
        code = pathlib.Path("/bin/true").read_bytes()
        at = code.index(old) if at is None else at
        self.assertEqual(old, code[at : at + len(old)])
        copy = pathlib.Path(self.folder) / name
        copy.write_bytes(code[:at] + new + code[at + len(old) :])
        copy.chmod(0o755)
        return str(copy)

    def test_run_says_why_a_program_was_not_one_to_record(self):
        loader = harness.LOADER
        missing = loader.replace(b"/lib", b"/lob")
        cases = [
            (self.changed("lacking", b"libc.so.6", b"libq.so.6"), 127,
             "no report: the loader refused the program: libq.so.6 is not found (required by "),
            (self.changed("foreign", harness.OWN_MACHINE, harness.OTHER_MACHINE, 18), None,
             f"no report: the program is not for {harness.MACHINE}"),
            (self.changed("orphan", loader, missing), 127, f"its loader '{missing.decode()}' is not there"),
            ("/bin/true", 0, "no report: CUDA did not start in the program"),
        ]  # fmt: skip
        for program, status, text in cases:
            finished = self.run_tool("run", "--", program)
            self.assertIn(text, finished.stderr)
            if status is not None:
                self.assertEqual(status, finished.returncode)
        finished = self.run_tool("run", "--", "/bin/sh", "-c", "exit 127")
        self.assertIn("CUDA did not start", finished.stderr)

    def test_run_says_that_nothing_can_be_executed_where_a_file_is(self):
        place = pathlib.Path(self.folder) / "mounted"
        place.mkdir()
        mount = f"mount -t tmpfs -o noexec none '{place}'"

        def run(script):
            command = ["unshare", "-m", "/bin/sh", "-c", f"{mount} && {script}"]
            return programs.finish(command, harness.environment(), self.folder, harness.DEADLINE_S)

        if run("true").returncode != 0:
            self.skipTest("this user cannot mount a file system")
        finished = run(f"cp /bin/true '{place}' && '{harness.TOOL}' run -- '{place}/true'")
        self.refused(finished, 126, "true': its file system is mounted noexec")
        copy = f"cp '{harness.LIBRARY}' '{place}' && VRAMSCOPE_LIBRARY='{place}/libvramscope.so'"
        finished = run(f"{copy} '{harness.TOOL}' run -- /bin/true")
        self.refused(finished, 125, "cannot preload '", "mounted noexec")

    def test_an_installation_below_a_folder_with_spaces_and_colons_works(self):
        prefix = pathlib.Path(self.folder, "my files: tools")
        parts = prefix / "lib/vramscope"
        (prefix / "bin").mkdir(parents=True)
        tool = shutil.copy(harness.TOOL, prefix / "bin/vramscope")
        shutil.copytree(harness.SIMULATOR, parts / "simulator", ignore=lambda _, names: [n for n in names if not n.startswith("lib")])
        shutil.copy(harness.LIBRARY, parts / "libvramscope.so")
        for _ in range(2):  # the second run finds what the first has made
            done = programs.finish([tool, "run", "--sim", "-o", "r.json", "--", "/bin/sh", "-c", f"'{harness.program('linked')}'; exit 3"],
                                   harness.environment(), self.folder, harness.DEADLINE_S)  # fmt: skip
            self.assertEqual(3, done.returncode, done.stderr)
            path = pathlib.Path(self.folder, "r.json")
            report = json.loads(path.read_text())
            path.unlink()
            self.assertEqual("linked", pathlib.Path(report["process"]["executable"]).name)
            self.assertLess(0, report["sites"][0]["total_bytes"])

    def test_a_running_program_gives_a_snapshot(self):
        process = self.start_program([harness.program("hold")], "cache")
        process.stdout.readline()
        finished = self.run_tool("snapshot", process.pid)
        self.assertEqual(0, finished.returncode, finished.stderr)
        recount.check(self, harness.wait_for_reports(self.folder, 1)[0])

    def test_a_process_without_the_library_is_never_signalled(self):
        process = self.start_program([harness.program("hold")])
        process.stdout.readline()
        finished = self.run_tool("snapshot", process.pid)
        self.refused(finished, 2)
        output, _ = process.communicate("a\nb\nc\n", timeout=harness.DEADLINE_S)
        self.assertTrue(output.endswith("done\n"))


def without_chance(text):
    """A run's output without what differs each time: process id, machine, date, times."""
    text = re.sub(r"\b[\d.]+ (ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r"[<\d.]+ % of the run", "SHARE of the run", text)
    text = re.sub(r"\n  .* was allocated in the last tenth of the run's allocations", "", text)  # if the end took little time
    text = re.sub(r"pid \d+ on \S+,", "PROCESS", text)
    text = re.sub(r"train\.\d+\.json", "FILE", text)
    return re.sub(r"\d{4}-\d\d-\d\d [\d:]+", "DATE", text)


def option_names(table):
    """Second column of the rows OPTION(type, name, …), whose types may hold commas."""
    return re.findall(r"^OPTION\([^\n]*?,\s*(\w+),\s*[^\n]*,\s*$", table, re.M)


if __name__ == "__main__":
    harness.main()
