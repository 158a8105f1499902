# Which devices of several reports are one GPU, and what it is called.
# SPDX-License-Identifier: Apache-2.0
"""gpus_test.py VRAMSCOPE SAMPLE"""
import copy
import json
import re
import sqlite3
import sys
import unittest

from merge_case import MergeTest

MIB = 1 << 20


class Gpus(MergeTest):
    def one(self, host, rank, devices, **process):
        """A report of a process that used each device: (ordinal, UUID, bus, MiB)."""
        report = copy.deepcopy(self.sample)
        report["process"].update(pid=100 + rank, rank=rank, hostname=host, start_time_ns=10**9 * (rank + 1), **process)
        pattern = report["devices"][0]
        report["devices"] = [{**copy.deepcopy(pattern), "index": index, "uuid": uuid, "pci_bus_id": bus, "segments": []}
                             for index, uuid, bus, _ in devices]
        report["sample_bytes"], report["joint_peaks"], report["oom"] = 0, [], {"count": 0, "events": []}
        report["host"].update(segments=[], registrations=[])
        site = report["sites"][0]
        report["sites"], site["estimate"] = [site], None
        site["parts"] = [{"kind": "device", "device": index, "peak_bytes": mib * MIB, "live_bytes": mib * MIB, "live_count": 1,
                          "total_count": 1, "total_bytes": mib * MIB} for index, _, _, mib in devices]
        total = sum(mib for *_, mib in devices) * MIB
        site.update(peak_bytes=total, live_bytes=total, live_count=len(devices), total_count=len(devices), total_bytes=total)
        report["kinds"] = [{"kind": "device", "device": index, "peak_bytes": mib * MIB, "current_bytes": mib * MIB, "peak_site": None,
                            "allocations": 1} for index, _, _, mib in devices]
        report["timeline"]["series"] = [{"kind": "device", "device": index, "bucket_ns": 1 << 20, "highest": [mib * MIB], "last": [mib * MIB]}
                                        for index, _, _, mib in devices]
        report["axes"] = []
        report["ledger"] = [row for index, _, _, mib in devices for row in
                            ({"device": index, "kind": "device", "owner": "program", "device_bytes": mib * MIB, "peak_bytes": mib * MIB, "calls": 1},
                             {"device": index, "kind": "others", "owner": "others", "device_bytes": 7 * MIB})]
        return self.write(report)

    def merged(self, *paths):
        return json.loads(self.merge(*paths).read_text())

    def names(self, path):
        return [(row["gpu"], row["used_bytes"] // MIB) for row in json.loads(self.call("owners", "--json", path).stdout)["devices"]]

    def test_one_ordinal_and_two_uuids_are_two_gpus(self):
        """Two hosts' first GPUs were one "GPU 0", with the sum of both."""
        parts = [self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10)]), self.one("host-b", 1, [(0, "GPU-b", "0000:01:00.0", 30)])]
        both = self.merge(*parts)
        self.assertEqual([("GPU 0 of host-a", 10), ("GPU 0 of host-b", 30)], self.names(both))
        for verb in (["report"], ["peak"], ["owners"], ["timeline"], ["leaks"], ["sites"]):
            shown = self.call(*verb, both).stdout
            self.assertNotRegex(shown, r"GPU 0(?! of host-)", verb)
            self.assertIn("GPU 0 of host-b", shown, verb)
        self.assertIn("GPU 0 of host-b", self.call("report", *parts).stdout)
        report = json.loads(both.read_text())
        self.assertEqual([(0, "GPU-a"), (1, "GPU-b")], [(one["index"], one["uuid"]) for one in report["devices"]])
        self.assertEqual([10, 30], [kind["peak_bytes"] // MIB for kind in report["kinds"]])
        self.assertEqual([(0, 0), (1, 0)], [(d["index"], d["ordinal"]) for p in report["processes"] for d in p["devices"]])
        self.assertEqual([0, 1], [p["kinds"][0]["device"] for p in report["processes"]])

    def test_two_ordinals_and_one_uuid_are_one_gpu(self):
        parts = [self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10), (1, "GPU-b", "0000:02:00.0", 20)]),
                 self.one("host-a", 1, [(0, "GPU-b", "0000:02:00.0", 30)])]
        both = self.merge(*parts)
        self.assertEqual([("GPU 0", 10), ("GPU 1", 50)], self.names(both))
        report = json.loads(both.read_text())
        self.assertEqual([10, 50], [kind["peak_bytes"] // MIB for kind in report["kinds"]])
        self.assertEqual([10, 50], [part["peak_bytes"] // MIB for part in report["sites"][0]["parts"]])
        self.assertEqual([(0, 10), (1, 50)], [(row["device"], row["highest"][0] // MIB) for row in report["timeline"]["series"]])
        self.assertIn("  GPU 1  2 processes, peak ", self.call("report", *parts).stdout)

    def test_gpus_that_processes_of_one_host_have_as_their_first_are_told_by_their_bus(self):
        """As CUDA_VISIBLE_DEVICES makes it."""
        parts = [self.one("host-a", rank, [(0, f"GPU-{rank}", f"0000:{rank + 10}:00.0", 10 + rank)]) for rank in range(2)]
        self.assertEqual([("GPU 0 at 10:00.0", 10), ("GPU 0 at 11:00.0", 11)], self.names(self.merge(*parts)))
        self.assertRegex(self.call("report", *parts).stdout, r"\n +1 +101 +0 at 11:00.0 ")
        mig = [self.one("host-a", rank, [(0, f"GPU-{rank}{rank}", "0000:10:00.0", 10 + rank)]) for rank in range(2)]
        self.assertEqual([("GPU 0 (GPU-00)", 10), ("GPU 0 (GPU-11)", 11)], self.names(self.merge(*mig)))

    def test_without_a_uuid_the_host_and_the_ordinal_decide(self):
        apart = self.merge(self.one("host-a", 0, [(0, "", "", 10)]), self.one("host-b", 1, [(0, "", "", 30)]))
        self.assertEqual([("GPU 0 of host-a", 10), ("GPU 0 of host-b", 30)], self.names(apart))
        same = self.merge(self.one("host-a", 0, [(0, "", "", 10)]), self.one("host-a", 1, [(0, "", "", 30)]))
        self.assertEqual([("GPU 0", 40)], self.names(same))
        known_by_one = self.merge(self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10)]), self.one("host-a", 1, [(0, "", "", 30)]))
        self.assertEqual([("GPU 0", 40)], self.names(known_by_one))

    def test_simulated_gpus_of_two_hosts_have_one_uuid_and_are_two(self):
        both = self.merge(*(self.one(host, rank, [(0, "GPU-0", "0000:01:00.0", 10)], simulated=True) for rank, host in enumerate(("host-a", "host-b"))))
        self.assertEqual([("GPU 0 of host-a", 10), ("GPU 0 of host-b", 10)], self.names(both))

    def test_merging_in_steps_and_in_any_order_gives_the_same(self):
        parts = [self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10), (1, "GPU-b", "0000:02:00.0", 20)]),
                 self.one("host-a", 1, [(0, "GPU-b", "0000:02:00.0", 30)]), self.one("host-b", 2, [(0, "GPU-c", "0000:01:00.0", 40)])]
        wanted = self.merge(*parts).read_bytes()
        self.assertEqual(wanted, self.merge(*reversed(parts)).read_bytes())
        for first in range(3):
            rest = [path for number, path in enumerate(parts) if number != first]
            self.assertEqual(wanted, self.merge(self.merge(*rest), parts[first]).read_bytes())

    def test_of_more_gpus_than_a_report_has_room_for_those_of_one_ordinal_are_added(self):
        parts = [self.one(f"host-{rank:02}", rank, [(rank % 2, f"GPU-{rank}", "0000:01:00.0", 1)]) for rank in range(65)]
        self.assertEqual(64, len(self.merged(*parts[:64])["devices"]))
        many = self.merge(*parts)
        self.assertEqual([("GPU 0 (sum of 33)", 33), ("GPU 1 (sum of 32)", 32)], self.names(many))
        self.assertEqual(many.read_bytes(), self.merge(self.merge(*parts[:64]), parts[64]).read_bytes())

    def test_what_an_earlier_version_added_up_stays_a_sum(self):
        parts = [self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10)]), self.one("host-a", 1, [(0, "GPU-a", "0000:01:00.0", 30)])]
        report = self.merged(*parts)
        report["processes"][1]["devices"][0]["uuid"] = "GPU-b"
        for process in report["processes"]:
            del process["devices"][0]["ordinal"]
        old = self.write(report)
        self.assertEqual([("GPU 0 (sum of 2)", 40)], self.names(old))
        more = self.merge(old, self.one("host-c", 2, [(0, "GPU-c", "0000:01:00.0", 50)]))
        self.assertEqual([("GPU 0 (sum of 3)", 90)], self.names(more))
        shown = self.call("diff", old, self.merge(*parts)).stdout
        self.assertIn("GPU 0 was 2 GPUs added up, and is GPU-a of host-a: different devices, compared by their number. Merge both", " ".join(shown.split()))

    def test_diff_and_check_compare_gpus_of_one_number_and_say_which_they_were(self):
        before = self.one("host-a", 0, [(0, "GPU-aaaaaaaa-1", "0000:01:00.0", 10)])
        after = self.one("host-b", 0, [(0, "GPU-bbbbbbbb-2", "0000:01:00.0", 30)])
        words = "GPU 0 was GPU-aaaaaaaa of host-a, and is GPU-bbbbbbbb of host-b: different devices, compared by their number."
        shown = self.call("diff", before, after).stdout
        self.assertIn(words, " ".join(shown.split()))
        self.assertIn("  GPU 0  10.0 MiB -> 30.0 MiB (+20.0 MiB", shown)
        for same in (before, self.one("host-a", 0, [(0, "", "", 30)])):  # whose UUID nobody knows
            self.assertNotIn("different devices", self.call("diff", before, same).stdout)
        simulated = [self.one(host, 0, [(0, "GPU-0", "", 10)], simulated=True) for host in ("host-a", "host-b")]
        self.assertNotIn("different devices", self.call("diff", *simulated).stdout)
        [other] = json.loads(self.call("diff", "--json", before, after).stdout)["other_gpus"]
        self.assertEqual((0, ["GPU-aaaaaaaa-1"], ["host-b"]), (other["device"], other["before_uuids"], other["after_hosts"]))
        judged = self.call("check", "--against", before, after)
        self.assertEqual(1, judged.returncode)
        self.assertIn(words, " ".join(judged.stdout.split()))
        self.assertIn("peak of GPU 0: 30.0 MiB", judged.stdout)

    def test_the_numbers_of_device_are_told(self):
        both = self.merge(self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10)]), self.one("host-b", 1, [(0, "GPU-b", "0000:01:00.0", 30)]))
        self.assertIn("--device: 0 is GPU 0 of host-a, 1 is GPU 0 of host-b\n", self.call("report", both).stdout)
        self.assertIn("has no device 2; devices: 0, 1; 0 is GPU 0 of host-a, 1 is GPU 0 of host-b", self.call("peak", "--device", "2", both).stderr)
        shown = self.call("peak", "--device", "1", both).stdout
        self.assertIn("GPU 0 of host-b: ", shown)
        self.assertNotIn("host-a", shown)

    def test_exports_have_them_apart(self):
        both = self.merge(self.one("host-a", 0, [(0, "GPU-a", "0000:01:00.0", 10)]), self.one("host-b", 1, [(0, "GPU-b", "0000:01:00.0", 30)]))
        def export(form):
            path = self.folder / ("out." + form)
            self.assertEqual(0, self.call("export", "--format", form, "-o", path, "--force", both).returncode)
            return path
        self.assertEqual({"GPU 0 of host-a", "GPU 0 of host-b"}, {line.split(";")[0] for line in export("folded").read_text().splitlines()})
        metrics = export("openmetrics").read_text()
        self.assertRegex(metrics, r'vramscope_device_info\{pid="0",device="1",gpu="GPU 0 of host-b",name="[^"]*",uuid="GPU-b"\} 1')
        with sqlite3.connect(export("sqlite")) as database:
            self.assertEqual([(0, "GPU 0 of host-a", "GPU-a"), (1, "GPU 0 of host-b", "GPU-b")],
                             database.execute("SELECT device, gpu, uuid FROM devices ORDER BY device").fetchall())
        for form in ("speedscope", "chrome", "dhat"):
            self.assertIn("GPU 0 of host-b", export(form).read_text(), form)
        page = self.folder / "page.html"
        self.assertEqual(0, self.call("html", "-o", page, both).returncode)
        self.assertRegex(page.read_text(), re.escape("GPU 0 of host-b"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
