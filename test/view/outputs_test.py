# What -o leaves: who may read it, what is there when something fails, and what is never replaced.
# SPDX-License-Identifier: Apache-2.0
"""outputs_test.py BUILD"""
import json
import os
import pathlib
import resource
import shutil
import stat
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
SECRET = "--token=hunter2"
NOBODY = 65534
# Verbs that make a file of a report, each with -o.
LISTINGS = (["report"], ["peak"], ["sites"], ["owners"], ["leaks"], ["stats"], ["timeline"], ["map"], ["oom"],
            ["check", "--max-leak", "0"], ["peak", "--csv"], ["report", "--json"], ["sites", "--csv"],
            ["export", "--format", "speedscope"], ["export", "--format", "openmetrics"], ["html"])  # fmt: skip


class Outputs(harness.Case):
    def setUp(self):
        super().setUp()
        self.report = self.path("r.json")
        subprocess.run([WRITE_SAMPLE, self.report], check=True)
        with open(self.report, encoding="utf-8") as file:
            content = json.load(file)
        content["process"]["arguments"] = ["./train", SECRET]
        self.write("r.json", json.dumps(content))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        path = pathlib.Path(self.path(name))
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return str(path)

    def call(self, *words, status=0, how=None):
        done = subprocess.run([harness.TOOL, *words], capture_output=True, text=True, check=False, cwd=self.folder,
                              env=harness.environment(), timeout=harness.DEADLINE_S, **(how or {}))  # fmt: skip
        self.assertEqual(status, done.returncode, (words, done.stderr))
        return done

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def mask(self, value):
        return {"umask": value}

    def has_verb(self, words):
        return words[0] != "html" or "no page" not in self.run_tool("html", "-o", "-", self.report).stderr

    def test_a_file_is_its_owners_alone(self):
        """It holds the program's arguments, which can be secrets."""
        for number, words in enumerate(LISTINGS):
            if not self.has_verb(words):
                continue
            name = f"out{number}"
            self.call(*words, "-o", name, self.report, status=1 if words[0] == "check" else 0, how=self.mask(0o022))
            self.assertEqual(0o600, self.mode(name), words)

    def test_others_may_read_it_where_that_is_asked_for(self):
        for mask, mode in ((0o022, 0o644), (0o027, 0o640), (0o077, 0o600)):
            self.call("peak", "--share", "-f", "-o", f"out{mask}", self.report, how=self.mask(mask))
            self.assertEqual(mode, self.mode(f"out{mask}"))

    def test_a_file_that_is_replaced_keeps_its_mode_and_owner(self):
        for mode in (0o600, 0o640, 0o644):
            path = self.write("old", "old\n", mode)
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
            for more in ([], ["--share"]):
                self.call("peak", "-f", *more, "-o", "old", self.report, how=self.mask(0))
                found = os.stat(path)
                self.assertEqual(mode, stat.S_IMODE(found.st_mode))
                self.assertEqual(NOBODY if os.getuid() == 0 else os.getuid(), found.st_uid)
                self.assertIn("peak", pathlib.Path(path).read_text(encoding="utf-8"))

    def test_a_merged_report_that_is_replaced_keeps_its_mode(self):
        self.call("merge", "-o", "all.json", self.report)
        self.assertEqual(0o600, self.mode("all.json"))
        os.chmod(self.path("all.json"), 0o640)
        self.call("merge", "-o", "all.json", self.report)
        self.assertEqual(0o640, self.mode("all.json"))
        os.symlink("all.json", self.path("link.json"))
        self.call("merge", "-o", "link.json", self.report)
        self.assertTrue(os.path.islink(self.path("link.json")), "the link was replaced")
        self.assertEqual({"all.json", "link.json", "r.json"}, set(os.listdir(self.folder)))

    def test_what_was_there_stays_where_a_command_fails(self):
        """It was cut to nothing before the first byte was written."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for words in (["stats"], ["map", "--csv"], ["export", "--format", "chrome"]):
            self.write("old", "kept\n")
            done = self.call(*words, "-f", "-o", "old", self.report, status=2, how={"preexec_fn": limit})
            self.assertIn("cannot write 'old': File too large", done.stderr)
            self.assertEqual("kept\n", pathlib.Path(self.path("old")).read_text(encoding="utf-8"))
        self.call("peak", "-f", "-o", "old", self.path("none.json"), status=2)
        self.call("export", "--format", "massif", "--kind", "managed", "-f", "-o", "old", self.report, status=2)
        self.assertEqual("kept\n", pathlib.Path(self.path("old")).read_text(encoding="utf-8"))
        self.assertEqual({"old", "r.json"}, set(os.listdir(self.folder)), "something was left behind")

    def test_a_file_that_is_read_is_not_replaced(self):
        before = pathlib.Path(self.report).read_bytes()
        os.link(self.report, self.path("other.json"))
        os.symlink("r.json", self.path("link.json"))
        words = [["r.json"], ["."], ["*.json"], ["r.json", "r.json"]]
        for verb in (["peak"], ["sites", "--csv"], ["export", "--format", "folded"], ["stats"]):
            for output in ("r.json", "./r.json", "other.json", "link.json"):
                for files in words:
                    if verb[0] == "export" and files != ["r.json"]:
                        continue
                    done = self.call(*verb, "-f", "-o", output, *files, status=2)
                    self.assertEqual("", done.stdout)
                    self.assertEqual(1, done.stderr.count("\n"), done.stderr)
                    self.assertIn("is what is to be read", done.stderr)
        self.assertEqual(before, pathlib.Path(self.report).read_bytes())
        known = self.write("known.supp", "leak:nothing\n")
        self.call("leaks", "--suppress", known, "-f", "-o", known, self.report, status=2)

    def test_devices_and_pipes_are_written_to(self):
        text = self.call("peak", self.report).stdout
        self.call("peak", "-o", "/dev/null", self.report)
        self.assertEqual(text, self.call("peak", "-o", "/dev/stdout", self.report).stdout)
        self.assertEqual(text, self.call("peak", "-o", "/dev/fd/1", self.report).stdout)
        self.assertEqual("", self.call("peak", "-o", "/dev/stderr", self.report).stdout)
        with open(self.path("log"), "w", encoding="utf-8") as log:
            log.write("before\n")
            log.flush()
            subprocess.run([harness.TOOL, "peak", "-o", "/dev/stdout", self.report], stdout=log, check=True)
        self.assertEqual("before\n" + text, pathlib.Path(self.path("log")).read_text(encoding="utf-8"))
        os.mkfifo(self.path("fifo"))
        got = []
        reader = threading.Thread(target=lambda: got.append(pathlib.Path(self.path("fifo")).read_text(encoding="utf-8")))
        reader.start()
        self.call("peak", "-o", "fifo", self.report)
        reader.join()
        self.assertEqual([text], got)
        self.assertIn("No space left", self.call("peak", "-o", "/dev/full", self.report, status=2).stderr)

    def test_what_has_the_pages_usual_name_is_a_plain_file(self):
        if not self.has_verb(["html"]):
            self.skipTest("this build has no page")
        self.write("other", "")
        for kind, make in (("link", lambda path: os.symlink("other", path)), ("pipe", os.mkfifo), ("folder", os.mkdir)):
            path = self.path("r.html")
            make(path)
            said = self.call("html", self.report, status=2).stderr
            self.assertIn(f"r.html' is a {kind}; -o FILE chooses another name", said)
            os.rmdir(path) if kind == "folder" else os.unlink(path)
        self.assertEqual(0, os.path.getsize(self.path("other")))

    def test_a_file_with_other_names_stays_one(self):
        self.write("old", "a much longer text than before\n" * 10_000)
        os.link(self.path("old"), self.path("same"))
        self.call("peak", "-f", "-o", "old", self.report)
        self.assertTrue(os.path.samefile(self.path("old"), self.path("same")))
        self.assertEqual(self.call("peak", self.report).stdout, pathlib.Path(self.path("same")).read_text(encoding="utf-8"))

    def test_a_file_in_a_folder_that_takes_no_other_is_replaced(self):
        if os.getuid() == 0 and not shutil.which("setpriv"):
            self.skipTest("root may write everywhere, and setpriv is not here")
        folder = pathlib.Path(self.path("closed"))
        folder.mkdir()
        old = folder / "old"
        old.write_text("old\n", encoding="utf-8")
        words = ["peak", "-f", "-o", str(old), self.report]
        how = {}
        if os.getuid() == 0:
            for path in (self.folder, folder, old, self.report):
                os.chown(path, NOBODY, NOBODY)
            tool = shutil.copy(harness.TOOL, self.path("vramscope"))
            how = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        else:
            tool = harness.TOOL
        folder.chmod(0o555)
        self.addCleanup(folder.chmod, 0o755)
        done = subprocess.run([tool, *words], capture_output=True, text=True, check=False, cwd=self.folder, **how)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("peak", old.read_text(encoding="utf-8"))

    def test_a_file_that_is_mounted_by_itself_is_replaced(self):
        """As one that a container was given: nothing can be renamed to it."""
        self.write("given", "")
        self.write("inside", "old and much longer than what comes" * 1000)
        command = f"mount --bind given inside && echo mounted && '{harness.TOOL}' peak -f -o inside r.json"
        done = subprocess.run(["unshare", "-m", "/bin/sh", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False)
        if not done.stdout:
            self.skipTest("no file can be mounted here")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(self.call("peak", "r.json").stdout, pathlib.Path(self.path("given")).read_text(encoding="utf-8"))

    def test_redact_leaves_arguments_out_of_every_verb(self):
        for number, words in enumerate(LISTINGS):
            if not self.has_verb(words):
                continue
            status = 1 if words[0] == "check" else 0
            self.call(*words, "--redact", "-o", f"out{number}", self.report, status=status)
            self.assertNotIn(b"hunter2", pathlib.Path(self.path(f"out{number}")).read_bytes(), words)
        self.assertIn("hunter2", self.call("report", self.report).stdout)
        self.assertNotIn("hunter2", self.call("report", "--redact", self.report).stdout)

    def test_redact_leaves_arguments_out_of_merged_reports(self):
        self.call("merge", "--redact", "-o", "all.json", self.report)
        self.assertNotIn("hunter2", pathlib.Path(self.path("all.json")).read_text(encoding="utf-8"))
        self.call("merge", "-o", "whole.json", self.report)
        self.assertIn("hunter2", pathlib.Path(self.path("whole.json")).read_text(encoding="utf-8"))
        for words in (["report"], ["report", "--json"], ["diff", "whole.json"]):
            self.assertNotIn("hunter2", self.call(*words, "--redact", "whole.json").stdout, words)


if __name__ == "__main__":
    harness.main()
