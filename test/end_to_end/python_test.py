"""Python frames in stacks are what Python itself says of them, wherever they come from."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import subprocess
import sysconfig

import harness
from python_case import MOST_FRAMES, PythonTest, SCRIPTS, SYSTEM, interpreters, version_of


def python_frames(report, site):
    frames = [report["frames"][index] for index in site["frames"]]
    codes = [(report["codes"][frame["code"]], frame["line"]) for frame in frames if frame["code"] is not None]
    return [[code["name"], report["sources"][code["source"]]["path"], line] for code, line in codes]


def stacks_by_size(report):
    """Requested bytes of each live block -> Python frames of its stack, innermost first."""
    return {
        block["requested_size"]: python_frames(report, report["sites"][block["site"]])
        for device in report["devices"]
        for segment in device["segments"]
        for block in segment["blocks"]
        if block["site"] is not None
    }


def words(report, site):
    """The stack in short: functions of Python, files of native code."""
    for index in site["frames"]:
        frame = report["frames"][index]
        if frame["code"] is not None:
            yield report["codes"][frame["code"]]["name"]
        elif frame["module"] is not None:
            yield os.path.basename(report["modules"][frame["module"]]["path"])


class Python(PythonTest):
    def check_truth(self, report, truth):
        self.assertEqual([], report["warnings"])
        found = stacks_by_size(report)
        for size, frames in truth:
            self.assertEqual(frames[:MOST_FRAMES], found[size], size)

    def test_every_frame_is_what_python_says_of_it(self):
        for interpreter in interpreters():
            for stacks in ("unwind", "frame-pointers", "none"):
                outcome = self.run_script(interpreter, "python_frames.py", VRAMSCOPE_STACKS=stacks)
                truth = json.loads(outcome.stdout)
                self.assertGreater(len(truth), 100)
                self.check_truth(self.only_report(outcome), truth)

    def test_it_says_the_same_in_every_mode(self):
        for mode in ("dedicated", "observe", "off"):
            command = [self.system(), str(SCRIPTS / "python_frames.py")]
            native = self.run_program(command)
            outcome = self.run_program(command, mode, VRAMSCOPE_STACK_DEPTH=str(MOST_FRAMES))
            self.assertEqual(native.behaviour(), outcome.behaviour())
            for report in outcome.reports:
                self.check_truth(report, json.loads(outcome.stdout))

    def test_python_frames_take_the_place_of_evaluation_loops(self):
        outcome = self.run_script(self.system(), "python_frames.py", "callbacks")
        report = self.only_report(outcome)
        (site,) = report["sites"]
        stack = list(words(report, site))
        inner, outer = stack.index("callbacks.<locals>.compare"), stack.index("callbacks")
        self.assertEqual("allocate", stack[inner - 1])
        between = stack[inner + 1 : outer]
        self.assertIn("libc.so.6", between)  # qsort
        self.assertTrue(any(name.startswith("libffi") for name in between))
        self.assertEqual(["main", "<module>"], stack[outer + 1 : outer + 3])
        # Each loop's native frame is kept at the innermost function that it runs.
        frames = [report["frames"][index] for index in site["frames"]]
        of_loops = [f for f in frames if f["code"] is not None and f["module"] is not None]
        self.assertEqual(2, len(of_loops))

    def test_python_frames_can_be_left_out(self):
        outcome = self.run_script(self.system(), "python_frames.py", "plain_calls", VRAMSCOPE_PYTHON="off")
        report = self.only_report(outcome)
        self.assertEqual(([], [], []), (report["codes"], report["sources"], report["warnings"]))

    def test_interpreters_within_the_interpreter_have_stacks_of_both(self):
        for interpreter in interpreters():
            outcome = self.run_script(interpreter, "python_inner.py")
            *inner, outer = [json.loads(line) for line in outcome.stdout.splitlines()]
            outside = {size: frames for size, frames in outer if size}
            callers = [frames for size, frames in outer if not size]
            found = stacks_by_size(self.only_report(outcome))
            for truth, caller in zip(inner, callers, strict=True):
                for size, frames in truth:
                    self.assertEqual(frames + caller, found[size], interpreter)
            for size, frames in outside.items():
                self.assertEqual(frames, found[size], interpreter)

    def test_an_interpreter_that_ends_is_left_alone(self):
        for interpreter in interpreters():
            outcome = self.run_script(interpreter, "python_ends.py")
            found = stacks_by_size(self.only_report(outcome))
            self.assertEqual(["allocate", "at_exit"], [frame[0] for frame in found[1024]])
            self.assertEqual(["allocate", "Last.__del__"], [frame[0] for frame in found[2048]])
            library = str(harness.PROGRAMS / "libpython_loop.so")
            for _ in range(3):
                report = self.only_report(self.run_script(interpreter, "python_ends.py", library))
                run = [s for s in report["sites"] if any("run" in f[0] for f in python_frames(report, s))]
                self.assertNotEqual([], run)

    def test_a_program_may_load_the_interpreter_itself_and_more_than_once(self):
        name = f"libpython{version_of(self.system())[0]}.so.1.0"
        paths = glob.glob(f"{sysconfig.get_config_var('LIBDIR')}/{name}") + glob.glob(f"/usr/lib/*/{name}")
        if not paths:
            self.skipTest(f"{name} is not installed")
        outcome = self.run_program([harness.program("python_embedded"), paths[0]], "cache")
        self.assertEqual(0, outcome.status, outcome.stdout)
        report = self.only_report(outcome)
        self.assertEqual([], report["warnings"])
        counts = {}
        for site in report["sites"]:
            key = site["total_bytes"] // site["total_count"], tuple(f"{f[0]}:{f[2]}" for f in python_frames(report, site))
            counts[key] = counts.get(key, 0) + site["total_count"]
        main, thread = ("outer:6", "<module>:11"), ("outer:6", "<module>:1")
        self.assertEqual(
            {
                (512, ()): 1,
                (1024, ("inner:2", *main)): 2,
                (2048, ("inner:3", *main)): 2,
                (1024, ("inner:2", *thread)): 2,
                (2048, ("inner:3", *thread)): 2,
                (2048, ("Last.__del__:9",)): 2,
                (4096, ()): 2,
                (8192, ()): 2,
                (16384, ()): 1,
            },
            counts,
        )

    def test_a_forked_process_has_frames_of_its_own(self):
        script = (
            "import os, sys\n"
            f"sys.path.insert(0, {str(SCRIPTS)!r})\n"
            "import python_driver as driver\n"
            "def work():\n"
            "    driver.start()\n"
            "    driver.allocate(size=int(sys.argv[1]))\n"
            "for _ in range(2):\n"
            "    if os.fork() == 0:\n"
            "        work()\n"
            "        sys.exit(0)\n"
            "    assert os.wait()[1] == 0\n"
            "work()\n"
        )
        outcome = self.run_program([self.system(), "-c", script, "4096"], "cache")
        self.assertEqual(3, len(outcome.reports), outcome.stderr)
        lines = [[(f[0], f[2]) for f in stacks_by_size(report)[4096][1:]] for report in outcome.reports]
        self.assertEqual(sorted([[("work", 6), ("<module>", 12)]] + 2 * [[("work", 6), ("<module>", 9)]]), sorted(lines))

    def test_an_unknown_version_gives_native_frames_and_one_warning(self):
        outcome = self.run_program([harness.program("python_other"), "unknown"], "cache")
        report = self.only_report(outcome)
        (warning,) = report["warnings"]
        self.assertIn("Python 3.99.0", warning)
        self.assertTrue(all(site["frames"] for site in report["sites"]))
        others = interpreters(known=False)
        for interpreter in others:
            report = self.only_report(self.run_script(interpreter, "python_frames.py", "threads"))
            self.assertEqual((1, []), (len(report["warnings"]), report["codes"]), interpreter)

    def test_structures_full_of_nonsense_give_shorter_stacks(self):
        for seed in range(8):
            command = [harness.program("python_other"), "wild", str(seed)]
            for stacks in ("unwind", "none"):
                outcome = self.run_program(command, "cache", VRAMSCOPE_STACKS=stacks)
                self.assertEqual((0, "done\n"), outcome.behaviour(), outcome.stderr)
                self.only_report(outcome)

    def extension(self, commands):
        """Builds an extension module in this case's folder."""
        for command in commands:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(0, done.returncode, done.stderr)

    def foreign(self, module, script):
        (harness.pathlib.Path(self.folder) / "use.py").write_text(
            f"import sys\nsys.path[:0] = [{self.folder!r}, {str(SCRIPTS)!r}]\n" + script
        )
        outcome = self.run_program([self.system(), f"{self.folder}/use.py"], "cache")
        self.assertEqual(0, outcome.status, outcome.stderr)
        report = self.only_report(outcome)
        (site,) = [site for site in report["sites"] if site["total_bytes"] == 4096]
        stack = list(words(report, site))
        inner, outer = stack.index("inner"), stack.index("outer")
        self.assertTrue(any(name.startswith(module) for name in stack[inner:outer]), stack)
        self.assertEqual("<module>", stack[outer + 1])

    SCRIPT = (
        "import python_driver as driver\n"
        "import {module}\n"
        "driver.start()\n"
        "def inner():\n"
        "    driver.allocate(size=4096)\n"
        "def outer():\n"
        "    {module}.call(inner)\n"
        "outer()\n"
    )

    def test_frames_of_cython_stand_between_those_of_python(self):
        cython = harness.installed("cython3")
        includes = f"/usr/include/python{version_of(SYSTEM)[0]}"
        if not os.path.exists(f"{includes}/Python.h"):
            self.skipTest("the headers of Python are not installed")
        (harness.pathlib.Path(self.folder) / "middle.pyx").write_text("def call(function):\n    return function()\n")
        self.extension(
            [[cython, "-3", "middle.pyx"], ["cc", "-shared", "-fPIC", f"-I{includes}", "-o", "middle.so", "middle.c"]]
        )
        self.foreign("middle", self.SCRIPT.format(module="middle"))

    def test_frames_of_pybind11_stand_between_those_of_python(self):
        includes = f"/usr/include/python{version_of(SYSTEM)[0]}"
        if not os.path.exists("/usr/include/pybind11/pybind11.h"):
            self.skipTest("pybind11-dev is not installed")
        (harness.pathlib.Path(self.folder) / "bound.cpp").write_text(
            "#include <pybind11/pybind11.h>\n"
            "PYBIND11_MODULE(bound, module) {\n"
            '  module.def("call", [](pybind11::function function) {\n'
            "    pybind11::gil_scoped_release released;\n"
            "    pybind11::gil_scoped_acquire acquired;\n"
            "    function();\n"
            "  });\n"
            "}\n"
        )
        self.extension(
            [["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{includes}", "-o", "bound.so", "bound.cpp"]]
        )
        self.foreign("bound", self.SCRIPT.format(module="bound"))

    def test_everything_at_once_under_the_address_sanitizer(self):
        found = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
        runtime = os.path.realpath(found.stdout.strip())
        if found.returncode != 0 or not runtime.startswith("/"):
            self.skipTest("the address sanitizer's runtime is not installed")
        seconds = os.environ.get("VRAMSCOPE_STRESS_SECONDS", "2")
        variables = {
            "LD_PRELOAD": f"{runtime}:{harness.LIBRARY}",
            "ASAN_OPTIONS": "detect_leaks=0:exitcode=99",
            "PYTHONMALLOC": "malloc",
        }
        command = [self.system(), str(SCRIPTS / "python_stress.py"), seconds]
        process = self.start_program(command, "cache", **variables)
        out, err = process.communicate(timeout=float(seconds) + 2 * harness.DEADLINE_S)
        self.assertEqual(0, process.returncode, err)
        self.assertNotIn("AddressSanitizer", err)
        version = tuple(map(int, version_of(self.system())[0].split(".")))
        self.assertIn("'subinterpreters'" if version < (3, 12) else "'forks'", out)


if __name__ == "__main__":
    harness.main()
