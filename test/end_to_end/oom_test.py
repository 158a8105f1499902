"""Memory runs out: the report tells what was asked for, by whom, and what stood in the way."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import re
import sys

import harness
import recount

MIB = 1 << 20
BARE = "context_bytes=0"  # what is said of contexts is another test's
SMALL = f"capacity=64MiB,{BARE}"
HOLES = f"capacity=1GiB,{BARE}"


class OutOfMemory(harness.Case):
    def reports_of(self, program, simulator, *words, mode="cache", **variables):
        outcome = self.run_program([harness.program(program), *words], mode, simulator, **variables)
        self.assertEqual(0, outcome.status, outcome.stdout + outcome.stderr)
        reports = sorted(outcome.reports, key=lambda report: report["sequence"])
        for report in reports:
            recount.check(self, report)
        return reports, outcome

    def test_a_report_is_written_before_the_program_is_told(self):
        reports, _ = self.reports_of("holes", HOLES, VRAMSCOPE_POLICY="pytorch")
        self.assertEqual(["oom", "exit"], [report["trigger"] for report in reports])
        first, last = (report["oom"] for report in reports)
        self.assertEqual(1, first["count"])
        self.assertEqual(2, last["count"])
        self.assertEqual([1, 2], [event["number"] for event in last["events"]])
        left, right = first["events"][0], last["events"][0]
        differ = {key for key in left if left[key] != right[key]}
        self.assertLessEqual(differ, {"site", "shares", "pins"})  # sites are numbered by report

    def test_it_tells_what_stood_in_the_way(self):
        reports, _ = self.reports_of("holes", HOLES, VRAMSCOPE_POLICY="pytorch")
        event = reports[0]["oom"]["events"][0]
        self.assertEqual(("cuMemAlloc_v2", "device", 300 * MIB), (event["function"], event["kind"], event["bytes"]))
        self.assertEqual((1024 * MIB, 124 * MIB), (event["total_bytes"], event["free_bytes"]))
        self.assertEqual(900 * MIB, event["reserved_bytes"])
        self.assertEqual((135 * MIB, 90 * MIB, 45), tuple(event[key] for key in (
            "allocated_bytes", "requested_bytes", "allocation_count")))  # fmt: skip
        self.assertEqual((765 * MIB, 17 * MIB), (event["split_free_bytes"], event["largest_free_bytes"]))
        self.assertEqual((1024 - 90) * MIB, event["native_free_bytes"])
        self.assertEqual([45], [pin["segments"] for pin in event["pins"]])
        self.assertEqual([90 * MIB], [share["live_bytes"] for share in event["shares"]])
        self.assertEqual([("program", 90 * MIB)], [(owner["owner"], owner["live_bytes"]) for owner in event["owners"]])

    def test_the_estimate_for_observe_is_what_observe_has(self):
        _, native = self.reports_of("holes", HOLES, mode="observe")
        self.assertIn("one block of 300 MiB: 0", native.stdout)
        reports, _ = self.reports_of("holes", HOLES, VRAMSCOPE_POLICY="pytorch")
        # 500 MiB of 934 fit, and 300 beside them: the program's second request tells it so.
        self.assertIn("one more of 500 MiB: 0", native.stdout)
        self.assertGreaterEqual(reports[0]["oom"]["events"][0]["native_free_bytes"], 800 * MIB)

    def show(self, verb, report):
        path = pathlib.Path(self.folder, "shown.json")
        path.write_text(json.dumps(report))
        return self.run_tool(verb, path)

    def pools_in(self, report):
        (device,) = report["devices"]
        ledger = {(row["kind"], row["owner"]): row["device_bytes"] for row in report["ledger"]}
        self.assertEqual(device["pool_bytes"], ledger.get(("cached", "pools"), 0))
        self.assertNotIn(("others", "others"), ledger)
        return device["pool_bytes"] // MIB, device["pool_pending_bytes"] // MIB

    def test_what_pools_keep_of_freed_memory_is_not_that_of_others(self):
        for mode in ("cache", "dedicated", "observe"):
            with self.subTest(mode):
                (refused, last), outcome = self.reports_of("pool_keeps", "capacity=128MiB,context_bytes=0", mode=mode)
                self.assertIn("freed: 80 MiB used\none pool destroyed: 50 MiB used\n", outcome.stdout)
                self.assertEqual((70, 70), self.pools_in(refused))
                (event,) = refused["oom"]["events"]
                kept = ("outside_bytes", "pool_bytes", "pool_pending_bytes")
                self.assertEqual([70 * MIB] * 3, [event[key] for key in kept])
                self.assertEqual((0, 0), self.pools_in(last))
                done = self.show("oom", refused)
                self.assertIn("70.0 MiB  54.7 %  kept by the driver's pools beyond live memory", done.stdout)
                self.assertNotIn("others", done.stdout)
                self.assertIn("hint: the driver's pools kept 70.0 MiB, freed by cudaFreeAsync: synchronize", done.stdout)

    def test_what_pools_keep_idle_is_told_at_the_end(self):
        reports, _ = self.reports_of("pool_keeps", "capacity=128MiB,context_bytes=0", "idle")
        self.assertEqual((70, 0), self.pools_in(reports[-1]))
        owners = self.show("owners", reports[-1]).stdout
        self.assertRegex(owners, r"70.0 MiB +87.5 % +cached +pools\n")
        self.assertIn("; the driver's pools keep 70.0 MiB beyond live memory", self.show("report", reports[-1]).stdout)

    def test_each_kind_of_memory_that_runs_out_is_told(self):
        for mode in ("cache", "dedicated", "observe"):
            with self.subTest(mode):
                reports, _ = self.reports_of("refused", SMALL, mode=mode)
                events = reports[-1]["oom"]["events"]
                self.assertEqual(
                    [("cuMemAlloc_v2", "device", 48), ("cuMemAllocPitch_v2", "device", 40),
                     ("cuMemAllocAsync", "stream_ordered", 44), ("cuArrayCreate_v2", "array", 41),
                     ("cuMemCreate", "physical", 42)],
                    [(event["function"], event["kind"], event["bytes"] // MIB) for event in events],
                )  # fmt: skip
                (device,) = reports[-1]["devices"]
                self.assertEqual(1, device["memory_stats"]["num_ooms"], "of plain memory, whoever was asked for it")
                for event in events:
                    self.assertTrue(event["has_details"])
                    self.assertIsNotNone(event["site"])
                    self.assertEqual(30 * MIB, event["requested_bytes"] + event["direct_bytes"])

    def test_it_tells_whether_as_much_was_served_after_all(self):
        for mode in ("cache", "dedicated", "observe"):
            with self.subTest(mode):
                reports, _ = self.reports_of("oom", SMALL, "16", mode=mode)
                events = reports[-1]["oom"]["events"]
                self.assertEqual([True] * 3, [event["is_watched"] for event in events])
                for before, after in zip(events, events[1:]):
                    self.assertLess(before["time_ns"], before["served_ns"])
                    self.assertLess(before["served_ns"], after["time_ns"])
                self.assertEqual([True, True, False], [event["site"] == event["served_site"] for event in events])
                self.assertIsNotNone(events[2]["served_site"], "by a larger one, elsewhere")
                written_then = reports[0]["oom"]["events"][0]
                self.assertEqual((True, None), (written_then["is_watched"], written_then["served_ns"]))

    def test_call_sites_that_were_never_served_are_listed(self):
        reports, _ = self.reports_of("refused", SMALL)
        refused = [site for site in reports[-1]["sites"] if site["refused_count"]]
        self.assertEqual(sorted([48, 40, 44, 41, 42]), sorted(site["refused_bytes"] // MIB for site in refused))
        self.assertEqual({0}, {site["total_count"] for site in refused})

    def test_the_run_begins_with_a_first_allocation_that_is_refused(self):
        outcome = self.run_program([harness.program("refused")], "cache", SMALL, VRAMSCOPE_DEVICE_MEMORY_LIMIT="20MiB")
        self.assertNotEqual(0, outcome.status)
        [report] = [report for report in outcome.reports if report["trigger"] == "exit"]
        [event] = report["oom"]["events"]
        run_ns = report["process"]["report_time_ns"] - report["process"]["start_time_ns"]
        self.assertGreater(event["time_ns"], 0)
        self.assertGreater(report["timeline"]["duration_ns"], event["time_ns"])
        self.assertLessEqual(report["timeline"]["duration_ns"], run_ns)

    def test_a_storm_is_counted_and_costs_little(self):
        reports, _ = self.reports_of("refused", SMALL, "storm")
        oom = reports[-1]["oom"]
        self.assertEqual(1000, oom["count"])
        self.assertEqual(list(range(1, 17)), sorted(event["number"] for event in oom["events"][:16]))
        self.assertEqual(17, len(oom["events"]))
        self.assertEqual(1000, oom["events"][-1]["number"])
        self.assertEqual(1000, sum(site["refused_count"] for site in reports[-1]["sites"]))
        self.assertLess(len(reports), 30)  # one in a second, and that of the exit

    def test_a_loop_that_tries_again_leaves_the_first_report_and_the_last(self):
        """100 reports of 100 MiB each lay there after two minutes of it."""
        program = f"""{harness.ASKS_DRIVER}
