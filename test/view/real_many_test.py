# Answers over several reports of an H200 (real/README.md) agree with what each of the reports says.
# SPDX-License-Identifier: Apache-2.0
"""real_many_test.py BUILD"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import MIB, NAMES, RealReports  # noqa: E402

ONE, OTHER = "GPU 0 (GPU-ffdd25f9)", "GPU 0 (GPU-6402d0ac)"


class Case(RealReports):
    def folder_of(self, *names):
        """A folder with these reports, which are merged in memory."""
        path = self.path("-".join(names))
        os.makedirs(path, exist_ok=True)
        for name in names:
            link = os.path.join(path, name + ".json")
            if not os.path.exists(link):
                os.link(self.real(name), link)
        return path

    def merged(self, *names):
        path = self.path("-".join(names) + ".merged.json")
        if not os.path.exists(path):
            self.assertEqual(0, self.call("merge", "-o", path, *map(self.real, names)).returncode)
        return path

    def changed(self, name, change, to):
        """A copy of a real report in which something is different."""
        with open(self.real(name), encoding="utf-8") as file:
            report = json.load(file)
        change(report)
        with open(self.path(to), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return self.path(to)

    def one_line(self, *arguments):
        return " ".join(self.text(*arguments).split())


class SameGpus(Case):
    """The GPU of `gpt` is GPU 1 of the merged report, whose GPU 0 only `threads` used."""

    def memory(self, *arguments):
        told = self.json("diff", *arguments)
        return told, {row["memory"]: (row["device"], row["what"], row["change_bytes"]) for row in told["memory"] if row["kind"] == "device"}

    def test_diff_compares_a_gpu_with_the_one_of_its_uuid(self):
        for both in (self.folder_of("gpt", "threads"), self.merged("gpt", "threads")):
            told, memory = self.memory(self.real("gpt"), both)
            self.assertEqual({ONE: (1, "equal", 0), OTHER: (0, "new", 136 * MIB)}, memory)
            self.assertEqual([], told["other_gpus"])
            self.assertEqual([1], [row["device"] for row in told["devices"]])
            told, memory = self.memory(both, self.real("gpt"))
            self.assertEqual({"GPU 0": (0, "equal", 0), OTHER: (1, "gone", -136 * MIB)}, memory)
            self.assertEqual([0], [row["device"] for row in told["devices"]])

    def test_diff_selects_a_gpu_by_its_number_in_the_second(self):
        _, memory = self.memory("--device", "1", self.real("gpt"), self.folder_of("gpt", "threads"))
        self.assertEqual({ONE: (1, "equal", 0)}, memory)

    def test_check_compares_a_gpu_with_the_one_of_its_uuid(self):
        result = self.call("check", "--json", "--against", self.real("gpt"), self.folder_of("gpt", "threads"))
        checked = json.loads(result.stdout)
        told = {check["what"]: (check["value"], check["baseline"]) for check in checked["checks"]}
        self.assertEqual((7394610696, 7394610696), told["sum of peaks of " + ONE])
        self.assertEqual((136 * MIB, 0), told["sum of peaks of " + OTHER])

    def test_check_compares_ranks_by_uuid(self):
        def be_rank(report):
            report["process"]["rank"] = 0

        def be_second(report):
            be_rank(report)
            for part in ("devices", "kinds", "ledger", "axes"):
                for row in report[part]:
                    row["index" if part == "devices" else "device"] = 1
            for row in [*report["timeline"]["series"], *(part for site in report["sites"] for part in site["parts"])]:
                row["device"] = 1

        baseline = [self.changed("gpt", be_rank, "rank.json"), self.changed("threads", lambda report: report["process"].update(rank=1), "rank1.json")]
        now = [self.changed("gpt", be_second, "moved.json"), baseline[1]]
        for names, path in ((baseline, "before.merged.json"), (now, "after.merged.json")):
            if not os.path.exists(self.path(path)):
                self.assertEqual(0, self.call("merge", "-o", self.path(path), *names).returncode)
        result = self.call("check", "--json", "--against", self.path("before.merged.json"), self.path("after.merged.json"))
        checked = json.loads(result.stdout)
        peaks = [check for check in checked["checks"] if check["what"].startswith("peak of ") or "sum of peaks of GPU" in check["what"]]
        self.assertLessEqual(3, len(peaks))
        for check in peaks:
            self.assertEqual(check["value"], check["baseline"], check)

    def test_others_are_compared_by_number(self):
        told, memory = self.memory(self.real("gpt"), self.real("threads"))
        self.assertEqual({"GPU 0": (0, "shrunk", 136 * MIB - 7394610696)}, memory)
        self.assertEqual([0], [row["device"] for row in told["other_gpus"]])


class Bounds(Case):
    """275 GiB: what two processes held in the same 4 seconds, one after the other."""

    RUNS = tuple(name for name in NAMES if name != "torch-oom")  # which goes on in torch-oom-at-exit

    def together(self, merged):
        return {(row["kind"], row["device"]): row["together_upper_bytes"] for row in self.json("peak", merged) if row["kind"] != "all"}

    def test_timeline_exceeds_no_bound_of_the_sum(self):
        for names in (self.RUNS, ("gpt", "jax", "torch-oom-at-exit"), ("torch-oom-at-exit", "fill-refused")):
            merged = self.merged(*names)
            together, told = self.together(merged), self.json("timeline", merged)
            for row in told["series"]:
                if row["kind"] != "all":
                    self.assertEqual(together[row["kind"], row["device"]], row["peak_bytes"], row["kind"])
                self.assertLessEqual(max(row["highest_bytes"] + row["last_bytes"]), row["peak_bytes"], row["kind"])
            peaks = [mark for mark in told["marks"] if mark["what"] == "peak"]
            self.assertTrue(peaks)
            for mark in peaks:
                self.assertEqual(together[mark["kind"], mark["device"]], mark["bytes"], mark)

    def test_page_has_the_same_bounds(self):
        merged, page = self.merged(*self.RUNS), self.path("bounds.html")
        if self.call("html", "-o", page, "--force", merged).returncode == 2:
            self.skipTest("no page in this build")
        told = self.page_data(page)["timeline"]
        together = self.together(merged)
        for mark in told["marks"]:
            if mark["what"] == "peak":
                self.assertEqual(together[mark["kind"], mark["device"]], mark["bytes"], mark)
        for row in told["series"]:
            self.assertLessEqual(max(row["highest_bytes"]), row["peak_bytes"])

    def test_a_share_of_a_bound_is_one(self):
        page = self.path("share.html")
        names = ("gpt", "gpt-no-cache", "gpt-no-cache-pytorch")
        runs = [self.changed(name, lambda report: report["timeline"].update(start_ns=10**18), f"at-once-{name}.json") for name in names]
        if self.call("html", "-o", page, "--force", *runs).returncode == 2:
            self.skipTest("no page in this build")
        sentence = next(one for one in self.page_data(page)["verdict"] if one.startswith("GPU 0: the 3 processes"))
        self.assertRegex(sentence, r" held \S+ GiB to \S+ GiB at one time, at most \S+ % of the device's 140 GiB; ")

    def page_data(self, page):
        with open(page, encoding="utf-8") as file:
            return json.loads(re.search(r'<script [^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.S).group(1))

    def test_intervals_of_peaks_end_with_the_run(self):
        for names in (self.RUNS, ("beside-others", "threads"), ("gpt", "gpt-no-cache")):
            told = self.json("timeline", self.merged(*names))
            for mark in told["marks"]:
                self.assertLessEqual(mark["until_ns"] or 0, told["duration_ns"], mark)
            rows = self.text("timeline", "--csv", self.merged(*names)).splitlines()
            at = rows[0].split(",").index("to_ns")
            self.assertEqual(told["duration_ns"], max(int(row.split(",")[at]) for row in rows[1:]))

    def test_bounds_that_read_alike_are_bounds(self):
        """At least 5,879,107,072 bytes and at most 5,880,414,208: both 5.48 GiB."""
        for arguments in (("report", self.real("gpt-no-cache")), ("peak", self.real("gpt-no-cache")),
                          ("diff", self.real("gpt-no-cache"), self.real("gpt-no-cache-pytorch"))):  # fmt: skip
            self.assertRegex(self.one_line(*arguments), r"(needed:|needs|before:) at most 5\.48 GiB", arguments[0])


class StillRunning(Case):
    """beside-others wrote its report on a signal, and held 6.89 GiB: it ended at 0 B."""

    def test_holds_its_memory_to_the_end(self):
        merged = self.merged("beside-others", "threads")
        for row in self.json("timeline", merged)["series"]:
            self.assertEqual({"device": 7394610696, "pinned": 32780}[row["kind"]], row["last_bytes"][-1])
        self.assertIn("GPU 0: at most 6.89 GiB, 6.89 GiB at the last report (", self.text("timeline", merged))

    def test_holds_it_beside_one_that_began_later(self):
        def be_earlier(report):
            report["timeline"]["start_ns"] -= 60_000_000_000
            report["process"]["start_time_ns"] -= 60_000_000_000

        self.changed("beside-others", be_earlier, "earlier.json")
        merged = self.path("earlier.merged.json")
        self.assertEqual(0, self.call("merge", "-o", merged, self.path("earlier.json"), self.real("threads")).returncode)
        (device,) = [row for row in self.json("timeline", merged)["series"] if row["kind"] == "device"]
        self.assertEqual(7394610696, device["last_bytes"][-1])
        self.assertEqual(7394610696 + 136 * MIB, device["peak_bytes"])
        (peak,) = [row for row in self.json("peak", merged) if row["kind"] == "device"]
        self.assertEqual(7394610696 + 136 * MIB, peak["together_upper_bytes"])

    def test_of_ended_ones_nothing_is_left(self):
        merged = self.merged("gpt", "jax")
        self.assertEqual({0}, {row["last_bytes"][-1] for row in self.json("timeline", merged)["series"]})
        self.assertIn(", 0 B after all processes ended (", self.text("timeline", merged))


class Exports(Case):
    ADDED = " Added over processes at different times"

    def helps(self, report):
        text = self.text("export", "--format", "openmetrics", "-o", "-", report)
        return dict(re.findall(r"# HELP vramscope_(\w+) (.*)", text)), set(re.findall(r"# TYPE vramscope_(\w+_bytes) gauge", text))

    def test_openmetrics_says_which_figures_are_sums(self):
        helps, gauges = self.helps(self.merged("gpt", "jax", "torch-oom-at-exit"))
        self.assertLessEqual({"reserved_bytes", "needed_peak_bytes", "allocated_bytes", "ledger_bytes"}, gauges)
        for name in gauges - {"device_memory_bytes"}:
            self.assertIn(self.ADDED, helps[name], name)
        alone, _ = self.helps(self.real("gpt"))
        self.assertFalse([name for name, text in alone.items() if self.ADDED in text])


    def test_curves_exceed_no_bound_of_the_sum(self):
        merged, to = self.merged(*Bounds.RUNS), self.path("chrome.json")
        done = self.call("export", "--force", "--format", "chrome", "-o", to, merged)
        self.assertIn("leaves out", done.stderr)
        self.assertIn("that its peaks are sums over 12 processes, each at its own time", done.stderr)
        with open(to, encoding="utf-8") as file:
            counters = [event for event in json.load(file)["traceEvents"] if event["ph"] == "C"]
        most = max(value for event in counters for value in event["args"].values())
        self.assertEqual(149554200576, most)
        text = self.text("export", "--format", "massif", "-o", "-", merged)
        self.assertIn(" of GPU 0 (GPU-ffdd25f9), at the peak the sum of all processes' own peaks\n", text)
        others = [int(bytes_) for bytes_, tree in re.findall(r"mem_heap_B=(\d+)\n.*\n.*\nheap_tree=(\w+)", text) if tree == "empty"]
        self.assertEqual(149554200576, max(others))


class Refusals(Case):
    def test_in_json_are_of_a_process(self):
        """Two of them had number 1, and no field said whose they were."""
        names = {"torch-oom-at-exit": 6531, "fill-refused": 6566}
        told = self.json("oom", "-n", "0", self.merged(*names))["events"]
        for name, pid in names.items():
            alone = self.json("oom", "-n", "0", self.real(name))["events"]
            self.assertEqual({pid}, {event["process_pid"] for event in alone})
            fields = ("number", "repeats", "process_ns", "bytes")
            self.assertEqual([[event[field] for field in fields] for event in alone],
                             [[event[field] for field in fields] for event in told if event["process_pid"] == pid])  # fmt: skip


class Names(Case):
    def test_calls_names_gpus_as_other_verbs_do(self):
        told = self.json("calls", self.folder_of("gpt", "threads"))
        names = {(row["device"], row["memory"]) for row in told["served"] if row["device"] is not None}
        self.assertEqual({(0, OTHER), (1, ONE)}, names)
        self.assertIn(ONE + "  ", self.text("calls", self.folder_of("gpt", "threads")))


    def test_a_summary_of_many_tells_gpus_apart(self):
        """ "GPU 0  4 processes", of two GPUs."""
        text = self.text("map", self.folder_of("gpt", "threads", "cupy", "fill-refused"))
        self.assertIn("  " + ONE + "  3 processes, peaks from 130 MiB to 139 GiB, that of fill (6566)\n", text)
        self.assertIn("  " + OTHER + "  1 process, peak 136 MiB\n", text)


class OneReport(Case):
    """A report that is compared with itself: "bounds, so the change is not known"."""

    def test_has_not_changed(self):
        for names in (("jax",), ("gpt-async",), ("gpt", "jax", "torch-oom-at-exit"), ("gpt-expandable", "nccl")):
            file = self.real(names[0]) if len(names) == 1 else self.merged(*names)
            text = self.text("diff", file, file)
            self.assertNotIn(" -> ", text, names)
            self.assertNotIn("the change is not known", text, names)
            self.assertIn(", as before", text, names)
            parts = re.search(r"  CHANGE +BEFORE +AFTER +PART\n((?:   .*\n)+)", text)
            for row in parts.group(1).splitlines() if parts else []:
                self.assertTrue(row.startswith("     0 B "), row)

    def test_is_known_in_another_file(self):
        self.changed("jax", lambda report: None, "copy.json")
        self.assertNotIn(" -> ", self.text("diff", self.real("jax"), self.path("copy.json")))

    def test_of_another_run_is_none(self):
        def be_another(report):
            report["process"]["pid"] += 1

        self.changed("jax", be_another, "another.json")
        self.assertIn("bounds, so the change is not known", self.one_line("diff", self.real("jax"), self.path("another.json")))


class Sums(Case):
    def test_two_bounds_have_no_known_difference(self):
        """ "at most 729 MiB above the median of 6.18 GiB", which was the mean of two upper bounds."""
        files = [self.changed(name, lambda report, rank=rank: report["process"].update(rank=rank), f"rank-{rank}.json")
                 for rank, name in enumerate(("gpt", "gpt-no-cache", "gpt-no-cache-pytorch", "gpt-async"))]  # fmt: skip
        text = self.text("report", *files)
        self.assertIn("): needed (all kinds) at most 6.89 GiB, beside a median of at most 6.18 GiB\n", text)
        (needed,) = [row for row in self.json("report", *files)["figures"] if row["figure"] == "needed_of_all_kinds_bytes"]
        self.assertEqual([True] * 3, [needed[name + "_is_bound"] for name in ("min", "median", "max")])
        (left,) = [row for row in self.json("report", *files)["figures"] if row["figure"] == "current_bytes"]
        self.assertEqual([False] * 3, [left[name + "_is_bound"] for name in ("min", "median", "max")])


    def test_a_gpu_of_one_process_is_no_sum(self):
        text = self.text("owners", self.folder_of("gpt", "threads"))
        self.assertIn("\nAs its process ended: 158 MiB used on " + OTHER, text)
        self.assertIn("  others, not in it: when its process looked, at most 527 MiB were outside of it\n", text)
        self.assertIn("\nAs each process ended, at different times, added: ", self.text("owners", self.folder_of("gpt", "jax")))

    def test_diff_gives_what_several_requested_together(self):
        names = ("gpt", "jax", "torch-oom-at-exit")
        (device,) = self.json("diff", self.real("gpt"), self.merged(*names))["devices"]
        self.assertEqual(146028888064, device["after"]["requested_bytes"])  # 248 GiB: all peaks of all kinds
        self.assertEqual(7394610696, device["before"]["requested_bytes"])

    def test_a_page_of_two_knows_what_it_compares(self):
        page = self.path("two.html")
        if self.call("html", "-o", page, "--force", self.merged("gpt", "jax"), self.real("threads")).returncode == 2:
            self.skipTest("no page in this build")
        with open(page, encoding="utf-8") as file:
            data = re.search(r'<script [^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.S).group(1)
        told = json.loads(data)["diff"]
        self.assertEqual((2, 1), (told["before_processes"], told["after_processes"]))
        self.assertEqual([["GPU-ffdd25f9-bdfa-48c6-40ce-3499b1a4f842"]], [one["before_uuids"] for one in told["other_gpus"]])

    def test_diff_says_who_went_on(self):
        merged = self.merged("beside-others", "threads")
        self.assertIn(", which adds 2 processes, each at its own peak; 1 went on after its report\n", self.text("diff", merged, self.real("threads")))

    def test_diff_says_that_it_compares_sums(self):
        text = self.text("diff", self.real("gpt"), self.folder_of("gpt", "threads"))
        self.assertIn(", which adds 2 processes, each at its own peak\n", text)


if __name__ == "__main__":
    harness.main()
