"""vramscope.py as a plugin of pytest: markers that limit GPU memory, and the list of the largest tests."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

import brought
import harness

SUITE = harness.SOURCE / "test/programs/suite_of_pytest.py"
LIMITED = {  # test: how it ends with limits
    "test_within_limits": "passed", "test_too_large": "failed", "test_leaks": "failed", "test_may_leak": "passed",
    "test_of_another_fault": "failed", "TestClass::test_of_class": "failed", "TestClass::test_own_limit": "passed",
    "TestUnittest::test_of_unittest": "failed", "test_wrong_size": "failed", "test_other_device": "passed",
    **{f"test_unlimited[{mib}]": "passed" for mib in range(30, 42)},
}  # fmt: skip
UNLIMITED = {name: "failed" if name in ("test_of_another_fault", "test_wrong_size") else "passed" for name in LIMITED}
TITLE = "GPU memory of tests"


class Plugin(harness.Case):
    def pytest(self, *options, under=True, modules=("pytest",), paths=(), suite=SUITE):
        """How each test ended, and the output."""
        folders = [*paths, brought.packages("pytest", "pytest", *modules)] if under else [*paths, brought.packages("pytest", "pytest", *modules), harness.SOURCE / "interpose/face"]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "--color=no", "--strict-markers", *options, suite]
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": ":".join(str(folder) for folder in folders if folder), "COLUMNS": "200"}
        if under:
            done = self.run_tool("run", "-q", "--sim", "--", *command, VRAMSCOPE_SIM="devices=2", **variables)
        else:
            done = self.run_program(command, None, "devices=2", **variables)
        output = done.stdout
        ended = re.findall(r"^.*suite_of_pytest.py::(\S+) (PASSED|FAILED|ERROR) +\[ *\d+%\]$", output, re.M)
        of_workers = re.findall(r"^\[gw\d\] \[ *\d+%\] (PASSED|FAILED|ERROR) .*suite_of_pytest.py::(\S+) *$", output, re.M)
        return {name: word.lower() for name, word in ended + [found[::-1] for found in of_workers]}, output

    def test_markers_limit_each_test(self):
        ended, output = self.pytest("-p", "vramscope")
        self.assertEqual(LIMITED, ended)
        self.assertIn("E       vramscope.ExpectationFailed: GPU 0: 25.0 MiB new at one time, above max_new_bytes of 24.0 MiB\n"
                      "E         the most new bytes were reached by allocate (suite_of_pytest.py:", output)  # fmt: skip
        self.assertIn("E       vramscope.ExpectationFailed: GPU 0: 3.00 MiB not freed, above leaks of 0 B\n", output)
        self.assertRegex(output, r"3\.00 MiB not freed, in 1 allocation by allocate \(.*\) < test_leaks \(suite_of_pytest.py:\d+\)")
        self.assertIn("ValueError: '24 MB' is not a size such as 1048576 or '512 MiB'", output)
        self.assertNotIn(TITLE, output)
        self.assertNotIn("not active", output)

    def test_the_largest_tests_are_listed(self):
        _, output = self.pytest("-p", "vramscope", "--vramscope")
        self.check_list(output)
        self.assertNotIn("xdist", output.split(TITLE)[1])

    def check_list(self, output):
        rows = re.findall(r"^ +([\d.]+) MiB +([\d.]+) MiB  .*suite_of_pytest.py::(\S+)$", output.split(TITLE)[1], re.M)
        self.assertEqual([f"test_unlimited[{mib}]" for mib in range(41, 31, -1)], [name for *_, name in rows])
        self.assertEqual([f"{mib}.0" for mib in range(41, 31, -1)], [new for new, *_ in rows])
        self.assertTrue(all(float(peak) >= float(new) + 100 for new, peak, _ in rows), rows)  # the model's

    def test_each_worker_counts_its_own(self):
        ended, output = self.pytest("-p", "vramscope", "--vramscope", "-n", "2", modules=("pytest", "xdist"))
        self.assertEqual(LIMITED, ended)
        self.check_list(output)
        self.assertIn("Each worker of pytest-xdist counts its own memory.\n", output)

    def test_without_vramscope_tests_run_and_one_line_says_so(self):
        for options in ((), ("--vramscope",)):
            ended, output = self.pytest("-p", "vramscope", *options, under=False)
            self.assertEqual(UNLIMITED, ended)
            tests = len(LIMITED) - 1 - (12 if not options else 0)  # one has no limit that can be read
            self.assertEqual([f"vramscope: not active: no GPU memory measured or limited, in {tests} tests"],
                             re.findall("^vramscope: .*", output, re.M))  # fmt: skip
            self.assertNotIn(TITLE, output)

    def test_a_suite_without_markers_is_left_alone(self):
        suite = pathlib.Path(self.folder, "suite_of_pytest.py")
        suite.write_text("def test_runs(request):\n    assert request.node.runtest\n    assert request.node.user_properties == []\n")
        for under in (True, False):
            ended, output = self.pytest("-p", "vramscope", under=under, suite=suite)
            self.assertEqual({"test_runs": "passed"}, ended, output)
            self.assertNotIn("vramscope: ", output)

    def test_the_wheel_makes_it_a_plugin(self):
        (wheel,) = (harness.BUILD / "interpose/face").glob("*.whl")
        ended, output = self.pytest("--vramscope", paths=[wheel])
        self.assertEqual(LIMITED, ended)
        self.check_list(output)
        ended, output = self.pytest("-p", "vramscope", "--vramscope", paths=[wheel])  # twice is once
        self.assertEqual(LIMITED, ended)

    def test_markers_and_options_are_described(self):
        _, output = self.pytest("-p", "vramscope", "--markers")
        for marker in ("limit_gpu_memory", "limit_gpu_leaks"):
            self.assertRegex(output, rf"@pytest.mark.{marker}\(size, device=None\): .* \(vramscope\)\n")
        _, output = self.pytest("-p", "vramscope", "--help")
        self.assertRegex(output, r"--vramscope +list the ten tests that need the most GPU memory\n")


if __name__ == "__main__":
    harness.main()