end = time.monotonic() + 4.5
while time.monotonic() < end:
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 40))
"""
        outcome = self.run_program([sys.executable, "-c", program], "cache", SMALL, VRAMSCOPE_OUTPUT="r.json")
        refused = [report["sequence"] for report in outcome.reports if report["trigger"] == "oom"]
        [last] = [report for report in outcome.reports if report["trigger"] == "exit"]
        self.assertEqual(1, min(refused))
        self.assertLessEqual(len(refused), 2, refused)
        self.assertGreater(last["oom"]["count"], len(refused))

    def test_none_leaves_only_the_report_at_exit(self):
        reports, _ = self.reports_of("refused", SMALL, VRAMSCOPE_ON_OOM="none")
        self.assertEqual(["exit"], [report["trigger"] for report in reports])
        self.assertEqual(5, reports[0]["oom"]["count"])
        self.assertTrue(reports[0]["oom"]["events"][0]["has_details"])

    def test_a_limit_of_ours_is_named(self):
        reports, _ = self.reports_of("refused", "capacity=1GiB,context_bytes=0", VRAMSCOPE_DEVICE_MEMORY_LIMIT="64MiB")
        self.assertEqual([True] * 5, [event["by_limit"] for event in reports[-1]["oom"]["events"]])

    def test_the_tool_explains_it(self):
        path = pathlib.Path(self.folder) / "x.json"
        outcome = self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--policy", "pytorch", "-o", path, "--on-oom",
                                "none", "--", harness.program("holes"), VRAMSCOPE_SIM=BARE)  # fmt: skip
        lines = outcome.stderr.splitlines()
        self.assertEqual(3, len(lines), outcome.stderr)
        self.assertIn("out of memory 2 times; 500 MiB of GPU 0 refused to main (holes.cpp:", lines[0])
        self.assertEqual("vramscope: next: vramscope oom x.json", lines[2])
        text = self.run_tool("oom", path).stdout
        for part in ("GPU 0: 300 MiB refused, the 1st of 2\n", "free in pieces", "hint: without the cache"):
            self.assertIn(part, text)
        read = json.loads(self.run_tool("oom", "--json", path).stdout)
        self.assertEqual([300 * MIB, 500 * MIB], [event["bytes"] for event in read["events"]])

    def run_leaking(self, mode):
        folder = pathlib.Path(self.folder) / mode
        folder.mkdir()
        self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--mode", mode, "-o", folder / "x.json", "--",
                      harness.program("leaking"), VRAMSCOPE_SIM=BARE)  # fmt: skip
        return sorted(folder.iterdir())

    def test_a_leak_is_called_one_and_the_next_command_names_its_place(self):
        for mode in ("cache", "observe"):
            at_refusal, at_exit = self.run_leaking(mode)  # x.1.json, x.json
            for report, said in ((at_exit, ", was never freed: a leak\n"), (at_refusal, ", none of it freed")):
                text = self.run_tool("oom", report).stdout
                found = re.search(r"(\d+) MiB of the live memory, in (\d+) blocks from 1 call site, ", text)
                self.assertTrue(found, text)
                self.assertEqual(2 * int(found[2]), int(found[1]), text)
                self.assertIn(said, text)
                self.assertEqual(f"Next: vramscope leaks {report}", text.splitlines()[-1])
                self.assertIn("leaking.cpp", self.run_tool("leaks", report).stdout.split("Grows", 1)[1])

    def test_a_folder_shows_each_refusal_once(self):
        path = pathlib.Path(self.folder) / "x.json"
        done = self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--policy", "pytorch", "-o", path, "--", harness.program("holes"),
                             VRAMSCOPE_SIM=BARE)  # fmt: skip
        self.assertIn("vramscope: report in x.json (at exit); when memory ran out: x.1.json\n", done.stderr)
        self.assertEqual(2, len(list(path.parent.glob("x*.json"))))
        shown = self.run_tool("oom", self.folder)
        self.assertEqual(1, shown.stdout.count("300 MiB refused, the 1st of 2"), shown.stdout)
        self.assertEqual(1, shown.stdout.count("500 MiB refused, the 2nd of 2"), shown.stdout)
        aside = "vramscope: 1 report skipped: another report of its process describes the same refusals\n"
        self.assertEqual(aside, shown.stderr)
        drawn = self.run_tool("map", "--at", "oom", self.folder)
        self.assertEqual(1, drawn.stdout.count("GPU 0 when memory ran out"), drawn.stdout)
        self.assertEqual(aside, drawn.stderr)

    def test_the_map_of_that_instant_is_drawn_from_the_report_that_was_written_then(self):
        path = pathlib.Path(self.folder) / "x.json"
        self.run_tool("run", "--sim", "--sim-memory", "1GiB", "--policy", "pytorch", "-o", path, "--", harness.program("holes"),
                             VRAMSCOPE_SIM=BARE)  # fmt: skip
        right, given = (self.run_tool("map", "--at", "oom", file) for file in (path.with_name("x.1.json"), path))
        self.assertEqual((0, ""), (given.returncode, given.stderr))
        asked = re.search(r"after (\S+ \S+), in cuMemAlloc", self.run_tool("oom", path).stdout)[1]
        self.assertIn(f"when memory ran out, after {asked}: ", right.stdout)
        said = f"  from {path.with_name('x.1.json')}, which was written then\n"
        self.assertIn(said, given.stdout)
        self.assertIn("  refused then: 300 MiB (the 1st of 2), ", given.stdout)  # the 2nd has no report of its own
        self.assertEqual(right.stdout, given.stdout.replace(said, "").replace(" (the 1st of 2)", ""))
        path.with_name("x.1.json").unlink()
        alone = self.run_tool("map", "--at", "oom", path)
        self.assertEqual((2, ""), (alone.returncode, alone.stdout))
        self.assertIn("give the report of the trigger oom", alone.stderr)

    def test_the_limit_that_it_names_is_enough_and_a_page_less_is_not(self):
        for mode in ("cache", "observe", "dedicated"):
            for asked in (301, 2000):  # within the limit, and above it
                self.check_named_limit(mode, 924, "take 130\ntake 50\n", asked)
            self.check_named_limit(mode, 100, "", 130)  # less than the context has

    def check_named_limit(self, mode, limit, before, asked):
        found = self.hint_under_limit(mode, limit, before, asked)
        (enough,) = re.findall(r"a limit of ([\d,]+) MiB would have been enough", found)
        limit = int(enough.replace(",", ""))
        self.assertEqual("", self.hint_under_limit(mode, limit, before, asked), f"{mode}, {asked} MiB")
        self.assertIn("the limit", self.hint_under_limit(mode, limit - 2, before, asked), f"{mode}, {asked} MiB")

    def hint_under_limit(self, mode, limit, before, asked):
        """Of a program that has some memory and asks for more; "" when it is served."""
        path = pathlib.Path(self.folder) / f"{mode}{limit}.{asked}.json"
        commands = f"{before}take {asked}\n"
        self.run_tool("run", "--sim", "--mode", mode, "--device-memory-limit", f"{limit}MiB", "--on-oom", "none",
                      "-o", path, "--", harness.program("commands"), stdin=commands)  # fmt: skip
        events = json.loads(self.run_tool("oom", "--json", path).stdout)["events"]
        return events[0]["hint"] if events else ""

    def test_under_a_limit_the_map_speaks_of_what_that_left(self):
        path = pathlib.Path(self.folder) / "x.json"
        self.run_tool("run", "--sim", "--device-memory-limit", "1GiB", "--policy", "pytorch", "-o", path, "--",
                      harness.program("holes"), VRAMSCOPE_SIM=BARE)  # fmt: skip
        text = self.run_tool("map", path.with_name("x.1.json")).stdout
        self.assertIn("refused then: 300 MiB, 124 MiB free under the limit of 1.00 GiB", text)
        self.assertNotIn("the driver had", text)

    def test_who_else_has_the_device_now_is_asked_when_it_is_shown(self):
        shared = f"capacity=1GiB,context_bytes=0,shared={self.folder}/device"
        other = self.start_program([harness.program("beside"), "400"], VRAMSCOPE_SIM=shared)
        self.assertEqual("ready\n", other.stdout.readline())
        outcome = self.run_program([harness.program("holes")], "cache", shared, folder=self.folder)
        path = next(path for path in pathlib.Path(self.folder).glob("*.json") if '"trigger":"oom"' in path.read_text())
        shown = self.run_tool("oom", path, VRAMSCOPE_SIM=shared).stdout
        self.assertIn(f"Others on GPU 0 now: {other.pid} (beside) 4", shown, outcome.stdout)
        other.communicate("\n", harness.DEADLINE_S)
        self.assertNotIn("Others on GPU", self.run_tool("oom", path, VRAMSCOPE_SIM=shared).stdout)


if __name__ == "__main__":
    harness.main()
