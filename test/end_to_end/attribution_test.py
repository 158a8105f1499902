"""Who, where and when: owners, axes, peaks and time, and a ledger that adds up to the device."""
# SPDX-License-Identifier: Apache-2.0
import json

from attribution_case import AttributionTest, MIB, RECORDING
import harness
import recount


def rows(report, axis, kind="device"):
    """Value -> entry of one axis; a process has one device here."""
    return {row["value"]: row for row in report["axes"] if (row["axis"], row["kind"]) == (axis, kind)}


class Attribution(AttributionTest):
    def test_memory_belongs_to_the_library_that_asked(self):
        for mode in RECORDING:
            for stacks in ("unwind", "none"):
                owners = rows(self.report(["exporter"], mode, VRAMSCOPE_STACKS=stacks), "owner")
                self.assertEqual({"UCX", "program"}, set(owners), (mode, stacks))

    def test_samples_of_stacks_leave_every_exact_number_exact(self):
        for mode in RECORDING:
            for attribution in ("on", "off"):
                self.check_samples(mode, attribution)
            report = self.report(["exporter"], mode, VRAMSCOPE_SAMPLE_BYTES="1GiB")
            self.assertEqual({"UCX", "program"}, set(rows(report, "owner")), mode)

    def check_samples(self, mode, attribution):
        variables = {"VRAMSCOPE_SAMPLE_BYTES": "4MiB", "VRAMSCOPE_ATTRIBUTION": attribution}
        command = [harness.program("threads_alloc")]
        report = self.only_report(self.run_program(command, mode, VRAMSCOPE_SIGNAL="none", **variables))
        recount.check(self, report)
        self.assertEqual(4 * MIB, report["sample_bytes"])
        (left_out,) = [site for site in report["sites"] if site["is_left_out"]]
        sampled = [site for site in report["sites"] if not site["is_left_out"]]
        self.assertEqual([], left_out["frames"])
        self.assertTrue(all(site["frames"] for site in sampled))
        total = sum(kind["allocations"] for kind in report["kinds"])
        self.assertEqual(total, left_out["total_count"] + sum(site["total_count"] for site in sampled))
        # 1600 requests of 4 KiB to 3 MiB, one in 4 MiB: the estimate of their number deviates by 8 %.
        estimated = sum(site["estimate"]["total_bytes"] for site in sampled)
        everything = left_out["total_bytes"] + sum(site["total_bytes"] for site in sampled)
        self.assertLess(abs(estimated / everything - 1), 0.6, (mode, attribution))

    def test_listings_mark_estimates(self):
        self.run_tool(
            "run", "--sim", "-q", "--signal", "none", "--sample-bytes", "1MiB", harness.program("threads_alloc")
        )
        (path,) = harness.pathlib.Path(self.folder).glob("*.json")
        for verb in ("sites", "report", "peak"):
            self.assertIn("estimates from one call stack per 1.00 MiB", self.run_tool(verb, path).stdout)
        self.assertTrue(all(row["estimated"] for row in json.loads(self.run_tool("sites", "--json", path).stdout)))

    def test_each_thread_has_its_own_numbers(self):
        for mode in RECORDING:
            threads = rows(self.report(["threads_alloc"], mode, VRAMSCOPE_SIGNAL="none"), "thread")
            self.assertEqual([400] * 4, [row["total_count"] for row in threads.values()], threads)
            self.assertTrue(all(name.startswith("threads_alloc ") for name in threads))

    def test_eight_threads_lose_no_call_and_count_none_twice(self):
        """What each thread says that it took is what the report says of it, by kind."""
        for mode in RECORDING:
            for variables in ({}, {"VRAMSCOPE_SAMPLE_BYTES": "64KiB"}, {"VRAMSCOPE_STACKS": "none"}):
                command = [harness.program("eight_threads")]
                outcome = self.run_program(command, mode, **variables)
                report = self.only_report(outcome)
                recount.check(self, report)
                self.check_axes(report)
                self.check_workers(outcome.stdout, report)

    def check_workers(self, printed, report):
        calls = {row["name"]: row["calls"] - row["failures"] for row in report["functions"]}
        by_function = {}
        for line in printed.splitlines():
            _, number, kind, *numbers = line.split()
            found = rows(report, "thread", kind)
            (row,) = [row for name, row in found.items() if name.startswith(f"worker {number} ")]
            self.assertEqual(list(map(int, numbers)), [row["total_count"], row["total_bytes"], row["live_bytes"]], line)
        for kind in ("device", "pinned", "managed", "stream_ordered"):
            for name, row in rows(report, "function", kind).items():
                by_function[name] = by_function.get(name, 0) + row["total_count"]
        self.assertEqual(4, len(by_function))
        for name, count in by_function.items():
            self.assertEqual(calls[name], count, name)
        self.assertEqual(8 * 4, len(printed.splitlines()))

    def test_ranges_of_threads_of_the_process_and_of_domains_are_told_apart(self):
        for mode in RECORDING:
            report = self.report(["nvtx_ranges"], mode, NVTX_INJECTION64_PATH=str(harness.LIBRARY))
            ranges = {value: row["live_bytes"] // MIB for value, row in rows(report, "range").items()}
            deep = "/".join(["deep"] * 32)
            self.assertEqual(
                {"early": 1, "none": 10, "step/vorwärts": 3, "step/net:reduce": 4, "epoch": 11, "epoch/inner": 7, deep: 9},
                ranges,
            )
            self.assertEqual((1, ["half"]), (report["range_marks"], [mark["name"] for mark in report["marks"]]))

    def test_pools_that_the_program_names_are_told_with_what_lies_in_them(self):
        for mode in RECORDING:
            outcome = self.run_program([harness.program("nvtx_memory")], mode, NVTX_INJECTION64_PATH=str(harness.LIBRARY))
            self.assertEqual("its address\n", outcome.stdout)
            memory = self.only_report(outcome)["named_memory"]
            heaps = {heap["name"]: heap for heap in memory["heaps"]}
            self.assertEqual((0, {"serve:kv cache", "scratch"}), (memory["left_out"], set(heaps)))
            cache, scratch = heaps["serve:kv cache"], heaps["scratch"]
            self.assertEqual((64 * MIB, True, False), (cache["bytes"], cache["is_live"], scratch["is_live"]))

            def figures(regions):
                return tuple(regions[key] // unit for key, unit in
                             (("live_bytes", MIB), ("live_count", 1), ("peak_bytes", MIB), ("total_count", 1)))  # fmt: skip

            self.assertEqual((34, 3, 38, 4), figures(cache["regions"]))
            self.assertEqual(
                {"keys": (8, 1, 12, 2), "values": (24, 1, 24, 1), "": (2, 1, 34, 1)},
                {names["name"]: figures(names) for names in cache["names"]},
            )
            self.assertEqual((0, 0, 1, 2), figures(scratch["regions"]))
        with_none = self.only_report(self.run_program([harness.program("nvtx_ranges")], "cache", NVTX_INJECTION64_PATH=str(harness.LIBRARY)))
        self.assertNotIn("named_memory", with_none)

    def test_the_report_shows_the_pools_that_the_program_named(self):
        self.run_tool("run", "--sim", "--quiet", "-o", "pools.json", harness.program("nvtx_memory"))
        shown = self.run_tool("report", "pools.json").stdout
        self.assertRegex(shown, r"Pools of the program's own, as it named them \(NVTX\)\n"
                                r" +PEAK +NOW +REGIONS +TOTAL +SIZE +POOL\n"
                                r" +38.0 MiB +34.0 MiB +3 +4 +64.0 MiB  serve:kv cache\n"
                                r" +34.0 MiB +2.00 MiB +1 +1 +  \(no name\)\n"
                                r" +24.0 MiB +24.0 MiB +1 +1 +  values\n"
                                r" +12.0 MiB +8.00 MiB +1 +2 +  keys\n"
                                r" +1.00 MiB +0 B +0 +2 +16.0 MiB  scratch, gone\n")  # fmt: skip

    def test_ranges_that_carry_data_begin_and_end(self):
        """NCCL begins them by NVTX's core and ends them by its extension."""
        for mode in RECORDING:
            report = self.report(["nvtx_payloads"], mode, NVTX_INJECTION64_PATH=str(harness.LIBRARY))
            ranges = {value: row["live_bytes"] // MIB for value, row in rows(report, "range").items()}
            self.assertEqual(
                {"NCCL:init": 1, "none": 10, "NCCL:sizes": 10, "step/NCCL:init/NCCL:sizes": 4, "step/NCCL:init": 5, "step": 6},
                ranges, mode)
            self.assertEqual((1, ["NCCL:sizes"]), (report["range_marks"], [mark["name"] for mark in report["marks"]]))

    def test_ranges_and_marks_are_recovered_of_a_program_that_was_killed(self):
        ranges = []
        for arguments in ([], ["killed"]):
            self.run_tool("run", "--sim", "--quiet", "-o", "ranges.json", harness.program("nvtx_ranges"), *arguments)
            path = harness.pathlib.Path(self.folder) / "ranges.json"
            report = json.loads(path.read_text())
            path.unlink()
            self.assertEqual("recovered" if arguments else "exit", report["trigger"])
            self.assertEqual((1, ["half"]), (report["range_marks"], [mark["name"] for mark in report["marks"]]))
            ranges.append({value: row["own_peak_bytes"] for value, row in rows(report, "range").items()})
        self.assertEqual(*ranges)

    def test_streams_have_the_names_that_the_program_gave_them(self):
        named = {"copy (stream 1)": 1, "Zähler (stream 2)": 6, "stream 3": 8, "main (default)": 16}
        for mode in RECORDING:
            report = self.report(["named_streams"], mode, NVTX_INJECTION64_PATH=str(harness.LIBRARY))
            self.assertEqual(named, {value: row["live_bytes"] // MIB for value, row in rows(report, "stream", "stream_ordered").items()})
        folder = harness.pathlib.Path(self.folder)
        run = ["run", "--sim", "--quiet", "-o"]
        program = harness.program("named_streams")
        self.run_tool(*run, folder / "named.json", "--trace", folder / "named.trace", program)
        self.run_tool(*run, folder / "killed.json", program, "killed")
        for name in ("named.json", "named.trace", "killed.json"):
            listing = json.loads(self.run_tool("owners", "--by", "stream", "--json", folder / name).stdout)
            self.assertEqual(named, {row["value"]: row["live_bytes"] // MIB for row in listing if row["kind"] == "stream_ordered"})
        for given, count in (("Zähler", 6), ("2", 6), ("stream 2", 6), ("main", 16), ("default", 16), ("3", 8)):
            (kind,) = json.loads(self.run_tool("peak", "--stream", given, "--json", folder / "named.trace").stdout)
            self.assertEqual(count * MIB, kind["peak_bytes"], given)

    def test_a_malloc_of_the_programs_own_may_allocate_while_a_range_is_named(self):
        for live in ("memory", "off"):
            outcome = self.run_program(
                [harness.program("nvtx_malloc")],
                "cache",
                NVTX_INJECTION64_PATH=str(harness.LIBRARY),
                VRAMSCOPE_LIVE_FILE=live,
            )
            self.assertEqual("done, after calls from malloc: 1\n", outcome.stdout)
            recount.check(self, self.only_report(outcome))

    def test_ranges_are_passed_on_to_the_users_own_tool(self):
        other = harness.PROGRAMS / "libnvtx_listener.so"
        native = self.run_program([harness.program("nvtx_ranges")], NVTX_INJECTION64_PATH=str(other))
        self.assertIn("push early\n", native.stdout)
        self.assertIn("domain net\n", native.stdout)
        for mode in harness.MODES:
            both = self.run_program(
                [harness.program("nvtx_ranges")],
                mode,
                NVTX_INJECTION64_PATH=str(harness.LIBRARY),
                VRAMSCOPE_NVTX_INJECTION=str(other),
            )
            self.assertEqual(native.behaviour(), both.behaviour(), mode)
            for report in both.reports:
                self.assertIn("step/net:reduce", rows(report, "range"))
        native = self.run_program([harness.program("nvtx_payloads")], NVTX_INJECTION64_PATH=str(other))
        self.assertEqual(3, native.stdout.count("pop payload\n"))
        for mode in harness.MODES:
            both = self.run_program([harness.program("nvtx_payloads")], mode,
                                    NVTX_INJECTION64_PATH=str(harness.LIBRARY), VRAMSCOPE_NVTX_INJECTION=str(other))
            self.assertEqual(native.behaviour(), both.behaviour(), mode)

    def test_streams_are_told_apart_where_calls_take_one(self):
        for mode in RECORDING:
            report = self.report(["kinds"], mode)
            streams = rows(report, "stream", "stream_ordered")
            self.assertNotIn("none", streams)
            self.assertEqual({"none"}, set(rows(report, "stream")))

    def test_the_peak_names_who_made_it(self):
        (peak,) = [kind for kind in self.report(["train"])["kinds"] if kind["kind"] == "device"]
        self.assertTrue(peak["peak_thread"].startswith("train "))
        self.assertIsNotNone(peak["peak_site"])
        self.assertEqual("none", peak["peak_range"])

    def test_what_is_left_at_the_end_has_an_age(self):
        report = self.report(["train"])
        (left,) = [site for site in report["sites"] if site["live_bytes"]]
        self.assertEqual(left["live_bytes"], sum(left["live_by_age"]))

    def test_stacks_that_cannot_be_walked_are_short(self):
        for where in ("coroutine", "frames", "generated", "signal", "tables"):
            for stacks in ("unwind", "frame-pointers", "none"):
                report = self.report(["odd_stacks", where], VRAMSCOPE_STACKS=stacks)
                (kind,) = [kind for kind in report["kinds"] if kind["kind"] == "device"]
                self.assertEqual(3 * MIB, kind["peak_bytes"], (where, stacks))
                self.assertEqual([], report["warnings"], (where, stacks))

    def test_without_libunwind_stacks_are_walked_by_frame_pointers(self):
        broken = harness.pathlib.Path(self.folder, "libunwind.so.8")
        broken.write_text("no library")
        path = f"{self.folder}:{harness.SIMULATOR}"
        for where in ("coroutine", "frames", "generated", "signal", "tables"):
            command = [harness.program("odd_stacks"), where]
            native = self.run_program(command, LD_LIBRARY_PATH=path)
            outcome = self.run_program(command, "cache", LD_LIBRARY_PATH=path)
            self.assertEqual(native.behaviour(), outcome.behaviour(), where)
            self.assertEqual("", outcome.stderr)
            report = self.only_report(outcome)
            recount.check(self, report)
            (warning,) = report["warnings"]
            self.assertIn("libunwind.so.8 cannot be opened", warning)
        # The last one began on the thread's own stack, in code that keeps frame pointers.
        self.assertTrue(any(site["frames"] for site in report["sites"]))

    def test_generated_code_has_the_name_that_its_compiler_left(self):
        self.run_tool("run", "--sim", "-q", "--stacks", "frame-pointers", harness.program("odd_stacks"), "generated", "keep")
        (path,) = harness.pathlib.Path(self.folder).glob("*.json")
        pid = json.loads(path.read_text())["process"]["pid"]
        names = harness.pathlib.Path(f"/tmp/perf-{pid}.map")
        self.addCleanup(names.unlink)
        self.assertIn("generated_kernel", self.run_tool("sites", "--json", path).stdout)
        names.write_text("nonsense\n-1 zz\nffffffffffffffff ffffffffffffffff x\n\n12 4 \n")
        self.assertEqual(0, self.run_tool("sites", path).returncode)

    def test_rows_begin_where_the_program_does(self):
        self.run_tool("run", "--sim", "--quiet", harness.program("wrapped"))
        (path,) = harness.pathlib.Path(self.folder).glob("*.json")
        shown = self.run_tool("sites", path).stdout
        self.assertRegex(shown, r"8\.00 MiB .*  make_weights \(wrapped.cpp:\d+\) < main \(")
        self.assertRegex(shown, r"(?m)^ +2\.00 MiB .*  walk × 21 \(wrapped.cpp\) < main \(wrapped.cpp:\d+\)$")
        self.assertRegex(shown, r"(?m)^ +2\.00 MiB .*  walk × 31 \(wrapped.cpp\) < main \(wrapped.cpp:\d+\)$")
        self.assertNotIn("gpu_alloc", shown)
        self.assertIn("walk x 21", self.run_tool("sites", path, LC_ALL="C").stdout)
        self.assertIn("gpu_alloc (wrapped.cpp:", self.run_tool("sites", "--site", "gpu_alloc", path).stdout)
        self.assertIn("\n      gpu_alloc\n", self.run_tool("sites", "--full", path).stdout)
        (weights, *_) = json.loads(self.run_tool("sites", "--json", path).stdout)
        self.assertTrue(weights["frames"][0].startswith("allocate (driver.h:"), "nothing is left out for machines")
        self.assertTrue(any(frame.startswith("std::") for frame in weights["frames"]))
        sums = json.loads(self.run_tool("sites", "--group", "function", "--json", path).stdout)
        self.assertEqual([("make_weights (wrapped.cpp)", 1, 8 << 20), ("make_gradients (wrapped.cpp)", 1, 4 << 20),
                          ("walk (wrapped.cpp)", 2, 4 << 20)],
                         [(row["name"], row["site_count"], row["peak_bytes"]) for row in sums])  # fmt: skip
        cut = self.run_tool("sites", "--group", "function", "-n", "1", path).stdout
        self.assertIn("  8.00 MiB  50.0 % ", cut)
        self.assertIn("  and 2 more functions\n", cut)
        for what, name in (("file", "wrapped.cpp"), ("library", "wrapped")):
            (row,) = json.loads(self.run_tool("sites", "--group", what, "--json", path).stdout)
            self.assertEqual((name, 4, 16 << 20), (row["name"], row["site_count"], row["peak_bytes"]))
        self.assertEqual(2, self.run_tool("sites", "--group", "function", "--by", "growth", path).returncode)
        self.assertEqual(2, self.run_tool("sites", "--group", "colour", path).returncode)
        self.assertEqual(2, self.run_tool("sites", "--group", "line", "--tree", path).returncode)

    def test_every_listing_says_the_same_as_text_and_as_json(self):
        self.run_tool("run", "--sim", "--quiet", harness.program("nvtx_ranges"))
        (path,) = harness.pathlib.Path(self.folder).glob("*.json")
        for verb in (["sites"], ["peak"], ["owners"], ["owners", "--by", "range"], ["timeline"]):
            text = self.run_tool(*verb, path)
            self.assertEqual((0, ""), (text.returncode, text.stderr), verb)
            self.assertLess(len(text.stdout.splitlines()), 45, verb)
            listing = self.run_tool(*verb, "--json", path)
            self.assertEqual(0, listing.returncode, verb)
            json.loads(listing.stdout)
        shown = self.run_tool("owners", "--by", "range", path).stdout
        self.assertIn("step/net:reduce", shown)
        self.assertRegex(shown, r"(?m)^ +11\.0 MiB .* epoch$")  # without the 7 MiB of epoch/inner
        self.assertRegex(shown, r"(?m)^ +7\.00 MiB .* epoch/inner$")
        self.assertRegex(shown, r"(?m)^ +45\.0 MiB .* all together$")
        self.assertIn('An allocation counts only for its innermost range: range "a" does not include range "a/b".', shown)
        self.assertIn("  main (nvtx_ranges.cpp:", self.run_tool("sites", "-n", "3", path).stdout)
        self.assertEqual(2, self.run_tool("owners", "--by", "colour", path).returncode)
        calls = json.loads(self.run_tool("owners", "--by", "call", "--json", path).stdout)
        self.assertIn(("call", "cuMemAlloc_v2"), {(row["axis"], row["value"]) for row in calls})
        self.assertIn(" CALL\n", self.run_tool("owners", "--by", "call", path).stdout)
        refused = self.run_tool("owners", "--by", "function", path)
        self.assertEqual((2, 1), (refused.returncode, refused.stderr.count("\n")), "functions are the program's")
        self.assertIn("those of CUDA's driver are --by call", refused.stderr)


if __name__ == "__main__":
    harness.main()
