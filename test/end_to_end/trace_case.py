"""What the tests of traces share: programs that write one, its totals and listings."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile

import harness
import recount

TRACE = "%p.trace"
MIB = 1 << 20


def traces(folder):
    return sorted(pathlib.Path(folder).rglob("*.trace*"))


class TraceTest(harness.Case):
    def traced(self, command, mode="cache", simulator="", folder=None, **variables):
        """Finished process, its reports and its traces."""
        folder = folder or tempfile.mkdtemp(dir=self.folder)
        outcome = self.run_program(
            command, mode, simulator, folder=folder, VRAMSCOPE_TRACE=TRACE, **variables
        )
        return outcome, traces(folder)

    def totals(self, path, *flags):
        done = self.run_tool("trace", "--json", "-n", "0", *flags, path)
        self.assertEqual((0, ""), (done.returncode, done.stderr), path)
        return json.loads(done.stdout)

    def allocations(self, path):
        return sum(kind["allocations"] for kind in self.totals(path, "--partial")["kinds"])

    def refused(self, path, *flags):
        done = self.run_tool("trace", *flags, path)
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        return done.stderr

    def compare(self, report, found, where, peaks=True):
        """Everything that both count. What the program freed while it could not go back is gone in
        the trace; in the report it is there, pending, and may make the peak."""
        recount.check(self, report)
        segments = [s for device in report["devices"] for s in device["segments"]]
        blocks = [b for s in segments + report["host"]["segments"] for b in s["blocks"]]
        if any(block["state"] == recount.PENDING for block in blocks):
            return
        self.assertEqual((report["trace"]["events"], 0, 0), (found["events"], found["lost"], found["damaged_chunks"]), where)
        self.assertTrue(found["complete"], where)
        self.assertEqual(
            {f["name"]: (f["calls"], f["failures"], f["total_ns"]) for f in report["functions"]},
            {f["name"]: (f["calls"], f["failures"], f["total_ns"]) for f in found["functions"]},
            where,
        )
        names = ["allocations", "frees", "current_bytes"] + ["peak_bytes"] * peaks
        self.assertEqual(
            {(k["kind"], k["device"]): [k[name] for name in names] for k in report["kinds"]},
            {(k["kind"], k["device"]): [k[name] for name in names] for k in found["kinds"]},
            where,
        )
        names = ["live_bytes", "live_count", "total_bytes", "total_count", "total_ns"]
        names += ["peak_bytes"] * peaks
        self.assertEqual(
            sorted([site[name] for name in names] for site in report["sites"]),
            sorted([site[name] for name in names] for site in found["sites"]),
            where,
        )

    def listing(self, verb, *words):
        done = self.run_tool(*verb.split(), "--json", "-n", "0", *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr), (verb, words))
        return json.loads(done.stdout)
