# The command line tool as a person meets it: exit codes, one-line complaints, programs under run.
# SPDX-License-Identifier: Apache-2.0
"""tool_test.py BUILD"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import LIBRARY, TOOL, ToolTest, variables  # noqa: E402

OPTIONS_PAGE = harness.SOURCE / "reporter/manual/options.md"


class Arguments(ToolTest):
    def test_help_and_version_are_answers(self):
        for words in (["--help"], ["run", "--help"], ["snapshot", "-h"], ["report", "--help"]):
            result = self.call(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn("Usage", result.stdout)
        known = r"( \(commit [0-9a-f]{13}(-dirty)?, \d{4}-\d\d-\d\d\))?"  # to a clone of git's
        self.assertRegex(self.call("--version").stdout, rf"^vramscope \d+\.\d+\.\d+{known}, report format \d+\n$")

    def test_help_of_each_verb_has_an_example_of_its_own(self):
        listed = re.search(r"(?ms)^Subcommands:\n(.*?)^\S", self.call("--help").stdout)[1]
        verbs = re.findall(r"^  (\w+) ", listed, re.M)
        self.assertGreater(len(verbs), 12)
        for verb in verbs:
            text = self.call(verb, "--help").stdout
            self.assertRegex(text, rf"(?m)^  .*vramscope {verb}\b", verb)

    def test_each_verb_that_is_nearly_typed_is_suggested(self):
        for typed, verb in (("stat", "stats"), ("ownrs", "owners"), ("tmeline", "timeline"), ("peek", "peak"),
                            ("option", "options"), ("snapshto", "snapshot")):  # fmt: skip
            self.assert_refused([typed, "x"], 2, f"nearest is {verb}; see")

    def test_help_of_an_option_is_an_imperative_of_ten_words(self):
        """Values and exceptions may follow a colon or a semicolon."""
        listed = re.search(r"(?ms)^Subcommands:\n(.*?)^\S", self.call("--help").stdout)[1]
        for verb in re.findall(r"^  ([a-z]+) ", listed, re.M):
            text = self.call(verb, "--help", COLUMNS="100").stdout.split("\nOptions:")[1]
            text = re.sub(r"\n {20,}", "  ", text)
            helps = re.findall(r"^  (-\S.*?)  +(\S.*)$", text, re.M)
            self.assertTrue(helps, verb)
            for option, sentence in helps:
                says = re.split(r"[:;]|\.\s|\.$", sentence)[0]
                self.assertLessEqual(len(says.split()), 10, (verb, option, sentence))
                self.assertNotRegex(says, r"^(The|A|An|Only|How|What|Where|When|Most|Of|Instead|Native|Whole|Frames)\b", (verb, option))

    def test_help_of_run_names_every_setting(self):
        text = self.call("run", "--help").stdout
        for option in ("--mode", "-o,--output", "--signal", "--stacks", "--stack-depth",
                       "--exact-fallback", "--report-at-exit"):
            self.assertIn(option, text)

    def test_bad_usage_is_one_line(self):
        self.assert_refused([], 2, "--help")
        self.assert_refused(["reprot", "x"], 2, "no verb is called 'reprot'")
        self.assert_refused(["reprot", "x"], 2, "nearest is report; see")
        self.assert_refused(["report"], 2, "no FILE was named, and no report is in this folder")
        self.assert_refused(["peak"], 2, "FILE is required")
        self.assert_refused(["report", "--bad", "x"], 2, "--bad; see")
        self.assert_refused(["report", "--jsno", "x"], 2, "--jsno; nearest is --json; see")
        self.assert_refused(["stats", "-n", "-4", "x"], 2, "'-4' is not a whole number from 0 to 999999999")
        self.assert_refused(["--bogus"], 2, "'--bogus'")
        self.assert_refused(["peak", "--from", "2s", "--to", "1s", "x"], 2, "1s is not after --from 2s")
        self.assert_refused(["peak", "--min-bytes", "2MB", "x"], 2, "; 2MB is written 2MiB")
        twice = ["peak", "--kind", "managed", "--kind", "async", "x"]
        self.assert_refused(twice, 2, "--kind takes one value, and was given 2 times; see vramscope peak --help")
        self.assert_refused(["trace", "--sort", "-start_ns", "x"], 2, "'start_ns' is a column of trace --csv, which lists")
        self.assert_refused(["snapshot", "me"], 2, "'me' is not a whole number from 0 to 999999999")
        self.assert_refused(["snapshot", "--signal", "KILL", "1"], 2, "'KILL' is not a signal")

    def test_bad_usage_of_run_is_its_own_failure(self):
        self.assert_refused(["run"], 125, "PROGRAM is missing")
        self.assert_refused(["run", "--mdoe", "off", "true"], 125, "--mdoe; nearest is --mode; see")
        self.assert_refused(["run", "--mode", "apart", "true"], 125, "dedicated, observe or off")
        self.assert_refused(["run", "--sim", "--sim-memory", "lots", "true"], 125, "16GiB")
        self.assert_refused(["run", "--sim-memory", "1GiB", "true"], 125, "--sim")
        self.assert_refused(["run", "--sim", "--sim-memory", "0", "true"], 125, "'0' is not from 2MiB to 8TiB")
        self.assert_refused(["run", "--sim", "--sim-memory", "1GB", "true"], 125, "; 1GB is written 1GiB")
        models = "is none of h200, h100, a100, l4, rtx4090, t4, orin, gb10, gh200"
        for name in ("h300", "", "h200, h100", "L4"):
            self.assert_refused(["run", "--sim", "--sim-device", name, "true"], 125, f"'{name}' {models}")
        self.assert_refused(["run", "--sim-device", "l4", "true"], 125, "--sim")
        self.assert_refused(["doctor", "--sim", "--sim-device", "h300"], 2, f"'h300' {models}")
        self.assert_refused(["run", "--device-memory-limit", "1GB", "true"], 125, "; 1GB is written 1GiB")
        self.assert_refused(["run", "-o", "%z.json", "true"], 125, "'%z' in '%z.json' is none of %e, %p,")
        self.assert_refused(["run", "true"], 125, "/dev/null/no", VRAMSCOPE_LIBRARY="/dev/null/no")

    def test_a_program_that_was_typed_for_a_verb_is_to_be_run(self):
        program = self.path("a.out")
        shutil.copy("/bin/true", program)
        self.assert_refused(["./a.out"], 2, "no verb is called './a.out'; to run that program: vramscope run ./a.out")
        self.assert_refused(["sh", "-c", "exit"], 2, "to run that program: vramscope run sh")
        self.assert_refused(["stat", "x"], 2, "nearest is stats")
        self.assert_refused(["./none"], 2, "no verb is called './none'; see vramscope --help")

    def test_functions_are_listed(self):
        self.assertIn("cuMemAlloc_v2", self.call("functions").stdout)
        self.assertEqual(len(json.loads(self.call("functions", "--json", "-n", "3").stdout)), 3)

    def test_options_are_listed(self):
        self.assertIn("--stack-depth, VRAMSCOPE_STACK_DEPTH", self.call("options").stdout)
        rows = json.loads(self.call("options", "--json").stdout)
        depth = next(row for row in rows if row["name"] == "stack_depth")
        self.assertEqual(("64", "a number from 1 to 128"), (depth["default"], depth["takes"]))
        self.assertEqual(len(json.loads(self.call("options", "--json", "-n", "3").stdout)), 3)
        self.assert_refused(["options", "--json", "--markdown"], 2, "--markdown")

    def test_the_manual_has_the_table_of_options_that_the_tool_prints(self):
        with open(OPTIONS_PAGE, encoding="utf-8") as file:
            tables = re.findall(r"^(?:\|.*\n)+", file.read(), re.M)
        printed = self.call("options", "--markdown").stdout
        begun = printed.splitlines()[0]
        self.assertEqual([printed], [table for table in tables if table.startswith(begun)])


class NextCommands(ToolTest):
    """Texts end with a command to go on with; JSON does not."""

    VERBS = (["report"], ["sites"], ["sites", "--full"], ["sites", "--full", "--by", "growth"], ["peak"],
             ["sites", "--histograms"], ["peak", "--tree"], ["peak", "--full"], ["owners"],
             ["owners", "--by", "size"], ["stats"], ["timeline"], ["oom"])  # fmt: skip

    def test_each_ends_with_one_that_works(self):
        for name in ("r.json", "my report.json", "z\u00fcrich's.json", "-x.json"):
            self.sample(name)
            for verb in self.VERBS:
                shown = self.call(*verb, "./" + name)
                last = shown.stdout.splitlines()[-1]
                self.assertRegex(last, "^Next: vramscope ", verb)
                script = last.replace("Next: vramscope", f"'{TOOL}'")
                result = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True,
                                        check=False, timeout=harness.DEADLINE_S, env=harness.environment(**variables()))
                self.assertEqual((0, ""), (result.returncode, result.stderr), last)

    def test_filters_are_kept_as_far_as_the_next_verb_can_answer_them(self):
        file = self.sample()
        typed = ["--device", "0", "--kind", "gpu", "--owner", "program", "--site", "ma|in", "--min-bytes", "1KiB"]
        kept = "--device 0 --kind gpu --owner program --site 'ma|in' --min-bytes 1KiB"
        for verb in (["report"], ["sites"], ["peak"], ["leaks"]):
            last = self.call(*verb, *typed, file).stdout.splitlines()[-1]
            self.assertRegex(last, "^Next: vramscope [a-z]+ (--[a-z]+ (growth )?)?" + re.escape(f"{kept} {file}") + "$")
            words = shlex.split(last)[2:]
            self.assertEqual((0, ""), (self.call(*words).returncode, self.call(*words).stderr), last)
        shown = self.call("check", *typed[:4], "--max-peak", "1", file)
        self.assertEqual(f"Next: vramscope peak --device 0 --kind gpu {file}", shown.stdout.splitlines()[-1])
        shown = self.call("oom", "--device", "0", "--site", "main", file)  # owners knows no call stacks
        self.assertEqual(f"Next: vramscope owners --device 0 {file}", shown.stdout.splitlines()[-1])

    def test_of_a_program_that_allocated_nothing_no_closer_look_is_named(self):
        file = self.sample()
        with self.edited(file) as report:
            for part in ("sites", "threads", "frames", "kinds", "ledger", "devices", "axes", "functions"):
                report[part] = []
        for verb in self.VERBS:
            shown = self.call(*verb, file)
            self.assertEqual((0, ""), (shown.returncode, shown.stderr), verb)
            self.assertRegex(shown.stdout.splitlines()[-1], "^Next: vramscope (stats|report) ", verb)

    def test_json_has_none(self):
        file = self.sample()
        for verb in self.VERBS:
            json.loads(self.call(*verb, "--json", file).stdout)


# Tells the signals that it gets, up to SIGTERM.
TELLING = """
import signal, sys
told = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, told)
print("ready", flush=True)
while True:
    name = signal.Signals(signal.sigwait(told)).name
    print(name, flush=True)
    if name == "SIGTERM":
        sys.exit(7)
