# What reports of an H200 (real/README.md) say of a whole GPU: what it held, what made its peak, and limits for it.
# SPDX-License-Identifier: Apache-2.0
"""real_devices_test.py BUILD"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import NAMES, RealReports  # noqa: E402


class DeviceUse(RealReports):
    """Programs that ran side by side: contexts of 42 MiB to 2.54 GiB, by differences of what was free."""

    def test_a_difference_of_free_memory_is_nobodys(self):
        for name in NAMES:
            path = self.real(name)
            listing = self.json("owners", path)
            rows = [(row["kind"], row["owner"], row["device_bytes"]) for row in listing["ledger"]]
            self.assertFalse([row for row in rows if row[1] in ("contexts", "modules")], name)
            with open(path) as file:
                written = sum(row["device_bytes"] for row in json.load(file)["ledger"])
            self.assertEqual(written, listing["devices"][0]["used_bytes"], name)
            text = self.text("owners", path)
            self.assertNotIn("for contexts and loaded code", text, name)
        self.assertIn("cannot tell them apart", self.text("owners", self.real("beside-others")))

    def test_a_filter_leaves_what_is_used_of_the_gpu(self):
        for name in NAMES:
            whole = self.json("owners", self.real(name))["devices"]
            for owner in {row["owner"] for row in self.json("owners", self.real(name))["ledger"] if row["calls"]}:
                self.assertEqual(whole, self.json("owners", "--owner", owner, self.real(name))["devices"], name)
        self.assertIn("used on GPU 0, NVIDIA H200 (other processes measured 136 ms earlier), regardless of the filter", self.text("owners", "--owner", "PyTorch", self.real("gpt")))


class PeakUse(RealReports):
    """What made a GPU as full as it was adds up, and unknown is not 0."""

    def use(self, name, *arguments):
        (rows,) = [row["device_use"] for row in self.json("peak", *arguments, self.real(name)) if row["device_use"]]
        return rows

    def test_it_adds_up(self):
        for name in NAMES:
            rows = self.use(name)
            with open(self.real(name)) as file:
                report = json.load(file)
            joint = {row["device"]: row["peak_bytes"] for row in report["joint_peaks"]}
            kinds = {row["kind"]: row["peak_bytes"] for row in report["kinds"]}
            asked = sum(row["bytes"] for row in rows if row["part"] in ("requested", "framework_cache"))
            self.assertEqual(joint.get(0, kinds["device"]), asked, name)
            reserved = sum(row["bytes"] for row in rows if row["part"] == "reserved")
            most = report["devices"][0]["memory_stats"]["reserved_bytes.all.peak"]
            self.assertLessEqual(reserved, most, name)
            if 0 not in joint:
                self.assertEqual(most, asked + reserved, name)
            for row in rows:
                self.assertNotEqual(0, row["bytes"], (name, row))
            self.assertEqual([None], [row["bytes"] for row in rows if row["part"] == "contexts"], name)
            self.assertEqual([None], [row["bytes"] for row in rows if row["part"] == "others"], name)

    def test_what_a_framework_holds_is_told_apart(self):
        rows = {row["owner"]: row["bytes"] for row in self.use("gpt") if row["part"] == "framework_cache"}
        self.assertEqual(7327449088, rows["PyTorch's cache"])
        text = self.text("peak", self.real("gpt"))
        self.assertIn("PyTorch's cache, live or idle", text)
        self.assertIn("not known", text)

    def test_two_runs_stand_side_by_side(self):
        text = self.text("diff", self.real("gpt"), self.real("gpt-no-cache"))
        self.assertIn("GPU 0 at its peak", text)
        self.assertIn("idle memory in Vramscope's cache", text)
        (use,) = self.json("diff", self.real("gpt"), self.real("gpt-no-cache"))["device_use"]
        parts = {(row["part"], row["owner"]): (row["before_bytes"], row["after_bytes"]) for row in use["parts"]}
        for side, name in enumerate(("gpt", "gpt-no-cache")):
            rows = {(row["part"], row["owner"]): row["bytes"] for row in self.use(name)}
            self.assertEqual(rows, {key: sides[side] for key, sides in parts.items() if key in rows})

    def test_of_a_choice_of_rows_there_is_none(self):
        for row in self.json("peak", "--owner", "PyTorch", self.real("gpt")):
            self.assertEqual([], row["device_use"])


class Map(RealReports):
    def test_what_a_framework_cuts_itself_is_not_judged(self):
        text = self.text("map", self.real("gpt"))
        self.assertIn("Fragmentation outside PyTorch's cache: ", text)
        self.assertRegex(text, r"PyTorch's cache holds 6.82 GiB \(99.1 %\)")
        self.assertIn("to see its contents: vramscope run --preset pytorch", text)
        (place,) = [one for one in self.json("map", self.real("gpt"))["places"] if one["kind"] == "device"]
        self.assertEqual(7327449088, place["framework_caches"][0]["bytes"])


class WholeDevice(RealReports):
    """Requested bytes alone were compared: "-25.2 %" where the GPU's use grew by 62 %."""

    def test_diff_tells_what_was_reserved_and_used(self):
        text = self.text("diff", self.real("gpt"), self.real("gpt-no-cache"))
        self.assertIn("\n  GPU 0  6.89 GiB -> 5.15 GiB (-1.73 GiB, -25.2 %)\n"
                      "  pinned  32.0 KiB, as before\n"
                      "  GPU 0, reserved (all kinds)  6.89 GiB -> 11.5 GiB (+4.66 GiB, +67.6 %)\n"
                      "  GPU 0, used  at least 6.89 GiB -> at least 11.5 GiB: contexts and code were not measured\n", text)
        text = self.text("diff", self.real("gpt-no-cache"), self.real("gpt-no-cache-pytorch"))
        self.assertIn("\n  GPU 0, reserved (all kinds)  11.5 GiB -> 6.89 GiB (", text)
        (device,) = self.json("diff", self.real("gpt"), self.real("gpt-no-cache"))["devices"]
        for side, name in (("before", "gpt"), ("after", "gpt-no-cache")):
            (counted,) = [one for one in self.json("report", self.real(name))["devices"] if one["index"] == 0]
            self.assertEqual(device[side]["reserved_of_all_kinds_bytes"], counted["reserved_peak_bytes"])
            self.assertEqual(device[side]["used_bytes"], counted["used_peak_bytes"])

    def test_report_tells_what_was_used(self):
        for name in NAMES:
            text = self.text("report", self.real(name))
            for device in self.json("report", self.real(name))["devices"]:
                self.assertGreaterEqual(device["reserved_of_all_kinds_bytes"], device["reserved_peak_bytes"], name)
                self.assertIsNone(device["used_peak_bytes"], name)  # nobody measured contexts
                self.assertIn("\n  used at least ", text, name)

    def test_limits_for_what_is_reserved_and_used(self):
        file = self.real("gpt-no-cache")
        for option, limit, status in (("--max-peak", "6GiB", 0), ("--max-reserved", "6GiB", 1), ("--max-reserved", "12GiB", 0),
                                      ("--max-used", "12GiB", 1), ("--max-used", "140GiB", 0)):
            result = self.call("check", option, limit, file)
            self.assertEqual(result.returncode, status, (option, limit, result.stdout))
        self.assertIn("reserved (all kinds) on GPU 0: 11.5 GiB, 5.55 GiB above the limit of 6.00 GiB\n",
                      self.text("check", "--max-reserved", "6GiB", file))
        self.assertIn("used on GPU 0, contexts and code not measured: at least 11.5 GiB: at least ", self.text("check", "--max-used", "6GiB", file))
        self.assert_refused(["check", "--max-used", "6GiB", "--owner", "cuBLAS", file], 2, "take no filter but --device")
        self.assertEqual(0, self.call("check", "--max-used", "140GiB", "--device", "0", file).returncode)

    def test_a_baseline_is_compared_with_all_kinds_together(self):
        """A smaller run failed because it held no physical memory before."""
        for name in ("gpt-expandable", "gpt-async", "gpt-no-cache"):
            result = self.call("check", "--against", self.real("gpt"), self.real(name))
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("passed: peak of GPU 0", result.stdout)
        result = self.call("check", "--against", self.real("gpt-async"), self.real("gpt-expandable"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("; parts: GPU 0 physical 5.44 GiB (was 0 B), ", result.stdout)
        checks = self.json("check", "--against", self.real("gpt-async"), self.real("gpt-expandable"))["checks"]
        self.assertEqual([row["what"] for row in checks], ["peak of GPU 0, all kinds together", "peak of pinned", "never freed"])
        self.assertEqual({row["kind"] for row in checks[0]["kinds"]}, {"device", "physical", "stream_ordered"})


if __name__ == "__main__":
    harness.main()
