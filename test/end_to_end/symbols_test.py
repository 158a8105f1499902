"""Function names in listings: of runtimes, of programs that are stripped, gone or were replaced."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import unittest

import harness

PLACE = "(driver.h:"  # a line of the victim: only debug information tells it


def build_id(path):
    notes = subprocess.run([harness.installed("readelf"), "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: (\w+)", notes.stdout).group(1)


class Debuginfod(http.server.ThreadingHTTPServer):
    """Has files by build id and purpose, as debuginfod's web interface gives them."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = files
        self.asked = []

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        path = self.server.files.get(self.path)
        self.send_response(200 if path else 404)
        body = pathlib.Path(path).read_bytes() if path else b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Symbols(harness.Case):
    def setUp(self):
        super().setUp()
        self.whole = harness.program("threads_alloc")
        self.program = os.path.join(self.folder, "program")
        subprocess.run([harness.installed("strip"), "-o", self.program, self.whole], check=True)
        self.run_tool("run", "--sim", "--quiet", "--symbols", "off", "--signal", "none", "-o", "report.json", self.program)

    def sites(self, **variables):
        return self.run_tool("sites", "--json", "report.json", **variables).stdout

    def serve(self, purpose):
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError:
            raise unittest.SkipTest("libdebuginfod is not installed") from None
        server = Debuginfod({f"/buildid/{build_id(self.whole)}/{purpose}": self.whole})
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, {"DEBUGINFOD_URLS": server.url(), "DEBUGINFOD_CACHE_PATH": os.path.join(self.folder, "cache")}

    def test_debug_information_comes_from_a_server_if_one_is_named(self):
        server, variables = self.serve("debuginfo")

        self.assertNotIn(PLACE, self.sites())
        self.assertEqual([], server.asked)
        self.assertIn(PLACE, self.sites(**variables))
        self.assertNotEqual([], server.asked)

    def test_a_program_that_is_gone_comes_from_a_server(self):
        server, variables = self.serve("executable")
        os.unlink(self.program)

        self.assertRegex(self.sites(), r"program\+0x")
        self.assertIn(PLACE, self.sites(**variables))

    def test_a_program_that_was_replaced_is_noticed(self):
        server, variables = self.serve("executable")
        shutil.copy(harness.program("meminfo"), self.program)

        self.assertRegex(self.sites(), r"program\+0x\w+ \(replaced\)")
        self.assertIn(PLACE, self.sites(**variables))

    def test_a_server_that_has_nothing_changes_nothing(self):
        server, variables = self.serve("nothing")
        os.unlink(self.program)

        self.assertEqual(self.sites(), self.sites(**variables))

    def test_calls_have_the_name_of_their_function_of_the_runtime(self):
        for name in ("train", "train_static"):
            program = harness.program(name)
            self.run_tool("run", "--sim", "--quiet", "-o", f"{name}.json", program)
            called = {row["called"] for row in json.loads(self.run_tool("sites", "--json", f"{name}.json").stdout)}
            self.assertIn("cudaMalloc", called, name)
            self.assertIn("cudaMalloc", self.run_tool("sites", f"{name}.json").stdout)


class InReports(harness.Case):
    """A report that was copied to another machine showed offsets, or "(replaced)"."""

    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "program")
        shutil.copy(harness.program("threads_alloc"), self.program)

    def record(self, *options, name="report.json"):
        return self.run_tool("run", "--sim", *options, "-o", name, self.program)

    def read(self, name="report.json"):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def sites(self, name="report.json"):
        return json.loads(self.run_tool("sites", "--json", name).stdout)

    def test_a_report_reads_the_same_when_the_program_is_gone_or_replaced(self):
        self.record("--quiet")
        before = self.sites()
        self.assertIn(PLACE, json.dumps(before))
        os.unlink(self.program)
        self.assertEqual(before, self.sites())
        shutil.copy(harness.program("meminfo"), self.program)
        self.assertEqual(before, self.sites())
        self.assertNotIn("replaced", self.run_tool("sites", "report.json").stdout)

    def test_all_else_stays_byte_for_byte(self):
        self.record("--quiet", "--symbols", "off")
        plain = self.read()
        self.assertNotIn('"symbols"', plain)
        self.run_tool("symbols", "report.json")
        named = self.read()
        self.assertTrue(named.startswith(plain.removesuffix("\n}\n") + ',\n"symbols":{'))
        self.assertEqual({**json.loads(plain), "symbols": json.loads(named)["symbols"]}, json.loads(named))
        self.run_tool("symbols", "report.json")
        self.assertEqual(named, self.read())
        self.assertEqual(os.stat(os.path.join(self.folder, "report.json")).st_mode & 0o777, 0o600)

    def test_without_time_it_says_how_to_go_on(self):
        done = self.record("--symbols", "0")
        self.assertRegex(done.stderr, r"; \d+ frames not named in 0 s: vramscope symbols .*report\.json")
        self.assertLessEqual(len([line for line in done.stderr.splitlines() if line.startswith("vramscope: ")]), 3)
        self.assertNotIn('"symbols"', self.read())
        self.assertNotIn("not named", self.record("--symbols", "off", name="off.json").stderr)
        self.assertNotIn('"symbols"', self.read("off.json"))

    def test_a_merged_report_has_the_names_of_its_parts(self):
        self.record("--quiet", name="one.json")
        self.record("--quiet", name="two.json")
        os.unlink(self.program)
        self.run_tool("merge", "-o", "all.json", "one.json", "two.json")
        self.assertIn(PLACE, json.dumps(self.sites("all.json")))

    def test_off_looks_nothing_up(self):
        self.record("--quiet", "--symbols", "off")
        plain = self.read()
        self.run_tool("merge", "--symbols", "off", "-o", "all.json", "report.json")
        self.assertNotIn('"symbols"', plain + self.read("all.json"))

    def test_a_program_that_was_killed_has_them_too(self):
        shutil.copy(harness.program("killed"), self.program)
        self.run_tool("run", "--sim", "-q", "-o", "killed.json", self.program, "raise", "9")
        self.assertIn("use_memory", self.read("killed.json"))

    def test_a_pipe_and_what_is_not_ours_are_left_alone(self):
        os.mkfifo(os.path.join(self.folder, "pipe.json"))
        with open(os.path.join(self.folder, "other.json"), "w", encoding="utf-8") as file:
            file.write('{"a": 1}')
        for name in ("pipe.json", "other.json"):
            done = self.run_tool("symbols", name)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.read("other.json"), '{"a": 1}')
        self.assertIn("missing.json: No such file", self.run_tool("symbols", "missing.json").stderr)


if __name__ == "__main__":
    harness.main()
