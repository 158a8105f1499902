# `vramscope live` shows what a running program has, on a terminal and for scripts.
# SPDX-License-Identifier: Apache-2.0
"""live_test.py BUILD"""
import csv
import html
import io
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../view"))
import harness  # noqa: E402
import listings  # noqa: E402
from recover_case import extents  # noqa: E402

MIB = 1 << 20
KEPT = 50 * MIB  # of the victim `churn`, from the beginning on
MOST_CHURNED = 100 * (1009 + 2003 + 3001 + 4001)  # of its four threads at one time

PYTHON = harness.ASKS_DRIVER + """
def take(mib):
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(mib << 20))
    return block.value
def weights():
    return take(30)
def batch():
    return take(10)
held = weights(), batch(), batch()
print("ready", flush=True)
sys.stdin.readline()
"""


class Case(harness.Case):
    def start(self, name="churn", **variables):
        process = self.start_program([harness.program(name)], "cache", **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def more(self, process):
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertEqual("more\n", process.stdout.readline())

    def end(self, process):
        process.communicate("end\n", timeout=harness.DEADLINE_S)


class ForScripts(Case):
    def read(self, process):
        done = self.run_tool("live", "--json", process.pid)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_figures_agree_while_four_threads_allocate(self):
        process = self.start()
        for _ in range(30):
            shown = self.read(process)
            self.assertEqual([], listings.problems("live", shown))
            (kind,) = shown["kinds"]
            (device,) = shown["devices"]
            self.assertTrue(KEPT <= kind["live_bytes"] <= KEPT + MOST_CHURNED, kind)
            self.assertTrue(kind["live_bytes"] <= kind["peak_bytes"] <= KEPT + MOST_CHURNED, kind)
            self.assertEqual(kind["live_bytes"], device["live_bytes"])
            for group in ("sites", "owners", "ranges", "threads"):
                self.assertEqual(kind["live_bytes"], sum(row["live_bytes"] for row in shown[group]), group)
            (kept,) = (row for row in shown["sites"] if "keep" in row["name"])
            self.assertEqual((KEPT, 50, 50), (kept["live_bytes"], kept["live_count"], kept["total_count"]))
            churned = [row for row in shown["sites"] if "churn <" in row["name"].replace("(churn.cpp:20) ", "")]
            self.assertLessEqual(sum(row["live_count"] for row in churned), 4)
        self.end(process)

    def test_it_reads_without_a_signal_and_without_a_report(self):
        process = self.start(VRAMSCOPE_SIGNAL="none")
        self.assertEqual(KEPT // MIB, self.read(process)["sites"][0]["live_bytes"] // MIB)
        self.assertEqual([], [name for name in os.listdir(self.folder) if name.endswith(".json")])
        self.end(process)

    def test_lines_go_on_until_the_program_ends(self):
        process = self.start()
        lines = subprocess.Popen([harness.TOOL, "live", "--csv", "--interval", "0.1", str(process.pid)],
                                 env=harness.environment(), stdout=subprocess.PIPE, text=True)  # fmt: skip
        titles = lines.stdout.readline()
        rows = [lines.stdout.readline() for _ in range(3)]
        self.end(process)
        rest = lines.communicate(timeout=harness.DEADLINE_S)[0]
        self.assertEqual(0, lines.returncode)
        rows = list(csv.DictReader(io.StringIO(titles + "".join(rows) + rest)))
        self.assertEqual(["false"] * (len(rows) - 1) + ["true"], [row["has_ended"] for row in rows])
        times = [int(row["time_ns"]) for row in rows[:-1]]
        self.assertEqual(sorted(set(times)), times)
        self.assertEqual(0, int(rows[-1]["live_bytes"]), "everything was freed")

    def test_as_many_lines_as_asked_for(self):
        process = self.start()
        done = self.run_tool("live", "--csv", "--interval", "0.05", "--count", "4", process.pid)
        self.assertEqual((0, 5), (done.returncode, len(done.stdout.splitlines())))
        path = os.path.join(self.folder, "lines.csv")
        done = self.run_tool("live", "--csv", "--interval", "0.05", "--count", "2", "-o", path, process.pid)
        self.assertEqual((0, "", 3), (done.returncode, done.stdout, len(open(path, encoding="utf-8").readlines())))
        self.end(process)

    def test_one_screen_is_printed(self):
        process = self.start()
        text = self.run_tool("live", "--once", process.pid).stdout
        self.assertRegex(text, rf"^ churn \({process.pid}\)  running for ")
        self.assertRegex(text, r"50.0 MiB +50 +50  GPU 0   (allocate \(driver.h:\d+\) < )?keep \(churn.cpp:\d+\) < main")
        self.assertTrue(text.endswith(f"\nNext: vramscope snapshot {process.pid}\n"), text[-60:])
        self.assertEqual(text.splitlines()[0][:10], self.run_tool("live", process.pid).stdout[:10], "no terminal: once")
        self.end(process)

    def test_lines_of_python_are_shown_as_in_reports(self):
        script = os.path.join(self.folder, "steps.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(PYTHON)
        process = self.start_program([sys.executable, script], "cache")
        self.assertIn("ready", process.stdout.readline())
        text = self.run_tool("live", "--once", process.pid).stdout
        self.assertIn(f" steps.py ({process.pid})  running for ", text)
        self.assertRegex(self.run_tool("list").stdout, rf"{process.pid}  steps.py ")
        self.assertRegex(text, r"30.0 MiB +1 +1  GPU 0   take \(steps.py:10\) < weights \(steps.py:13\) < <module> \(steps.py:16\)\n")
        self.assertRegex(text, r"20.0 MiB +2 +2  GPU 0   take \(steps.py:10\) < batch \(steps.py:15\) < <module> \(steps.py:16\)\n")
        self.assertEqual(["take (steps.py:10) < weights (steps.py:13) < <module> (steps.py:16)",
                          "take (steps.py:10) < batch (steps.py:15) < <module> (steps.py:16)"],
                         [row["name"] for row in self.read(process)["sites"]])  # fmt: skip
        self.end(process)

    def test_a_process_that_cannot_be_shown_is_one_line(self):
        process = self.start(VRAMSCOPE_LIVE_FILE="off")
        wrong = {("1",): "process 1 is not recorded", ("x",): "'x' is no process number",
                 ("999999999",): "process 999999999 does not run", ("1", "2"): "one process",
                 (process.pid,): f"process {process.pid} has no live file that can be read; vramscope snapshot"}  # fmt: skip
        for words, line in wrong.items():
            done = self.run_tool("live", "--once", *words)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn(line, done.stderr)
        self.assertEqual(2, self.run_tool("live", "--interval", "0", process.pid).returncode)
        self.end(process)

    def test_of_several_programs_one_has_to_be_named(self):
        one, other = self.start(), self.start()
        done = self.run_tool("live", "--once")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        for process in (one, other):
            self.assertIn(f"{process.pid} (churn)", done.stderr)
            self.end(process)

    def test_another_version_is_refused(self):
        process = self.start()
        (path,) = harness.LIVE_FILES.glob(f"churn.{process.pid}.live")
        with open(path, "r+b") as file:
            file.seek(8)
            file.write(b"\x63")
        done = self.run_tool("live", "--once", process.pid)
        self.assertEqual(2, done.returncode, done.stdout)
        self.assertNotIn("\n", done.stderr.strip())
        self.end(process)


class Damaged(Case):
    """Whoever took a program over may write anything into its live file while it runs."""

    def test_it_is_shown_or_refused_with_a_line(self):
        process = self.start("hold")
        (path,) = harness.LIVE_FILES.glob(f"hold.{process.pid}.live")
        random.seed(1)
        with open(path, "r+b") as file:
            parts = [(begin, end) for begin, end in extents(file) if begin != 0]
            refused = 0
            for _ in range(40):
                begin, end = random.choice(parts)
                at, bytes_there = random.randrange(begin, end - 8) // 8 * 8, random.randrange(1, 65)
                file.seek(at)
                kept = file.read(bytes_there)
                file.seek(at)
                file.write(random.choice((random.randbytes(bytes_there), bytes(bytes_there), b"\xff" * bytes_there)))
                file.flush()
                done = self.run_tool("live", "--once", process.pid)
                file.seek(at)
                file.write(kept)
                file.flush()
                self.assertIn(done.returncode, (0, 2), done.stderr)
                refused += done.returncode == 2
                self.assertEqual(done.returncode == 2, done.stderr.count("\n") == 1, done.stderr)
                self.assertEqual(done.returncode == 0, "Next: " in done.stdout)
        self.assertGreater(refused, 0, "nothing was damaged that matters")
        self.assertEqual(0, self.run_tool("live", "--once", process.pid).returncode)
        process.kill()
        process.wait()
        harness.remove_live_files(f"hold.{process.pid}")


class OnATerminal(Case):
    """Through tmux, which is a terminal."""

    def setUp(self):
        super().setUp()
        self.program = harness.installed("tmux")
        self.servers = 0

    def call(self, *words):
        return subprocess.run([*self.tmux, *map(str, words)], check=True, capture_output=True, text=True,
                              env=harness.environment(TERM="xterm")).stdout  # fmt: skip

    def open(self, *words, lines=24, columns=80, tool=harness.TOOL, **variables):
        self.servers += 1  # one that ends may take a while
        self.tmux = [self.program, "-S", os.path.join(self.folder, f"socket{self.servers}"), "-f", "/dev/null"]
        self.addCleanup(subprocess.run, [*self.tmux, "kill-server"], check=False, capture_output=True)
        settings = " ".join(f"{name}={value}" for name, value in {"LC_ALL": "C.UTF-8", **variables}.items())
        command = f"env {settings} {tool} live {' '.join(map(str, words))}; echo left $?; exec cat"
        self.call("new-session", "-d", "-x", columns, "-y", lines, "sh", "-c", command)

    def text(self):
        return self.call("capture-pane", "-p")

    def wait_for(self, pattern):
        self.wait_until(lambda: re.search(pattern, self.text()), 0.05)
        return self.text()

    def type(self, *keys):
        self.call("send-keys", *keys)

    def test_keys_change_what_is_shown(self):
        process = self.start()
        self.open(process.pid)
        self.assertEqual(24, len(self.wait_for("50.0 MiB").splitlines()))
        self.wait_for(r"q quit\n*$")
        self.type("g", "g", "g")
        self.wait_for(r"\[Threads\].*4|\[Threads\].*5")
        self.type("1", "m")
        self.wait_for("SINCE MARK")
        self.more(process)
        self.wait_for(r"1.00 MiB +\+1.00 MiB")
        self.type("s")
        self.wait_for("by growth")
        self.type("/")
        self.wait_for("filter:")
        self.type("-l", "KEEP")
        self.type("Enter")
        self.wait_for("rows? with 'KEEP'")
        self.type("?")
        self.wait_for("set a mark")
        self.type("?", "Space")
        self.wait_for("PAUSED")
        self.type("q")
        self.wait_for("left 0")
        self.end(process)

    def test_the_pictures_of_the_manual_are_as_the_screen(self):
        """But for the time, and the memory over time. scripts/pictures makes them."""
        words = ["run", "--sim", sys.executable, str(harness.SOURCE / "test/programs/train_on.py"), "40", "0"]
        process = self.start_program([str(harness.TOOL), *words])
        self.assertIn("ready", process.stdout.readline())
        (pid,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        for columns, lines in ((80, 24), (200, 60)):
            picture = (harness.SOURCE / f"reporter/manual/pictures/live-{columns}x{lines}.svg").read_text(encoding="utf-8")
            drawn = [html.unescape(re.sub("<[^>]*>", "", line)) for line in re.findall("<text.*?>(.*)</text>", picture)]
            self.open(pid, lines=lines, columns=columns)
            shown = [line for line in self.wait_for(r"q quit\n*$").splitlines() if line]
            self.assertEqual(re.sub(r"\d+", "N", drawn[0])[:16], re.sub(r"\d+", "N", shown[0])[:16])
            wanted, found = ([line.rstrip() for line in all_lines[1:] if not re.search("┤|live memory of the last", line)]
                             for all_lines in (drawn, shown))  # fmt: skip
            self.assertEqual(wanted, found)
            self.type("q")
        process.communicate(timeout=harness.DEADLINE_S)

    def test_r_writes_a_report(self):
        process = self.start()
        self.open(process.pid, columns=200)
        self.wait_for("50.0 MiB")
        self.type("r")
        path = re.search(r"report in (\S+)", self.wait_for("report in /"))[1]
        self.assertEqual("signal", json.loads(open(path, encoding="utf-8").read())["trigger"])
        self.end(process)

    def test_the_size_of_the_terminal_is_followed(self):
        process = self.start()
        self.open(process.pid)
        self.wait_for("50.0 MiB")
        for lines, columns in ((60, 200), (10, 40), (3, 20), (30, 100)):
            self.call("resize-window", "-x", columns, "-y", lines)
            self.wait_until(lambda lines=lines: len(self.text().splitlines()) == lines and "churn" in self.text())
        self.wait_for("50.0 MiB")
        self.end(process)

    def test_the_end_of_the_program_leaves_its_last_state_and_the_next_command(self):
        for how in ("end", "kill"):
            with self.subTest(how):
                process = self.start()
                self.open(process.pid, columns=200)
                self.wait_for("50.0 MiB")
                if how == "end":
                    self.end(process)
                    self.wait_for(r"ended; next: vramscope report \S+churn\S+json")
                else:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    self.assertIn("50.0 MiB", self.wait_for(f"ended; next: vramscope recover {process.pid}"))
                self.type("q")
                self.wait_for(r"Next: vramscope (report|recover) .*\n+left 0")
                harness.remove_live_files(f"churn.{process.pid}")

    def test_terminals_with_less(self):
        process = self.start()
        for variables in ({"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "vt100"}):
            self.open(process.pid, **variables)
            self.wait_for("50.0 MiB")
            self.assertEqual("LC_ALL" in variables, self.text().isascii(), variables)
            self.type("q")
            self.wait_for("left 0")
        self.open(process.pid, "--interval", "0.1", TERM="dumb")
        self.wait_for(r"Next: vramscope snapshot \d+\n+ churn")
        self.end(process)
        self.wait_for("left 0")

    def test_an_unknown_terminal_is_one_line(self):
        process = self.start()
        self.open(process.pid, TERM="nowhere")
        self.assertIn("the terminal 'nowhere' is not known", self.wait_for("left 2"))
        self.end(process)

    def test_a_build_without_ncurses_says_so_in_one_line(self):
        tool = harness.BUILD / "test/page/vramscope_without_parts"
        if not tool.exists():
            self.skipTest("this build has no such tool")
        process = self.start()
        self.open(process.pid, columns=200, tool=tool)
        text = self.wait_for("left 2")
        self.assertRegex(text, r"^vramscope: this build shows no screen \(.*libncurses-dev.*\); use live --once, --json or --csv\nleft 2\n")
        done = self.run_tool("live", "--once", process.pid)
        self.assertEqual(0, done.returncode, done.stderr)
        self.end(process)

    def test_one_of_several_is_chosen_by_its_number(self):
        one, other = sorted((self.start(), self.start()), key=lambda process: process.pid)
        self.open("", lines=60)
        number = re.search(rf"(\d+)  {other.pid} \(churn\)", self.wait_for("Which one"))[1]
        self.type(number, "Enter")
        self.wait_for(rf"churn \({other.pid}\)  running")
        for process in (one, other):
            self.end(process)


if __name__ == "__main__":
    harness.main()
