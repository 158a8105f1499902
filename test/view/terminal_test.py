# What a terminal gets: as wide and as long as it is.
# SPDX-License-Identifier: Apache-2.0
"""terminal_test.py BUILD"""
import os
import pty
import re
import shutil
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import TOOL, ToolTest, give_four_kinds, variables  # noqa: E402


class Widths(ToolTest):
    """How wide lines are: by COLUMNS, by the terminal, or as long as they are."""

    def long_sample(self):
        return self.sample(arguments=["train", "-v" * 150], hostname="h" * 90)

    def longest(self, *arguments, **more):
        lines = self.call(*arguments, LC_ALL="C.UTF-8", **more).stdout.splitlines()
        return max(len(line) for line in lines if not line.startswith("Next: "))  # to be copied

    def on_terminal(self, columns, *arguments, rows=50, **more):
        """What a terminal of that width gets, without colours."""
        leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (rows, columns))
        environment = harness.environment(**variables(LC_ALL="C.UTF-8", NO_COLOR="1", **more))
        with subprocess.Popen([TOOL, *map(str, arguments)], stdout=follower, cwd=self.folder,
                              env=environment) as child:
            os.close(follower)
            text = b""
            while True:
                try:
                    part = os.read(leader, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                text += part
            self.assertEqual(0, child.wait(timeout=harness.DEADLINE_S))
        os.close(leader)
        return text.decode().splitlines()

    def test_a_report_fits_the_terminal_and_says_what_shows_the_rest(self):
        path = self.many_sites()
        piped = self.call("report", path, LC_ALL="C.UTF-8", COLUMNS="60").stdout.splitlines()
        self.assertGreater(len(piped), 39)
        shown = self.on_terminal(60, "report", path, rows=40)
        self.assertLessEqual(len(shown), 39)  # the prompt takes one
        self.assertTrue(shown[-1].startswith("Next: vramscope "))
        said = re.search(r"  and (\d+) lines for which the\s+terminal\s+has\s+no\s+room:\s+-n (\d+)\s+shows\s+all$", "\n".join(shown), re.M)
        left_out, most = said.groups()
        self.assertEqual(len(piped), len(shown) - len(said[0].splitlines()) + int(left_out))
        self.assertEqual(piped, self.on_terminal(60, "report", "-n", most, path, rows=40))

    def test_peaks_of_four_kinds_fit_the_terminal(self):
        path = self.many_sites()
        with self.edited(path) as report:
            give_four_kinds(report)
        self.assertGreater(len(self.call("peak", path, COLUMNS="80").stdout.splitlines()), 60)
        shown = self.on_terminal(80, "peak", path, rows=40)
        self.assertLessEqual(len(shown), 39, shown)
        titles = [line for line in shown if " requested" in line and ": peak " in line]
        self.assertEqual(["GPU 0, all", "GPU 0", "GPU 0 managed", "pinned", "GPU 0 stream_ordered"],
                         [re.match(r"GPU 0, all|[^:]*", line)[0] for line in titles])  # fmt: skip
        self.assertTrue(shown[-1].startswith("Next: vramscope "))

    def test_a_part_of_a_peak_that_is_not_known_has_no_share(self):
        """It had one of whatever was in memory."""
        shown = self.call("peak", self.sample()).stdout
        self.assertRegex(shown, r"\n +BYTES +(SHARE +)?LAST SEEN")
        self.assertRegex(shown, r"\n +not known +0 B  other processes")

    def ranks(self, count):
        os.mkdir(self.path("ranks"))
        for rank in range(count):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank, hostname="node")
        for name in ("r3.json", "r5.json", "r6.json"):
            with self.edited(self.path(f"ranks/{name}")) as report:
                report["trigger"] = "recovered"
                report["process"]["ended_by"] = "" if name == "r5.json" else "SIGKILL"
        self.call("merge", "-o", "all.json", "ranks")

    def test_processes_fit_the_terminal_and_come_before_what_they_add_up_to(self):
        self.ranks(30)
        for report in ("all.json", "ranks"):
            shown = self.on_terminal(80, "report", report, rows=40)
            self.assertLessEqual(len(shown), 39, report)
            self.assertTrue(shown[0].startswith("30 processes of train; reports in "), shown[0])
            rows = [line for line in shown if re.match(r" +\d+ +47\d\d +\w", line)]
            self.assertGreaterEqual(len(rows), 6, shown)
            self.assertIn(f"  and {30 - len(rows)} more processes", shown)
            self.assertIn("  rank 3 (4714), rank 6 (4717) were ended by SIGKILL", shown)
            self.assertIn("  rank 5 (4716) died; the signal is not known (vramscope run would record it)", "\n".join(shown))
            self.assertIn("Together on each device, requested bytes", shown)
            self.assertRegex("\n".join(shown), r"\n  GPU 0  30 processes, peak ")
            said = re.search(r"and \d+ lines for which the\s+terminal\s+has\s+no\s+room: -n (\d+) shows all", "\n".join(shown))
            self.assertIn("Among the processes", self.on_terminal(80, "report", "-n", said[1], report, rows=40))

    def test_places_of_merged_processes_come_before_what_repeats_the_processes(self):
        for count in (4, 16, 30):
            self.ranks(count) if count > 6 else os.mkdir(self.path("ranks"))
            for rank in range(count if count <= 6 else 0):
                self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank, hostname="node")
            with self.edited(self.path("ranks/r2.json")) as report:
                report["kinds"][0]["peak_bytes"] *= 2
            self.call("merge", "-f", "-o", "all.json", "ranks")
            shown = self.on_terminal(80, "report", "all.json", rows=40)
            self.assertLessEqual(len(shown), 39, shown)
            places = [i for i, line in enumerate(shown) if line.startswith("What made up the sum of peaks")]
            self.assertEqual(1, len(places), shown)
            self.assertRegex(shown[places[0] + 2], r"^ +\S+ \wiB +\S+ % ")
            shutil.rmtree(self.path("ranks"))

    def test_rows_of_processes_go_last(self):
        """At 60 columns two of eight were left, above the figures of all."""
        self.ranks(8)
        for report in ("all.json", "ranks"):
            for columns in (60, 80):
                shown = self.on_terminal(columns, "report", report, rows=40)
                self.assertLessEqual(len(shown), 39, report)
                self.assertEqual(8, len([line for line in shown if re.match(r" +\d+ +47\d\d +\w", line)]), shown)

    def test_rows_of_processes_outlast_what_is_told_of_their_differences(self):
        """Four of eight were left where seven differed, above two lines for each of four."""
        self.ranks(8)
        for rank in range(8):
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                report["kinds"][0]["peak_bytes"] *= rank + 1
                report["sites"][0]["parts"][0]["peak_bytes"] += report["kinds"][0]["peak_bytes"]
        shown = self.on_terminal(80, "report", "ranks", rows=40)
        self.assertEqual(8, len([line for line in shown if re.match(r" +\d+ +47\d\d +\w", line)]), shown)
        self.assertEqual(2, len([line for line in shown if re.search(r" (above|below) the$| (above|below) the median", line)]), shown)

    def test_peaks_of_a_merged_report_of_four_kinds_fit_the_terminal(self):
        path = self.many_sites()
        paths = []
        for rank in range(3):
            paths.append(shutil.copy(path, self.path(f"r{rank}.json")))
            with self.edited(paths[-1]) as report:
                report["process"].update(rank=rank, pid=4711 + rank)
                give_four_kinds(report)
        self.call("merge", "-o", "all.json", *paths)
        shown = self.on_terminal(80, "peak", "all.json", rows=40)
        self.assertLessEqual(len(shown), 39, shown)
        self.assertEqual(4, len([line for line in shown if ": sum of peaks " in line]), shown)
        self.assertIn("  the peak of all together was ", "\n".join(shown))

    def test_a_filter_leaves_the_processes_that_had_such_memory(self):
        """Ranks on another GPU made the median 0, and figures of plain memory stood beside another kind's."""
        self.ranks(8)
        for number, name in enumerate(sorted(os.listdir(self.path("ranks")))):
            with self.edited(self.path(f"ranks/{name}")) as report:
                [plain] = [kind for kind in report["kinds"] if kind["kind"] == "device"]
                report["kinds"] = [plain, {**plain, "kind": "managed"}] if number < 3 else [plain]
        os.remove(self.path("all.json"))
        self.call("merge", "-o", "all.json", "ranks")
        for report in ("all.json", "ranks"):
            shown = self.call("report", "--kind", "managed", report).stdout
            self.assertIn("\n3 processes of train", shown)
            peak, reserved = (re.search(rf"\n  {name} +(\S+ \S+) ", shown)[1] for name in ("peak", r"reserved \(all kinds\)"))
            self.assertEqual(peak, reserved)  # the driver gave it, past the cache
            self.assertIn("8 processes of train", self.call("report", report).stdout)

    def test_a_terminal_gets_the_summary_of_stats_last(self):
        path = self.sample()
        lines = self.on_terminal(80, "stats", path, rows=40)
        self.assertGreater(len(lines), 80)
        self.assertTrue([line for line in lines[-39:] if line.startswith("  ALL POOLS ")], lines[-39:])
        self.assertFalse([line for line in lines[:40] if line.startswith("  allocated: ")], lines[:40])
        piped = self.call("stats", path, COLUMNS="80").stdout
        about_keys = re.search(r"\n( +Vramscope's own counters.*?:\n)", piped, re.S)[1]
        self.assertEqual(len(piped.splitlines()), len(lines) + about_keys.count("\n") - 1)  # it has no blank line

    def test_columns_hold_on_every_listing(self):
        file = self.long_sample()
        for verb in (["report"], ["sites"], ["peak"], ["owners"], ["owners", "--by", "size"], ["timeline"],
                     ["oom"], ["sites", "--tree"], ["peak", "--tree"], ["functions"]):
            words = [*verb] if verb == ["functions"] else [*verb, file]
            for width in (60, 80, 200):
                self.assertLessEqual(self.longest(*words, COLUMNS=str(width)), width, verb)

    def test_what_goes_to_a_pipe_or_a_file_is_not_cut(self):
        file = self.long_sample()
        self.assertGreater(self.longest("report", file), 300)
        self.call("report", "-o", "out.txt", file)
        with open(self.path("out.txt"), encoding="utf-8") as text:
            self.assertIn("-v" * 150, text.read())
        for bad in ("0", "-5", "wide", "", "1" * 40):
            self.assertGreater(self.longest("report", file, COLUMNS=bad), 300, bad)

    def test_a_terminal_gets_its_width_and_wide_all(self):
        file = self.long_sample()
        for columns in (60, 80, 200):
            lines = self.on_terminal(columns, "report", file)
            self.assertEqual(columns, max(len(line) for line in lines if not line.startswith("Next: ")))
        self.assertGreater(max(map(len, self.on_terminal(80, "report", "--wide", file))), 300)
        self.assertEqual(100, max(map(len, self.on_terminal(80, "report", file, COLUMNS="100"))))


if __name__ == "__main__":
    harness.main()
