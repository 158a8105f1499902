# Files that verbs read and write: which are taken, which are refused, which are left alone.
# SPDX-License-Identifier: Apache-2.0
"""files_test.py BUILD"""
import json
import os
import pathlib
import shlex
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
from tool_case import ToolTest  # noqa: E402


class Read(ToolTest):
    def test_an_empty_name_is_one_line(self):
        for verb in ("report", "peak", "merge", "export"):
            words = ("--format", "folded") if verb == "export" else ()
            self.assert_refused([verb, *words, ""], 2, "FILE is empty: expected the name of a file or folder")

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

    def test_a_file_that_is_cut_off_is_never_left_aside(self):
        os.mkdir(self.path("ranks"))
        whole = self.sample("ranks/0.json", rank=0)
        shutil.copy(whole, self.path("ranks/1.json"))
        os.truncate(self.path("ranks/1.json"), os.path.getsize(whole) // 2)
        for words in (["report"], ["peak"], ["leaks"], ["check", "--max-peak", "1GiB"], ["merge", "-o", "all.json"], ["diff", whole]):
            result = self.call(*words, "ranks")
            self.assertEqual(2, result.returncode, words)
            self.assertIn("ranks/1.json: ends early at byte ", result.stderr)
            self.assertNotIn(" skipped", result.stderr)

    def test_a_folder_a_pattern_and_a_list_are_one_input_to_every_verb(self):
        files = [self.sample("a.json"), self.sample("b.json~1", pid=4712, rank=3)]
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        for verb in ("stats", "sites", "peak", "oom", "owners", "timeline"):
            shown = self.call(verb, "--each", *files).stdout
            said = "Memory never ran out in 2 reports.\n" if verb == "oom" else f"train, rank 3 (4712): {files[1]}\n"
            self.assertIn(said, shown)
            for word in (self.folder, self.path("[ab].json*")):
                of_word = self.call(verb, "--each", word).stdout  # what leads on names the word
                self.assertEqual(shown.replace(f"report {files[0]}\n", f"report {shlex.quote(word)}\n"), of_word)
            both = json.loads(self.call(verb, "--each", "--json", self.folder).stdout)
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

    def test_folders_below_that_have_reports_are_named(self):
        """The reports of jobs, each in a folder of its own (`--output-folder 'reports/%j'`)."""
        for job in range(5):
            os.makedirs(self.path(f"reports/{job}"))
            self.sample(f"reports/{job}/r.json", pid=4711 + job)
        os.makedirs(self.path("reports/none"))
        said = "5 reports are in folders below: reports/0/, reports/1/, reports/2/ and 2 more\n"
        result = self.call("report", "reports")
        self.assertEqual((2, f"vramscope: no report is in 'reports'\nvramscope: {said}"), (result.returncode, result.stderr))
        self.sample("reports/r.json", pid=1)
        result = self.call("peak", "reports")
        self.assertEqual((0, f"vramscope: {said}"), (result.returncode, result.stderr))
        result = self.call("report", "reports/3")
        self.assertEqual((0, ""), (result.returncode, result.stderr))

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
                                f"expected a report, found a trace; for a trace, use: vramscope {instead} t.trace\n")  # fmt: skip
            self.assertEqual(shows_traces, "Reports, traces, folders" in self.call(verb, "--help").stdout, verb)
        for files in (["t.trace", self.sample()], [self.sample(), "t.trace"]):
            self.assert_refused(["diff", *files], 2, "'t.trace' is a trace: diff compares the reports of two runs")
        for words in (["--max-peak", "1", self.sample(), "t.trace"], ["--against", "t.trace", self.sample()]):
            self.assert_refused(["check", *words], 2, "'t.trace' is a trace: check judges reports, which run writes beside traces; "
                                "for a trace, use: vramscope leaks --error-exitcode t.trace\n")  # fmt: skip
        self.assert_refused(["merge", self.sample(), "t.trace"], 2, "'t.trace' is a trace: only reports can be added up; for it alone: vramscope trace t.trace\n")  # fmt: skip
        self.assert_refused(["trace", self.sample()], 2, "found a report, which vramscope report shows")
        self.assert_refused(["trace", "t.trace"], 2, "ends early at byte 16: cut off")


class Written(ToolTest):
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

    def test_a_listing_goes_to_a_file(self):
        result = self.call("stats", "-o", "out.txt", self.sample())
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertIn("num_ooms", file.read())
        self.assert_refused(["functions", "-o", "no/such/file"], 2, "No such file or directory")

    def test_a_full_disk_is_told(self):
        self.assert_refused(["functions", "-o", "/dev/full"], 2, "No space left on device")


if __name__ == "__main__":
    harness.main()
