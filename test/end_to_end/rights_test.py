"""Programs with more rights than their user, and those that give up some: nothing but our own is touched."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import subprocess
import tempfile

import harness

NOBODY = 65534
PLACE = "/mnt/vramscope-test"  # where the victims look for libraries
NOTE = "vramscope-note 1 \n"
AS_NOBODY = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
# As the machine finds libraries and users, and with a list of libraries for every program.
PRELOADED = f"""mkdir /mnt/etc && cp /etc/ld.so.cache /etc/passwd /etc/group /mnt/etc
echo {PLACE}/libvramscope.so >/mnt/etc/ld.so.preload && mount --bind /mnt/etc /etc"""


class Rights(harness.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of more rights")
        for tool in ("setpriv", "unshare"):
            harness.installed(tool)
        if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
            self.skipTest("no file system can be mounted here")
        os.chmod(self.folder, 0o777)

    def in_place(self, script, **variables):
        """The outcome of a script in a world of its own, where PLACE has the victims and their libraries. The
        folder "open" is everybody's; what is left in it and in /dev/shm comes last on stdout."""
        names = ("rights", "rights_needed")
        files = [harness.LIBRARY, harness.SIMULATOR / "libcuda.so.1", *map(harness.program, names)]
        begin = f"""set -e; mount -t tmpfs -o mode=755 none /mnt; mount -t tmpfs -o mode=1777 none /dev/shm
mkdir {PLACE}; cp -L {" ".join(f"'{file}'" for file in files)} {PLACE}; chmod 755 {PLACE} {PLACE}/*
mkdir -m 777 /mnt/open; cd /mnt/open; printf '{NOTE}' >/mnt/note; chmod 600 /mnt/note; set +e"""
        end = "status=$?; echo; echo left: $(find /mnt/open /dev/shm -type f); cat /mnt/note; exit $status"
        command = ["unshare", "-m", "sh", "-c", "\n".join((begin, script, end))]
        variables = {"VRAMSCOPE_OUTPUT": "/mnt/open/r.json", "VRAMSCOPE_TRACE": "/mnt/open/t", "VRAMSCOPE_SIM":
                     "shared=/mnt/open/device", "VRAMSCOPE_LIVE_FILE": "/mnt/open/l", "VRAMSCOPE_MODE": "nonsense",
                     "VRAMSCOPE_NOTE_FILE": "/mnt/note", "VRAMSCOPE_SIGNAL": "SIGUSR1", **variables}  # fmt: skip
        return self.run_program(command, **{**variables, "LD_LIBRARY_PATH": ""})

    def check_off(self, outcome):
        """It ran as it runs without us, and nothing was written or said."""
        self.assertEqual((0, ""), (outcome.status, outcome.stderr), outcome.stdout)
        said = "secure 1, threads 1, default handler 1"
        self.assertEqual(f"before: {said}\ndlsym gives it\nafter: {said}\n\nleft:\n{NOTE}", outcome.stdout)

    def check_on(self, outcome):
        """The same without more rights is recorded, so that check_off() can fail."""
        self.assertIn("after: secure 0, threads 2, default handler 1", outcome.stdout)
        self.assertIn("/mnt/open/r.json", outcome.stdout.split("left:")[1])
        self.assertIn(f"{NOTE}trace /mnt/open/t\n", outcome.stdout)
        self.assertIn("nonsense", outcome.stderr)

    WAYS = {"needed": ("", "rights_needed"), "preloaded": (PRELOADED, "rights")}

    def test_a_set_user_id_program_obeys_no_variable(self):
        for way, (prepare, program) in self.WAYS.items():
            with self.subTest(way=way):
                for bit in ("u+s", "g+s"):
                    script = f"{prepare}\nchmod {bit} {PLACE}/{program}\n{AS_NOBODY} {PLACE}/{program}"
                    self.check_off(self.in_place(script))
                self.check_on(self.in_place(f"{prepare}\n{PLACE}/{program}"))

    def test_a_program_with_capabilities_of_its_file_obeys_no_variable(self):
        setcap = shutil.which("setcap", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if setcap is None:
            self.skipTest("setcap is not installed")
        for way, (prepare, program) in self.WAYS.items():
            with self.subTest(way=way):
                script = f"{setcap} cap_net_raw+ep {PLACE}/{program} || exit 78\n{prepare}\n{AS_NOBODY} {PLACE}/{program}"
                outcome = self.in_place(script)
                if outcome.status == 78:
                    self.skipTest(f"capabilities cannot be set here: {outcome.stderr.strip()}")
                self.check_off(outcome)


class GivenUp(harness.Case):
    """A program that gives up rights after cuInit may no longer remove or note what was made before."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root has rights to give up")
        os.chmod(self.folder, 0o777)
        harness.remove_live_files("rights")

    def run_recorded(self, *way):
        """What `run` says in the end, the reports, and the live files that are left."""
        done = self.run_tool("run", "--sim", harness.program("rights"), *way)
        if done.returncode == 77:
            self.skipTest("this machine does not let a program give up its rights so")
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stderr, harness.read_reports(self.folder), list(harness.LIVE_FILES.glob("rights.*"))

    def test_its_report_is_the_only_one_and_run_finds_it(self):
        for way in ("setuid", "setgid"):
            said, reports, left = self.run_recorded(way)
            self.assertEqual((["exit"], []), ([report["trigger"] for report in reports], left), way)
            (path,) = pathlib.Path(self.folder).glob("*.json")
            self.assertIn(f"vramscope: report in {path.name}\n", said)
            self.assertNotIn("recovered", said)
            path.unlink()

    def test_a_report_in_another_root_folder_is_named_as_it_is_there(self):
        jail = pathlib.Path(self.folder, "jail")
        inside = pathlib.Path(f"{jail}{self.folder}")
        inside.mkdir(parents=True)
        said, reports, left = self.run_recorded("chroot", jail)
        self.assertEqual(([], []), (reports, left))
        (report,) = harness.read_reports(inside)
        self.assertEqual("exit", report["trigger"])
        self.assertEqual(1, said.count("vramscope: the program wrote its report to '/"), said)
        self.assertNotIn("no report", said)

    def test_one_that_cannot_be_written_is_one_line_and_recovered_once(self):
        said, reports, left = self.run_recorded("closed", self.folder)
        self.assertEqual((["recovered"], []), ([report["trigger"] for report in reports], left))
        self.assertEqual(1, said.count("vramscope: cannot write '"), said)
        self.assertIn("ended without a report; report recovered in", said)

    def test_without_run_what_is_left_holds_nothing_and_recover_clears_it_away(self):
        self.run_program([harness.program("rights"), "setuid"], "cache", folder=self.folder)
        (left,) = harness.LIVE_FILES.glob("rights.*")
        done = self.run_tool("recover", left)
        self.assertIn("nothing to recover", done.stderr)
        self.assertFalse(left.exists())
        self.assertEqual(["exit"], [report["trigger"] for report in harness.read_reports(self.folder)])


class Note(harness.Case):
    """The file whose name a variable gives is written to only where it is a note of the same user's."""

    def noted(self, path):
        command = [harness.program("linked")]
        outcome = self.run_program(command, "cache", folder=self.folder, VRAMSCOPE_NOTE_FILE=str(path))
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        for report in pathlib.Path(self.folder).glob("*.json"):
            report.unlink()

    def file(self, name, text, mode=0o600):
        path = pathlib.Path(self.folder, name)
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_a_note_of_ours_is_written_to(self):
        note = self.file("note", NOTE)
        self.noted(note)
        self.assertRegex(note.read_text(), rf"^{NOTE}live /.*\nnext (/.*\.json)\n\1\n$")

    def test_a_note_beyond_the_limit_on_files_ends_no_program(self):
        limit = 1 << 46  # what the simulated device needs
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as note:  # where files may be so large
            note.write(NOTE.encode())
            note.truncate(2 * limit)
            command = [harness.installed("prlimit"), f"--fsize={limit}", harness.program("linked")]
            outcome = self.run_program(command, "cache", VRAMSCOPE_NOTE_FILE=note.name, VRAMSCOPE_TRACE="t")
            self.assertEqual((0, ""), (outcome.status, outcome.stderr))
            self.assertEqual((1, 2 * limit), (len(outcome.reports), os.stat(note.name).st_size))

    def test_what_is_no_note_of_ours_stays_as_it_is(self):
        files = {"empty": self.file("empty", ""), "text": self.file("text", "export PATH\n"),
                 "readable": self.file("readable", NOTE, 0o604), "group": self.file("group", NOTE, 0o620),
                 "late": self.file("late", "\n" + NOTE), "linked": self.file("linked", NOTE)}  # fmt: skip
        os.link(files["linked"], pathlib.Path(self.folder, "second name"))
        target = self.file("target", NOTE)
        link = pathlib.Path(self.folder, "link")
        link.symlink_to(target)
        if os.geteuid() == 0:
            files["other"] = self.file("other", NOTE)
            os.chown(files["other"], NOBODY, NOBODY)
        before = {name: path.read_text() for name, path in files.items()}
        for path in [*files.values(), link, pathlib.Path(self.folder, "missing"), pathlib.Path(self.folder)]:
            self.noted(path)
        self.assertEqual(before, {name: path.read_text() for name, path in files.items()})
        self.assertEqual(NOTE, target.read_text())
        self.assertFalse(pathlib.Path(self.folder, "missing").exists())


if __name__ == "__main__":
    harness.main()
