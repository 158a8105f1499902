# `vramscope ctl` answers PyTorch's questions about the memory of a running program.
# SPDX-License-Identifier: Apache-2.0
"""ctl_test.py BUILD"""
import json
import pathlib
import sys

import harness

MIB = 1 << 20
# Keeps 64 MiB idle, and allocates a little for each line.
IDLE = harness.ASKS_DRIVER + """
driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(64 << 20))
driver.cuMemFree_v2(block)
print("ready", flush=True)
for line in sys.stdin:
    if line == "quit\\n":
        break
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1024))
    print("ready", flush=True)
"""
COUNTERS = {
    "memory_allocated": "allocated_bytes.all.current",
    "max_memory_allocated": "allocated_bytes.all.peak",
    "memory_reserved": "reserved_bytes.all.current",
    "max_memory_reserved": "reserved_bytes.all.peak",
    "memory_cached": "reserved_bytes.all.current",
    "max_memory_cached": "reserved_bytes.all.peak",
}


class Case(harness.Case):
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

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def end(self, process):
        process.communicate("quit\n", timeout=harness.DEADLINE_S)


class Counters(Case):
    def test_counters_are_those_of_a_report_of_that_instant(self):
        process = self.start()
        stats = json.loads(self.ask(process, "memory_stats", "--json"))
        host = json.loads(self.ask(process, "host_memory_stats", "--json"))
        singles = {name: int(self.ask(process, name)) for name in COUNTERS}
        path = self.ask(process, "report").strip()
        report = self.read(path)
        self.assertEqual("control", report["trigger"])
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
        path = self.ask(process, "report").strip()
        self.assertEqual("signal", self.read(path)["trigger"], "the signal needs no live file")
        self.assertIn("has no live file that can be read", self.ask(process, "mark", "x", status=2))
        other = self.start()
        self.assertIn(f"process {other.pid} has not used GPU 5", self.ask(other, "memory_stats", "--device", "5", status=2))
        self.assertIn("'memory_stat' is no command; nearest is memory_stats", self.ask(other, "memory_stat", status=2))
        for pid, line in (("1", "process 1 is not recorded"), ("999999999", "does not run"), ("x", "'x' is not a whole number")):
            done = self.run_tool("ctl", pid, "memory_stats")
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn(line, done.stderr)
        for one in (process, other):
            self.end(one)


