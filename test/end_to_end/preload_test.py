"""Being preloaded beside others, into children of all kinds, and where it is not possible."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import subprocess
import unittest

import harness
import programs
import recount

NOBODY = 65534


def library(name):
    """The path of a library of the distribution, or a skip."""
    command = [shutil.which("c++") or "c++", f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise unittest.SkipTest(f"{name} is not installed")
    return os.path.realpath(found)


class Preload(harness.Case):
    def beside(self, other, command, **variables):
        """Behaves with us before and after another preloaded library as with that one alone."""
        native = self.run_program(command, LD_PRELOAD=other, **variables)
        for order in (f"{harness.LIBRARY}:{other}", f"{other}:{harness.LIBRARY}"):
            for mode in ("cache", "observe"):
                profiled = self.run_program(command, mode, LD_PRELOAD=order, **variables)
                self.assertEqual(native.behaviour(), profiled.behaviour(), f"{order} {mode}")
                self.assertEqual("", profiled.stderr)
                for report in profiled.reports:
                    recount.check(self, report)
                yield profiled

    def test_a_build_folder_may_have_what_separates_libraries_in_its_name(self):
        folder = pathlib.Path(self.folder, "a b:c;d")
        (folder / "interpose").mkdir(parents=True)
        (folder / "test").mkdir()
        shutil.copy(harness.LIBRARY, folder / "interpose")
        (folder / "test/simulator").symlink_to(harness.SIMULATOR)
        installation = programs.Installation(folder)
        outcome = self.run_program([harness.program("linked")], **installation.variables("cache"))
        self.assertEqual("", outcome.stderr)
        self.only_report(outcome)

    def test_another_allocator_of_host_memory_may_be_preloaded(self):
        jemalloc = library("libjemalloc.so.2")
        for command in (["linked"], ["threads_alloc"], ["late_calls", "exit"]):
            command = [harness.program(command[0]), *command[1:]]
            for outcome in self.beside(jemalloc, command):
                self.assertTrue(outcome.reports)

    def test_forks_are_safe_with_another_allocator_of_host_memory(self):
        jemalloc = library("libjemalloc.so.2")
        for outcome in self.beside(jemalloc, [harness.program("forks"), "threads"]):
            self.assertEqual("exit", self.only_report(outcome)["trigger"])

    def test_another_library_may_override_dlsym(self):
        other = harness.program("libdlsym_override.so")
        plugin = harness.program("libloader_runtime.so")
        for command in ([harness.program("driver_api")],
                        [harness.program("loader"), "static", plugin]):  # fmt: skip
            first, second = list(self.beside(other, command))[:2]
            for outcome in (first, second):  # behind us: its dlsym gets what ours passes on
                self.assertEqual([], self.only_report(outcome)["warnings"])
        for outcome in list(self.beside(other, [harness.program("linked")]))[2:]:
            self.assertIn("overrides dlsym", self.only_report(outcome)["warnings"][0])

    def test_a_program_may_be_audited(self):
        audit = harness.program("libaudit.so")
        commands = (["/bin/true"], [harness.program("no_cuda")], [harness.program("linked")])
        for command in commands:
            native = self.run_program(command, LD_AUDIT=audit)
            for mode in harness.MODES:
                profiled = self.run_program(command, mode, LD_AUDIT=audit)
                self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
                self.assertEqual("", profiled.stderr)
                uses_cuda = command == commands[-1] and mode != "off"
                self.assertEqual(int(uses_cuda), len(profiled.reports))
                for report in profiled.reports:
                    recount.check(self, report)

    def test_a_program_under_a_sanitizer_runs_with_its_runtime_first(self):
        program = harness.program("linked_sanitized")
        runtime = library("libasan.so")
        native = self.run_program([program])
        for mode in harness.MODES:
            order = f"{runtime}:{harness.LIBRARY}"
            profiled = self.run_program([program], mode, LD_PRELOAD=order)
            self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
            if mode != "off":
                recount.check(self, self.only_report(profiled))

    def test_a_program_under_a_sanitizer_needs_no_setting(self):
        program = harness.program("linked_sanitized")
        native = self.run_program([program])
        for mode in harness.MODES[:4]:
            finished = self.run_tool("run", "--sim", "--mode", mode.split()[0], "--", program)
            self.assertEqual((0, native.stdout), (finished.returncode, finished.stdout))
            self.assertIn("next: vramscope report", finished.stderr)
        shown = self.run_tool("run", "-q", "--", "/bin/sh", "-c", "echo $ASAN_OPTIONS; echo $TSAN_OPTIONS",
                              ASAN_OPTIONS="exitcode=42", TSAN_OPTIONS="exitcode=43")  # fmt: skip
        self.assertEqual("verify_asan_link_order=0:exitcode=42\nignore_noninstrumented_modules=1:exitcode=43\n",
                         shown.stdout)  # fmt: skip

    def test_a_program_under_the_thread_sanitizer_runs_as_natively(self):
        """With the option that `run` sets: without it the sanitizer takes the driver's locks for races natively, too."""
        program, option = harness.program("threads_sanitized"), "ignore_noninstrumented_modules=1"
        native = self.run_program([program], TSAN_OPTIONS=option)
        for mode in harness.MODES:
            profiled = self.run_program([program], mode, TSAN_OPTIONS=option)
            self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
            self.assertEqual("", profiled.stderr)  # it reports no race, and no lock of ours
            self.assertEqual(mode != "off", "exit" in [report["trigger"] for report in profiled.reports])
            for report in profiled.reports:  # it sends SIGUSR1 to itself
                recount.check(self, report)

    def test_a_program_under_the_memory_sanitizer_is_left_alone(self):
        program = harness.program("memory_sanitized")
        native = self.run_program([program])
        profiled = self.run_program([program], "cache")
        self.assertEqual((native.behaviour(), "", []), (profiled.behaviour(), profiled.stderr, profiled.reports))
        refused = self.run_tool("run", "--sim", "--", program)
        self.assertEqual((125, ""), (refused.returncode, refused.stdout))
        self.assertRegex(refused.stderr, r"^vramscope: cannot record '.*': it is compiled with -fsanitize=memory.*\n$")

    def test_a_checker_of_memory_reports_nothing_of_ours(self):
        checker = [harness.installed("valgrind"), "--leak-check=no", "--error-exitcode=9"]
        command = [*checker, harness.program("linked")]
        native = self.run_program(command)
        if native.status != 0:
            self.skipTest(f"valgrind does not run the simulated device: {native.first_line()}")
        for stacks in ("unwind", "frame-pointers"):
            profiled = self.run_program(command, "cache", VRAMSCOPE_STACKS=stacks)
            self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
            self.assertNotIn("switching stacks", profiled.stderr)
            self.only_report(profiled)

    def test_a_program_may_set_and_unset_the_variable_itself(self):
        linked, other = harness.program("linked"), harness.program("libdlsym_override.so")
        ways = {f"unset LD_PRELOAD; exec '{linked}'": 0, f"exec env -i '{linked}'": None,
                f"LD_PRELOAD='{other}' '{linked}'": 0,
                f"LD_PRELOAD='{other}':$LD_PRELOAD '{linked}'": 1}  # fmt: skip
        for script, reports in ways.items():
            native = self.run_program(["/bin/sh", "-c", script])
            profiled = self.run_program(["/bin/sh", "-c", script], "cache")
            self.assertEqual(native.status, profiled.status, script)
            self.assertEqual(native.stdout, profiled.stdout, script)
            if reports is not None:
                self.assertEqual(reports, len(profiled.reports), script)

    def test_a_set_user_id_program_runs_without_us_and_without_a_line(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user")
        copy = pathlib.Path(self.folder) / "driver_api"
        shutil.copy(harness.program("driver_api"), copy)
        os.chown(copy, NOBODY, NOBODY)
        copy.chmod(0o4755)
        os.chmod(self.folder, 0o755)
        native = self.run_program([str(copy)])
        profiled = self.run_program([str(copy)], "cache")
        self.assertEqual(native.behaviour(), profiled.behaviour())
        self.assertEqual(("", []), (profiled.stderr, profiled.reports))

    def test_a_32_bit_child_runs_without_us_and_without_a_line(self):
        program = harness.program("program_32")
        if not os.path.exists("/lib/ld-linux.so.2"):
            self.skipTest("this machine has no loader of 32-bit programs (libc6-i386)")
        try:
            native = self.run_program([program])
        except OSError as error:
            self.skipTest(f"this kernel runs no 32-bit programs ({error.strerror})")
        self.assertEqual((9, "in 32 bits\n"), native.behaviour())
        finished = self.run_tool("run", "--sim", "--quiet", "/bin/sh", "-c",
                                 f"'{program}'; exec '{harness.program('linked')}'")  # fmt: skip
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        self.assertIn("in 32 bits", finished.stdout)
        (report,) = harness.read_reports(self.folder)
        self.assertIn("linked", report["process"]["executable"])


if __name__ == "__main__":
    harness.main()
