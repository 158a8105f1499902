"""What the reports say: schema, sums, sites with the program's own function names, functions."""
# SPDX-License-Identifier: Apache-2.0
import re

import harness
import recount

MIB = 1 << 20
PINNED_PAGES = 25 * 4096  # for 100,000 bytes
RECORDING = ("cache", "dedicated", "observe")


def functions(report):
    return {row["name"]: row for row in report["functions"]}


class Reports(harness.Case):
    def train(self, mode, name="train"):
        report = self.only_report(self.run_program([harness.program(name)], mode))
        recount.check(self, report)
        return report

    def report_of(self, command, mode="cache"):
        process = self.start_program(command, mode)
        process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(0, process.returncode)
        return next(harness.pathlib.Path(self.folder).glob("*.json"))

    def resolved(self, path):
        finished = self.run_tool("report", path)
        self.assertEqual(0, finished.returncode, finished.stderr)
        return finished.stdout

    def test_the_process_is_described(self):
        outcome = self.run_program([harness.program("linked")], "observe")
        process = self.only_report(outcome)["process"]
        self.assertTrue(process["executable"].endswith("test/programs/linked"))
        self.assertEqual("observe", process["mode"])
        self.assertTrue(process["simulated"])
        self.assertGreater(process["report_time_ns"], process["start_time_ns"])
        self.assertEqual("observe", process["options"]["mode"])

    def test_the_leak_of_a_training_program_is_all_that_is_left(self):
        for mode in RECORDING:
            report = self.train(mode)
            leaked = [site for site in report["sites"] if site["live_bytes"]]
            self.assertEqual([4096 * 6], [site["live_bytes"] for site in leaked], mode)
            stats = report["devices"][0]["memory_stats"]
            self.assertEqual(4096 * 6, stats["requested_bytes.all.current"])
            self.assertEqual(1, stats["allocation.all.current"])
            self.assertEqual(2 + 8 * 4, stats["allocation.all.allocated"])

    def test_observed_memory_is_one_segment_of_one_block_per_allocation(self):
        report = self.train("observe")
        stats = report["devices"][0]["memory_stats"]
        self.assertEqual(stats["allocation.all.allocated"], stats["segment.all.allocated"])
        for segment in report["devices"][0]["segments"]:
            self.assertEqual(1, len(segment["blocks"]))

    def test_dedicated_memory_is_one_segment_of_one_block_that_is_reused(self):
        report = self.train("dedicated")
        stats = report["devices"][0]["memory_stats"]
        self.assertLess(stats["segment.all.allocated"], stats["allocation.all.allocated"])
        for segment in report["devices"][0]["segments"]:
            self.assertTrue(segment["is_dedicated"])
            self.assertFalse(segment["is_exported"])
            self.assertEqual(
                [segment["total_size"]], [block["size"] for block in segment["blocks"]]
            )

    def test_a_cache_asks_the_driver_less_often(self):
        stats = self.train("cache")["devices"][0]["memory_stats"]
        self.assertLess(stats["num_device_alloc"], stats["allocation.all.allocated"] / 2)

    def test_all_modes_see_the_same_requests(self):
        names = ("allocation.all.allocated", "allocation.all.freed", "requested_bytes.all.peak",
                 "requested_bytes.all.allocated")  # fmt: skip
        cached, *others = (self.train(mode)["devices"][0]["memory_stats"] for mode in RECORDING)
        for stats in others:
            self.assertEqual([cached[name] for name in names], [stats[name] for name in names])

    def test_pinned_and_registered_memory_is_counted(self):
        stats = self.train("observe")["host"]["memory_stats"]
        self.assertEqual(2, stats["num_host_alloc"])
        self.assertEqual(2, stats["num_host_free"])
        self.assertEqual(0, stats["allocated.current"])
        self.assertGreaterEqual(stats["reserved_bytes.peak"], 5 * MIB)
        for name in ("total", "max", "min", "count", "avg"):
            self.assertIn(f"host_alloc_time.{name}", stats)
            self.assertIn(f"host_free_time.{name}", stats)

    def pinned(self, mode="cache", **variables):
        command = [harness.program("pinned_flags")]
        report = self.only_report(self.run_program(command, mode, **variables))
        recount.check(self, report)
        return report

    def test_pinned_memory_of_the_same_flags_is_used_again(self):
        report = self.pinned()
        stats = report["host"]["memory_stats"]
        self.assertEqual((17, 17), (stats["allocated.allocated"], stats["allocated.freed"]))
        self.assertEqual((8, 0), (stats["num_host_alloc"], stats["num_host_free"]))
        self.assertEqual(8 * PINNED_PAGES, stats["reserved_bytes.current"])
        self.assertEqual((9, 8), tuple(report["host"]["timing"][name]["count"]
                                       for name in ("alloc_hit", "alloc_driver")))  # fmt: skip
        self.assertEqual(17, report["host"]["timing"]["free_hit"]["count"])
        self.assertEqual(8, len({segment["context"] for segment in report["host"]["segments"]}))

    def test_observed_pinned_memory_is_the_drivers(self):
        stats = self.pinned("observe")["host"]["memory_stats"]
        self.assertEqual((17, 17), (stats["num_host_alloc"], stats["num_host_free"]))
        self.assertEqual(100000, stats["reserved_bytes.peak"])

    def test_pinned_memory_comes_in_powers_of_two_under_pytorchs_policy(self):
        rounded = self.pinned(VRAMSCOPE_POLICY="pytorch")
        self.assertEqual(8 << 17, rounded["host"]["memory_stats"]["reserved_bytes.current"])
        as_asked = self.pinned(
            VRAMSCOPE_POLICY="pytorch", VRAMSCOPE_ALLOC_CONF="pinned_max_round_threshold_mb:0")
        self.assertEqual(8 * 100000, as_asked["host"]["memory_stats"]["reserved_bytes.current"])

    def test_large_pinned_memory_is_not_kept_when_told_so(self):
        for policy, peak in (("native-safe", PINNED_PAGES), ("pytorch", 100000)):
            kept = self.pinned(
                VRAMSCOPE_POLICY=policy, VRAMSCOPE_ALLOC_CONF="pinned_max_cached_size_mb:0")
            stats = kept["host"]["memory_stats"]
            self.assertEqual((17, 17), (stats["num_host_alloc"], stats["num_host_free"]))
            self.assertEqual((0, peak), (stats["reserved_bytes.current"], stats["reserved_bytes.peak"]))

    def test_the_time_that_cached_pinned_memory_saved_is_told(self):
        path = self.report_of([harness.program("pinned_flags")])
        self.assertIn("pinned: 9 of 17 allocations from the cache", self.resolved(path))
        self.assertIn("pinned: 9 of 17", self.run_tool("stats", path).stdout)

    def test_every_driver_call_is_counted_once(self):
        for mode in RECORDING:
            calls = functions(self.train(mode))
            self.assertEqual(34, calls["cuMemAlloc_v2"]["calls"])
            self.assertEqual(33, calls["cuMemFree_v2"]["calls"])
            self.assertEqual(1, calls["cuMemHostRegister_v2"]["calls"])
            self.assertEqual(0, calls["cuMemAlloc_v2"]["failures"])

    def test_failures_are_counted(self):
        outcome = self.run_program([harness.program("double_free")], "observe")
        calls = functions(self.only_report(outcome))
        self.assertGreater(calls["cuMemFree_v2"]["failures"], 4)
        self.assertGreater(calls["cuMemHostUnregister"]["failures"], 2)

    def test_sites_bear_the_names_of_the_programs_functions(self):
        text = self.resolved(self.report_of([harness.program("train")]))
        for function in ("load_batch", "forward", "backward", "optimizer_step"):
            self.assertRegex(text, rf"\b{function}\b")

    def test_sites_of_a_static_runtime_bear_names_too(self):
        text = self.resolved(self.report_of([harness.program("train_static")]))
        for function in ("make_weights", "train_step"):
            self.assertRegex(text, rf"\b{function}\b")

    def test_the_peak_is_shared_out_exactly(self):
        for mode in RECORDING:
            report = self.train(mode)
            parts = [
                part for site in report["sites"] for part in site["parts"] if part["kind"] == "device"
            ]
            peak = report["devices"][0]["memory_stats"]["requested_bytes.all.peak"]
            self.assertEqual(peak, sum(part["peak_bytes"] for part in parts), mode)

    def test_every_kind_of_memory_is_in_the_ledger(self):
        report = self.only_report(self.run_program([harness.program("kinds")], "cache"))
        recount.check(self, report)
        rows = {row["kind"]: row for row in report["ledger"]}
        for kind in ("device", "pinned", "registered", "managed", "stream_ordered"):
            self.assertGreater(rows[kind]["calls"], 0)
            self.assertGreater(rows[kind]["peak_bytes"], 0)
        self.assertEqual(MIB, rows["managed"]["current_bytes"])
        self.assertEqual(0, rows["stream_ordered"]["current_bytes"])

    def ledger(self, program, mode):
        report = self.only_report(self.run_program([harness.program(program)], mode))
        recount.check(self, report)
        return {
            row["kind"]: (row["current_bytes"], row["peak_bytes"], row["calls"])
            for row in report["ledger"]
            if row["calls"]
        }

    def test_memory_by_handle_lives_as_long_as_somebody_holds_or_maps_it(self):
        for mode in RECORDING:
            rows = self.ledger("virtual_memory", mode)
            self.assertEqual((2 * MIB, 8 * MIB, 3), rows["physical"])
            self.assertEqual((0, 6 * MIB, 2), rows["mapping"])
            self.assertEqual((0, 8 * MIB, 1), rows["address_range"])

    def test_arrays_take_what_their_elements_take(self):
        for mode in RECORDING:
            # the one that is left has 64 x 32 x 16 elements of 16 bytes; the sparse one has none
            self.assertEqual((MIB // 2, 4 * MIB, 5), self.ledger("arrays", mode)["array"])

    def test_memory_of_graphs_is_there_from_the_first_launch(self):
        for mode in RECORDING:
            rows = self.ledger("graph_memory", mode)
            self.assertEqual((0, 7 * MIB, 3), rows["graph"])
            self.assertNotIn("stream_ordered", rows)

    def test_memory_that_a_launch_left_behind_outlives_its_graph(self):
        for mode in RECORDING:
            rows = self.ledger("graph_ends", mode)
            self.assertEqual((2 * MIB, 7 * MIB, 4), rows["graph"])
            self.assertNotIn("stream_ordered", rows)

    def test_memory_of_a_pool_of_the_programs_is_stream_ordered(self):
        for mode in RECORDING:
            self.assertEqual((0, 3 * MIB), self.ledger("pools", mode)["stream_ordered"][:2])

    def test_memory_of_another_process_is_imported_once(self):
        outcome = self.run_program([harness.program("ipc_import")], "observe")
        self.assertEqual(0, outcome.status, outcome.stdout)
        self.assertIn("byte: 7", outcome.stdout)
        rows = {}
        for report in outcome.reports:
            recount.check(self, report)
            for row in filter(lambda row: row["calls"], report["ledger"]):
                rows[row["kind"]] = (row["current_bytes"], row["peak_bytes"], row["calls"])
        self.assertEqual({"device": (3 * MIB,) * 2 + (1,), "imported": (0, 3 * MIB, 1)}, rows)

    def test_a_context_takes_its_memory_with_it_at_the_last_detach(self):
        for mode in RECORDING:
            self.assertEqual(0, self.ledger("context_life", mode)["device"][0])

    def test_memory_of_a_reset_device_is_forgotten(self):
        for mode in RECORDING:
            report = self.only_report(self.run_program([harness.program("context_reset")], mode))
            recount.check(self, report)
            self.assertEqual(0, recount.live_bytes(report), mode)

    def test_running_out_of_memory_is_counted_and_reported(self):
        command = [harness.program("oom")]
        outcome = self.run_program(command, "cache", "capacity=4GiB")
        last = outcome.reports[-1]
        self.assertEqual("exit", last["trigger"])
        self.assertGreaterEqual(last["devices"][0]["memory_stats"]["num_ooms"], 3)
        for report in outcome.reports:
            recount.check(self, report)

    def test_a_signal_during_traffic_gives_reports_that_add_up(self):
        for mode in RECORDING:
            outcome = self.run_program([harness.program("threads_alloc")], mode)
            self.assertGreaterEqual(len(outcome.reports), 2)
            for report in outcome.reports:
                recount.check(self, report)

    def test_a_release_that_fails_is_not_counted(self):
        for mode, given_back in (("cache", 0), ("observe", 1)):
            report = self.only_report(self.run_program([harness.program("wrong_release")], mode))
            host = report["host"]["memory_stats"]
            self.assertEqual((1, given_back), (host["num_host_alloc"], host["num_host_free"]))
            self.assertEqual((1, 1), (host["allocated.allocated"], host["allocated.freed"]))

    def test_a_capture_that_ends_under_another_context_is_over(self):
        report = self.only_report(self.run_program([harness.program("capture_contexts")], "cache"))
        self.assertEqual(1, report["devices"][0]["memory_stats"]["num_device_alloc"])

    def test_modules_and_frames_refer_to_each_other(self):
        report = self.train("cache")
        for site in report["sites"]:
            self.assertGreater(len(site["frames"]), 1)
            for frame in site["frames"]:
                module = report["frames"][frame]["module"]
                if module is not None:
                    self.assertLess(module, len(report["modules"]))
        used = {report["frames"][frame]["module"] for site in report["sites"] for frame in site["frames"]}
        paths = [module["path"] for at, module in enumerate(report["modules"]) if at in used]
        self.assertTrue(any(re.search(r"/train$", path) for path in paths), paths)
        self.assertFalse(any("libvramscope" in path for path in paths), paths)


class EndsOfContexts(harness.Case):
    def test_pinned_memory_ends_with_its_context_in_every_mode(self):
        for mode in harness.MODES[:-1]:  # not in "off", which writes no report
            outcome = self.run_program([harness.program("pinned_contexts")], mode)
            ledger = self.only_report(outcome)["ledger"]
            pinned = [row["current_bytes"] for row in ledger if row["kind"] == "pinned"]
            self.assertEqual([0], pinned, mode)


class Coverage(harness.Case):
    PROGRAMS = (
        ["capture_free", "allocate"], ["context_reset"], ["dmabuf_export"], ["double_free"], ["graph_blocks"],
        ["ipc_export"], ["kinds"], ["linked"], ["meminfo"], ["modules"], ["old_names"], ["pinned_flags"], ["peers"], ["proc_address"],
        ["arrays"], ["context_life"], ["graph_memory"], ["graphics"], ["multicast"],
        ["null_handles"], ["pools"], ["sync_memops"], ["virtual_memory"],
    )  # fmt: skip

    # Functions of graphics need graphics; a checkpoint stops the process; a surface reference and a
    # private table come from elsewhere.
    NOT_CALLED = re.compile(
        r"EGL|Egl|VDPAU|WGL|cuGL(CtxCreate|GetDevices|Init|SetBuffer)|cuSurfRef|cuGetExportTable"
        r"|cuCheckpointProcess(Lock|Checkpoint|Restore|Unlock)"
    )

    def test_every_declined_function_is_called_by_the_program_for_it(self):
        declined = (harness.SOURCE / "interpose/table/declined.def").read_text()
        program = (harness.SOURCE / "test/programs/plain_calls.cpp").read_text()
        called = set(re.findall(r"\bX\((cu\w+)\)", program))
        names = set(re.findall(r"^DECLINED\((\w+),", declined, re.MULTILINE))
        self.assertEqual(set(), {name for name in names - called if not self.NOT_CALLED.search(name)})

    def test_every_row_of_the_function_table_is_called_by_some_program(self):
        table = (harness.SOURCE / "interpose/table/functions.def").read_text()
        rows = set(re.findall(r"^DRIVER_FUNCTION\((\w+),", table, re.MULTILINE))
        called = set()
        for command in self.PROGRAMS:
            command = [harness.program(command[0]), *command[1:]]
            for report in self.run_program(command, "cache", "devices=2").reports:
                called |= {row["name"] for row in report["functions"] if row["calls"]}
        # Answers about names are not counted: they are asked hundreds of times and move no memory.
        lookups = {"cuGetProcAddress", "cuGetProcAddress_v2"}
        self.assertEqual(set(), rows - called - lookups)


if __name__ == "__main__":
    harness.main()
