"""Eight threads allocate, free and ask for as long as wished, while all that may fail does: 20 seconds,
or VRAMSCOPE_SOAK_SECONDS (an hour in `scripts/check --long`)."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import resource
import select
import signal
import time

import harness
import programs
import recount

SECONDS = float(os.environ.get("VRAMSCOPE_SOAK_SECONDS", "20"))
SEED = int(os.environ.get("VRAMSCOPE_SOAK_SEED", str(int(time.time()) % 100_000)))
STALL_S = 60  # without a word: nobody gets on any more
MOST_OWN_BYTES = 64 << 20
MOST_GROWTH_BYTES = 24 << 20  # once every kind of call has been
MOST_FILE_BYTES = 30_000  # a report is larger
UNSTEADY = str(harness.PROGRAMS / "libunsteady.so")


def resident_bytes(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


class Soak(harness.Case):
    def setUp(self):
        super().setUp()
        self.reports, self.last = 0, None

    def take_reports(self, exact):
        """They are judged as they come, and removed: in an hour there are thousands."""
        for path in pathlib.Path(self.folder).glob("*.json"):
            report = json.loads(path.read_text())
            self.recount(report, exact)
            self.reports += 1
            if not self.last or report["sequence"] > self.last["sequence"]:
                self.last = report
            path.unlink()

    def soak(self, *words, seconds, mode="cache", most_file_bytes=None, exact=True, **variables):
        """Its own log, the resident bytes of each second, what it said; a snapshot each second."""
        command = [harness.program("soak"), str(seconds), str(SEED), *words]
        process = programs.start(command, harness.environment(mode, **variables), self.folder, text=True)
        self.addCleanup(programs.end, process)
        lines, sizes = [], []
        while True:
            ready, _, _ = select.select([process.stdout], [], [], STALL_S)
            if not ready:
                self.fail(f"seed {SEED}: nobody got on for {STALL_S} s after {lines[-1:]}")
            line = process.stdout.readline()
            if not line:
                break
            lines.append(line)
            if line.startswith("calls"):
                sizes.append(resident_bytes(process.pid))
                if most_file_bytes:
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most_file_bytes,) * 2)
                if mode:
                    process.send_signal(signal.SIGUSR1)
                self.take_reports(exact)
        said = process.stderr.read()
        self.assertEqual(0, process.wait(harness.DEADLINE_S), f"seed {SEED}: {lines[-3:]}, {said[-2000:]}")
        self.take_reports(exact)
        return json.loads(lines[-1]), sizes, said

    def check(self, phase, *words, exact=True, reports=True, lines=(), **how):
        seconds = SECONDS / 5
        _, native, _ = self.soak(*words, seconds=min(1.5, seconds), mode=None)
        log, sizes, said = self.soak(*words, seconds=seconds, exact=exact, **how)
        self.assertEqual(0, log["wrong"])
        for line in said.splitlines():
            self.assertTrue(any(word in line for word in lines), line)
        calls = sum(calls for calls, _ in log["functions"].values())
        own = (max(sizes) - max(native)) >> 20
        print(f"# {phase}: seed {SEED}, {calls} calls, {log['questions']} questions, {own} MiB of ours, {self.reports} reports")
        self.assertLess(max(sizes) - max(native), MOST_OWN_BYTES, f"{phase}, seed {SEED}")
        third = max(1, len(sizes) // 3)
        self.assertLess(max(sizes[-third:]) - max(sizes[:third]), MOST_GROWTH_BYTES, f"{phase}, seed {SEED}: {sizes}")
        if not reports:
            return self.assertEqual(0, self.reports)
        self.assertGreaterEqual(self.reports, 2, said)
        self.assertEqual(("exit", self.reports), (self.last["trigger"], self.last["sequence"]))
        self.compare(log, self.last, exact)

    def recount(self, report, exact):
        if exact:
            return recount.check(self, report, amid_calls=report["trigger"] == "signal")
        # What there was no memory to record is in no axis.
        lines = recount.problems(report, harness.INSTALLATION.recount, report["trigger"] == "signal")
        self.assertEqual([], [line for line in lines if not line.startswith(("by ", "unrecorded calls"))])

    def compare(self, log, report, exact):
        calls = {row["name"]: [row["calls"], row["failures"]] for row in report["functions"]}
        told = {name: calls.get(name, [0, 0]) for name in log["functions"]}
        unrecorded = report["unrecorded_calls"]
        if exact:
            self.assertEqual((log["functions"], 0), (told, unrecorded), f"seed {SEED}")
            self.assertEqual(log["live_bytes"], recount.live_bytes(report), f"seed {SEED}")
        missing = sum(log["functions"][name][0] - told[name][0] for name in told)
        self.assertTrue(0 <= missing <= unrecorded, f"seed {SEED}: {missing} of {unrecorded} unrecorded calls")

    def test_nothing_is_lost_or_doubled(self):
        self.check("plain")

    def test_nothing_is_lost_while_the_driver_refuses(self):
        self.check("driver", "refusing", mode="observe", VRAMSCOPE_ON_OOM="none")

    def test_our_own_memory_may_be_refused(self):
        self.check("memory", exact=False, UNSTEADY_MEMORY="5000", UNSTEADY_MS=str(int(SECONDS / 5 * 600)),
                   LD_PRELOAD=f"{harness.LIBRARY}:{UNSTEADY}", lines=("not enough memory to write a report",))  # fmt: skip

    def test_reports_may_find_no_room(self):
        self.check("room", mode="cache at-reuse", most_file_bytes=MOST_FILE_BYTES, reports=False,
                   lines=(os.strerror(27), "live file"))  # fmt: skip

    def test_files_may_be_slow(self):
        self.check("slow", UNSTEADY_FILES="50000", LD_PRELOAD=f"{harness.LIBRARY}:{UNSTEADY}")


if __name__ == "__main__":
    harness.main()
