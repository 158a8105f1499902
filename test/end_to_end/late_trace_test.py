# `vramscope ctl PID trace on` begins a trace amid a run, with what is live then.
# SPDX-License-Identifier: Apache-2.0
"""late_trace_test.py BUILD"""
import json
import os
import pathlib

import harness
from trace_case import MIB, TraceTest

KEPT = 50  # blocks of 1 MiB that the victim `churn` keeps from the beginning on
MOST_CHURNED = 100 * (1009 + 2003 + 3001 + 4001)  # of its four threads at one time
WAYS = (
    {},
    {"VRAMSCOPE_MODE": "observe"},
    {"VRAMSCOPE_MODE": "dedicated"},
    {"VRAMSCOPE_POLICY": "pytorch"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True"},
    {"VRAMSCOPE_REUSE": "at-reuse", "VRAMSCOPE_ALLOC_CONF": "growing_segments:True"},
)


class LateTrace(TraceTest):
    def start(self, name, **variables):
        process = self.start_program([harness.program(name)], variables.pop("VRAMSCOPE_MODE", "cache"), **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def ask(self, process, *words, status=0):
        done = self.run_tool("ctl", process.pid, *words)
        self.assertEqual(status, done.returncode, done.stderr)
        self.assertEqual(1 if status else 0, done.stderr.count("\n"), done.stderr)
        return (done.stderr if status else done.stdout).strip()

    def more(self, process):
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertTrue(process.stdout.readline())

    def end(self, process):
        process.communicate("quit\n", timeout=harness.DEADLINE_S)

    def report(self, process):
        return json.loads(pathlib.Path(self.ask(process, "report")).read_text(encoding="utf-8"))

    def held(self, found):
        return {(kind["kind"], kind["device"]): kind["current_bytes"] for kind in found["kinds"] if kind["current_bytes"]}

    def segments(self, *words):
        """Of each place, segments with their live blocks."""
        return {(place["kind"], place["device"]): sorted(
            (segment["address"], segment["total_bytes"], sorted((block["address"], block["requested_bytes"]) for block in segment["blocks"] if block["state"] == "active_allocated"))
            for segment in place["segments"]) for place in self.listing("map", *words)["places"]}  # fmt: skip

    def test_it_holds_what_the_program_holds(self):
        for way in WAYS:
            process = self.start("hold", **way)
            before = self.report(process)
            path = self.ask(process, "trace", "on", "%p.trace")
            self.assertTrue(os.path.samefile(os.path.join(self.folder, f"{process.pid}.trace"), path.partition("~")[0]))
            self.more(process)
            after = self.report(process)
            self.assertEqual(path, after["trace"]["path"])
            self.assertEqual(path, self.ask(process, "trace", "off"))
            self.more(process)
            found = self.totals(path)
            self.assertTrue(found["complete"], way)
            self.assertEqual(self.held(after), self.held(found), way)
            self.assertEqual(sum(self.held(before).values()), found["live_before_bytes"], way)
            self.assertGreater(found["begins_at_ns"], 0)
            sites = [[site[name] for name in ("live_bytes", "live_count")] for site in found["sites"] if site["live_count"]]
            wanted = [[site[name] for name in ("live_bytes", "live_count")] for site in after["sites"] if site["live_count"]]
            self.assertEqual(sorted(wanted), sorted(sites), way)
            self.assertRegex(self.run_tool("trace", path).stdout, r"it begins amid the run, after [\d.]+ .?s, with \d+ allocations of [\d.]+ MiB live")
            self.end(process)

    def test_segments_are_those_of_the_program(self):
        for way in WAYS:
            process = self.start("hold", **way)
            path = self.ask(process, "trace", "on", "%p.trace")
            self.more(process)
            report = self.ask(process, "report")
            self.ask(process, "trace", "off")
            self.assertEqual(*(self.segments(*words) for words in ((report,), ("--at", "end", path))), way)
            self.end(process)

    def test_it_begins_and_ends_while_four_threads_allocate(self):
        for way in WAYS:
            process = self.start("churn", **way)
            for number in range(4):
                path = self.ask(process, "trace", "on", f"{number}.%p.trace")
                self.more(process)
                if number % 2 == 0:
                    self.ask(process, "trace", "off")
                    found = self.totals(path)
                    (kind,) = found["kinds"]
                    self.assertTrue(0 <= kind["current_bytes"] - (KEPT + number + 1) * MIB <= MOST_CHURNED, (way, kind))
                    kept = [site["live_count"] for site in found["sites"] if site["live_bytes"] == site["live_count"] * MIB and site["live_count"]]
                    self.assertEqual(KEPT + number + 1, sum(kept), way)
                else:
                    self.assertIn("already", self.ask(process, "trace", "on", "x", status=2))
                    self.ask(process, "trace", "off")
            path = self.ask(process, "trace", "on", "last.%p.trace")
            process.communicate("end\n", timeout=harness.DEADLINE_S)
            found = self.totals(path)
            self.assertEqual({}, self.held(found), way)
            (kind,) = found["kinds"]
            self.assertEqual(kind["allocations"], kind["frees"], way)
            self.assertIn("Not freed by the end of the trace: nothing", self.run_tool("leaks", path).stdout, way)

    def test_what_is_wrong_is_one_line(self):
        process = self.start("hold")
        self.assertIn("it writes no trace", self.ask(process, "trace", "off", status=2))
        for words in ((), ("on",), ("off", "x"), ("x",), ("on", "")):
            self.assertIn("trace needs 'on FILE' or 'off'", self.ask(process, "trace", *words, status=2))
        self.assertIn("cannot write the trace '/nowhere/x': No such file or directory", self.ask(process, "trace", "on", "/nowhere/x", status=2))
        for _ in range(16):
            self.ask(process, "trace", "on", "x")
            self.ask(process, "trace", "off")
        self.assertIn("has written 16 traces", self.ask(process, "trace", "on", "x", status=2))
        self.end(process)
        process = self.start("hold", VRAMSCOPE_TRACE="%p.trace")
        self.assertIn("already", self.ask(process, "trace", "on", "x", status=2))
        self.assertIn(f"{process.pid}.trace", self.ask(process, "trace", "off"), "of the run, as well")
        self.end(process)

    def test_events_are_written_before_the_socket_is_closed(self):
        """The helper thread noticed the new trace only then."""
        process = self.start("hold")
        path = self.ask(process, "trace", "on", "%p.trace")
        self.more(process)
        self.wait_until(lambda: self.totals(path, "--partial")["events"])
        self.assertTrue(list(harness.LIVE_FILES.glob(f"hold.{process.pid}.ctl")))
        self.end(process)

    def test_that_of_a_killed_program_can_be_read(self):
        process = self.start("churn")
        path = self.ask(process, "trace", "on", "%p.trace")
        self.more(process)
        process.kill()
        process.wait()
        found = self.totals(path, "--partial")
        self.assertFalse(found["complete"])
        self.assertGreaterEqual(found["live_before_bytes"], KEPT * MIB)
        harness.remove_live_files(f"churn.{process.pid}")


if __name__ == "__main__":
    harness.main()
