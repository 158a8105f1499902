# What oom, owners, sites and exports say of reports that PyTorch, JAX and others left on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_answers_test.py BUILD"""
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402

VIEWS = ("mapping", "address_range", "import")


class Refusals(RealReports):
    def test_what_pytorch_asks_for_again_is_one_request(self):
        """Its num_ooms was 1."""
        file = self.real("torch-oom-at-exit")
        for words in ((), ("-n", "0")):
            text = self.text("oom", *words, file)
            self.assertIn("\n  the 2nd is the same request: PyTorch asked again, once it had emptied its cache\n", text)
        self.assertEqual(1, self.text("oom", file).count(" refused, the "))
        told = self.json("oom", file)
        self.assertEqual((2, 1), (told["count"], told["requests"]))
        self.assertEqual([None, 1], [event["repeats"] for event in told["events"]])

    def test_a_program_that_asks_again_by_itself_asks_anew(self):
        told = self.json("oom", self.real("fill-refused"))
        self.assertEqual((8, 8), (told["count"], told["requests"]))
        self.assertEqual({None}, {event["repeats"] for event in told["events"]})

    def test_all_rows_are_all_refusals(self):
        file = self.real("fill-refused")
        self.assertEqual(["1st", "8th"], re.findall(r" refused, the (\w+) of 8\n", self.text("oom", file)))
        self.assertEqual(8, len(re.findall(r" refused, the (\w+) of 8\n", self.text("oom", "-n", "0", file))))

    def test_a_place_of_several_sizes_shows_them(self):
        text = self.text("oom", self.real("fill-refused"))
        self.assertEqual(["139 x 1.00 GiB, 4 x 64.0 MiB, 17 x 2.00 MiB"], re.findall(r"\n  sizes of these blocks: (.*)\n", text))


class Views(RealReports):
    def test_owners_have_memory_alone(self):
        for name in ("jax", "gpt-expandable"):
            file = self.real(name)
            self.assertFalse([row for row in self.json("owners", file)["ledger"] if row["kind"] in VIEWS], name)
            self.assertNotIn("address_range", self.text("owners", file))
            self.assertIn("mapping", self.text("owners", "--kind", "mapping", file))

    def kinds_in(self, told):
        if isinstance(told, dict):
            return {told.get("kind")} | set().union(*(self.kinds_in(part) for part in told.values()))
        return set().union(*(self.kinds_in(part) for part in told)) if isinstance(told, list) else set()

    def test_page_report_and_timeline_have_memory_alone(self):
        """The page counted 576 sizes of 293 allocations."""
        for name in ("jax", "gpt-expandable", "nccl"):
            file, page = self.real(name), self.path("page.html")
            self.assertEqual(0, self.call("html", "-f", "-o", page, file).returncode)
            with open(page, encoding="utf-8") as text:
                told = json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', text.read(), re.S).group(1))
            made = sum(memory["totals"][5] for memory in told["memory"])
            self.assertLessEqual(sum(count for _, count in told["sizes"]), made, name)
            self.assertEqual(sum(row["total_count"] for row in self.json("sites", file)), made, name)
            for listing in (told, self.json("report", file), self.json("timeline", file)):
                self.assertFalse({str(kind) for kind in self.kinds_in(listing)} & set(VIEWS), name)
            self.assertNotRegex(self.text("report", file) + self.text("timeline", file), "mapping|address_range")
            self.assertIn("mapping", self.text("report", "--kind", "mapping", file))

    def test_exports_have_memory_alone(self):
        for form in ("chrome", "openmetrics", "sqlite", "perfetto", "memory_viz_json", "dhat"):
            to = self.path(form)
            done = self.call("export", "--format", form, "-o", to, self.real("gpt-expandable"))
            if "this build is without" in done.stderr:
                continue
            self.assertEqual(0, done.returncode, done.stderr)
            with open(to, "rb") as file:
                content = file.read()
            of_kinds = re.findall(rb'kind="(\w+)"|"(address_range|mapping)"|(address_range|mapping) \(most\)', content)
            self.assertFalse({kind for found in of_kinds for kind in found if kind.decode() in VIEWS}, form)

    def test_memory_of_the_host_is_of_no_device(self):
        for name in NAMES:
            text = self.text("export", "--format", "openmetrics", self.real(name))
            for line in text.splitlines():
                if 'kind="pinned"' in line:
                    self.assertNotIn("device=", line, name)

    def test_rows_of_several_memories_name_them(self):
        file = self.real("jax")
        self.assertRegex(self.text("sites", file), r"\n +105 GiB .* GPU 0 physical +\w")
        self.assertRegex(self.text("sites", file), r"\n +2\.00 MiB .* pinned +\w")
        listed = [row["memory"] for row in self.json("sites", file)]
        self.assertIn("GPU 0 physical", listed)
        self.assertEqual(listed, [row["memory"] for row in csv.DictReader(io.StringIO(self.text("sites", "--csv", file)))])
        self.assertNotIn("MEMORY", self.text("sites", self.real("fill-refused")))


class Measured(RealReports):
    def test_what_a_filter_leaves_is_told_apart_as_without_one(self):
        """PyTorch's workspaces for cuBLAS were a leak where cuBLAS did not pass."""
        for words in (("--owner", "PyTorch"), ("--kind", "device"), ("--site", "gpt.py:20")):
            text = self.text("leaks", *words, self.real("gpt-no-cache"))
            self.assertRegex(text.replace("\n  ", " "), r"only \d+.0 MiB held by PyTorch.s workspaces for cuBLAS")

    def test_a_run_that_was_measured_in_time_has_tenths_of_time(self):
        for name in ("gpt", "jax"):
            text = " ".join(self.text("leaks", "--no-default-suppressions", self.real(name)).split())
            self.assertIn("of 10 equal parts of the run (measured in time)", text)
            self.assertNotIn("(measured in allocations)", text)

    def test_a_merged_report_has_no_intervals_and_says_what_was_counted(self):
        text = self.text("sites", "-n", "0", self.real("gpt"), self.real("gpt-no-cache"))
        self.assertNotIn("1/1", text)
        self.assertIn("these include a thread's last allocation if it was freed", text)


if __name__ == "__main__":
    harness.main()
