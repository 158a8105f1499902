"""--device-memory-limit: a program on a large device meets a smaller one, in every mode."""
# SPDX-License-Identifier: Apache-2.0
import sys

import harness
import recount

LIMIT = "VRAMSCOPE_DEVICE_MEMORY_LIMIT"
BARE = "context_bytes=0"
RECORDING = ("cache", "observe")
GIB = 1 << 30


# Eight threads that take and free 2 MiB each, of which the limit has room for five.
RACE = f"""{harness.ASKS_DRIVER}
import threading
def work():
    driver.cuCtxSetCurrent(context)
    for _ in range(400):
        block = ctypes.c_uint64()
        if driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(2 << 20)) == 0:
            driver.cuMemFree_v2(block)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
kept = [ctypes.c_uint64() for _ in range(9)]
for block in kept:
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(2 << 20))
"""


class MemoryLimit(harness.Case):
    def assert_meets(self, command, limit):
        """The same as natively on a device of that size."""
        command = [harness.program(command[0]), *command[1:]]
        native = self.run_program(command, simulator=f"capacity={limit},{BARE}")
        for mode in RECORDING:
            limited = self.run_program(command, mode, f"capacity=16GiB,{BARE}", **{LIMIT: limit})
            self.assertEqual(native.behaviour(), limited.behaviour(), mode)
            report = self.only_report(limited)
            recount.check(self, report)
            self.assert_told(report, limit)

    def assert_told(self, report, limit):
        (device,) = report["devices"]
        self.assertEqual(int(limit.removesuffix("GiB")) * GIB, device["limit_bytes"])
        self.assertEqual(16 * GIB, device["total_bytes"])
        self.assertGreater(device["limit_refusals"], 0)
        self.assertEqual(
            [f"GPU 0 reached its limit of {limit} (--device-memory-limit)"], report["warnings"]
        )

    def test_a_refusal_by_the_limit_tells_what_was_free_at_that_instant(self):
        """2 MiB were refused where 12 MiB were said to be free: threads that raced for the limit freed them meanwhile."""
        for mode in RECORDING:
            raced = self.run_program([sys.executable, "-c", RACE], mode, f"capacity=16GiB,{BARE}", VRAMSCOPE_ON_OOM="none", **{LIMIT: "10MiB"})
            [report] = raced.reports
            events = report["oom"]["events"]
            self.assertTrue(events)
            for event in events:
                self.assertTrue(event["by_limit"])
                self.assertLess((10 << 20) - event["counted_bytes"], 2 << 20, event)

    def test_a_program_that_takes_everything_meets_the_limit(self):
        self.assert_meets(["oom"], "4GiB")
        self.assert_meets(["oom", "96"], "1GiB")

    def assert_as_on_a_device(self, words, part):
        """A program that takes all says the part on a device of 110 MiB, and does the same under that limit."""
        command = [harness.program("oom"), *words]
        native = self.run_program(command, simulator=f"capacity=110MiB,{BARE}")
        self.assertIn(part, native.stdout)
        for mode in (*RECORDING, "dedicated"):
            limited = self.run_program(command, mode, f"capacity=16GiB,{BARE}", **{LIMIT: "110MiB"})
            self.assertEqual(native.behaviour(), limited.behaviour(), f"{words}, {mode}")

    def test_as_many_blocks_fit_as_on_a_device_of_that_size(self):
        for size in ("1", "1.5", "2", "3", "17", "20"):
            self.assert_as_on_a_device([size], "as many as at first")

    def test_what_is_kept_idle_is_told_free_in_whole_pages(self):
        for size in ("1", "1.5", "3"):
            self.assert_as_on_a_device([size, "free"], "free KiB 112640 of 112640")

    def test_contexts_have_their_part_of_it(self):
        """As on a device of that size, whose contexts take 524 MiB of it each, where `run` says what was used before."""
        for words, limit in ((["oom"], "4GiB"), (["oom", "96"], "1GiB"), (["oom", "17", "free"], "2GiB"),
                             (["second_context"], "2GiB"), (["context_room"], "3GiB")):  # fmt: skip
            command = [harness.program(words[0]), *words[1:]]
            native = self.run_program(command, simulator=f"capacity={limit}")
            for mode in (*RECORDING, "dedicated"):
                limited = self.run_tool("run", "--sim", "-q", "--mode", mode, "--device-memory-limit", limit, "-o",
                                        f"{self.folder}/%p.json", "--", *command)  # fmt: skip
                self.assertEqual((native.status, native.stdout), (limited.returncode, limited.stdout), (words, mode))

    def test_who_refuses_tells_what_contexts_had(self):
        path = f"{self.folder}/x.json"
        self.run_tool("run", "--sim", "-q", "--device-memory-limit", "1GiB", "-o", path, "--", harness.program("oom"), "96")
        text = self.run_tool("oom", path).stdout
        self.assertRegex(text, r"524 MiB +51\.1 % +contexts of this process\n")
        self.assertRegex(text, r"20\.4 MiB +2\.0 % +free under the limit\n")

    def test_without_run_the_first_context_is_not_known_and_does_not_count(self):
        command = [harness.program("oom"), "96", "free"]
        native = self.run_program(command, simulator=f"capacity=1GiB,{BARE}")
        for mode in RECORDING:
            limited = self.run_program(command, mode, "capacity=16GiB", **{LIMIT: "1GiB"})
            self.assertEqual(native.behaviour(), limited.behaviour(), mode)

    def test_mode_off_knows_no_limit_and_says_so_beforehand(self):
        command = [harness.program("meminfo")]
        native = self.run_program(command)
        self.assertEqual(native.behaviour(), self.run_program(command, "off", **{LIMIT: "1GiB"}).behaviour())
        (line,) = [line for line in self.run_tool("options").stdout.splitlines() if "smaller GPU" in line]
        self.assertIn("not in mode off", line)

    def test_memory_of_every_kind_counts(self):
        self.assert_meets(["small_device"], "1GiB")

    def test_memory_of_graphs_counts_when_it_is_launched_or_uploaded(self):
        self.assert_meets(["graph_room"], "1GiB")

    def test_the_report_names_the_limit_on_the_screen(self):
        command = [harness.program("oom")]
        process = self.start_program(command, "cache", **{LIMIT: "2GiB"})
        process.communicate(timeout=harness.DEADLINE_S)
        path = next(harness.pathlib.Path(self.folder).glob("*.json"))
        text = self.run_tool("report", path).stdout
        self.assertIn("of 2.00 GiB", text)
        self.assertRegex(text, r"limited to 2\.00 GiB of 16\.0 GiB: \d+ requests? refused")

    def test_a_limit_that_is_not_met_changes_nothing(self):
        command = [harness.program("meminfo")]
        native = self.run_program(command)
        for mode in RECORDING:
            limited = self.run_program(command, mode, **{LIMIT: "8GiB"})
            self.assertEqual(native.behaviour(), limited.behaviour())
            report = self.only_report(limited)
            self.assertEqual(([], 0), (report["warnings"], report["devices"][0]["limit_refusals"]))

    def test_a_limit_above_the_device_is_the_devices_own(self):
        command = [harness.program("oom")]
        native = self.run_program(command, simulator="capacity=4GiB")
        for mode in RECORDING:
            limited = self.run_program(command, mode, "capacity=4GiB", **{LIMIT: "9GiB"})
            self.assertEqual(native.behaviour(), limited.behaviour())
            self.assertEqual([], limited.reports[-1]["warnings"])

    def test_a_limit_of_a_device_that_is_not_there_is_told_when_the_program_has_ended(self):
        command = [harness.program("meminfo")]
        outcome = self.run_program(command, "cache", **{LIMIT: "3:1GiB"})
        self.assertEqual("", outcome.stderr)
        warning = "--device-memory-limit has no effect on GPU 3: the program has one GPU, counted from 0"
        self.assertEqual([warning], self.only_report(outcome)["warnings"])
        ran = self.run_tool("run", "--sim", "--device-memory-limit", "3:1GiB", "--", *command)
        self.assertIn(f"; {warning}\n", ran.stderr)
        self.assertEqual(3, ran.stderr.count("\n"), ran.stderr)
        ran = self.run_tool("run", "--sim", "--device-memory-limit", "1GiB", "--", *command)
        self.assertNotIn("no effect", ran.stderr)

    def test_a_bad_limit_is_one_line_and_none_holds(self):
        for value in ("much", "4GiB,", "0", "1:2GiB,1:3GiB", "64:1GiB"):
            outcome = self.run_program([harness.program("meminfo")], "cache", **{LIMIT: value})
            self.assertEqual(1, outcome.stderr.count("\n"), outcome.stderr)
            self.assertIn(f"{LIMIT}='{value}' is not a size such as 40GiB", outcome.stderr)
            self.assertIsNone(self.only_report(outcome)["devices"][0]["limit_bytes"])


if __name__ == "__main__":
    harness.main()
