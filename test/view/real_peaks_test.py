# What peak, diff and the page say of whose memory made a peak, of reports of real programs on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_peaks_test.py BUILD"""
import collections
import os
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


class Whose(RealReports):
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


class Rows(RealReports):
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


if __name__ == "__main__":
    harness.main()
