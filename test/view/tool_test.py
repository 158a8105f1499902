# The command line tool as a person meets it: exit codes, one-line complaints, programs under run.
# SPDX-License-Identifier: Apache-2.0
"""tool_test.py BUILD"""
import contextlib
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

TOOL = str(harness.TOOL)
WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
LIBRARY = str(harness.BUILD / "test/view/libvramscope.so")  # the stand-in
README = harness.SOURCE / "interpose" / "README.md"


def variables(**more):
    return {"LC_ALL": "C", "VRAMSCOPE_LIBRARY": LIBRARY, **more}


def give_four_kinds(report):
    """What plain memory of the device held, three other kinds hold too."""
    axes = [row for row in report["axes"] if row["kind"] == "device"]
    (plain,) = [row for row in report["kinds"] if row["kind"] == "device"]
    report["kinds"], report["axes"] = [plain], axes[:]
    for kind in ("managed", "pinned", "stream_ordered"):
        report["kinds"].append({**plain, "kind": kind})
        report["axes"] += [{**row, "kind": kind} for row in axes]
        for site in report["sites"][:12]:
            site["parts"].append({**site["parts"][0], "kind": kind})


class ToolTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def sample(self, name="r.json", **process):
        subprocess.run([WRITE_SAMPLE, self.path(name)], check=True)
        with self.edited(self.path(name)) as report:
            report["process"].update(process)
        return self.path(name)

    @contextlib.contextmanager
    def edited(self, path):
        """The JSON in the file, which is written again as it is then."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        yield content
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def call(self, *arguments, **more):
        return self.run_tool(*arguments, **variables(**more))

    def assert_refused(self, arguments, status, part, **more):
        result = self.call(*arguments, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("vramscope: "), result.stderr)
        self.assertIn(part, result.stderr)


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
        self.assert_refused(["run", "--device-memory-limit", "1GB", "true"], 125, "; 1GB is written 1GiB")
        self.assert_refused(["run", "-o", "%z.json", "true"], 125, "'%z' in '%z.json' is none of %e, %p,")
        self.assert_refused(["run", "true"], 125, "/dev/null/no", VRAMSCOPE_LIBRARY="/dev/null/no")


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

    def many_sites(self):
        """With more places, each with its line of source, than a screen has lines."""
        path = self.sample("many.json")
        with self.edited(path) as report:
            sites = report["sites"]
            most = max(sites, key=lambda site: site["peak_bytes"])
            for _ in range(30):
                sites.append({**most, "id": len(sites)})
        return path

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
            self.assertIn("  rank 5 (4716) died, nobody saw by what (a vramscope run of its own would have)", "\n".join(shown))
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
            places = [i for i, line in enumerate(shown) if line.startswith("What made the peaks")]
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
        self.assertIn("  at one time ", "\n".join(shown))

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
            peak, reserved = (re.search(rf"\n  {name} +(\S+ \S+) ", shown)[1] for name in ("peak", "reserved"))
            self.assertEqual(peak, reserved)  # the driver gave it, past the cache
            self.assertIn("8 processes of train", self.call("report", report).stdout)

    def few(self, peaks, kind="device", **more):
        """Ranks that had so much of one kind of memory at their peaks, and their merged report."""
        os.mkdir(self.path("ranks"))
        for rank, peak in enumerate(peaks):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank, hostname="node")
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                plain = next(one for one in report["kinds"] if one["kind"] == "device")
                report["kinds"] = [{**plain, "kind": kind, "peak_bytes": peak, "current_bytes": 0}] if peak else []
                report["kinds"] += [{**plain, "kind": name, "peak_bytes": bytes[rank], "current_bytes": 0}
                                    for name, bytes in more.items() if bytes[rank]]  # fmt: skip
                report.pop("joint_peaks", None)
        self.call("merge", "-o", "all.json", "ranks")
        return ("all.json", "ranks")

    def as_one(self, path):
        data = json.loads(self.call("report", "--json", path).stdout)
        return data.get("merged", data)

    def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two(self):
        for report in self.few([100 << 20, 200 << 20, 400 << 20, 800 << 20]):
            shown = self.call("report", report).stdout
            self.assertRegex(shown, r"\n  peak +100 MiB +300 MiB +800 MiB ")
            self.assertIn("500 MiB above the median of 300 MiB", " ".join(shown.split()))
            [peak] = [one for one in self.as_one(report)["figures"] if one["figure"] == "peak_bytes"]
            self.assertEqual(300 << 20, peak["median"])

    def test_what_was_never_freed_is_not_called_freed_of_several_processes(self):
        """Rounding and the unused rest of segments stood there as memory that the processes had freed."""
        self.few([100 << 20, 200 << 20])
        for rank in range(2):
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                row = next(row for row in report["ledger"] if row["kind"] == "device")
                report["ledger"] = [row, {**row, "kind": "cached", "owner": "vramscope", "calls": 0, "current_bytes": 5 << 20,
                                          "peak_bytes": 5 << 20, "device_bytes": 5 << 20}]  # fmt: skip
        os.remove(self.path("all.json"))
        self.call("merge", "-o", "all.json", "ranks")
        shown = " ".join(self.call("owners", "all.json").stdout.split())
        self.assertIn("reserved beyond what was requested: rounding of requests, the unused rest of segments, and freed memory cached by "
                      "vramscope", shown)  # fmt: skip
        self.assertNotIn("had freed it", shown)

    def test_odd_host_memory_is_told(self):
        """Four loaders, all 0 B, one of which pinned 36 MiB: nothing was said of it."""
        for report in self.few([0, 0, 1, 1], pinned=[0, 0, 36 << 20, 0]):
            shown = self.call("report", report).stdout
            self.assertRegex(shown, r"\n  host memory +0 B +0 B +36.0 MiB +3 of 4 +rank 2")
            self.assertIn("rank 2 (4713): host memory 36.0 MiB, 36.0 MiB above the median of 0 B", " ".join(shown.split()))
            rows = self.as_one(report)["processes"]
            self.assertEqual({4713: 36 << 20}, {row["pid"]: row["host_peak_bytes"] for row in rows if row["host_peak_bytes"]})

    def test_what_is_reserved_has_all_that_the_peak_has(self):
        for report in self.few([100 << 20] * 3, stream_ordered=[900 << 20, 900 << 20, 0]):
            data = self.as_one(report)
            held = {row["pid"]: row["reserved_peak_bytes"] for row in data["processes"]}
            self.assertEqual([held[4713] + (900 << 20)] * 2, [held[4711], held[4712]])
            for row in data["processes"]:
                self.assertGreaterEqual(row["reserved_peak_bytes"], row["needed_most_bytes"])
                self.assertGreaterEqual(row["needed_most_bytes"], row["peak_lower_bytes"])

    def test_an_event_has_one_time_in_a_report_and_in_a_merged_one(self):
        self.few([100 << 20, 300 << 20, 200 << 20])
        for rank in range(3):
            with self.edited(self.path(f"ranks/r{rank}.json")) as report:
                report["timeline"]["start_ns"] = 10**18 + rank * 2_000_000_000
        os.remove(self.path("all.json"))
        self.call("merge", "-o", "all.json", "ranks")
        alone, together = (" ".join(self.call("peak", name).stdout.split()) for name in ("ranks/r1.json", "all.json"))
        time = re.search(r"reached after (\S+ \S+)", alone)[1]
        self.assertIn(f"reached after {time} of its process's time (", together)
        [kind] = json.loads(self.call("peak", "--json", "ranks/r1.json").stdout)
        [added] = json.loads(self.call("peak", "--json", "all.json").stdout)
        self.assertEqual(kind["peak_ns"], added["process_peak_ns"])
        self.assertEqual(kind["peak_ns"], kind["process_peak_ns"])
        self.assertEqual(kind["peak_ns"] + 2_000_000_000, added["peak_ns"])
        alone, together = (self.call("oom", name).stdout for name in ("ranks/r1.json", "all.json"))
        for time in re.findall(r"^  after (\S+ \S+) in", alone, re.M):
            self.assertIn(f"  after {time} of its process's time (", together)

    def test_a_table_of_processes_says_who_was_on_which_device(self):
        os.mkdir(self.path("ranks"))
        for rank in range(5):
            name = self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
            with self.edited(name) as report:
                report["devices"][0]["uuid"] = "GPU-one" if rank == 4 else "GPU-four"
        shown = self.call("report", "ranks").stdout
        self.assertIn("  GPU 0  4 processes: rank 0 (4711), rank 1 (4712), rank 2 (4713), rank 3 (4714); peak ", shown)
        self.assertIn("  GPU 0  rank 4 (4715), peak ", shown)

    def test_layouts_of_stacks_are_refused_for_a_table_of_processes(self):
        os.mkdir(self.path("ranks"))
        for rank in range(2):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        for option in ("--tree", "--full"):
            self.assert_refused(["report", option, "ranks"], 2, f"{option}: a table of processes has no call stacks; report --each")
            self.assertEqual(0, self.call("report", option, "--each", "ranks").returncode)

    def test_listings_of_many_reports_begin_with_a_summary(self):
        os.mkdir(self.path("ranks"))
        for rank in range(4):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        for words in (["peak", "--each"], ["owners", "--each"], ["timeline"]):
            verb = words[0]
            lines = self.call(*words, "ranks").stdout.splitlines()
            self.assertEqual("4 reports of 4 processes", lines[0], verb)
            self.assertRegex(lines[1], r"^  GPU 0  4 processes, peak \d")
            self.assertIn("  side by side: vramscope report ranks", lines)
            self.assertEqual("Next: vramscope report ranks", lines[-1], verb)
        os.remove(self.path("ranks/r3.json"))
        self.assertNotIn("3 reports", self.call("peak", "--each", "ranks").stdout)

    def test_sums_of_a_tree_are_of_all_places_however_few_have_rows(self):
        """main had 400 MiB, 65 %, of the 614 MiB that it held."""
        path = self.many_sites()
        numbers = re.compile(r"^ *(\S+ \w+) +(<?\S+ %) +([\d,]+)  [^A-Za-z]*(.*)$", re.M)
        for words in (["peak"], ["sites"], ["sites", "--by", "total"], ["report"]):
            whole = set(numbers.findall(self.call(*words, "--tree", "-n", "0", path).stdout))
            shown = self.call(*words, "--tree", "-n", "1", path).stdout
            rows = numbers.findall(shown)
            self.assertTrue(rows, shown)
            self.assertLess(len(rows), len(whole), words)
            self.assertEqual([], [row for row in rows if row not in whole], words)
            self.assertRegex(shown, r"\n  and \d+ more sites?, \S+ \w+, in these sums\n", words)

    def test_a_tree_of_several_kinds_of_memory_has_a_share_of_each_and_says_which(self):
        path = self.sample()
        with self.edited(path) as report:
            give_four_kinds(report)
        for order in ("peak", "total"):
            shown = self.call("sites", "--tree", "--by", order, path).stdout
            titles = re.findall(r"^  ((?:GPU 0|pinned)[^,\n]*), \S+ \w+\n.* SHARE .*\n.*  100 % ", shown, re.M)
            self.assertEqual(["GPU 0", "GPU 0 managed", "GPU 0 stream_ordered", "pinned"], sorted(titles), shown)

    def test_a_program_that_was_typed_for_a_verb_is_to_be_run(self):
        program = self.path("a.out")
        shutil.copy("/bin/true", program)
        self.assert_refused(["./a.out"], 2, "no verb is called './a.out'; to run that program: vramscope run ./a.out")
        self.assert_refused(["sh", "-c", "exit"], 2, "to run that program: vramscope run sh")
        self.assert_refused(["stat", "x"], 2, "nearest is stats")
        self.assert_refused(["./none"], 2, "no verb is called './none'; see vramscope --help")

    def test_report_without_a_file_takes_the_newest_one_here(self):
        self.assert_refused(["report"], 2, "no report is in this folder")
        for number, name in enumerate(("b.json", "a.json", "c.json~1")):
            self.sample(name, pid=100 + number)
            os.utime(self.path(name), (10**9 - number, 10**9 - number))
        with open(self.path("new.json"), "w", encoding="utf-8") as other:
            other.write("{}")
        shown = self.call("report")
        self.assertEqual((0, "vramscope: the newest report here is b.json\n"), (shown.returncode, shown.stderr))
        self.assertEqual(self.call("report", "b.json").stdout, shown.stdout)

    def test_a_terminal_gets_the_summary_of_stats_last(self):
        path = self.sample()
        lines = self.on_terminal(80, "stats", path, rows=40)
        self.assertGreater(len(lines), 80)
        self.assertTrue([line for line in lines[-39:] if line.startswith("  ALL POOLS ")], lines[-39:])
        self.assertFalse([line for line in lines[:40] if line.startswith("  allocated: ")], lines[:40])
        self.assertEqual(len(self.call("stats", path, COLUMNS="80").stdout.splitlines()), len(lines) + 1)

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


class Listings(ToolTest):
    def test_report_shows_text_or_json(self):
        file = self.sample()
        self.assertIn("What made the peak", self.call("report", file).stdout)
        shown = json.loads(self.call("report", "--each", "--json", "-n", "1", file, file).stdout)
        self.assertEqual([len(report["listing"]["peak"]) for report in shown], [1, 1])

    def test_reports_of_a_folder_are_a_line_each(self):
        self.sample("a.json", rank=0)
        self.sample("b.json~1", pid=4712, rank=1, ended_by="SIGKILL")
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        shown = self.call("report", self.folder).stdout
        lines = shown.splitlines()
        self.assertEqual(f"2 processes of train; reports in {self.folder}/", lines[0])
        self.assertRegex(lines[2], r"^  +0 +4711  exit +760 MiB +4.00 MiB +1,004  a.json$")
        self.assertRegex(lines[3], r"^  +1 +4712  SIGKILL +760 MiB +4.00 MiB +1,004  b.json~1$")
        self.assertIn("rank 1 (4712) was ended by SIGKILL\n", shown)
        self.assertIn("  GPU 0  2 processes, peak 760 MiB to 1.48 GiB\n", shown)
        self.assertIn("  Exact with traces: vramscope run --trace '%p.trace'\n", shown)
        self.assertEqual(shown, self.call("report", self.path("a.json"), self.path("b.json~1")).stdout)
        self.assertEqual(2, self.call("report", "--each", self.folder).stdout.count("What made the peak"))
        os.mkdir(self.path("empty"))
        self.assert_refused(["report", self.path("empty")], 2, "no report is in")

    def test_names_that_tell_processes_alone_stand_in_the_title(self):
        self.sample("vramscope.train.4711.json", rank=0)
        self.sample("vramscope.train.4712.json", pid=4712, rank=1)
        lines = self.call("report", self.folder, COLUMNS="200").stdout.splitlines()
        self.assertEqual(f"2 processes of train; reports {self.folder}/vramscope.train.PID.json", lines[0])
        self.assertRegex(lines[2], r"^  +0 +4711  exit +760 MiB +4.00 MiB +1,004$")
        self.sample("vramscope.train.9.json", pid=10, rank=2)
        lines = self.call("report", self.folder, COLUMNS="200").stdout.splitlines()
        self.assertEqual(f"3 processes of train; reports in {self.folder}/", lines[0])
        self.assertRegex(lines[2], r"1,004  vramscope.train.4711.json$")

    def test_an_empty_name_is_one_line(self):
        for verb in ("report", "peak", "merge", "export"):
            words = ("--format", "folded") if verb == "export" else ()
            self.assert_refused([verb, *words, ""], 2, "FILE is empty: expected the name of a file or folder")

    def test_what_is_read_and_reports_are_not_overwritten(self):
        report, other = self.sample("a.json"), self.sample("b.json")
        log = self.path("log.csv")
        with open(log, "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x10,64,0\n")
        for words in (["peak"], ["report"], ["leaks", "--json"], ["sites", "--csv"], ["html"], ["export", "--format", "folded"]):
            for output, what in ((report, "what is to be read"), (other, "a report")):
                before = pathlib.Path(output).read_bytes()
                self.assert_refused([*words, "-o", output, report], 2, f"-o '{output}' is {what}, which would be lost")
                self.assertEqual(before, pathlib.Path(output).read_bytes())
            self.assert_refused([*words, "--force", "-o", report, report], 2, f"-o '{report}' is what is to be read")
        self.assert_refused(["peak", "-o", log, log], 2, f"-o '{log}' is what is to be read, which would be lost")
        self.assert_refused(["diff", "-o", other, report, other], 2, "is what is to be read")

    def test_a_file_that_is_there_stays_without_force(self):
        report, other = self.sample("a.json"), self.sample("b.json")
        files = {"server.py": "import torch\n", "empty.txt": "", "old.html": "<!doctype html><p>mine"}
        verbs = (["report"], ["sites", "--csv"], ["export", "--format", "folded"], ["html"], ["diff", other], ["merge"], ["options"])
        for words in verbs:
            sources = [] if words == ["options"] else [report]
            for name, text in files.items():
                path = self.path(name)
                with self.subTest([*words, name]):
                    pathlib.Path(path).write_text(text, encoding="utf-8")
                    done = self.call(*words, "-o", path, *sources)
                    if words == ["html"] and "this build has no page" in done.stderr:
                        continue
                    self.assertEqual(2 if text else 0, done.returncode, done.stderr)
                    if text:
                        self.assertIn(f"vramscope: -o '{path}' is there already; --force replaces it\n", done.stderr)
                        self.assertEqual(text, pathlib.Path(path).read_text(encoding="utf-8"))
                        self.assertEqual(0, self.call(*words, "-f", "-o", path, *sources).returncode)
                    self.assertNotIn(pathlib.Path(path).read_text(encoding="utf-8"), (text, ""))
        self.assertEqual(0, self.call("peak", "-o", "/dev/null", report).returncode)
        self.assertEqual(0, self.call("peak", "--force", "-o", other, report).returncode)
        self.assertTrue(pathlib.Path(other).read_text(encoding="utf-8").startswith("GPU 0"))

    def test_an_export_into_a_folder_replaces_nothing(self):
        report, folder = self.sample("a.json"), self.path("out")
        os.mkdir(folder)
        words = ("export", "--format", "folded", "-o", folder, report)
        self.assertEqual(0, self.call(*words).returncode)
        pathlib.Path(folder, "a.folded").write_text("mine", encoding="utf-8")
        self.assert_refused(words, 2, f"'{folder}/a.folded' is there already; --force replaces it")
        self.assertEqual("mine", pathlib.Path(folder, "a.folded").read_text(encoding="utf-8"))
        self.assertEqual(0, self.call("export", "--force", *words[1:]).returncode)
        self.assertNotEqual("mine", pathlib.Path(folder, "a.folded").read_text(encoding="utf-8"))

    def test_a_folder_of_traces_is_no_trace(self):
        self.assert_refused(["trace", self.folder], 2, f"'{self.folder}' is a folder: expected one trace")

    def test_of_a_folder_an_empty_file_is_named(self):
        self.sample("a.json")
        pathlib.Path(self.path("b.json")).touch()
        result = self.call("peak", self.folder)
        self.assertEqual(f"vramscope: '{self.path('b.json')}' is empty: left out\n", result.stderr)
        self.assertEqual(0, result.returncode)
        judged = self.call("check", "--max-peak", "1TiB", self.folder)  # of a rank that nobody judged nothing passes
        self.assertEqual(2, judged.returncode, judged.stderr)
        self.assertIn("not all judged, 1 report could not be read", judged.stdout)

    def test_of_several_reports_of_a_process_each_counts_as_a_report(self):
        for sequence in range(1, 5):
            with self.edited(self.sample(f"{sequence}.json", pid=1 + sequence // 4)) as report:
                report["sequence"] = sequence
        shown = self.call("peak", "--each", self.folder).stdout
        self.assertTrue(shown.startswith("4 reports of 2 processes\n  GPU 0  4 reports, peak "), shown)

    def test_against_a_baseline_leaks_are_told_by_what_grew(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            (site, part) = next((site, part) for site in report["sites"] for part in site["parts"] if part["live_bytes"])
            part["live_bytes"] += 80 << 10
            for kind in report["kinds"]:
                kind["current_bytes"] += (80 << 10) * (kind["kind"] == part["kind"])
        result = self.call("check", "--against", before, "--json", after)
        (failed,) = [one for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual("never freed", failed["what"])
        self.assertEqual([80 << 10], [row["amount"] for row in failed["sites"]])

    def test_against_a_baseline_each_rank_is_to_leak_no_more_than_it_did(self):
        """What moved from one rank to another left the sum as it was."""
        for folder, leaking in (("before", 1), ("after", 0)):
            os.mkdir(self.path(folder))
            for rank in range(2):
                with self.edited(self.sample(f"{folder}/{rank}.json", rank=rank, pid=4711 + rank)) as report:
                    (site, part) = next((site, part) for site in report["sites"] for part in site["parts"] if part["live_bytes"])
                    more = (1 << 20) * (rank == leaking)
                    part["live_bytes"] += more
                    site["live_bytes"] += more
                    for kind in report["kinds"]:
                        kind["current_bytes"] += more * (kind["kind"] == part["kind"])
        self.assertEqual(0, self.call("check", "--against", "before", "before").returncode)
        result = self.call("check", "--against", "before", "after", "--json")
        self.assertEqual(1, result.returncode, result.stdout)
        (failed,) = [one for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual(("never freed", 0), (failed["what"], failed["rank"]))
        self.assertNotEqual([], failed["sites"])

    def test_against_a_baseline_it_is_said_who_died(self):
        for folder in ("before", "after"):
            os.mkdir(self.path(folder))
            for rank in range(2):
                self.sample(f"{folder}/{rank}.json", rank=rank, pid=4711 + rank)
        with self.edited(self.path("after/1.json")) as report:
            report["trigger"] = "recovered"
            report["process"]["ended_by"] = "SIGKILL"
        for limits in ([], ["--max-peak", "1GiB"]):
            shown = self.call("check", "--against", "before", *limits, "after").stdout
            self.assertEqual(1, shown.count("rank 1 (4712) was killed by SIGKILL"), shown)

    def test_a_file_that_is_cut_off_is_never_left_aside(self):
        os.mkdir(self.path("ranks"))
        whole = self.sample("ranks/0.json", rank=0)
        shutil.copy(whole, self.path("ranks/1.json"))
        os.truncate(self.path("ranks/1.json"), os.path.getsize(whole) // 2)
        for words in (["report"], ["peak"], ["leaks"], ["check", "--max-peak", "1GiB"], ["merge", "-o", "all.json"], ["diff", whole]):
            result = self.call(*words, "ranks")
            self.assertEqual(2, result.returncode, words)
            self.assertIn("ranks/1.json: ends early at byte ", result.stderr)
            self.assertNotIn("left aside", result.stderr)

    def test_of_one_process_nothing_is_together(self):
        self.sample("a.json", pid=1)
        with self.edited(self.sample("b.json", pid=1)) as report:
            report["sequence"] += 1
        shown = self.call("report", self.folder).stdout
        self.assertIn("1 process of train; 1 earlier report of them left aside; report in ", shown)
        self.assertNotIn("Together", shown)

    def test_diff_says_which_run_did_not_end_by_itself(self):
        before, after = self.sample("a.json"), self.sample("b.json", ended_by="SIGKILL")
        for path, trigger in ((before, "exit"), (after, "recovered")):
            with self.edited(path) as report:
                report["trigger"] = trigger
        shown = self.call("diff", before, after).stdout
        self.assertIn(f"\n  from {before}\n  to   {after}, which was killed by SIGKILL\n", shown)

    def test_diff_filters_by_bytes_of_either_report(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 64 << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += 64 << 20
        found = json.loads(self.call("diff", "--json", "--min-bytes", "520MiB", before, after).stdout)
        (row,) = found["rows"]
        self.assertEqual(("grown", 512 << 20, 576 << 20), (row["what"], row["before"]["bytes"], row["after"]["bytes"]))
        self.assertEqual((512 << 20, 576 << 20), (found["before_bytes"], found["after_bytes"]))

    def test_diff_says_what_changed_and_whether_by_too_much(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        self.assertIn("\nNo site changed.\n", self.call("diff", before, after).stdout)
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 64 << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += 64 << 20
        shown = self.call("diff", before, after)
        self.assertEqual(shown.returncode, 0)
        self.assertIn("  GPU 0  760 MiB -> 824 MiB (+64.0 MiB, +8.4 %)\n", shown.stdout)
        self.assertIn("  +64.0 MiB  512 MiB  576 MiB  grown  GPU 0   ", shown.stdout)
        for threshold, status in (("63MiB", 1), ("64MiB", 0), ("7%", 1), ("8%", 0), ("0", 1)):
            result = self.call("diff", "--threshold", threshold, before, after)
            self.assertEqual(result.returncode, status, threshold)
            self.assertEqual(0, self.call("diff", "--threshold", threshold, after, before).returncode)
        found = json.loads(self.call("diff", "--json", "--threshold", "1%", before, after).stdout)
        self.assertTrue(found["crossed"])
        self.assertEqual([(row["what"], row["change_bytes"]) for row in found["rows"]], [("grown", 64 << 20)])
        self.assert_refused(["diff", "--threshold", "much", before, after], 2, "'much' is neither")
        self.assert_refused(["diff", "--by", "colour", before, after], 2, "'colour' is none of site, owner")
        self.assert_refused(["diff", before, "none.json"], 2, "none.json: No such file")

    def test_check_fails_where_a_limit_does_not_hold_and_says_who_is_responsible(self):
        file = self.sample()
        held = ("--max-peak", "760MiB", "--max-leak", "4MiB", "--max-allocations", "27")
        result = self.call("check", *held, file)
        self.assertEqual((result.returncode, result.stdout.count("\n")), (0, 1), result.stdout)
        self.assertTrue(result.stdout.startswith("passed: peak of GPU 0 760 MiB of 760 MiB, "))
        for option, limit, line in (
                ("--max-peak", "759MiB", "peak of GPU 0: 760 MiB requested, 1.00 MiB above the limit of 759 MiB\n"),
                ("--max-leak", "0", "never freed: 4.00 MiB requested, 4.00 MiB above the limit of 0 B\n"),
                ("--max-total", "1GiB", "allocated in all: 1.62 GiB requested, 640 MiB above the limit of 1.00 GiB\n"),
                ("--max-allocations", "26", "allocations: 27, 1 above the limit of 26\n")):
            result = self.call("check", option, limit, file)
            self.assertEqual(result.returncode, 1, option)
            self.assertIn(line, result.stdout)
            self.assertRegex(result.stdout, r"\n +(BYTES|COUNT)  WHERE\n +\S+")
            found = json.loads(self.call("check", "--json", option, limit, file).stdout)
            self.assertEqual((found["passed"], found["checks"][0]["passed"]), (False, False))
            self.assertTrue(found["checks"][0]["sites"])
        self.assertTrue(self.call("check", *held, file).stdout.endswith(" (requested bytes)\n"))
        self.assert_refused(["check", file], 2, "a limit is missing")
        self.assert_refused(["check", "--max-peak", "much", file], 2, "'much' is not a number of bytes")
        self.assert_refused(["check", "--max-peak", "1", "none.json"], 2, "none.json: No such file")

    def test_check_says_that_memory_ran_out_and_fails_of_it_only_with_no_oom(self):
        file = self.sample()
        with self.edited(file) as report:
            report["oom"] = {"count": 2, "events": []}
        said = f"train ({report['process']['pid']}) ran out of memory in 2 calls: vramscope oom {file}\n"
        result = self.call("check", "--max-peak", "1GiB", file)
        self.assertEqual(0, result.returncode)
        self.assertIn(said, result.stdout)
        result = self.call("check", "--no-oom", file)
        self.assertEqual(1, result.returncode)
        self.assertTrue(result.stdout.startswith(f"failed: train (4711), {file}\n"), result.stdout)
        self.assertIn("calls that ran out of memory: 2, 2 above the limit of 0\n", result.stdout)
        self.assertIn(said, result.stdout)
        self.assertTrue(result.stdout.endswith(f"Next: vramscope oom {file}\n"))
        found = json.loads(self.call("check", "--no-oom", "--json", file).stdout)
        self.assertEqual([2], [one["calls"] for one in found["out_of_memory"]])
        self.assertEqual(0, self.call("check", "--no-oom", self.sample("other.json", pid=7)).returncode)

    def ranks(self, folder, *factors):
        """A folder of reports of ranks, whose peaks are those of the sample times these; 0: the rank has none."""
        os.mkdir(self.path(folder))
        for rank, factor in enumerate(factors):
            if factor == 0:
                continue
            file = self.sample(f"{folder}/{rank}.json", pid=100 + rank, rank=rank)
            with self.edited(file) as report:
                report["kinds"][0]["peak_bytes"] *= factor
                report["timeline"]["series"] = []
        return self.path(folder)

    def test_against_a_baseline_each_rank_is_compared_with_its_own(self):
        before, swapped = self.ranks("before", 1, 2, 1), self.ranks("swapped", 2, 1, 1)
        result = self.call("check", "--json", "--against", before, swapped)
        failed = [(one["rank"], one["what"]) for one in json.loads(result.stdout)["checks"] if not one["passed"]]
        self.assertEqual([(0, "peak of GPU 0")], failed)
        self.assertEqual(1, result.returncode)
        text = self.call("check", "--against", before, swapped).stdout
        self.assertRegex(text, r"\nrank 0 \(100\): peak of GPU 0: .* above the baseline's ")
        self.assertNotIn("The baseline has", text)

    def test_against_a_baseline_the_worst_rank_comes_first_with_what_grew(self):
        before, after = self.ranks("before", 1, 1, 1), self.ranks("after", 2, 3, 1)
        for rank in (0, 1):
            file = f"{after}/{rank}.json"
            with self.edited(file) as report:
                part = next(part for site in report["sites"] for part in site["parts"] if part["kind"] == "device" and part["peak_bytes"])
                part["peak_bytes"] += 900 << 20
                report["kinds"].append({**report["kinds"][0], "kind": "managed", "peak_bytes": 1 << 20})
        text = self.call("check", "--against", before, after).stdout
        first, second = text.index("\nrank 1 (101): peak of GPU 0, all kinds together: "), text.index("\nrank 0 (100): peak of GPU 0, all kinds together: ")
        self.assertLess(first, second)
        self.assertIn("+900 MiB", text[first:second])
        what = {one["what"] for one in json.loads(self.call("check", "--json", "--against", before, after).stdout)["checks"]}
        self.assertIn("sum of peaks of GPU 0", what)
        self.assertIn("peak of GPU 0, all kinds together", what)

    def test_check_lists_what_failed_alone_and_the_same_of_several_once(self):
        folder = self.ranks("ranks", 1, 1, 1, 1, 1)
        text = self.call("check", "--max-peak", "1", "--max-leak", "1TiB", folder).stdout
        self.assertTrue(text.startswith("failed in 5 of 5 processes; the highest: peak of GPU 0 "), text)
        self.assertNotIn("...", text.splitlines()[0])
        self.assertNotIn("never freed", text)
        self.assertIn("\nfailed alike: rank 0 (100), rank 1 (101), rank 2 (102), rank 3 (103), rank 4 (104)\n", text)
        self.assertEqual(1, text.count(" above the limit of "), text)
        merged = self.path("all.json")
        self.call("merge", "-o", merged, folder)
        text = self.call("check", "--max-peak", "1", merged).stdout
        self.assertIn("\nrank 0 (100), rank 1 (101), rank 2 (102), rank 3 (103), rank 4 (104): peak of GPU 0: ", text)

    def test_check_says_who_died_and_judges_what_can_be_read(self):
        folder = self.ranks("ranks", 1, 1)
        with self.edited(f"{folder}/1.json") as report:
            report["trigger"], report["process"]["ended_by"] = "recovered", "SIGKILL"
        done = self.call("check", "--max-peak", "1TiB", folder)
        self.assertEqual(0, done.returncode)
        self.assertIn("rank 1 (101) was killed by SIGKILL.\n", done.stdout)
        self.assertEqual([(101, 1, "SIGKILL")], [(one["pid"], one["rank"], one["ended_by"]) for one in
                                                 json.loads(self.call("check", "--json", "--max-peak", "1TiB", folder).stdout)["died"]])
        with open(self.path("garbage.json"), "w", encoding="utf-8") as text:
            text.write("{}x")
        done = self.call("check", "--max-peak", "1TiB", folder, self.path("garbage.json"))
        self.assertEqual(2, done.returncode)
        self.assertIn("garbage.json", done.stderr)
        self.assertIn("passed in each of 2 processes, ", done.stdout)

    def test_the_map_of_a_merged_report_leads_to_that_of_the_highest_peak(self):
        merged = self.path("all.json")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 3, 1))
        self.assertRegex(self.call("map", merged).stdout, r"\nNext: vramscope map \S*ranks/1\.json\n")

    def test_a_page_of_two_merged_reports_says_that_they_are_of_several(self):
        before, after = self.path("a.json"), self.path("b.json")
        self.call("merge", "-o", before, self.ranks("before", 1, 1))
        self.call("merge", "-o", after, self.ranks("after", 1, 2))
        page = self.call("html", "-o", "-", before, after)
        if "this build has no page" not in page.stderr:
            self.assertIn('"is_of_several":true', page.stdout)
            self.assertIn('"is_of_several":false', self.call("html", "-o", "-", self.path("before/0.json")).stdout)

    def test_metrics_of_a_merged_report_are_sums_of_peaks(self):
        merged = self.path("all.json")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 1))
        self.assertIn("The most that was live at once in each process, added.", self.call("export", "--format", "openmetrics", merged).stdout)
        self.assertIn("The most that was live at once.", self.call("export", "--format", "openmetrics", self.path("ranks/0.json")).stdout)
        self.assertNotIn("memory_viz draws", self.call("export", "--format", "memory_viz_json", merged).stderr)

    def test_a_rank_that_is_missing_is_told_beside_a_baseline(self):
        before, fewer = self.ranks("before", 1, 1, 1, 1), self.ranks("fewer", 1, 0, 1, 0)
        for kept, said in ((fewer, "The baseline has 4 processes, this 2 (ranks 1, 3 are missing): sums differ for that alone.\n"),
                           (f"{before}/0.json", "The baseline has 4 processes, this 1 (ranks 1, 2, 3 are missing): sums differ for that alone.\n")):
            self.assertTrue(self.call("check", "--against", before, kept).stdout.startswith(said), kept)
        more = self.call("check", "--against", fewer, before)
        self.assertIn("The baseline has 2 processes, this 4: sums differ for that alone.\n", more.stdout)
        other = self.sample("other.json", executable="/app/serve", arguments=["serve"])
        shown = self.call("check", "--against", self.sample(), other).stdout
        self.assertIn("The baseline is of train, this of serve.\n", shown)
        self.assertNotIn("The baseline is of", self.call("check", "--against", self.sample(), self.sample("b.json")).stdout)
        self.assertEqual(1, more.returncode)

    def test_figures_that_several_processes_share_are_of_none_of_them(self):
        shown = self.call("report", self.ranks("ranks", 1, 2, 1)).stdout
        self.assertRegex(shown, r"\n  peak +\S+ MiB +\S+ MiB .* 2 of 3 +rank 1 \(101\)\n")

    def test_what_a_merged_report_cannot_be_exported_to_leaves_no_file(self):
        merged, to = self.path("all.json"), self.path("all.pickle")
        self.call("merge", "-o", merged, self.ranks("ranks", 1, 1))
        self.assert_refused(["export", "--format", "memory_viz", "-o", to, merged], 2, "a report merged of 2 processes does not have")
        self.assertFalse(os.path.exists(to))
        self.assertEqual(0, self.call("export", "--format", "memory_viz", "-o", to, self.path("ranks/0.json")).returncode)

    def test_check_against_a_baseline_allows_a_tolerance(self):
        before, after = self.sample("a.json"), self.sample("b.json")
        with self.edited(after) as report:
            report["kinds"][0]["peak_bytes"] += 38 << 20  # 5 %
            report["sites"][0]["parts"][0]["peak_bytes"] += 38 << 20
        self.assertEqual(0, self.call("check", "--against", before, "--tolerance", "5%", after).returncode)
        self.assertEqual(0, self.call("check", "--against", after, before).returncode)
        result = self.call("check", "--against", before, "--tolerance", "4%", after)
        self.assertEqual(result.returncode, 1)
        self.assertIn("peak of GPU 0: 798 MiB requested, 38.0 MiB (5.0 %) above the baseline's 760 MiB; 790 MiB would pass\n", result.stdout)
        self.assertRegex(result.stdout, r"\n +GREW  WHERE\n  \+38.0 MiB  ")
        self.assert_refused(["check", "--tolerance", "2%", after], 2, "--against")

    def test_differences_between_ranks_are_pointed_out(self):
        for rank, peak in enumerate((100, 100, 100, 300)):
            with self.edited(self.sample(f"{rank}.json", pid=100 + rank, rank=rank)) as report:
                report["kinds"][0]["peak_bytes"] = peak << 20
                report["sites"][0]["parts"][0]["peak_bytes"] += peak << 20
        shown = self.call("report", self.folder).stdout
        self.assertRegex(shown, r"\n  peak +100 MiB +100 MiB +300 MiB  3 of 4  rank 3 \(103\)\n")
        self.assertIn("\nDifferences\n  rank 3 (103): peak 300 MiB, 200 MiB above the median of 100 MiB\n", shown)
        self.assertRegex(shown, r"\n    \+200 MiB  \S.*  \(\d+ MiB, the median \d+ MiB\)\n")
        self.assertIn("\n  PEAK and NOW leave host memory out: a process held up to ", shown)
        together = json.loads(self.call("report", "--json", self.folder).stdout)
        self.assertEqual([p["rank"] for p in together["processes"]], [3, 0, 1, 2])
        self.assertEqual(together["figures"][0]["max_pid"], 103)
        [above] = together["differences"]
        self.assertEqual((above["pid"], above["value"], above["median"]), (103, 300 << 20, 100 << 20))
        [site] = above["sites"]
        self.assertEqual(site["bytes"] - site["median_bytes"], 200 << 20)
        self.assertTrue(site["frames"])

    def test_ranks_on_gpus_of_their_own_are_compared_as_if_on_one(self):
        def on_gpu_1(value):
            if isinstance(value, list):
                return [on_gpu_1(one) for one in value]
            if not isinstance(value, dict):
                return value
            return {key: 1 if key in ("device", "index") and one == 0 else on_gpu_1(one) for key, one in value.items()}

        for rank, more in enumerate((0, 0, 200)):
            with open(self.sample(f"{rank}.json", pid=100 + rank, rank=rank), encoding="utf-8") as file:
                report = json.load(file)
            report["kinds"][0]["peak_bytes"] += more << 20
            report["sites"][0]["parts"][0]["peak_bytes"] += more << 20
            with open(self.path(f"{rank}.json"), "w", encoding="utf-8") as file:
                json.dump(on_gpu_1(report) if rank == 2 else report, file)
        [above] = json.loads(self.call("report", "--json", self.folder).stdout)["differences"]
        self.assertEqual([(1, 200 << 20)], [(site["device"], site["bytes"] - site["median_bytes"]) for site in above["sites"]])

    def test_of_a_kind_of_host_memory_processes_have_their_figures(self):
        folder = self.ranks("ranks", 1, 1)
        with self.edited(self.path("ranks/1.json")) as report:
            [pinned] = [kind for kind in report["kinds"] if kind["kind"] == "pinned"]
            before = pinned["peak_bytes"]
            pinned["peak_bytes"] = 3 * before
        rows = json.loads(self.call("report", "--json", "--kind", "pinned", folder).stdout)["processes"]
        self.assertEqual([(1, 3 * before), (0, before)], [(row["rank"], row["peak_bytes"]) for row in rows])
        self.assertIn("PEAK and NOW are of host memory", self.call("report", "--kind", "pinned", folder).stdout)

    def test_check_does_not_pass_what_it_could_not_read(self):
        folder = self.ranks("ranks", 1, 1)
        limits = ["check", "--max-peak", "100GiB"]
        self.assertEqual(0, self.call(*limits, folder).returncode)
        with open(self.path("ranks/1.json"), encoding="utf-8") as file:
            start = file.read(3000)
        with open(self.path("ranks/1.json"), "w", encoding="utf-8") as file:
            file.write(start)
        shown = self.call(*limits, folder)
        self.assertEqual(2, shown.returncode)
        self.assertTrue(shown.stdout.startswith("not all judged, 1 report could not be read; the rest passed: "), shown.stdout)
        self.assertFalse(json.loads(self.call(*limits, "--json", folder).stdout)["passed"])

    def test_check_does_not_pass_a_call_stack_that_is_not_there(self):
        sample = self.sample()
        self.assert_refused(["check", "--max-leak", "0", "--site", "no_such_function", sample], 2,
                            "no call stack passes --site no_such_function")  # fmt: skip

    def test_each_outlying_rank_has_a_line_before_any_has_two(self):
        """Seen of eight ranks: three lines were of one rank, and the second of those that differed had none."""
        for rank, peak in enumerate((100, 100, 100, 100, 180, 300)):
            with self.edited(self.sample(f"{rank}.json", pid=100 + rank, rank=rank)) as report:
                report["kinds"][0]["peak_bytes"] = report["kinds"][0]["current_bytes"] = peak << 20
        shown = self.call("report", self.folder).stdout
        differences = shown[shown.index("\nDifferences\n"):].split("\n\n")[0]
        self.assertEqual(["  rank 5 (105): peak 300 MiB, 200 MiB above the median of 100 MiB",
                          "  rank 4 (104): peak 180 MiB, 80.0 MiB above the median of 100 MiB"],
                         [line for line in differences.splitlines() if line.startswith("  rank")])

    def test_of_one_process_the_last_report_counts(self):
        files = [self.sample("a.json"), self.sample("b.json")]
        with self.edited(files[1]) as report:
            report["sequence"] = 2
        shown = self.call("report", self.folder).stdout
        self.assertIn("1 process of train; 1 earlier report of them left aside; report in ", shown)
        self.assertIn("b.json\n", shown)

    def test_a_folder_a_pattern_and_a_list_are_one_input_to_every_verb(self):
        files = [self.sample("a.json"), self.sample("b.json~1", pid=4712, rank=3)]
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        for verb in ("stats", "sites", "peak", "oom", "owners", "timeline"):
            each = [] if verb == "timeline" else ["--each"]
            shown = self.call(verb, *each, *files).stdout
            said = "Memory never ran out in 2 reports.\n" if verb == "oom" else f"train, rank 3 (4712): {files[1]}\n"
            self.assertIn(said, shown)
            for word in (self.folder, self.path("[ab].json*")):
                of_word = self.call(verb, *each, word).stdout  # what leads on names the word
                self.assertEqual(shown.replace(f"report {files[0]}\n", f"report {shlex.quote(word)}\n"), of_word)
            both = json.loads(self.call(verb, *each, "--json", self.folder).stdout)
            self.assertEqual([(r["pid"], r["rank"], r["file"]) for r in both],
                             [(4711, None, files[0]), (4712, 3, files[1])])
            self.assertEqual(both[0]["listing"], json.loads(self.call(verb, "--json", files[0]).stdout))

    def test_several_reports_are_what_they_are_merged(self):
        os.mkdir(self.path("ranks"))
        for rank in range(3):
            self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        self.call("merge", "-o", "all.json", "ranks")
        for verb in ("stats", "sites", "peak", "oom", "owners", "leaks"):
            for words in ([], ["--json"], ["--csv"], ["--device", "0"]):
                one, many = (self.call(verb, *words, file).stdout for file in ("all.json", "ranks"))
                self.assertTrue(many or verb == "oom", (verb, words))  # it has no rows
                self.assertEqual(one.replace("all.json", "ranks"), many, (verb, words))
        self.assertIn("\nNext: vramscope peak --tree FILE...\n", self.call("peak", "ranks/r0.json", "ranks/r1.json").stdout)

    def test_reports_that_cannot_be_read_do_not_hide_the_others(self):
        broken = self.sample("b.json")
        with open(broken, encoding="utf-8") as file:
            whole = file.read()
        with open(broken, "w", encoding="utf-8") as file:
            file.write(whole[:-100])
        result = self.call("peak", self.sample("a.json"), broken)
        self.assertEqual(result.returncode, 2)
        self.assertIn("b.json: ends early at byte", result.stderr)
        self.assertIn("GPU 0: peak ", result.stdout)
        self.assertEqual(2, self.call("peak", "--each", self.sample("a.json"), broken).returncode)
        self.assertEqual("", self.call("peak", broken, broken).stdout)
        self.assert_refused(["peak", self.path("*.none")], 2, "no file matches")
        os.mkdir(self.path("empty"))
        self.assert_refused(["peak", self.path("empty")], 2, "no report is in")

    def test_every_listing_takes_the_same_filters(self):
        file = self.sample()
        for verb in ("sites", "peak", "leaks", "owners", "oom", "report"):
            whole = self.call(verb, "--json", file).stdout
            pinned = self.call(verb, "--json", "--kind", "managed", file)
            self.assertEqual((pinned.returncode, pinned.stderr), (0, ""), verb)
            if verb != "oom":  # the sample has none
                self.assertNotEqual(whole, pinned.stdout, verb)
            if verb != "oom":  # each has its time
                named = "trace" if verb == "report" else verb
                self.assert_refused([verb, "--from", "1s", file], 2, f"run --trace FILE makes: vramscope {named} --from 1s FILE")
        self.assert_refused(["sites", "--thread", "x", file], 2, "owners --by thread")
        self.assert_refused(["sites", "--site", "a(", file], 2, "'a(' is no regular expression")
        self.assert_refused(["sites", "--kind", "vram", file], 2, "'vram' is none of device, pinned")
        self.assert_refused(["sites", "--min-bytes", "lots", file], 2, "64KiB")

    def test_what_a_filter_names_and_no_report_has_is_said(self):
        file = self.sample()
        for verb in ("report", "sites", "peak", "leaks", "owners", "oom", "map", "timeline", "stats"):
            self.assert_refused([verb, "--device", "7", file], 2, "r.json' has no device 7; devices: 0, 1")
        self.assert_refused(["check", "--device", "7", "--max-peak", "1", file], 2, "has no device 7")
        self.assert_refused(["export", "--format", "folded", "--device", "7", file], 2, "has no device 7")
        for tool, opens in (("ms_print", "massif"), ("dh_view", "dhat"), ("heaptrack_gui", "heaptrack")):
            self.assert_refused(["export", "--format", tool, file], 2, f"'{tool}' is no format; {tool} opens {opens}; formats are")
        self.assert_refused(["export", "--format", "masif", file], 2, "'masif' is no format; nearest is massif; formats are")
        self.assert_refused(["diff", "--device", "7", file, file], 2, "has no device 7")
        self.assert_refused(["leaks", "--owner", "prgram", file], 2, "no owner 'prgram'; owners: program")
        self.assert_refused(["owners", "--by", "thread", "--thread", "x", file], 2, "has no thread 'x'")
        other = self.sample("s.json")
        self.assertEqual(self.call("peak", "--owner", "program", file, other).returncode, 0)

    def test_each_verb_says_which_filters_it_can_answer(self):
        file = self.sample()
        self.assert_refused(["timeline", "--site", "x", file], 2, "vramscope timeline --site x FILE")
        self.assert_refused(["map", "--thread", "x", file], 2, "vramscope map --thread x FILE")
        self.assert_refused(["stats", "--kind", "pinned", file], 2, "stats takes --device, and peak, leaks and sites take --kind")
        self.assert_refused(["stats", "--range", "x", file], 2, "of a trace peak, leaks, sites and owners take --range")
        self.assert_refused(["oom", "--stream", "3", file], 2, "is not known")
        self.assert_refused(["report", "--site", "x", file, self.sample("s.json")], 2, "--each")
        shown = self.call("sites", "--kind", "gpu", "--site", "nowhere", file)
        self.assertEqual(shown.stdout, "Only --kind gpu --site nowhere\nNothing that passes was allocated.\n")
        for verb in ("report", "peak", "leaks", "map"):
            self.assertNotIn("Next:", self.call(verb, "--site", "nowhere", file).stdout, verb)

    def test_times_of_a_trace_choose_what_was_allocated_then_and_say_so(self):
        log = self.path("rmm.csv")
        with open(log, "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n")
            for ms, action, pointer, size in ((0, "allocate", 16, 3000), (30, "allocate", 32, 100), (50, "free", 32, 100)):
                file.write(f"1,10:00:00:{ms:03}000,{action},0x{pointer:x},{size},0\n")
        times = ["--from", "30ms", "--to", "40ms"]
        head = ("Only --from 30ms --to 40ms: what was allocated then; all that was held then: "
                f"vramscope timeline --from 30ms --to 40ms {log}\n")  # fmt: skip
        for verb in ("peak", "sites", "leaks", "owners", "owners --by size"):
            shown = self.call(*verb.split(), *times, log).stdout
            self.assertTrue(shown.startswith(head), shown)
            self.assertNotIn("LIVE THEN", shown)
            self.assertEqual(verb == "peak", "ALLOCATED IN THAT TIME, LIVE AT ITS PEAK" in shown)
            shown = self.call(*verb.split(), "--kind", "device", log).stdout
            self.assertTrue(shown.startswith("Only --kind device\n"), shown)
            self.assertEqual(verb == "peak", "LIVE THEN" in shown)
        self.assertIn("peak 100 B", self.call("peak", *times, log).stdout)
        held = self.call(*shlex.split(head.rpartition(": vramscope ")[2])).stdout
        self.assertIn("3.03 KiB", held)  # of 3,100 bytes
        self.assertTrue(held.startswith("Only --from 30ms --to 40ms\n"), held)
        self.assertRegex(self.call("peak", *times, self.path("*.csv")).stdout, r"timeline --from 30ms --to 40ms FILE\n")

    def test_help_lists_the_filters_that_can_be_answered_and_says_of_what(self):
        file = self.sample()
        values = {"--device": "0", "--kind": "device", "--owner": "program", "--site": ".", "--min-bytes": "1",
                  "--thread": "x", "--stream": "x", "--range": "x", "--from": "1ns", "--to": "1s"}  # fmt: skip
        more = {"check": ["--max-peak", "100GiB"], "diff": [file], "export": ["--format", "folded"], "html": ["-o", "-"]}
        for verb in ("report", "sites", "peak", "leaks", "owners", "oom", "map", "timeline", "stats", "check", "diff", "export"):
            help_text = re.sub(r"\n {20,}", " ", self.call(verb, "--help").stdout)
            for option, value in values.items():
                lines = [line for line in help_text.splitlines() if line.strip().startswith(option + " ")]
                takes_traces = verb in ("sites", "peak", "leaks", "owners", "timeline", "export")
                if option == "--min-bytes" and verb != "stats":
                    self.assertEqual(takes_traces, "rows of so many bytes or more; traces: only blocks" in lines[0], lines)
                result = self.call(verb, option, value, *more.get(verb, []), file)
                answered = result.returncode == 0 or " has no " in result.stderr
                listed = len(lines) == 1 and "of a trace" not in lines[0]
                self.assertEqual(listed, answered, (verb, option, lines, result.stderr))
                if not answered and lines:
                    self.assertIn(f"vramscope {verb} ", result.stderr, "the same of a trace")

    def test_devices_on_which_nothing_passes_are_not_listed(self):
        file = self.sample()

        def devices(*words):
            return [device["index"] for device in json.loads(self.call("report", "--json", *words, file).stdout)["devices"]]

        self.assertIn(0, devices())
        self.assertEqual([0], devices("--device", "0"))
        self.assertEqual([], devices("--kind", "pinned"))
        self.assertEqual([], devices("--site", "nowhere"))

    def test_limits_can_be_those_of_a_part(self):
        file = self.sample()
        for words, status in ((["--kind", "pinned", "--max-peak", "64MiB"], 0),
                              (["--kind", "pinned", "--max-peak", "63MiB"], 1),
                              (["--device", "0", "--max-peak", "1MiB"], 1),
                              (["--kind", "managed", "--max-peak", "0"], 0),
                              (["--owner", "libnet.so", "--max-leak", "0"], 1),
                              (["--owner", "program", "--max-leak", "0"], 0)):
            result = self.call("check", *words, file)
            self.assertEqual((result.returncode, result.stderr), (status, ""), (words, result.stdout))

    def test_json_has_all_rows_unless_told(self):
        file = self.sample()
        with open(file, encoding="utf-8") as report:
            changed = json.load(report)
        changed["sites"] = [dict(changed["sites"][0], id=i) for i in range(50)]
        with open(file, "w", encoding="utf-8") as report:
            json.dump(changed, report)
        for verb, rows in (("sites", lambda found: found), ("leaks", lambda found: found["leaks"]),
                           ("peak", lambda found: found[0]["live"])):
            found = {count: len(rows(json.loads(self.call(verb, "--json", *words, file).stdout)))
                     for count, words in (("all", []), ("3", ["-n", "3"]))}
            self.assertEqual(found["3"], min(3, found["all"]), verb)
            self.assertIn(found["all"], (0, 50), verb)  # of a site with nothing live none leaks

    def test_leaks_are_a_threshold_when_asked(self):
        file = self.sample()
        self.assertIn("Never freed: 4.00 MiB in 2 allocations", self.call("leaks", file).stdout)
        for words, status in (([], 0), (["--error-exitcode"], 1), (["--error-exitcode=7"], 7)):
            self.assertEqual(self.call("leaks", *words, file).returncode, status, words)
        self.assert_refused(["leaks", "--error-exitcode=256", file], 2, "from 1 to 255")

    def test_reports_in_which_nothing_was_left_are_one_line(self):
        leaking = self.sample()
        for pid in (1, 2, 3):
            with self.edited(self.sample(f"{pid}.json", pid=pid)) as report:
                report["sites"], report["kinds"] = [], []
        shown = self.call("leaks", "--each", self.folder).stdout
        self.assertEqual(1, shown.count("Never freed"), shown)
        self.assertTrue(shown.startswith("Nothing was left in 3 reports.\n\n"), shown)
        os.unlink(leaking)
        self.assertEqual(f"Nothing was left in 3 reports.\n\nNext: vramscope report {self.folder}\n",
                         self.call("leaks", "--each", self.folder).stdout)  # fmt: skip
        self.assertIn("Never freed: nothing.", self.call("leaks", self.path("1.json")).stdout)
        self.assertEqual(3, len(json.loads(self.call("leaks", "--each", "--json", self.folder).stdout)))

    def test_reports_in_which_memory_never_ran_out_are_one_line(self):
        os.mkdir(self.path("ranks"))
        for rank in range(4):
            file = self.sample(f"ranks/r{rank}.json", rank=rank, pid=4711 + rank)
        self.assertEqual("Memory never ran out in 4 reports.\n\nNext: vramscope report ranks\n", self.call("oom", "--each", "ranks").stdout)
        with self.edited(file) as report:
            report["oom"] = {"count": 1, "events": [{"number": 1, "kind": "device", "device": 0, "bytes": 5 << 20, "site": 1}]}
        shown = self.call("oom", "--each", "ranks").stdout
        self.assertEqual(1, shown.count("ever ran out"), shown)
        self.assertEqual("4 reports of 4 processes", shown.splitlines()[0])
        self.assertIn("\nMemory never ran out in 3 reports.\n\ntrain, rank 3 (4714): ", shown)
        self.assertIn("GPU 0: 5.00 MiB refused, the 1st of 1\n", shown)
        self.assertEqual(4, len(json.loads(self.call("oom", "--each", "--json", "ranks").stdout)))
        for rank in (1, 2, 3):
            os.unlink(self.path(f"ranks/r{rank}.json"))
        self.assertTrue(self.call("oom", "ranks").stdout.startswith("Memory never ran out.\n"))

    def test_leaks_of_sites_that_are_left_out_are_not_of_nobody(self):
        shown = self.call("leaks", "--site", "no such place", self.sample()).stdout
        self.assertIn("Never freed: nothing", shown)
        self.assertNotIn("nobody knows", shown)

    def test_suppressed_leaks_are_no_leaks(self):
        file = self.sample()
        with open(self.path("a.supp"), "w", encoding="utf-8") as rules:
            rules.write("# known\nleak:libnet.so\n")
        with open(self.path("b.supp"), "w", encoding="utf-8") as rules:
            rules.write("leak:nothing\nthread:x\n")
        result = self.call("leaks", "--suppress", "a.supp", "--error-exitcode", file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libnet.so  (a.supp:2)", result.stdout)
        result = self.call("check", "--max-leak", "0", "--suppress", "a.supp", file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("never freed, but suppressed: 4.00 MiB requested\npassed: "), result.stdout)
        with open(self.path("c.supp"), "w", encoding="utf-8") as rules:
            rules.write("leak:nothing\n")
        result = self.call("check", "--max-leak", "0", "--suppress", "c.supp", file)
        self.assertTrue(result.stdout.endswith(f"\nNext: vramscope leaks --suppress c.supp {file}\n"), result.stdout)
        self.assert_refused(["leaks", "--suppress", "a.supp", "--suppress", "b.supp", file], 2,
                            "b.supp:2: expected leak:PATTERN, found 'thread:x'")
        self.assert_refused(["leaks", "--suppress", "no.supp", file], 2, "no.supp: No such file")

    def test_rows_are_sorted_by_what_a_column_is_called_in_the_text(self):
        file = self.sample()
        self.sample("s.json", pid=7)
        for verb, title, name in (("sites", "now", "live_bytes"), ("sites", "-NOW", "-live_bytes"), ("sites", "at-peak", "peak_bytes"),
                                  ("owners", "now", "current_bytes"), ("peak", "REQUESTED", "bytes"), ("leaks", "bytes", "bytes"),
                                  ("sites", "+temp", "+temporary_count"), ("sites", "count", "total_count")):  # fmt: skip
            shown = [self.call(verb, "--csv", f"--sort={column}", file) for column in (title, name)]
            self.assertEqual((0, ""), (shown[0].returncode, shown[0].stderr), title)
            self.assertEqual(shown[1].stdout, shown[0].stdout, title)
        self.assertEqual(0, self.call("report", "--sort", "now", file, "s.json").returncode)
        self.assert_refused(["sites", "--sort", "nowhere", file], 2, "no column is called 'nowhere'; there are site, ")

    def test_stats_of_a_device_are_one_dictionary(self):
        shown = self.call("stats", "--device", "0", "--json", self.sample())
        self.assertEqual(json.loads(shown.stdout)["allocation.all.allocated"], 1000)
        self.assert_refused(["stats", "--device", "7", self.sample("s.json")], 2, "no device 7")

    def test_a_map_of_another_instant_is_refused_with_what_would_have_made_it(self):
        file = self.sample()
        self.assertIn("No segment was held at the end", self.call("map", file).stdout)
        self.assertEqual([], json.loads(self.call("map", "--json", file).stdout)["places"])
        self.assert_refused(["map", "--at", "peak", file], 2, "run with --trace FILE, or with --report-at-peak 10%")
        self.assert_refused(["map", "--at", "oom", file], 2, "memory never ran out")
        self.assert_refused(["map", "--at", "1.5s", file], 2, "run with --trace FILE")

    def test_a_map_of_the_peak_is_of_the_report_that_was_made_at_it(self):
        file = self.sample()
        self.sample("s.json", pid=7)
        for number in (2, 3):
            with open(self.sample(f"r.{number}.json"), encoding="utf-8") as made:
                report = json.load(made)
            report.update(trigger="peak", sequence=number)
            with open(self.path(f"r.{number}.json"), "w", encoding="utf-8") as written:
                json.dump(report, written, separators=(",", ":"))
        shown = self.call("map", "--at", "peak", file)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        drawn = json.loads(self.call("map", "--at", "peak", "--json", file).stdout)
        self.assertEqual("at report 3 (peak)", drawn["moment"])
        several = self.call("map", "--at", "peak", self.path("r.2.json"), self.path("r.3.json")).stdout
        self.assertEqual(1, several.count("No segment was held"), several)
        self.assert_refused(["map", "--at", "peak", self.path("s.json")], 2, "or with --report-at-peak 10%")
        self.assertEqual(0, self.call("map", "--at", "peak", self.path("r.3.json")).returncode)
        self.assert_refused(["map", "--at", "noon", file], 2, "'noon' is none of end, peak, oom")
        self.assert_refused(["map", "--kind", "disk", file], 2, "'disk' is none of device, ")

    def test_a_map_of_the_peak_says_so_where_memory_ran_out_at_it(self):
        file = self.sample()
        with self.edited(file) as report:
            report["trigger"] = "oom"
            for kind in report["kinds"]:
                kind["current_bytes"] = kind["peak_bytes"]
        for at, moment in (("peak", "at the peak, when memory ran out"), ("end", "when memory ran out")):
            self.assertEqual(moment, json.loads(self.call("map", "--at", at, "--json", file).stdout)["moment"])

    def test_a_map_of_a_report_made_at_a_peak_says_what_that_missed(self):
        file = self.sample()
        with self.edited(file) as report:
            report["trigger"] = "peak"
            report["timeline"]["duration_ns"] = 5_000_000_000
            highest = max((kind for kind in report["kinds"] if kind["kind"] == "device"), key=lambda kind: kind["peak_bytes"])
            highest.update(peak_bytes=96 << 20, current_bytes=60 << 20, peak_ns=4_974_000_000)
            address = 0x7f0000000000
            block = {"address": address, "size": 60 << 20, "requested_size": 60 << 20, "state": "active_allocated", "site": 0, "born_ns": 1}
            report["devices"][0]["segments"] = [
                {"kind": "device", "device": 0, "context": 1, "address": address, "total_size": 60 << 20, "allocated_size": 60 << 20,
                 "active_size": 60 << 20, "requested_size": 60 << 20, "is_small": False, "is_direct": False, "is_dedicated": False,
                 "is_exported": False, "is_expandable": False, "blocks": [block]}]  # fmt: skip
        said = "  written 26.0 ms after the peak, with 60.0 MiB of its 96.0 MiB of GPU 0 live (requested)\n"
        for at in ("end", "peak"):
            self.assertIn(said, self.call("map", "--at", at, file).stdout)
        highest.update(current_bytes=96 << 20)  # written at it
        with open(file, "w", encoding="utf-8") as text:
            json.dump(report, text)
        self.assertNotIn("after the peak", self.call("map", file).stdout)

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

    def test_the_readme_has_the_table_of_options_that_the_tool_prints(self):
        with open(README, encoding="utf-8") as file:
            tables = re.findall(r"^(?:\|.*\n)+", file.read(), re.M)
        printed = self.call("options", "--markdown").stdout
        begun = printed.splitlines()[0]
        self.assertEqual([printed], [table for table in tables if table.startswith(begun)])

    def test_a_listing_goes_to_a_file(self):
        result = self.call("stats", "-o", "out.txt", self.sample())
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertIn("num_ooms", file.read())
        self.assert_refused(["functions", "-o", "no/such/file"], 2, "No such file or directory")

    def test_a_full_disk_is_told(self):
        self.assert_refused(["functions", "-o", "/dev/full"], 2, "No space left on device")

    def test_bad_files_are_refused(self):
        with open(self.path("cut.json"), "wb") as file:
            with open(self.sample(), "rb") as whole:
                file.write(whole.read()[:500])
        with open(self.path("t.trace"), "wb") as file:
            file.write(b"VRAMSCOPE TRACE\n")
        for verb in ("report", "stats", "sites", "peak", "owners", "oom", "timeline"):
            self.assert_refused([verb, "missing.json"], 2, "missing.json: No such file")
            self.assert_refused([verb, "cut.json"], 2, "cut.json: ends early at byte 500: cut off")
            shows_traces = verb in ("sites", "peak", "owners", "timeline")
            instead = "map --at oom" if verb == "oom" else "trace"
            self.assert_refused([verb, "t.trace"], 2, "ends early at byte 16: cut off" if shows_traces else
                                f"expected a report, found a trace; of a trace: vramscope {instead} t.trace\n")  # fmt: skip
            self.assertEqual(shows_traces, "Reports, traces, folders" in self.call(verb, "--help").stdout, verb)
        for files in (["t.trace", self.sample()], [self.sample(), "t.trace"]):
            self.assert_refused(["diff", *files], 2, "'t.trace' is a trace: diff compares the reports of two runs")
        for words in (["--max-peak", "1", self.sample(), "t.trace"], ["--against", "t.trace", self.sample()]):
            self.assert_refused(["check", *words], 2, "'t.trace' is a trace: check judges reports, which run writes beside traces; "
                                "of a trace: vramscope leaks --error-exitcode t.trace\n")  # fmt: skip
        self.assert_refused(["merge", self.sample(), "t.trace"], 2, "'t.trace' is a trace: reports are added up, which run "
                            "writes beside traces; of it alone: vramscope trace t.trace\n")  # fmt: skip
        self.assert_refused(["trace", self.sample()], 2, "found a report, which vramscope report shows")
        self.assert_refused(["trace", "t.trace"], 2, "ends early at byte 16: cut off")

    def test_pages_are_plain_unless_a_terminal_asks_for_more(self):
        file = self.sample(hostname="z\u00fcrich\u001b[2J")
        plain = self.call("report", file).stdout
        self.assertTrue(plain.isascii())
        self.assertNotIn("\033", plain)
        rich = self.call("report", file, LC_ALL="C.UTF-8").stdout
        self.assertIn("z\u00fcrich?[2J", rich)
        self.assertIn("\u2588", rich)


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
                         "vramscope: GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB reserved); contexts take what an H200's do\n"
                         "vramscope: report in r.json\n"
                         "vramscope: next: vramscope report r.json\n")
        self.assertEqual(self.run_shell("", "-q", STAND_IN_REPORT=self.sample("s.json")).stderr, "")

    def test_a_report_that_went_away_is_none(self):
        gone = {"STAND_IN_REPORT": self.path("gone.json")}
        result = self.run_shell("", LD_LIBRARY_PATH="", **gone)
        self.assertEqual(result.stderr, "vramscope: no report: there is no libcuda.so.1 here; try --sim; vramscope doctor sh says more\n")
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