"""


class Run(ToolTest):
    def run_shell(self, script, *options, **more):
        return self.call("run", *options, "--", "sh", "-c", script, **more)

    def test_output_and_status_are_the_programs(self):
        result = self.run_shell("cat; exit 3")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertEqual(self.run_shell("echo out", "-q").stdout, "out\n")

    def test_the_status_tells_the_signal(self):
        self.assertEqual(self.run_shell("kill -9 $$").returncode, 128 + signal.SIGKILL)
        self.assertIn("SIGKILL ended the program", self.run_shell("kill -9 $$").stderr)

    def test_programs_that_do_not_start(self):
        with open(self.path("text"), "w", encoding="utf-8"):
            pass
        self.assert_refused(["run", "no-such-program"], 127, "cannot run 'no-such-program'")
        self.assert_refused(["run", "./text"], 126, "Permission denied")
        self.assert_refused(["run", "--trace", "sh", "x.py"], 127, "; 'sh' was taken for the value of --trace")
        self.assert_refused(["run", "--trace", "no-program", "x.py"], 127, "cannot run 'x.py': No such file or directory\n")

    def test_the_environment_carries_library_and_options(self):
        script = 'echo "$LD_PRELOAD|$VRAMSCOPE_MODE|$VRAMSCOPE_STACK_DEPTH|$VRAMSCOPE_OUTPUT"'
        shown = self.run_shell(script, "--stack-depth=9", "-o", "x.json", LD_PRELOAD="").stdout
        library, _, rest = shown.partition("|")  # by way of a link where a folder has spaces in its name
        self.assertTrue(os.path.samefile(library, LIBRARY), shown)
        self.assertEqual("|9|x.json\n", rest)

    def test_arguments_reach_the_program_as_they_are(self):
        shown = self.call("run", "-q", "printf", "%s;", "--", "[a,b]", "-o", "", "--help").stdout
        self.assertEqual(shown, "--;[a,b];-o;;--help;")

    def test_an_installed_tool_finds_its_library_and_the_simulated_device(self):
        for name, source in (("bin/vramscope", TOOL), ("lib/vramscope/libvramscope.so", LIBRARY),
                             ("lib/vramscope/simulator/libcuda.so.1", LIBRARY)):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(source, self.path(name))
        script = 'echo "$LD_PRELOAD|$LD_LIBRARY_PATH|$VRAMSCOPE_SIM"'
        words = [self.path("bin/vramscope"), "run", "-q", "--sim", "--sim-memory", "1GiB", "sh",
                 "-c", script]
        environment = harness.environment(VRAMSCOPE_LIBRARY="", VRAMSCOPE_SIM="devices=2",
                                          LD_LIBRARY_PATH="/x")
        shown = subprocess.check_output(words, text=True, env=environment, cwd=self.folder, timeout=harness.DEADLINE_S)
        library = self.path("lib/vramscope")
        self.assertEqual(shown, f"{library}/libvramscope.so|{library}/simulator:/x|"
                                "devices=2,capacity=1073741824\n")

    def test_a_report_is_summed_up_in_three_lines(self):
        result = self.run_shell("exit 4", STAND_IN_REPORT=self.sample())
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stderr,
                         "vramscope: GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB reserved); each context is assumed to take as much memory as on an H200\n"
                         "vramscope: report in r.json\n"
                         "vramscope: next: vramscope report r.json\n")
        self.assertEqual(self.run_shell("", "-q", STAND_IN_REPORT=self.sample("s.json")).stderr, "")

    def test_a_report_that_went_away_is_none(self):
        gone = {"STAND_IN_REPORT": self.path("gone.json")}
        result = self.run_shell("", LD_LIBRARY_PATH="", **gone)
        self.assertEqual(result.stderr, "vramscope: no report: libcuda.so.1 was not found; try --sim; vramscope doctor sh says more\n")
        shutil.copy(LIBRARY, self.path("libcuda.so.1"))
        result = self.run_shell("", LD_LIBRARY_PATH=self.folder, **gone)
        self.assertEqual(result.stderr, "vramscope: no report: CUDA did not start in the program; vramscope doctor sh says more\n")

    def test_what_cannot_be_written_is_told_before_the_program_starts(self):
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("taken"))
        for option in ("--output", "--trace"):
            noun = "report" if option == "--output" else "trace"
            for pattern, part in (("no/%p.json", "in 'no/': No such file"),
                                  ("/proc/%p.json", "in '/proc/': "),
                                  ("/dev/full", "to '/dev/full': Operation not supported"),
                                  ("pipe", "to 'pipe': Operation not supported"),
                                  ("taken", "to 'taken': Is a directory")):  # fmt: skip
                self.assert_refused(["run", option, pattern, "echo", "started"], 125,
                                    f"cannot write a {noun} {part}")
        self.assertEqual(["pipe", "taken"], sorted(os.listdir(self.folder)))
        self.assertFalse(os.path.exists("/dev/full~1"))
        words = ("run", "-q", "-o", "no/%p.json", "--mode", "off", "echo", "started")
        self.assertEqual(self.call(*words).stdout, "started\n")
        self.assertEqual(self.call("run", "-q", "-o", "%{X}/r%r/x", "echo", "started").stdout, "started\n")

    def test_a_taken_name_is_told(self):
        self.sample("r.json~1")
        result = self.run_shell("", STAND_IN_REPORT=self.path("r.json~1"))
        self.assertIn("report in r.json~1\n", result.stderr)
        self.sample("r.json")
        result = self.run_shell("", STAND_IN_REPORT=self.path("r.json~1"))
        self.assertIn("report in r.json~1 (r.json was taken)\n", result.stderr)

    def test_nothing_is_left_in_the_folder_for_temporary_files(self):
        os.mkdir(self.path("tmp"))
        self.run_shell("test -w \"$VRAMSCOPE_NOTE_FILE\"", TMPDIR=self.path("tmp"))
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_a_program_does_not_wait_for_nvml(self):
        shutil.copy(harness.BUILD / "test/view/libsilent_nvml.so", self.path("libnvidia-ml.so.1"))
        result = self.call("run", "-q", "sh", "-c", "exit 4", LD_LIBRARY_PATH=self.folder)
        self.assertEqual(result.returncode, 4)

    def test_signals_are_passed_on_or_left_to_the_program(self):
        words = [TOOL, "run", "-q", sys.executable, "-c", TELLING]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=self.folder,
                              env=harness.environment(**variables())) as child:
            self.assertEqual(child.stdout.readline(), "ready\n")
            for name in ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM"):
                child.send_signal(signal.SIGINT)  # as from the terminal: the program's affair
                child.send_signal(signal.Signals[name])
                self.assertEqual(child.stdout.readline(), name + "\n")
            self.assertEqual(child.wait(timeout=harness.DEADLINE_S), 7)

    def test_ignored_signals_stay_ignored_in_the_program(self):
        result = subprocess.run(
            ["sh", "-c", f"trap '' INT HUP; exec '{TOOL}' run -q sh -c 'kill -INT $$; kill -HUP $$; exit 5'"],
            env=harness.environment(**variables()), cwd=self.folder, check=False, timeout=harness.DEADLINE_S)
        self.assertEqual(result.returncode, 5)


# Answers SIGUSR1 as the library does: by a report in its folder, complete when it appears.
ANSWERING = """
import json, os, signal, sys
def answer(number, frame):
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    report["trigger"] = "signal"
    report["process"]["pid"] = os.getpid()
    with open(".hidden", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.rename(".hidden", "answer.json")
signal.signal(signal.SIGUSR1, answer)
print("ready", flush=True)
sys.stdin.read()
"""


class Snapshot(ToolTest):
    def start(self, *words, library=True):
        environment = harness.environment(**({"LD_PRELOAD": LIBRARY} if library else {}))
        child = harness.programs.start([sys.executable, *words], environment, self.folder,
                                       stdin=subprocess.PIPE, text=True)
        self.addCleanup(harness.programs.end, child)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return str(child.pid)

    def test_prints_the_report_that_the_process_writes(self):
        pid = self.start("-c", ANSWERING, self.sample())
        result = self.call("snapshot", pid)
        self.assertEqual(result.stderr, "")
        self.assertEqual((result.returncode, result.stdout), (0, self.path("answer.json") + "\n"))

    def test_gives_up_when_no_report_comes(self):
        pid = self.start("-c", "import signal, sys; signal.signal(10, lambda *_: None); "
                         "print('ready', flush=True); sys.stdin.read()")
        self.assert_refused(["snapshot", "--wait", "1", pid], 2, "no report")

    def test_leaves_other_processes_alone(self):
        waiting = ("-c", "import sys; print('ready', flush=True); sys.stdin.read()")
        self.assert_refused(["snapshot", self.start(*waiting, library=False)], 2,
                            "runs without vramscope")
        self.assert_refused(["snapshot", self.start(*waiting)], 2, "does not catch SIGUSR1")
        self.assert_refused(["snapshot", "0"], 2, "process 0: No such process")


if __name__ == "__main__":
    harness.main()
