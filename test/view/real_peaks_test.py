# What peak, diff and the page say of whose memory made a peak, of reports of real programs on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_peaks_test.py BUILD"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import MIB, NAMES, RealReports  # noqa: E402

VIEWS = ((), ("--with-native",), ("--native-only",), ("--python-only",))
SEVERAL_KINDS = ("nccl", "gpt-async", "gpt-expandable", "cupy", "jax")


def part_of_table(text):
    """Lines from "GPU 0 at its peak" on."""
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if " at its peak" in line and line.startswith("GPU"))
    return lines[begin:next((at for at in range(begin, len(lines)) if not lines[at].strip()), len(lines))]


class Peaks(RealReports):
    def verdict(self, name):
        path = self.path("page.html")
        self.assertEqual(self.call("html", "-f", "-o", path, self.real(name)).returncode, 0)
        with open(path, encoding="utf-8") as page:
            return json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', page.read(), re.S).group(1))["verdict"]


class Whose(Peaks):
    """ "174 MiB PyTorch's cache, 1.00 KiB cuBLAS" of 142 MiB and 64.0 MiB: their rows had become one."""

    def parts(self, name, *options):
        rows = [part["device_use"] for part in self.json("peak", *options, self.real(name))]
        return [(row["part"], row["owner"], row["bytes"]) for use in rows for row in use]

    def test_does_not_depend_on_the_frames_that_are_shown(self):
        for name in NAMES:
            tables = {tuple(part_of_table(self.text("peak", *view, self.real(name)))) for view in VIEWS}
            self.assertEqual(len(tables), 1, name)
            parts = {tuple(self.parts(name, *view)) for view in VIEWS}
            self.assertEqual(len(parts), 1, name)

    def test_of_two_reports_does_not_either(self):
        for before, after in (("nccl", "nccl"), ("gpt", "gpt-async"), ("jax", "nccl")):
            tables = {tuple(part_of_table(self.text("diff", *view, self.real(before), self.real(after)))) for view in VIEWS}
            self.assertEqual(len(tables), 1, (before, after))

    def test_is_what_each_call_stack_tells(self):
        parts = {owner: bytes_ for _, owner, bytes_ in self.parts("nccl") if owner}
        self.assertEqual(parts, {"NCCL": 406847488, "PyTorch's cache": 148897792, "cuBLAS": 67110912})
        parts = {owner: bytes_ for _, owner, bytes_ in self.parts("gpt-async") if owner}
        self.assertEqual(parts["PyTorch's workspaces for cuBLAS"], 65 * MIB)
        self.assertEqual(parts["cuBLAS"], 67110912)

    def test_owners_and_their_caches_hold_what_the_owners_did(self):
        caches = {"PyTorch's cache": "PyTorch", "PyTorch's workspaces for cuBLAS": "PyTorch", "CuPy's pool": "CuPy", "JAX's pool": "JAX"}
        for name in SEVERAL_KINDS:
            held = collections.Counter()
            for _, owner, bytes_ in self.parts(name):
                if owner:
                    held[caches.get(owner, owner)] += bytes_
            joint = next(part for part in self.json("peak", self.real(name)) if part["kind"] == "all")
            self.assertEqual(joint["owner"], held, name)


class Rows(Peaks):
    """Three rows of 128 MiB that read alike, where the next table has one of 388 MiB."""

    def test_of_all_kinds_together_are_joined_as_others(self):
        for name in SEVERAL_KINDS:
            for view in VIEWS:
                joint = next(part for part in self.json("peak", *view, self.real(name)) if part["kind"] == "all")
                rows = [(row["site"], row["kind"]) for row in joint["live"]]
                self.assertEqual(len(rows), len(set(rows)), (name, view))
                held = [row["bytes"] for row in joint["live"]]
                self.assertEqual(held, sorted(held, reverse=True), (name, view))
                self.assertEqual(sum(held), joint["peak_bytes"], (name, view))
        self.assertRegex(self.text("peak", self.real("nccl")), r"\n +388 MiB +65\.3 % +194 +GPU 0 physical +all_reduce")

    def test_of_one_instant_are_those_of_its_kind(self):
        joint, physical = (part for part in self.json("peak", self.real("gpt-expandable")) if part["kind"] in ("all", "physical"))
        if joint["kind"] != "all":
            joint, physical = physical, joint
        self.assertEqual(joint["peak_ns"], physical["peak_ns"])
        kept = [{key: row[key] for key in ("site", "bytes", "count")} for row in joint["live"] if row["kind"] == "physical"]
        self.assertEqual(kept, [{key: row[key] for key in ("site", "bytes", "count")} for row in physical["live"]])


