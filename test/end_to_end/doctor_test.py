"""vramscope doctor on programs that cannot be recorded, for one reason each, and on some that can."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import resource
import shutil
import stat
import subprocess
import sys

from doctor_case import Doctor, NOBODY
import harness

sys.path.insert(0, str(harness.SOURCE / "test/view"))
import listings  # noqa: E402

LOADER = harness.LOADER


class Healthy(Doctor):
    def test_a_program_that_is_recorded_is_said_to_be(self):
        train = harness.program("train")
        status, findings = self.ask("--sim", train)
        self.assertEqual((0, []), (status, [one for one in findings if one["state"] == "stops"]))
        told = {one["subject"]: one["found"] for one in findings}
        self.assertIn("can be loaded into it", told["program"])
        self.assertRegex(told["runtime"], r"libcudart\.so\.\d+ is linked dynamically")
        self.assertRegex(told["driver"], r"test/simulator/libcuda\.so\S*, for CUDA 1\d\.\d, 1 device")
        self.assertRegex(told["library"], r"version \d+\.\d+\.\d+, intercepts \d{3} functions")
        self.assertIn(self.folder, told["output"])
        self.assertIn("SIGUSR1", told["signal"])
        text = self.run_tool("doctor", "--sim", train)
        self.assertEqual((0, ""), (text.returncode, text.stderr))
        self.assertIn("Nothing here stops recording", text.stdout)
        self.assertTrue(text.stdout.endswith(f"\nNext: vramscope run --sim {train}\n"), text.stdout)
        free = r"[\d.]+ .?i?B are free"  # others write to the disk meanwhile
        for one in findings:
            self.assertIn(re.sub(free, "", one["found"]), re.sub(free, "", text.stdout))  # a line each

    def test_a_program_that_needs_the_driver_itself_finds_the_simulated_one(self):
        status, findings = self.ask("--sim", harness.program("linked"))
        self.assertEqual((0, []), (status, [one for one in findings if one["state"] == "stops"]))

    def test_what_it_lists_is_as_the_schema_says(self):
        for words in ([], ["--sim"], ["/bin/true"]):
            self.assertEqual([], listings.problems("doctor", self.ask(*words)[1]))
        rows = self.run_tool("doctor", "--csv", "--sim").stdout.splitlines()
        self.assertEqual("state,subject,found,advice", rows[0])
        self.assertEqual(len(self.ask("--sim")[1]), len(rows) - 1)

    def test_the_machine_alone_is_looked_at(self):
        told = {one["subject"] for one in self.ask("--sim")[1]}
        self.assertLessEqual({"library", "driver", "runtimes", "NVML", "CUPTI", "libunwind", "debuginfod", "output",
                              "live file", "signal", "container", "rights"}, told)  # fmt: skip

    def test_a_python_script_is_followed_to_its_interpreter(self):
        script = self.script("#!/usr/bin/env python3\nprint(1)\n")
        findings = self.found("fine", "script", "is executed by", "--sim", script, PATH="/usr/bin:/bin")
        self.assertTrue(any("python3" in one["found"] for one in findings if one["subject"] == "program"))


class Programs(Doctor):
    def test_a_static_program(self):
        source = self.path("p.c")
        pathlib.Path(source).write_text("void _start(void) { for (;;) {} }\n")
        program = self.path("static")
        subprocess.run([harness.installed("cc"), "-static", "-nostdlib", "-o", program, source], check=True)
        self.stops("program", "is linked statically: nothing can be preloaded; link it dynamically", "--sim", program)

    def elevated(self):
        """A program with the rights of another user."""
        if os.getuid() != 0:
            return harness.installed("su")
        copy = shutil.copy("/bin/true", self.path("elevated"))
        os.chown(copy, NOBODY, NOBODY)
        os.chmod(copy, 0o4755)
        return copy

    def test_a_set_user_id_program(self):
        program = self.elevated()
        if os.statvfs(program).f_flag & os.ST_NOSUID or not os.stat(program).st_mode & stat.S_ISUID:
            self.skipTest("there is no set-user-id here")
        self.stops("program", "is set-user-id: the loader preloads nothing into it", "--sim", program)
        done = self.run_tool("run", "--sim", program, stdin="")
        self.assertIn("no report: the program is set-user-id", done.stderr)

    def test_a_32_bit_program(self):
        self.stops("program", "is a 32-bit program", "--sim", harness.program("program_32"))

    def test_a_program_for_another_machine(self):
        foreign = self.changed("foreign", harness.OWN_MACHINE, harness.OTHER_MACHINE, 18)
        other = harness.MACHINES[harness.OTHER_MACHINE][0]
        self.stops("program", f"is not for {harness.MACHINE}, but for {other}", "--sim", foreign)

    def test_a_program_of_musl(self):
        program = self.changed("musl", LOADER, harness.MUSL_LOADER.ljust(len(LOADER), b"\0"))
        self.stops("program", "musl, and the library needs glibc", "--sim", program)

    def test_a_program_whose_loader_or_library_is_not_there(self):
        missing = LOADER.replace(b"/lib", b"/lob")
        orphan = self.changed("orphan", LOADER, missing)
        self.stops("program", f"its loader '{missing.decode()}' is not there", "--sim", orphan)
        lacking = self.changed("lacking", b"libc.so.6", b"libq.so.6")
        self.stops("program", "cannot start: libq.so.6", "--sim", lacking)

    def test_a_statically_linked_runtime_on_a_real_device(self):
        findings = self.ask(harness.program("train_nvcc_static"))[1]
        self.assertIn("and are recorded", next(one["found"] for one in findings if one["subject"] == "runtime"))

    def test_a_program_that_may_not_be_executed(self):
        copy = shutil.copy("/bin/true", self.path("plain"))
        os.chmod(copy, 0o644)
        self.stops("program", "may not be executed; chmod +x", "--sim", copy)
        text = self.program_of("text", b"no program\n")
        self.stops("program", "is neither a program nor a script", "--sim", text)

    def test_scripts_that_take_the_library_away(self):
        for line in ("unset LD_PRELOAD", "LD_PRELOAD= ./train", "exec env -i ./train", "sudo ./train"):
            script = self.script(f"#!/bin/sh\n# LD_PRELOAD= in a remark\n{line}\n")
            self.found("limits", "script", ":3 may take LD_PRELOAD", "--sim", script)
        harmless = self.script("#!/bin/sh\nenv X=1 ./train -i\necho sudoku\n")
        self.assertNotIn("limits", [one["state"] for one in self.ask("--sim", harmless)[1] if one["subject"] == "script"])
        self.stops("script", "there is no '/no/sh'", "--sim", self.script("#!/no/sh\n"))

    def test_a_program_that_names_what_preloads_us(self):
        source = self.path("p.c")
        pathlib.Path(source).write_text("#include <stdlib.h>\nint main(void) { return unsetenv(\"LD_PRELOAD\"); }\n")
        program = self.path("resets")
        subprocess.run([harness.installed("cc"), "-s", "-o", program, source], check=True)
        self.found("limits", "program", "contains the word LD_PRELOAD", "--sim", program)
        self.found("limits", "symbols", "is stripped", "--sim", program)

    def test_what_is_no_program(self):
        self.refused("there is no program './nothing'", "./nothing")
        self.refused("'--epochs' is too many", "--", "./train", "--epochs")
        self.refused("'0' is no number of a process", "0")


class Strangers(Doctor):
    """Files that may be anybody's: nothing that they name is executed, and nothing is waited for."""

    def setUp(self):
        super().setUp()
        self.mark = pathlib.Path(self.path("executed"))

    def compile(self, name, text, *options):
        source = pathlib.Path(self.path(name + ".c"))
        source.write_text(text)
        subprocess.run([harness.installed("cc"), "-o", self.path(name), source, *options], check=True, cwd=self.folder)
        return self.path(name)

    def test_the_loader_that_a_file_names_is_not_executed(self):
        self.program_of("loader", b"#!/bin/sh\ntouch executed\n")
        program = self.changed("crafted", LOADER, b"./loader".ljust(len(LOADER), b"\0"))
        self.ask("--sim", program)
        self.assertFalse(self.mark.exists(), "the file's loader was executed")
        self.found("limits", "program", "its loader is ./loader, not the system's", "--sim", program)

    def test_the_auditor_that_a_file_names_is_not_loaded(self):
        open_mark = '#include <fcntl.h>\nunsigned la_version(unsigned v) { open("executed", O_CREAT | O_WRONLY, 0600); return v; }\n'
        self.compile("audit.so", open_mark, "-shared", "-fPIC")
        program = self.compile("audited", "int main(void) { return 0; }\n", f"-Wl,--audit={self.path('audit.so')}")
        self.found("fine", "program", "Vramscope's library can be loaded into it", "--sim", program)
        self.assertFalse(self.mark.exists(), "the file's auditor was executed")

    def test_a_pipe_is_no_program_and_is_not_waited_for(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe, 0o755)
        self.stops("program", "is neither a program nor a script", "--sim", pipe)
        self.stops("program", "is neither a program nor a script", "--sim", self.script(f"#!{pipe}\n"))

    def test_a_pipe_in_the_place_of_a_library_is_not_waited_for(self):
        os.mkfifo(self.path("libcuda.so.1"))
        os.mkfifo(self.path("libunwind.so.8"))
        found = {one["subject"]: one["found"] for one in self.ask(LD_LIBRARY_PATH=self.folder)[1]}
        self.assertIn("libcuda.so.1 was not found", found["driver"])
        self.assertIn("libunwind.so.8 was not found", found["libunwind"])

    def test_libraries_are_looked_for_where_the_loader_would(self):
        os.makedirs(self.path("beside"))
        self.compile("beside/libown.so", "int own(void) { return 0; }\n", "-shared", "-fPIC")
        main = "int own(void);\nint main(void) { return own(); }\n"
        link = ("-Lbeside", "-lown")
        told = "cannot start: libown.so is not found (required by "
        for name, options in (("runpath", ("-Wl,--enable-new-dtags,-rpath,$ORIGIN/beside",)),
                              ("rpath", ("-Wl,--disable-new-dtags,-rpath,${ORIGIN}/beside",))):  # fmt: skip
            program = self.compile(name, main, *link, *options)
            self.found("fine", "program", "is linked dynamically", "--sim", program)
            os.makedirs(self.path("away"), exist_ok=True)
            self.stops("program", told, "--sim", shutil.copy(program, self.path("away")))
        bare = self.compile("bare", main, *link)
        self.stops("program", told, "--sim", bare)
        self.found("fine", "program", "is linked dynamically", "--sim", bare, LD_LIBRARY_PATH=self.path("beside"))
        pathlib.Path(self.path("beside/libown.so")).write_text("no library\n")
        self.stops("program", "beside/libown.so is no library", "--sim", bare, LD_LIBRARY_PATH=self.path("beside"))

    def test_large_and_many_libraries_are_found(self):
        """Those of machine learning have gigabytes; and a program may have more than open files."""
        own = self.compile("libown.so", "int own(void) { return 0; }\n", "-shared", "-fPIC")
        program = self.compile("large", "int own(void);\nint main(void) { return own(); }\n", "-L.", "-lown", "-Wl,-rpath,$ORIGIN")
        os.truncate(own, 8 << 30)
        self.found("fine", "program", "is linked dynamically", "--sim", program)

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (12, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        names = [f"o{number}" for number in range(20)]
        for name in names:
            self.compile(f"lib{name}.so", f"int {name}(void) {{ return 0; }}\n", "-shared", "-fPIC")
        many = self.compile("many", "int main(void) { return 0; }\n", "-L.", "-Wl,--no-as-needed,-rpath,$ORIGIN", *(f"-l{name}" for name in names))
        self.found("fine", "program", "is linked dynamically", "--sim", many, how={"preexec_fn": limit})

    def test_a_version_that_a_library_lacks(self):
        for version in ("OWN_1", "OWN_2"):
            pathlib.Path(self.path(version)).write_text(version + " { global: own; local: *; };\n")
        text = "int own(void) { return 0; }\n"
        self.compile("libown.so", text, "-shared", "-fPIC", "-Wl,--version-script=OWN_2")
        program = self.compile("newer", "int own(void);\nint main(void) { return own(); }\n", "-L.", "-lown", "-Wl,-rpath,$ORIGIN")
        self.found("fine", "program", "is linked dynamically", "--sim", program)
        self.compile("libown.so", text, "-shared", "-fPIC", "-Wl,--version-script=OWN_1")
        self.stops("program", "libown.so: version `OWN_2' not found (required by ", "--sim", program)


class Pointers(Doctor):
    def test_run_points_to_doctor_once_where_nothing_was_recorded(self):
        done = self.run_tool("run", "--sim", "/bin/true")
        self.assertEqual("vramscope: no report: CUDA did not start in the program; vramscope doctor --sim /bin/true says more\n", done.stderr)
        recorded = self.run_tool("run", "--sim", harness.program("linked"))
        self.assertNotIn("doctor", recorded.stderr)


if __name__ == "__main__":
    harness.main()
