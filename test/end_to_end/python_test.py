"""Python frames in stacks are what Python itself says of them, wherever they come from."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import re
import shutil
import subprocess
import sysconfig

import harness

SCRIPTS = harness.SOURCE / "test/programs"
SYSTEM = "/usr/bin/python3"
KNOWN = ("3.11", "3.12", "3.13", "3.14")
MOST_FRAMES = 128


def version_of(interpreter):
    """(version, path of the executable itself), or None where it does not run."""
    text = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    found = subprocess.run([interpreter, "-c", text], capture_output=True, text=True, check=False)
    return tuple(found.stdout.split()) if found.returncode == 0 and found.stdout else None


def interpreters(known=True):
    """Executables by version: the system's, and others that are installed here."""
    names = [SYSTEM] + [f"python3.{minor}" for minor in range(6, 16)]
    paths = [path for path in map(shutil.which, names) if path]
    found = {path: version for version, path in filter(None, map(version_of, dict.fromkeys(paths)))}
    return [path for path, version in found.items() if (version in KNOWN) == known]


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


class Python(harness.Case):
    def run_script(self, interpreter, script, *arguments, **variables):
        variables.setdefault("VRAMSCOPE_STACK_DEPTH", str(MOST_FRAMES))
        command = [interpreter, str(SCRIPTS / script), *arguments]
        outcome = self.run_program(command, "cache", **variables)
        self.assertEqual(0, outcome.status, outcome.stderr)
        return outcome

    def system(self):
        if SYSTEM not in (found := interpreters()):
            self.skipTest(f"{SYSTEM} is none of {', '.join(KNOWN)}")
        return found[0]

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

    def listing(self, *arguments):
        done = self.run_tool(*arguments)
        self.assertEqual((0, ""), (done.returncode, done.stderr), arguments)
        return done.stdout

    def test_views_show_lines_of_python_and_their_text_while_the_file_is_the_same(self):
        script = harness.pathlib.Path(self.folder) / "steps.py"
        script.write_text(
            f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n"
            "import python_driver as driver\n"
            "def load_batch():\n"
            "    size = driver.note(1 << 20)\n"
            "    driver.library().cuMemAlloc_v2(driver.ctypes.byref(driver.ctypes.c_uint64()), size)\n"
            "def step():\n"
            "    load_batch()\n"
            "driver.start()\n"
            "step()\n"
            "step()\n"
        )
        self.run_tool("run", "--sim", "--quiet", "-o", "r.json", SYSTEM, "steps.py")
        path = f"{self.folder}/r.json"
        for verb in ("report", "sites", "peak"):
            text = self.listing(verb, path)
            self.assertIn("load_batch (steps.py:6) < step (", text)
            self.assertIn("| driver.library().cuM", text)
            self.assertNotIn("libffi", text)
            self.assertNotIn("libffi", self.listing(verb, "--python-only", path))
            self.assertNotIn("libffi", self.listing(verb, "--with-native", path))
            native = self.listing(verb, "--native-only", path)
            self.assertIn("libffi", native)
            self.assertNotIn("steps.py:", native)
            self.assertEqual(2, self.run_tool(verb, "--native-only", "--python-only", path).returncode)
        sites = json.loads(self.listing("sites", "--json", path))
        self.assertEqual([1, 1], [site["total_count"] for site in sites])  # two lines called step()
        (line,) = json.loads(self.listing("sites", "--lines", "--json", path))
        self.assertEqual(2, line["total_count"])
        self.assertTrue(line["line"].startswith("driver.library()"))
        self.assertEqual(["load_batch (steps.py:6)"], line["frames"])

        modified = script.stat().st_mtime_ns
        script.write_text(script.read_text().replace("1 << 20", "2 << 20"))
        self.assertNotIn("| driver", self.listing("sites", path))  # the same size, another time
        os.utime(script, ns=(modified, modified))
        self.assertIn("| driver", self.listing("sites", path))
        script.write_text(script.read_text() + "\n")
        os.utime(script, ns=(modified, modified))
        self.assertNotIn("| driver", self.listing("sites", path))  # the same time, another size

    def test_a_trace_that_others_may_write_shows_no_lines(self):
        script = harness.pathlib.Path(self.folder) / "steps.py"
        script.write_text(
            f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n"
            "import python_driver as driver\n"
            "driver.start()\n"
            "driver.library().cuMemAlloc_v2(driver.ctypes.byref(driver.ctypes.c_uint64()), 1 << 20)\n"
        )
        self.run_tool("run", "--sim", "--quiet", "--trace", "r.trace", SYSTEM, "steps.py")
        path = f"{self.folder}/r.trace"
        for verb in ("trace", "peak", "sites"):
            os.chmod(path, 0o600)
            self.assertIn("| driver.library()", self.listing(verb, path))
            os.chmod(path, 0o622)
            done = self.run_tool(verb, path)
            self.assertNotIn("| driver.library()", done.stdout)
            self.assertIn(f"lines of source are left out: '{path}' is not this user's alone; --source-path", done.stderr)
            self.assertIn("| driver.library()", self.listing(verb, "--source-path", self.folder, path))

    def test_threads_that_python_made_are_told_by_the_function_in_which_they_began(self):
        """Before 3.14 the system has one name for all of them."""
        script = harness.pathlib.Path(self.folder) / "threads.py"
        script.write_text(
            f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n"
            "import concurrent.futures, threading\n"
            "import python_driver as driver\n"
            "def load_batches():\n"
            "    driver.enter()\n"
            "    driver.allocate()\n"
            "class Prefetcher(threading.Thread):\n"
            "    run = lambda self: load_batches()\n"
            "def augment():\n"
            "    load_batches()\n"
            "def await_all(*threads):\n"
            "    for thread in threads: thread.start(); thread.join()\n"
            "driver.start()\n"
            "driver.allocate()\n"
            "await_all(threading.Thread(target=load_batches), Prefetcher())\n"
            "with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(augment).result()\n"
        )
        self.run_tool("run", "--sim", "--quiet", "-o", "r.json", "--trace", "r.trace", SYSTEM, "threads.py")
        began = ["Prefetcher.<lambda> (threads.py:9)", "augment (threads.py:10)", "load_batches (threads.py:5)", "main thread"]
        for path in (f"{self.folder}/r.json", f"{self.folder}/r.trace"):
            rows = json.loads(self.listing("owners", "--by", "thread", "--json", path))
            self.assertEqual(began, sorted(row["began"] for row in rows), path)
            text = self.listing("owners", "--by", "thread", path)
            for row in rows:
                self.assertRegex(text, rf"(?m) {row['value']} \S {re.escape(row['began'])}$")
            self.assertRegex(self.listing("peak", path), r"reached after .* by thread python3\S* \d+ \S augment \(threads\.py:10\)")

    def test_presets_set_what_the_framework_reads_and_never_the_users_own(self):
        wanted = {
            "pytorch": {
                "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
                "VRAMSCOPE_POLICY": "pytorch",
                "VRAMSCOPE_ALLOC_CONF": "growing_segments:True",
            },
            "jax": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"},
            "cupy": {},
        }
        for preset, variables in wanted.items():
            run = self.run_tool("run", "--sim", "--preset", preset, "env")
            for name, value in variables.items():
                self.assertIn(f"{name}={value}\n", run.stdout)
                self.assertIn(f"{name}={value}", run.stderr)
                if name.startswith("VRAMSCOPE_"):
                    continue
                refused = self.run_tool("run", "--sim", "--preset", preset, "env", **{name: "other"})
                self.assertEqual((125, "", 1), (refused.returncode, refused.stdout, refused.stderr.count("\n")))
                same = self.run_tool("run", "--sim", "--preset", preset, "true", **variables)
                self.assertEqual(0, same.returncode)
                self.assertNotIn("sets", same.stderr)
        self.assertIn("set_allocator(None)", run.stderr)
        self.assertEqual(125, self.run_tool("run", "--preset", "unknown", "true").returncode)

    def test_a_preset_leaves_how_memory_is_served_to_who_has_chosen_it(self):
        chosen = (
            (["--policy", "native-safe"], {}),
            (["--mode", "observe"], {}),
            (["--alloc-conf", "max_split_size_mb:40"], {}),
            ([], {"VRAMSCOPE_POLICY": "native-safe"}),
            ([], {"VRAMSCOPE_MODE": "dedicated"}),
        )
        for options, variables in chosen:
            run = self.run_tool("run", "--sim", "--preset", "pytorch", *options, "env", **variables)
            self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING=1\n", run.stdout)
            self.assertNotIn("growing_segments", run.stdout + run.stderr, options)
            self.assertNotIn("VRAMSCOPE_POLICY=pytorch", run.stdout, options)
        run = self.run_tool("run", "--sim", "--preset", "pytorch", "--mode", "cache", "env")
        self.assertIn("VRAMSCOPE_ALLOC_CONF=growing_segments:True\n", run.stdout)

    def run_preset(self, *program, simulator="", options=()):
        run = self.run_tool(
            "run", "--sim", "--preset", "pytorch", "-o", "r.json", *options, *program, VRAMSCOPE_SIM=simulator
        )
        self.assertEqual(0, run.returncode, run.stderr)
        with open(f"{self.folder}/r.json", encoding="utf-8") as file:
            report = json.load(file)
        text = self.listing("report", "r.json")
        os.remove(f"{self.folder}/r.json")
        return run, report, text

    def test_the_preset_of_pytorch_serves_from_pages_and_without_them_as_pytorch(self):
        program = harness.program("contents")
        native = self.run_program([program])
        run, report, text = self.run_preset(program)
        self.assertEqual(native.stdout, run.stdout)
        self.assertTrue(any(s["is_expandable"] for s in report["devices"][0]["segments"]))
        self.assertIn(", policy pytorch with growing_segments, ", text)

        run, report, text = self.run_preset(program, simulator="lacks=cuMemCreate")
        self.assertEqual(native.stdout, run.stdout)
        self.assertFalse(any(s["is_expandable"] for s in report["devices"][0]["segments"]))
        self.assertIn(", policy pytorch without growing_segments, ", text)
        self.assertIn("stay plain", text)
        self.assertNotIn("stay plain", run.stderr)

    def test_under_the_preset_of_pytorch_a_refused_export_names_the_policy_to_use(self):
        program = [harness.program("ipc_export"), "large"]
        line = "cuIpcGetMemHandle: this memory is part of a shared segment and cannot be exported; run with --policy native-safe"
        run, report, text = self.run_preset(*program)
        self.assertIn("export of a large block: 801\n", run.stdout)
        self.assertIn(line, report["warnings"])
        self.assertIn(line, " ".join(text.split()))
        closing = [row for row in run.stderr.splitlines() if row.startswith("vramscope: GPU 0: ")]
        self.assertTrue(closing[0].endswith("; " + line), run.stderr)

        run, report, text = self.run_preset(*program, options=["--policy", "native-safe"])
        self.assertNotIn(": 801\n", run.stdout)
        self.assertNotIn("cannot be exported", run.stderr)

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
