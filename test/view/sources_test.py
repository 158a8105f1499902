# Whose lines of source are shown: a report may name any file of who reads it.
# SPDX-License-Identifier: Apache-2.0
"""sources_test.py BUILD"""
import json
import os
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
VERBS = (["report"], ["peak"], ["sites"], ["leaks", "--full"], ["peak", "--json"], ["sites", "--csv"], ["peak", "--full"])
LINE = "weights = read_the_weights()"
LEFT_OUT = "lines of source are left out: "
NOBODY = 65534


class Sources(harness.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        self.source = self.file("src/train.py")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, text="first\n    " + LINE + "\n", mode=0o600):
        path = pathlib.Path(self.path(name))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return str(path)

    def report_of(self, source, name="r.json", hostname=None):
        """Its innermost frames are at the second line of that file, which has this size and time."""
        path = self.path(name)
        subprocess.run([WRITE_SAMPLE, path], check=True)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        found = os.stat(source)
        report["process"]["hostname"] = socket.gethostname() if hostname is None else hostname
        report["sources"] = [{"path": source, "bytes": found.st_size, "modified_ns": found.st_mtime_ns}]
        report["codes"] = [{"name": "load", "source": 0, "first_line": 1}]
        report["frames"] = [{"module": None, "offset": 0, "code": 0, "line": 2}] * len(report["frames"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        os.chmod(path, 0o600)
        return path

    def shown(self, report, *more, said=""):
        """Whether the line is shown by those verbs, all or none of them; what is said on stderr."""
        found = set()
        for words in VERBS:
            done = self.run_tool(*words, *more, report)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual(1 if said else 0, done.stderr.count("\n"), done.stderr)
            found.add(LINE in done.stdout)
        self.assertEqual(1, len(found), "verbs differ")
        return found.pop()

    def test_lines_of_a_run_of_ones_own_are_shown(self):
        self.assertTrue(self.shown(self.report_of(self.source)))

    def test_files_that_are_no_python_are_not_shown(self):
        """A crafted report had a line of any file of its reader shown, as /etc/shadow for root."""
        for name in ("shadow", "id_rsa", "train.py.txt", "notes.md"):
            secret = self.file("src/" + name)
            self.assertFalse(self.shown(self.report_of(secret)), name)
            self.assertFalse(self.shown(self.report_of(secret), "--source-path", self.folder), name)

    def test_a_script_says_in_its_first_line_what_it_is(self):
        script = self.file("src/train", "#!/usr/bin/env python3\n" + LINE + "\n")
        self.assertTrue(self.shown(self.report_of(script)))

    def test_a_link_shows_what_it_leads_to(self):
        secret = self.file("secret/id_rsa")
        link = self.path("src/innocent.py")
        os.symlink(secret, link)
        self.assertFalse(self.shown(self.report_of(link)))
        self.assertFalse(self.shown(self.report_of(link), "--source-path", self.folder))
        os.unlink(link)
        os.symlink(self.source, link)
        self.assertTrue(self.shown(self.report_of(link)))

    def test_a_report_of_another_host_shows_none(self):
        for host in ("elsewhere", ""):
            report = self.report_of(self.source, hostname=host)
            self.assertFalse(self.shown(report, said=LEFT_OUT))
        self.assertIn("'r.json' was written on elsewhere; --source-path FOLDER shows",
                      self.run_tool("peak", os.path.basename(self.report_of(self.source, hostname="elsewhere"))).stderr)  # fmt: skip

    def test_nothing_is_said_of_lines_that_are_not_here(self):
        report = self.report_of(self.source, hostname="elsewhere")
        os.utime(self.source, (0, 0))
        self.assertFalse(self.shown(report))

    def test_a_report_that_others_may_write_shows_none(self):
        report = self.report_of(self.source)
        for mode in (0o620, 0o602, 0o666):
            os.chmod(report, mode)
            self.assertFalse(self.shown(report, said=LEFT_OUT))
        os.chmod(report, 0o644)
        self.assertTrue(self.shown(report))

    def test_a_report_of_another_user_shows_none(self):
        if os.getuid() != 0:
            self.skipTest("only root can give a file away")
        report = self.report_of(self.source)
        os.chown(report, NOBODY, NOBODY)
        self.assertFalse(self.shown(report, said=f"{LEFT_OUT}'{report}' is not this user's alone"))
        self.assertTrue(self.shown(report, "--source-path", self.path("src")))

    def test_a_file_of_another_user_has_to_be_readable_by_all(self):
        if os.getuid() != 0:
            self.skipTest("only root can give a file away")
        os.chown(self.source, NOBODY, NOBODY)
        self.assertFalse(self.shown(self.report_of(self.source)))
        os.chmod(self.source, 0o644)
        self.assertTrue(self.shown(self.report_of(self.source)))

    def test_files_below_a_named_folder_are_shown_of_any_report(self):
        report = self.report_of(self.source, hostname="elsewhere")
        self.assertTrue(self.shown(report, "--source-path", self.path("src")))
        self.assertTrue(self.shown(report, "--source-path", "/nowhere", "--source-path", self.folder + "/"))
        for folder in ("/nowhere", self.path("sr"), self.path("src/train.py")):
            self.assertFalse(self.shown(report, "--source-path", folder))
        outside = self.file("other.py")
        os.symlink(outside, self.path("src/within.py"))
        self.assertFalse(self.shown(self.report_of(self.path("src/within.py"), hostname="elsewhere"), "--source-path", self.path("src")))
        self.assertFalse(self.shown(self.report_of(self.path("src/../other.py"), hostname="elsewhere"), "--source-path", self.path("src")))

    def test_a_merged_report_vouches_for_no_file_of_a_strangers(self):
        own = self.report_of(self.source, "own.json")
        other = self.report_of(self.source, "other.json", hostname="elsewhere")
        for name, reports, is_shown in (("one.json", [own], True), ("two.json", [own, other], False)):
            self.assertEqual(0, self.run_tool("merge", "-o", name, *reports).returncode)
            done = self.run_tool("peak", name)
            self.assertEqual((is_shown, not is_shown), (LINE in done.stdout, LEFT_OUT in done.stderr))
        os.chmod(own, 0o666)
        self.assertEqual(0, self.run_tool("merge", "-o", "three.json", own).returncode)
        self.assertNotIn(LINE, self.run_tool("peak", "three.json").stdout)

    def test_pages_and_exports_hold_no_line(self):
        report = self.report_of(self.source)
        for words in (["html", "-o", "-"], ["export", "--format", "sqlite", "-o", self.path("r.db")],
                      ["export", "--format", "speedscope", "-o", "-"], ["export", "--format", "memory_viz_json", "-o", "-"]):  # fmt: skip
            done = self.run_tool(*words, report)
            self.assertNotIn(LINE, done.stdout, words)
        if os.path.exists(self.path("r.db")):
            self.assertNotIn(LINE.encode(), pathlib.Path(self.path("r.db")).read_bytes())


if __name__ == "__main__":
    harness.main()
