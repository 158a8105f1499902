"""Limits on the memory of a part of a program, set by the program itself: in C, in C++, in Python."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import harness
import recount

MIB = 1 << 20
FOLDER = str(harness.SOURCE / "interpose/face")


def answers(text):
    """Question -> answer, of the lines `question: answer`, the first of each."""
    return dict(line.split(": ", 1) for line in reversed(text.splitlines()))


def ended(code, new, peak, leaked, lines=0):
    return f"{code}, new {new}, peak {peak}, leaked {leaked}, {lines} lines"


class ExpectInC(harness.Case):
    NAMES = ("expectations", "expectations_cpp")

    def each(self, mode, **variables):
        for name in self.NAMES:
            outcome = self.run_program([harness.program(name)], mode, **variables)
            self.assertEqual((0, ""), (outcome.status, outcome.stderr), name)
            yield name, answers(outcome.stdout), outcome

    def test_without_the_library_nothing_is_active(self):
        for mode in (None, "off"):
            for _, said, _ in self.each(mode):
                self.assertEqual("1, not begun", said["outer"])
                self.assertEqual(ended(1, -1, -1, -1), said["outer ended"])

    def test_figures_are_those_of_the_part(self):
        for mode in ("cache", "observe", "dedicated"):
            for _, said, _ in self.each(mode):
                self.assertEqual("0, begun", said["outer"])
                self.assertEqual(ended(0, 8 * MIB, 11 * MIB, 0), said["outer ended"])
                self.assertEqual(ended(8, -1, -1, -1), said["outer again ended"])

    def test_a_limit_that_does_not_hold_names_the_call_site(self):
        for name, said, _ in self.each("cache"):
            self.assertEqual(ended(7, 8 * MIB, 11 * MIB, 8 * MIB, lines=2), said["inner ended"])
            self.assertEqual("GPU 0: 8.00 MiB new at one time, above max_new_bytes of 7.00 MiB", said["failure says"])
            inner = {"expectations": r"expectations\+0x[0-9a-f]+"}.get(name, rf"allocate\(unsigned long\) \({name}\+0x[0-9a-f]+\)")
            self.assertRegex(
                said["call site says"],
                rf"^  8.00 MiB not freed, in 1 allocation by {inner} < .*{name}\+0x.*, which reached the most new bytes$",
            )

    def test_memory_that_replaces_older_memory_is_new(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual(ended(7, 3 * MIB, 3 * MIB, 3 * MIB, lines=2), said["replaced ended"])

    def test_it_begins_before_cuda_does(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual(ended(0, 0, 0, 0), said["unused ended"])
            self.assertEqual(ended(0, 11 * MIB, 11 * MIB, 0), said["early ended"])

    def test_it_ends_when_main_has_returned(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual(ended(0, 0, 0, 0), said["at exit ended"])

    def test_the_peaks_of_the_program_stay(self):
        for _, said, outcome in self.each("cache"):
            self.assertRegex(said["peak of the program"], r"^0, \d+$")
            (device,) = self.only_report(outcome)["devices"]
            self.assertEqual(11 * MIB, device["memory_stats"]["requested_bytes.all.peak"])

    def test_without_attribution_figures_are_the_same(self):
        for _, said, outcome in self.each("cache", VRAMSCOPE_ATTRIBUTION="off", VRAMSCOPE_STACKS="none"):
            self.assertEqual(ended(0, 8 * MIB, 11 * MIB, 0), said["outer ended"])
            self.assertEqual("  8.00 MiB not freed, in 1 allocation by unknown call site, which reached the most new bytes",
                             said["call site says"])  # fmt: skip
            recount.check(self, self.only_report(outcome))

    def test_wrong_questions_are_told_apart(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual("2, 7", said["no device"])
            self.assertEqual(ended(2, -1, -1, -1), said["absent ended"])
            self.assertEqual("255 begun, 255 ended, then 8", said["many"])


class ExpectInPython(harness.Case):
    def said(self, mode, folder=FOLDER, **variables):
        command = [sys.executable, str(harness.SOURCE / "test/programs/expectations.py"), folder]
        outcome = self.run_program(command, mode, "devices=2", **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        return answers(outcome.stdout)

    def assert_failed(self, text, *lines):
        found = text.split(" | ")
        self.assertEqual(len(lines), len(found), text)
        for line, pattern in zip(found, lines):
            self.assertRegex(line, pattern)

    def test_figures_are_those_of_the_body(self):
        for mode in ("cache", "observe"):
            said = self.said(mode)
            self.assertEqual(f"({3 * MIB}, {3 * MIB}, {3 * MIB})", said["early"])
            self.assertEqual(f"({8 * MIB}, {11 * MIB}, 0)", said["fits"])
            self.assertEqual(f"(({4 * MIB}, {12 * MIB}, 0), ({1 * MIB}, {12 * MIB}, 0))", said["nested"])
            self.assertEqual(f"(({1 * MIB}, {11 * MIB}, 0), ({3 * MIB}, {11 * MIB}, 0))", said["reused"])
            self.assertEqual("(0, 0, 0)", said["device"])

    def test_a_limit_that_does_not_hold_fails_with_figures_and_places(self):
        said = self.said("cache")
        file = r"\(expectations.py:\d+\)"
        reached = rf"^  the most new bytes were reached by allocate {file} < <lambda> {file} < within {file}$"
        self.assert_failed(said["new"], "^ExpectationFailed: GPU 0: 8388608 bytes new at one time, above max_new_bytes of 8388607 bytes$",
                           reached)  # fmt: skip
        self.assert_failed(said["peak"], "^ExpectationFailed: GPU 0: 11.0 MiB at the peak, above max_peak of 512 KiB$", reached)
        left = rf"^  2.00 MiB not freed, in 1 allocation by allocate {file} < .*, which reached the most new bytes$"
        self.assert_failed(said["leak"], "^ExpectationFailed: GPU 0: 2.00 MiB not freed, above leaks of 0 B$", left)
        self.assert_failed(said["all"], "new at one time, above max_new_bytes of 0 B; .* at the peak, above .*; .* not freed, above", left)

    def test_each_call_of_a_function_has_its_own_limits(self):
        said = self.said("cache")
        self.assertEqual(("4", "4", "60"), (said["decorated"], said["recursion"], said["threads"]))
        # What lies between the test and the allocation, contextlib, is not shown.
        self.assertRegex(said["decorated again"], r"^ExpectationFailed: .* by allocate \(.*\) < decorated \(.*\) < main\.")

    def test_garbage_is_no_leak(self):
        self.assertRegex(self.said("cache")["garbage"], r"^\(5242880, \d+, 0\)$")

    def test_what_the_body_raises_passes_through(self):
        self.assertEqual("KeyError: 'of the body'", self.said("cache")["raises"])

    def test_without_the_library_it_raises_or_skips(self):
        for mode in (None, "off"):
            said = self.said(mode)
            self.assertEqual(("(None, None, None)",) * 2, (said["early"], said["skips"]))
            for question in ("fits", "new", "decorated", "nested", "device"):
                self.assertIn("NotActive: Vramscope is not active in this process", said[question])

    def test_wrong_arguments_are_told_apart(self):
        said = self.said("cache")
        self.assertIn("RuntimeError: Invalid device argument", said["no device"])
        wrong = [question for question in said if question.startswith("size '")]
        self.assertEqual(5, len(wrong))
        for question in wrong:
            self.assertEqual(f"ValueError: {question[5:]} is not a size such as 1048576 or '512 MiB'", said[question])


class ModuleUnderRun(harness.Case):
    SHOW = "import sys, vramscope; print(vramscope.__file__, vramscope.is_active())"

    def python(self, *options, code=SHOW, under=("run", "-q", "--sim"), **variables):
        command = [*under, "--", sys.executable, *options, "-c", code]
        return self.run_tool(*command, PYTHONDONTWRITEBYTECODE="1", **variables)

    def folder_of_module(self):
        found = self.python(code="import os; print(os.environ['PYTHONPATH'])").stdout.removesuffix("\n")
        self.assertEqual(["vramscope.py"], [path.name for path in pathlib.Path(found).glob("*.py")])
        return found

    def test_python_finds_the_module_without_a_setting(self):
        done = self.python()
        self.assertEqual((0, f"{self.folder_of_module()}/vramscope.py False\n", ""), (done.returncode, done.stdout, done.stderr))
        said = self.run_tool("run", "-q", "--sim", "--", sys.executable, harness.SOURCE / "test/programs/expectations.py", "")
        self.assertEqual(f"({8 * MIB}, {11 * MIB}, 0)", answers(said.stdout)["fits"])

    def test_what_the_user_has_set_comes_first(self):
        own = pathlib.Path(self.folder, "own")
        own.mkdir()
        (own / "vramscope.py").write_text("is_active = lambda: 'own'\n")
        show = "import os; print(os.environ['PYTHONPATH'])"
        for before, after in (("", ""), (f"{own}", f"{own}:"), (f"{own}:", f"{own}::"), (":/x", ":/x:")):
            self.assertEqual(f"{after}{self.folder_of_module()}\n", self.python(code=show, PYTHONPATH=before).stdout)
        self.assertEqual(f"{own}/vramscope.py own\n", self.python(PYTHONPATH=str(own)).stdout)

    def test_a_run_within_a_run_adds_nothing(self):
        show = "import os; print(os.environ['PYTHONPATH'])"
        inner = ("run", "-q", "--", harness.TOOL, "run", "-q")
        self.assertEqual(f"/x:{self.folder_of_module()}\n", self.python(code=show, under=inner, PYTHONPATH="/x").stdout)

    def test_pythons_that_read_no_variables_stay_as_they_are(self):
        show = "import sys; print(sys.path)"
        for option in ("-I", "-E"):
            native = self.run_program([sys.executable, option, "-c", show])
            self.assertEqual(native.stdout, self.python(option, code=show).stdout)

    def test_the_rest_of_the_path_is_as_it_was(self):
        show = "import sys; print([folder for folder in sys.path if not folder.endswith('face')])"
        native = self.run_program([sys.executable, "-c", show], PYTHONPATH="/x")
        self.assertEqual(native.stdout, self.python(code=show, PYTHONPATH="/x").stdout)

    def test_a_virtual_environment_finds_its_own_packages_and_the_module(self):
        folder = pathlib.Path(self.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (package,) = folder.glob("lib/python3*/site-packages")
        (package / "own_package.py").write_text("")
        done = self.run_tool("run", "-q", "--sim", "--", folder / "bin/python3", "-c", "import own_package, vramscope; print(vramscope.__file__)",
                             PYTHONDONTWRITEBYTECODE="1")  # fmt: skip
        self.assertEqual((0, f"{self.folder_of_module()}/vramscope.py\n"), (done.returncode, done.stdout), done.stderr)


if __name__ == "__main__":
    harness.main()
