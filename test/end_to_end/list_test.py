# `vramscope list` shows the programs that are recorded now, from their live files alone.
# SPDX-License-Identifier: Apache-2.0
"""list_test.py BUILD"""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../view"))
import harness  # noqa: E402
import listings  # noqa: E402

HELD = sum(100000 * (i + 1) for i in range(20)) - 100000  # of the victim `hold` at its first line


class List(harness.Case):
    def start(self, name="hold", mode="cache", **variables):
        """A victim that has said that it is ready."""
        process = self.start_program([harness.program(name)], mode, **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def listed(self, process):
        """The row of a process, or nothing; other tests have programs of their own."""
        done = self.run_tool("list", "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        rows = json.loads(done.stdout)
        self.assertEqual([], listings.problems("list", rows))
        return next((row for row in rows if row["pid"] == process.pid), None)

    def end(self, process):
        process.communicate("quit\n", timeout=harness.DEADLINE_S)

    def test_it_shows_what_a_program_has_now(self):
        process = self.start()
        row = self.listed(process)
        self.assertEqual(("hold", [0], HELD, HELD + 100000, "cache", ""),
                         tuple(row[name] for name in ("program", "devices", "live_bytes", "peak_bytes", "mode", "problem")))  # fmt: skip
        self.assertTrue(0 < row["age_ns"] < harness.DEADLINE_S * 1e9, row)
        self.assertTrue(os.path.samefile(row["live_file"], harness.LIVE_FILES / f"hold.{process.pid}.live"))
        self.end(process)
        self.assertTrue(os.path.exists(row["report"]), row)

    def test_it_is_as_a_report_of_that_instant(self):
        process = self.start()
        row = self.listed(process)
        path = self.run_tool("snapshot", process.pid).stdout.strip()
        (kind,) = (kind for kind in json.loads(open(path, encoding="utf-8").read())["kinds"] if kind["kind"] == "device")
        self.assertEqual((kind["current_bytes"], kind["peak_bytes"]), (row["live_bytes"], row["peak_bytes"]))
        self.end(process)

    def test_text_and_csv_have_the_row(self):
        process = self.start()
        text = self.run_tool("list").stdout
        (line,) = (line for line in text.splitlines() if f" {process.pid} " in line)
        self.assertRegex(line, rf"{process.pid}  hold +\S+ \w+ +0 +19.9 MiB +20.0 MiB +cache +/.*hold.{process.pid}.json$")
        self.assertRegex(text, r"\nNext: vramscope \w+ \d+\n$")
        rows = csv.DictReader(io.StringIO(self.run_tool("list", "--csv").stdout))
        (row,) = (row for row in rows if row["pid"] == str(process.pid))
        self.assertEqual((str(HELD), "hold"), (row["live_bytes"], row["program"]))
        self.end(process)

    def test_one_that_ended_or_was_killed_is_no_row(self):
        ended, killed = self.start(), self.start()
        self.end(ended)
        killed.kill()
        killed.wait()
        self.assertIsNone(self.listed(ended))
        self.assertIsNone(self.listed(killed))
        harness.remove_live_files(f"hold.{killed.pid}")

    def test_a_live_file_elsewhere_is_found(self):
        path = os.path.join(os.path.realpath(self.folder), "elsewhere.live")
        process = self.start(VRAMSCOPE_LIVE_FILE=path)
        row = self.listed(process)
        self.assertEqual((path, HELD), (row["live_file"], row["live_bytes"]))
        self.end(process)

    def test_without_a_live_file_it_says_so(self):
        process = self.start(VRAMSCOPE_LIVE_FILE="off")
        row = self.listed(process)
        self.assertEqual(("", None, "it has no live file, so its figures cannot be read"),
                         tuple(row[name] for name in ("live_file", "live_bytes", "problem")))  # fmt: skip
        self.assertIn(f"  {process.pid}: it has no live file", self.run_tool("list").stdout)
        self.end(process)

    def test_a_program_without_cuda_is_no_row(self):
        process = self.start_program(["/bin/cat"], "cache")
        process.stdin.write("line\n")
        process.stdin.flush()
        self.assertEqual("line\n", process.stdout.readline())
        self.assertIsNone(self.listed(process))
        process.communicate(timeout=harness.DEADLINE_S)

    def test_programs_of_other_users_are_left_out(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        process = self.start()
        done = harness.programs.finish(["setpriv", "--reuid=65534", "--clear-groups", harness.TOOL, "list", "--json"],
                                       harness.environment(), "/", harness.DEADLINE_S)  # fmt: skip
        self.assertEqual((0, "[]"), (done.returncode, done.stdout.strip()), done.stderr)
        self.end(process)


if __name__ == "__main__":
    harness.main()