class FrameworkPools(Peaks):
    """ "105 GiB JAX", "the process needs 105 GiB": three quarters of the device, which XLA takes at first for its pool."""

    def test_jax_is_told_as_cupy_is(self):
        for name, pool, bytes_, inside in (("jax", "JAX's pool", 112583507968, "vramscope run --preset jax"),
                                           ("cupy", "CuPy's pool", None, "call cupy.cuda.set_allocator(None) in the program"),
                                           ("gpt", "PyTorch's cache", 7327449088, "vramscope run --preset pytorch")):
            file = self.real(name)
            held = {row["owner"]: row["bytes"] for part in self.json("peak", file) for row in part["device_use"] if row["part"] == "framework_cache"}
            self.assertIn(pool, held)
            if bytes_:
                self.assertEqual(bytes_, held[pool])
            text = self.text("peak", file)
            self.assertIn(f"{pool}, live or idle", text)
            self.assertIn(f"only {pool} knows how much of its memory is idle; to see its contents: {inside}", text)
            self.assertRegex(text, rf"the process needs .*the live part of the \S+ [KMG]iB in {pool}")
            self.assertRegex(self.text("report", file), rf"{pool} held \S+ [KMG]iB of GPU 0[^,]*, live or idle")
            page = "\n".join(self.verdict(name))
            self.assertIn(f"{pool}, live or idle", page)
            self.assertRegex(page, rf"the process needs .*the live part of the \S+ [KMG]iB in {pool}")
            self.assertIn(f"{pool}, live or idle", self.text("diff", file, self.real("nccl")) if name != "gpt" else text)

    def test_what_shows_inside_is_not_a_preset_that_sets_nothing(self):
        for verb in ("leaks", "map", "peak"):
            text = self.text(verb, self.real("cupy"))
            self.assertIn("cupy.cuda.set_allocator(None)", text, verb)
            self.assertNotIn("--preset cupy", text, verb)


class Reserved(Peaks):
    """ "6.00 MiB idle" among upper bounds, beside "at least 6.00 MiB of it idle": one row, and at most."""

    def test_beyond_requests_is_at_most_and_in_one_row(self):
        text = self.text("peak", self.real("cupy"))
        self.assertRegex(text, r"\n +at most 13\.8 MiB +rounding, free space beside live blocks, and idle memory in Vramscope's cache\n")
        self.assertIn("GPU 0 at its peak: 130 MiB to 144 MiB (known parts)", text)
        self.assertNotIn("the rows of reserved memory", text)
        self.assertIn("GPU 0 at its peak: at most 11.5 GiB (known parts)", self.text("peak", self.real("gpt-no-cache")))
        for name in NAMES:
            with open(self.real(name), encoding="utf-8") as file:
                peak = json.load(file)["devices"][0]["memory_stats"]["reserved_bytes.all.peak"]
            parts = [row for part in self.json("peak", self.real(name)) for row in part["device_use"] if row["part"] == "reserved"]
            self.assertLessEqual(len(parts), 1, name)
            self.assertLessEqual(sum(row["bytes"] for row in parts), peak, name)

    def test_has_no_change_between_bounds(self):
        rows = [line for line in self.text("diff", self.real("gpt"), self.real("gpt-no-cache")).splitlines() if "idle memory in Vramscope's cache" in line]
        self.assertRegex(rows[0], r"^ +at most \S+ MiB +at most \S+ GiB +rounding")


class Page(Peaks):
    """ "33.0 % of that" behind a sentence on another sum; "most of it" behind one on PyTorch's cache."""

    def test_a_share_names_its_whole(self):
        self.assertTrue(self.verdict("nccl")[1].startswith("100 % of the 388 MiB of GPU 0 physical, 388 MiB in 194 allocations, came from "))

    def test_a_sentence_stands_once(self):
        for name in NAMES:
            verdict = self.verdict(name)
            self.assertEqual(len(verdict), len(set(verdict)), name)
            self.assertLessEqual(sum("together held" in sentence for sentence in verdict), 1, name)

    def test_stranded_memory_has_its_holders_beside_it(self):
        text = next(sentence for sentence in self.verdict("gpt") if "stranded" in sentence)
        self.assertRegex(text, r"^1\.95 MiB of GPU 0 are free but stranded beside live blocks, in 1 segment, most of them beside blocks from "
                               r"libcudnn_graph.*; PyTorch's cache holds 6\.82 GiB of GPU 0, and only that cache knows what is free inside it\.$")