class Steer(Case):
    """What the helper thread does."""

    def stats(self, process):
        return json.loads(self.ask(process, "memory_stats", "--json"))

    def test_a_mark_is_in_the_next_report(self):
        process = self.start()
        self.assertEqual("", self.ask(process, "mark", "warmed up"))
        self.ask(process, "mark", "again")
        report = self.read(self.ask(process, "report").strip())
        self.assertEqual(["warmed up", "again"], [mark["name"] for mark in report["marks"]])
        self.end(process)

    def test_peaks_fall_to_the_current_values(self):
        for command in ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset-max-memory-cached"):
            process = self.start()
            before = self.stats(process)
            self.assertGreater(before["allocated_bytes.all.peak"], before["allocated_bytes.all.current"])
            self.assertEqual("", self.ask(process, command))
            after = self.stats(process)
            self.assertEqual(before["allocated_bytes.all.current"], after["allocated_bytes.all.peak"])
            self.assertEqual(before["allocated_bytes.all.allocated"], after["allocated_bytes.all.allocated"])
            (warning,) = self.read(self.ask(process, "report").strip())["warnings"]
            self.assertIn("peaks were reset while the program ran", warning)
            self.end(process)

    def test_totals_begin_anew(self):
        process = self.start()
        before = self.stats(process)
        self.assertGreater(before["allocation.all.allocated"], 0)
        self.ask(process, "reset_accumulated_memory_stats")
        after = self.stats(process)
        self.assertEqual([0, 0], [after[f"allocation.all.{part}"] for part in ("allocated", "freed")])
        self.assertEqual(before["allocation.all.current"], after["allocation.all.current"])
        self.ask(process, "reset_accumulated_host_memory_stats")
        self.assertIn("counts were reset while the program ran", " ".join(self.read(self.ask(process, "report").strip())["warnings"]))
        self.end(process)

    def test_a_report_needs_no_signal(self):
        process = self.start(VRAMSCOPE_SIGNAL="none")
        self.assertEqual("control", self.read(self.ask(process, "report").strip())["trigger"])
        self.end(process)

    def test_where_control_is_off_the_signal_makes_a_report(self):
        process = self.start(VRAMSCOPE_CONTROL="off")
        self.assertIn("was started with --control off", self.ask(process, "mark", "x", status=2))
        self.assertEqual("signal", self.read(self.ask(process, "report").strip())["trigger"])
        self.end(process)

    def test_a_snapshot_is_what_the_counters_say(self):
        process = self.start()
        stats = self.stats(process)
        segments = json.loads(self.ask(process, "memory_snapshot"))
        for key, size in (("reserved", "total_size"), ("allocated", "allocated_size"), ("requested", "requested_size")):
            self.assertEqual(stats[f"{key}_bytes.all.current"], sum(segment[size] for segment in segments), key)
        for segment in segments:
            ends = [segment["address"]]
            for block in segment["blocks"]:
                self.assertEqual(ends[-1], block["address"], "blocks tile their segment")
                ends.append(block["address"] + block["size"])
            self.assertEqual(segment["address"] + segment["total_size"], ends[-1])
        self.end(process)

    def test_without_stacks_bytes_are_counted_still(self):
        process = self.start()
        first = sum(row["total_bytes"] for row in self.sites(process))
        self.ask(process, "pause")
        self.go_on(process)
        paused = self.sites(process)
        self.assertEqual(first, sum(row["total_bytes"] for row in paused if row["frames"]))
        self.assertEqual(self.stats(process)["requested_bytes.all.current"], sum(row["live_bytes"] for row in paused))
        self.ask(process, "resume")
        self.go_on(process)
        self.assertGreater(sum(row["total_bytes"] for row in self.sites(process) if row["frames"]), first)
        report = self.read(self.ask(process, "report").strip())
        self.assertIn("recording of call stacks was paused", str(report["warnings"]))
        self.end(process)

    def sites(self, process):
        return self.read(self.ask(process, "report").strip())["sites"]

    def go_on(self, process):
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertIn("ready", process.stdout.readline())

    def test_idle_memory_goes_back_at_the_next_call(self):
        self.give_back()

    def test_idle_memory_goes_back_under_the_policy_of_pytorch(self):
        self.give_back(VRAMSCOPE_POLICY="pytorch")

    def test_idle_memory_goes_back_where_each_hit_is_proved(self):
        self.give_back(VRAMSCOPE_REUSE="at-reuse")

    def give_back(self, **variables):
        process = self.start_program([sys.executable, "-c", IDLE], "cache", **variables)
        self.assertIn("ready", process.stdout.readline())
        self.assertEqual(64 * MIB, self.stats(process)["reserved_bytes.all.current"])
        line = self.ask(process, "empty_cache", "--wait", "0", status=2)
        self.assertIn("empty_cache waits for the program's next CUDA call", line)
        self.assertEqual(64 * MIB, self.stats(process)["reserved_bytes.all.current"], "it made no call")
        self.go_on(process)
        self.assertEqual(2 * MIB, self.stats(process)["reserved_bytes.all.current"])
        self.assertEqual(1, self.stats(process)["num_device_free"])
        self.end(process)

    def test_nothing_waits_where_nothing_is_kept(self):
        process = self.start_program([harness.program("hold")], "observe")
        self.assertIn("ready", process.stdout.readline())
        self.assertEqual("", self.ask(process, "empty_cache", "--wait", "0"))
        self.end(process)

    def test_a_live_file_may_lie_elsewhere(self):
        process = self.start(VRAMSCOPE_LIVE_FILE=f"{self.folder}/%p.live")
        self.assertEqual("", self.ask(process, "mark", "x"))
        self.end(process)

    def test_idle_memory_goes_back_while_threads_call(self):
        process = self.start("churn")
        for _ in range(3):
            self.assertEqual("", self.ask(process, "empty_cache", "--wait", "60"))
        process.communicate("end\n", timeout=harness.DEADLINE_S)
        self.assertEqual(0, process.returncode)

    def test_free_memory_is_what_the_program_would_be_told(self):
        process = self.start("churn")
        info = json.loads(self.ask(process, "get_memory_info", "--json"))
        self.assertLess(info["age_ns"], 10**9)
        self.assertTrue(0 < info["free_bytes"] < info["total_bytes"], info)
        process.communicate("end\n", timeout=harness.DEADLINE_S)
        process = self.start()
        done = self.run_tool("ctl", process.pid, "get_memory_info", "--wait", "0")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("newer ones wait for its next CUDA call", done.stderr)
        self.assertEqual(["free_bytes", "total_bytes", "age_ns"], [line.split()[0] for line in done.stdout.splitlines()])
        self.end(process)

    def test_a_limit_holds_from_now_on(self):
        process = self.start()
        self.ask(process, "set-limit", "1MiB")
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertNotIn("ready", process.stdout.readline(), "memory runs out")
        process.communicate(timeout=harness.DEADLINE_S)
        process = self.start()
        self.ask(process, "set_limit", "1MiB")
        self.ask(process, "set_limit", "none")
        self.go_on(process)
        report = self.read(self.ask(process, "report").strip())
        self.assertIn("the limit of GPU 0 was changed", str(report["warnings"]))
        self.end(process)

    def triggers(self):
        return sorted(self.read(path)["trigger"] for path in pathlib.Path(self.folder).glob("*.json"))

    def test_options_of_reports_change_while_it_runs(self):
        process = self.start()
        self.assertEqual("", self.ask(process, "set-option", "interval", "0.05"))
        self.wait_until(lambda: "interval" in self.triggers())
        self.assertEqual("", self.ask(process, "set_option", "interval", "0"))
        written = self.triggers().count("interval")
        self.ask(process, "set_option", "report-on-growth", "10MiB")
        self.go_on(process)
        self.wait_until(lambda: "growth" in self.triggers())
        self.ask(process, "set_option", "report_on_growth", "0")
        self.ask(process, "set_option", "report_at_peak", "1%")
        self.go_on(process)
        self.wait_until(lambda: "peak" in self.triggers())
        self.assertLessEqual(self.triggers().count("interval"), written + 1)  # the last may have been under way
        warnings = self.read(self.ask(process, "report").strip())["warnings"]
        self.assertIn("the option interval was changed while the program ran (vramscope ctl): 0.05", warnings)
        self.ask(process, "set_option", "report_at_exit", "off")
        self.end(process)
        self.assertNotIn("exit", self.triggers())

    def test_a_report_of_the_end_can_be_asked_for_late(self):
        process = self.start(VRAMSCOPE_REPORT_AT_EXIT="off")
        self.ask(process, "set_option", "report_at_exit", "on")
        self.end(process)
        self.assertEqual(["exit"], self.triggers())

    def test_other_options_say_why_they_do_not_change(self):
        process = self.start()
        wrong = {("interval", "often"): "interval: 'often' is not seconds such as 60 or 0.5, or 0",
                 ("interval", ""): "interval: '' is not seconds",
                 ("mode", "observe"): "the option 'mode' cannot be set now: it is read when the program starts, and stays 'cache'",
                 ("device_memory_limit", "1GiB"): "cannot be set now: set_limit changes it",
                 ("sample_bytes", "512KiB"): "estimates of a report have one distance",
                 ("stacks", "none"): "pause and resume switch call stacks off and on",
                 ("trace", "x"): "trace on FILE and trace off change it",
                 ("speed", "1"): "there is no such option",
                 ("interval",): "set_option needs a name and a value", (): "set_option needs a name and a value"}  # fmt: skip
        for words, line in wrong.items():
            self.assertIn(line, self.ask(process, "set_option", *words, status=2))
        self.end(process)

    def test_what_is_wrong_is_one_line(self):
        process = self.start()
        for words, line in {("mark",): "mark needs a name", ("mark", ""): "mark needs a name",
                            ("report", "now"): "report takes no 'now'",
                            ("memory_stats", "now"): "memory_stats takes no 'now'",
                            ("reset_peak_memory_stats", "--device", "5"): "has not used GPU 5",
                            ("reset_peak_memory_stats", "--device", "65"): "is no GPU",
                            ("set_limit",): "needs a size such as 40GiB, or none",
                            ("set_limit", "40GB"): "40GB is written 40GiB",
                            ("set_limit", "1MiB", "--device", "5"): "has not used GPU 5",
                            ("get_memory_info", "--device", "5"): "has not used GPU 5",
                            ("mark", "x", "--wait", "4000"): "is more than 3600",
                            ("mark", "x" * 5000): "at most"}.items():  # fmt: skip
            self.assertIn(line, self.ask(process, *words, status=2))
        self.assertEqual("", self.ask(process, "mark", "ü\n\"\\"), "any text")
        self.end(process)


if __name__ == "__main__":
    harness.main()
