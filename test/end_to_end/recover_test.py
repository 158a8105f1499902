"""What a program leaves that is killed: a report, by `vramscope recover` and in passing, and live files
that wait for it."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import pty
import re
import signal
import subprocess

import harness
import recount
from recover_case import Case, HELD, extents


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
        self.assertIn("its tables are copied while it runs", done.stderr)
        report = json.loads(pathlib.Path(done.stdout.strip()).read_text())
        recount.check(self, report)
        self.assertEqual(("moving", HELD), (report["trigger"], recount.live_bytes(report)))
        self.assertIn("copied while the process was running", " ".join(report["warnings"]))
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
        lines, out = self.in_memory("leave 12; run; left")
        self.assertEqual(3, len(lines), lines)
        self.assertRegex(lines[1], "report in r.json" + hint)
        self.assertEqual(["left: 12"], out)
        lines, _ = self.in_memory("leave 12; run --live-file off true")
        self.assertRegex(lines[0], "no report: .*" + hint)
        for few in ("leave 3; run", "leave 12; VRAMSCOPE_LEFT_OVERS=off; export VRAMSCOPE_LEFT_OVERS; run"):
            lines, _ = self.in_memory("rm -f r.json*; " + few)
            self.assertEqual((3, "vramscope: report in r.json"), (len(lines), lines[1]), few)

    def test_run_says_it_once_of_the_same_ones_and_again_after_a_day(self):
        # The line stood below each run, whatever the user did.
        run = "rm -f r.json*; run"
        lines, _ = self.in_memory(f"leave 12; {run}; {run}; leave 1; {run}; {run}; touch -d '25 hours ago' $live/*; {run}; {run}")
        told = [re.findall(r"(\d+) live files", line) for line in lines if "report in" in line]
        self.assertEqual([["12"], [], ["13"], [], ["13"], []], told)

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


if __name__ == "__main__":
    harness.main()
