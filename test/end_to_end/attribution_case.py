"""What the tests of owners and axes share: the report of a victim, whose parts add up."""
# SPDX-License-Identifier: Apache-2.0
import harness
import recount

MIB = 1 << 20
RECORDING = ("cache", "dedicated", "observe")


class AttributionTest(harness.Case):
    def report(self, command, mode="cache", simulator="", **variables):
        command = [harness.program(command[0]), *command[1:]]
        outcome = self.run_program(command, mode, simulator, **variables)
        report = self.only_report(outcome)
        recount.check(self, report)
        self.check_axes(report)
        return report

    def check_axes(self, report):
        """The values of each axis add up to their kind, as the owners of the ledger do."""
        for kind in report["kinds"]:
            of_kind = [row for row in report["axes"] if row["kind"] == kind["kind"] and row["device"] == kind["device"]]
            owners = [row for row in report["ledger"] if row["kind"] == kind["kind"] and row["device"] == kind["device"]]
            self.assertEqual(kind["current_bytes"], sum(row["current_bytes"] for row in owners))
            self.assertEqual(kind["allocations"], sum(row["calls"] for row in owners))
            for axis in ("owner", "thread", "stream", "range", "function", "size_class"):
                values = [row for row in of_kind if row["axis"] == axis]
                self.assertEqual(kind["current_bytes"], sum(row["live_bytes"] for row in values), axis)
                self.assertEqual(kind["peak_bytes"], sum(row["peak_bytes"] for row in values), axis)
                self.assertEqual(kind["allocations"], sum(row["total_count"] for row in values), axis)
                for row in values:
                    self.assertGreaterEqual(row["own_peak_bytes"], max(row["live_bytes"], row["peak_bytes"]))
            (series,) = [
                s for s in report["timeline"]["series"] if (s["kind"], s["device"]) == (kind["kind"], kind["device"])
            ]
            self.assertEqual(kind["peak_bytes"], max(series["highest"]))
            self.assertEqual(kind["current_bytes"], series["last"][-1])
            self.assertLessEqual(kind["peak_ns"], report["timeline"]["duration_ns"])
        for site in report["sites"]:
            self.assertEqual(site["total_count"], sum(site["sizes"]))
            self.assertEqual(site["total_count"] - site["live_count"], sum(site["lifetimes"]))
            self.assertLessEqual(site["temporary_count"], site["total_count"] - site["live_count"])
