"""Views of Python programs: lines and their text while the file is the same, threads by their functions."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re

import harness
from python_case import PythonTest, SCRIPTS, SYSTEM


class Views(PythonTest):
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
            self.assertNotIn("ffi_call", text)
            self.assertNotIn("ffi_call", self.listing(verb, "--python-only", path))
            self.assertNotIn("ffi_call", self.listing(verb, "--with-native", path))
            native = self.listing(verb, "--native-only", path)
            self.assertIn("ffi_call < ", native)  # which libffi exports
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


if __name__ == "__main__":
    harness.main()
