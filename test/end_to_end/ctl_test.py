# `vramscope ctl` answers PyTorch's questions about the memory of a running program.
# SPDX-License-Identifier: Apache-2.0
"""ctl_test.py BUILD"""
import json
import os

import harness

COUNTERS = {
    "memory_allocated": "allocated_bytes.all.current",
    "max_memory_allocated": "allocated_bytes.all.peak",
    "memory_reserved": "reserved_bytes.all.current",
    "max_memory_reserved": "reserved_bytes.all.peak",
    "memory_cached": "reserved_bytes.all.current",
    "max_memory_cached": "reserved_bytes.all.peak",
}


class Ctl(harness.Case):
    def start(self, name="hold", **variables):
        process = self.start_program([harness.program(name)], "cache", **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def ask(self, process, *words, status=0):
        done = self.run_tool("ctl", process.pid, *words)
        self.assertEqual(status, done.returncode, done.stderr)
        self.assertEqual("" if status else done.stdout, done.stdout)
        self.assertEqual(1 if status else 0, done.stderr.count("\n"), done.stderr)
        return done.stderr if status else done.stdout

    def end(self, process):
        process.communicate("quit\n", timeout=harness.DEADLINE_S)

    def test_counters_are_those_of_a_report_of_that_instant(self):
        process = self.start()
        stats = json.loads(self.ask(process, "memory_stats", "--json"))
        host = json.loads(self.ask(process, "host_memory_stats", "--json"))
        singles = {name: int(self.ask(process, name)) for name in COUNTERS}
        path = self.ask(process, "report").strip()
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual("signal", report["trigger"])
        self.assertEqual(report["devices"][0]["memory_stats"], stats)
        self.assertEqual(report["host"]["memory_stats"], host)
        self.assertEqual({name: stats[key] for name, key in COUNTERS.items()}, singles)
        self.end(process)

    def test_text_has_a_line_a_counter(self):
        process = self.start()
        stats = json.loads(self.ask(process, "memory_stats", "--json"))
        lines = [line.split(" ") for line in self.ask(process, "memory_stats").splitlines()]
        self.assertEqual(stats, {key: int(value) for key, value in lines})
        self.assertEqual("", self.ask(process, "host_memory_stats"), "nothing was pinned")
        self.end(process)

    def test_counters_agree_while_four_threads_allocate(self):
        process = self.start("churn")
        for _ in range(20):
            stats = json.loads(self.ask(process, "memory_stats", "--json"))
            for key in ("allocated_bytes", "requested_bytes", "allocation", "reserved_bytes"):
                levels = [{part: stats[f"{key}.{pool}.{part}"] for part in ("current", "peak", "allocated", "freed")}
                          for pool in ("all", "small_pool", "large_pool")]  # fmt: skip
                whole, small, large = levels
                self.assertEqual(whole["current"], small["current"] + large["current"], key)
                for level in levels:
                    self.assertEqual(level["current"], level["allocated"] - level["freed"], key)
                    self.assertLessEqual(level["current"], level["peak"], key)
        self.end(process)

    def test_what_cannot_be_answered_is_one_line(self):
        process = self.start(VRAMSCOPE_LIVE_FILE="off")
        self.assertIn("has no live file that can be read", self.ask(process, "memory_allocated", status=2))
        self.assertTrue(os.path.exists(self.ask(process, "report").strip()), "the signal needs no live file")
        other = self.start()
        self.assertIn(f"process {other.pid} has not used GPU 5", self.ask(other, "memory_stats", "--device", "5", status=2))
        self.assertIn("'memory_stat' is no command; nearest is memory_stats", self.ask(other, "memory_stat", status=2))
        for pid, line in (("1", "process 1 is not recorded"), ("999999999", "does not run"), ("x", "'x' is not a whole number")):
            done = self.run_tool("ctl", pid, "memory_stats")
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn(line, done.stderr)
        for one in (process, other):
            self.end(one)


if __name__ == "__main__":
    harness.main()