class Map(Peaks):
    """ "4 B (<0.1 %)" and "4.00 KiB 100 %" of one block; "outside PyTorch's cache" as a share of everything."""

    def test_a_cache_holds_the_bytes_of_its_blocks(self):
        self.assertIn("PyTorch's cache of pinned memory holds 4.00 KiB (100 %) of these segments, in 1 block", self.text("map", self.real("torch-oom-at-exit")))
        text = self.text("map", self.real("gpt"))
        self.assertIn("PyTorch's cache of pinned memory holds 36.0 KiB (50.0 %) of these segments, in 2 blocks", text)
        for name in NAMES:
            for place in self.json("map", self.real(name))["places"]:
                blocks = [block["size_bytes"] for segment in place["segments"] for block in segment["blocks"] if block["state"] == "active_allocated"]
                for cache in place["framework_caches"]:
                    self.assertLessEqual(cache["blocks"], len(blocks), name)
                    if cache["blocks"] == len(blocks):
                        self.assertEqual(cache["bytes"], sum(blocks), (name, place["kind"]))

    def test_outside_is_a_share_of_what_is_outside(self):
        text = self.text("map", self.real("gpt"))
        self.assertIn("Fragmentation outside PyTorch's cache: hardly any; 1.95 MiB is stranded (3.0 % of the memory outside that cache)", text)
        self.assertIn("Fragmentation outside PyTorch's cache of pinned memory: little in absolute terms; 28.0 KiB is stranded (77.8 % of the memory outside that cache)", text)


class Words(Peaks):
    """A site is a call stack; rows are rows, which may stand for several."""

    def test_rows_left_out_are_rows(self):
        for verb in (("report",), ("peak",), ("peak", "--tree"), ("sites",), ("map",), ("report", "--with-native")):
            text = self.text(*verb, "-n", "3", self.real("gpt"))
            self.assertNotRegex(text, r"\d more sites?\b", verb)
        self.assertRegex(self.text("report", "-n", "3", self.real("gpt")), r"\n  and \d+ more rows, ")

    def test_groups_count_call_stacks(self):
        with open(self.real("gpt"), encoding="utf-8") as file:
            sites = json.load(file)["sites"]
        for view in ((), ("--native-only",)):
            rows = self.json("sites", "--group", "library", *view, self.real("gpt"))
            held = sum(any(part["kind"] in ("device", "pinned") for part in site["parts"]) for site in sites if site["total_count"])
            self.assertEqual(held, sum(row["site_count"] for row in rows), view)

    def test_an_earlier_version_counted_what_was_freed_last(self):
        for verb in ("report", "sites"):
            self.assertIn("1,012,400 temporary (100 %; these include a thread's last allocation if it was freed)", self.text(verb, self.real("threads")), verb)
        self.assertIn("TEMP: share of the allocations that were freed before their thread's next allocation; a thread's last allocation counts if it was freed.", self.text("sites", self.real("threads")))

    def test_a_pool_gives_back_by_its_threshold(self):
        self.assertIn("release threshold", re.sub(r"\s+", " ", self.text("owners", self.real("gpt-async"))))

    def test_owners_of_a_choice_do_not_depend_on_frames(self):
        for at in ("peak", "end", "total"):
            of = ("diff", "--by", "owner", "--at", at, "--site", "main", self.real("cupy"), self.real("gpt-no-cache"))
            self.assertEqual(self.json(*of)["rows"], self.json(*of, "--native-only")["rows"], at)


class Snapshots(Peaks):
    """ "peak 129 MiB, reached after 0 ns by thread unknown" of a snapshot of PyTorch without history."""

    def snapshot(self):
        path = self.path("snapshot.pickle")
        self.assertEqual(self.call("export", "-f", "--format", "memory_viz", "-o", path, self.real("gpt-no-cache")).returncode, 0)
        return path

    def test_tell_what_was_live_and_no_peak(self):
        file = self.snapshot()
        report, peak, sites = self.text("report", file), self.text("peak", file), self.text("sites", file)
        self.assertIn("at the snapshot 11.5 GiB reserved", report)
        self.assertIn("the peak is not in the file", report)
        self.assertIn("Live at the snapshot: GPU 0, 129 MiB", report)
        self.assertIn("GPU 0: live at the snapshot 129 MiB requested", peak)
        for text in (report, peak, sites):
            self.assertNotIn("reached after", text)
            self.assertNotRegex(text, r"peak +\d")
            self.assertNotIn("owner PyTorch", text)
        self.assertNotIn("at its peak", peak)

    def test_diff_says_so(self):
        text = self.text("diff", self.snapshot(), self.real("gpt-no-cache"))
        self.assertIn("has no history: it tells what was live at the snapshot, not the peak", re.sub(r"\s+", " ", text))
        self.assertIn("perhaps different devices", re.sub(r"\s+", " ", text))


if __name__ == "__main__":
    harness.main()
