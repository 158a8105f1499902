"""Reports that are written by themselves: at an interval, when memory has grown, at a peak of it."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import sys
import time

import harness
import recount

MIB = 1 << 20
# Lives for an instant only: the peak is over when anybody looks.
SHORT_PEAK = f"""{harness.ASKS_DRIVER}
driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t({64 * MIB}))
driver.cuMemFree_v2(block)
print("ready", flush=True)
sys.stdin.read()
"""
PEAK_COUNT = 12
# Each higher by half than the one before, and held until it has its report.
PEAKS = f"""{harness.ASKS_DRIVER}
size = held = {4 * MIB}
for number in range(1, {PEAK_COUNT} + 1):
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size))
    end = time.monotonic() + {harness.DEADLINE_S}
    while len([name for name in os.listdir() if name.endswith(".json")]) < number and time.monotonic() < end:
        time.sleep(0.0002)
    size = held // 2
    held += size
print("ready", flush=True)
sys.stdin.read()
"""


def in_order(folder):
    return sorted(harness.read_reports(folder), key=lambda report: report["sequence"])


def live_bytes(report):
    return sum(kind["current_bytes"] for kind in report["kinds"])


def peak_bytes(report):
    return sum(kind["peak_bytes"] for kind in report["kinds"])


class Triggers(harness.Case):
    def end(self, process):
        _, said = process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual((0, ""), (process.returncode, said))
        self.assertEqual([], list(pathlib.Path(self.folder).glob(".vramscope-*")))
        return in_order(self.folder)

    def test_a_report_is_written_at_each_interval_and_the_last_one_at_exit(self):
        for mode in ("cache", "observe"):
            process = self.start_program([harness.program("hold")], mode, VRAMSCOPE_INTERVAL="0.02")
            harness.wait_for_reports(self.folder, 4)
            reports = self.end(process)
            triggers = [report["trigger"] for report in reports]
            self.assertEqual(["interval"] * (len(reports) - 1) + ["exit"], triggers)
            self.assertEqual(list(range(1, len(reports) + 1)), [report["sequence"] for report in reports])
            for number, report in enumerate(reports[:-1], 1):
                after = report["process"]["report_time_ns"] - report["process"]["start_time_ns"]
                self.assertGreaterEqual(after // 1_000_000, 20 * number)
            for report in reports:
                recount.check(self, report)
            for path in pathlib.Path(self.folder).iterdir():
                path.unlink()

    def test_time_0_has_one_date_in_all_reports_of_a_process(self):
        """So each is dated by its memory, not by what it took to write names and files down."""
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_INTERVAL="0.02")
        harness.wait_for_reports(self.folder, 4)
        dates = [report["timeline"]["start_ns"] for report in self.end(process)]
        self.assertLess(max(dates) - min(dates), 200_000, dates)

    def test_growth_has_its_report(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_REPORT_ON_GROWTH="18MiB")
        for grown in (1, 2, 3):  # by 21, 23 and 25 MB
            self.assertEqual(f"ready {grown}\n", process.stdout.readline())
            harness.wait_for_reports(self.folder, grown)
            process.stdin.write("go on\n" if grown < 3 else "")
            process.stdin.flush()
        reports = self.end(process)
        self.assertEqual(["growth"] * 3 + ["exit"], [report["trigger"] for report in reports])
        before = 0
        for report in reports[:3]:
            recount.check(self, report)
            self.assertGreaterEqual(live_bytes(report) - before, 18 * MIB)
            before = live_bytes(report)

    def test_a_peak_has_its_report_even_when_it_is_over(self):
        process = self.start_program([sys.executable, "-c", SHORT_PEAK], "cache", VRAMSCOPE_REPORT_AT_PEAK="10%")
        self.assertEqual("ready\n", process.stdout.readline())
        harness.wait_for_reports(self.folder, 1)
        reports = self.end(process)
        self.assertEqual(["peak", "exit"], [report["trigger"] for report in reports])
        self.assertIn(live_bytes(reports[0]), (0, 64 * MIB))  # the program goes on meanwhile
        self.assertEqual(64 * MIB, peak_bytes(reports[0]))
        self.assertEqual([64 * MIB], [site["peak_bytes"] for site in reports[0]["sites"]])

    def test_a_peak_is_seen_when_the_driver_gives_memory_not_a_tenth_of_a_second_later(self):
        """Each begins just after the one before was looked at: who looks ten times a second comes late to all."""
        process = self.start_program([sys.executable, "-c", PEAKS], "cache", VRAMSCOPE_REPORT_AT_PEAK="20%")
        self.assertEqual("ready\n", process.stdout.readline())
        peaks = [report for report in self.end(process) if report["trigger"] == "peak"]
        self.assertEqual(PEAK_COUNT, len(peaks))
        late_ns = [report["timeline"]["duration_ns"] - report["kinds"][0]["peak_ns"] for report in peaks]
        self.assertLess(min(late_ns[1:]), 80_000_000, late_ns)  # of one that was not held up
        self.assertEqual([peak_bytes(report) for report in peaks], [live_bytes(report) for report in peaks])

    def test_the_name_that_was_asked_for_is_that_of_the_last_word(self):
        """A script that reads r.json reads the end of the run, whatever else was written amid it."""
        folder = pathlib.Path(self.folder)
        for options in ({"VRAMSCOPE_REPORT_AT_PEAK": "20%"}, {"VRAMSCOPE_INTERVAL": "0.02"},
                        {"VRAMSCOPE_REPORT_ON_GROWTH": "18MiB"}):  # fmt: skip
            process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_OUTPUT="r.json", **options)
            harness.wait_for_reports(self.folder, 1)
            reports = self.end(process)
            last = json.loads((folder / "r.json").read_text())
            self.assertEqual((len(reports), "exit"), (last["sequence"], last["trigger"]), options)
            numbered = {int(path.name.split(".")[1]) for path in folder.glob("r.*.json")}
            self.assertEqual(set(range(1, len(reports))), numbered, options)
            for path in folder.iterdir():
                path.unlink()

    def test_who_names_an_interim_report_is_told_of_the_last_one(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_INTERVAL="0.02", VRAMSCOPE_OUTPUT="r.json")
        harness.wait_for_reports(self.folder, 2)
        self.end(process)
        first, last = (os.path.join(self.folder, name) for name in ("r.1.json", "r.json"))
        told = rf"vramscope: '{first}' is not the last report of its process: that is '{last}'( \(and \d+ others? newer than it\))?\n"
        for words in (["report"], ["peak"], ["sites"], ["leaks"], ["owners"], ["stats"], ["map"], ["timeline"], ["oom"],
                      ["html", "-o", os.path.join(self.folder, "page.html")],
                      ["export", "--format", "folded", "-o", os.path.join(self.folder, "x.folded")]):  # fmt: skip
            said = self.run_tool(*words, first)
            self.assertRegex(said.stderr, rf"^{told}", words)
            self.assertNotIn("is not the last report", self.run_tool(*words, "--help" if words[0] in ("html", "export") else last).stderr)
        self.assertNotIn("is not the last report", self.run_tool("diff", first, last).stderr)
        checked = self.run_tool("check", "--max-peak", "1TiB", first)
        self.assertEqual(1, checked.returncode, checked.stdout)
        self.assertIn(f"'{first}' is not the last report of its process: that is '{last}'", " ".join(checked.stdout.split()))
        self.assertEqual(0, self.run_tool("check", "--max-peak", "1TiB", "--interim", first).returncode)
        self.assertEqual(0, self.run_tool("check", "--max-peak", "1TiB", last).returncode)

    def test_peaks_that_are_hardly_higher_have_none(self):
        variables = {"VRAMSCOPE_REPORT_AT_PEAK": "500%", "VRAMSCOPE_REPORT_ON_GROWTH": "60MiB"}
        process = self.start_program([harness.program("hold")], "cache", **variables)
        process.stdin.write("go on\n" * 2)
        process.stdin.flush()
        while "growth" not in [report["trigger"] for report in harness.read_reports(self.folder)]:
            time.sleep(0.01)
        peaks = [peak_bytes(report) for report in self.end(process) if report["trigger"] == "peak"]
        self.assertIn(len(peaks), (1, 2, 3))  # 1, 6 and 36 MiB at the earliest
        for left, right in zip(peaks, peaks[1:]):
            self.assertGreaterEqual(right, 6 * left)

    def test_only_the_newest_thousand_stay_and_the_exit_is_beside_them(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_INTERVAL="0.001",
                                     VRAMSCOPE_OUTPUT="%n.json", VRAMSCOPE_STACKS="none")  # fmt: skip
        folder = pathlib.Path(self.folder)
        begun = time.monotonic()
        while not (folder / "1005.json").exists():
            self.assertLess(time.monotonic() - begun, harness.DEADLINE_S)
            time.sleep(0.01)
        _, said = process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual((0, ""), (process.returncode, said))
        numbers = sorted(int(path.stem) for path in folder.iterdir())
        last = numbers[-1]
        self.assertEqual(list(range(last - 1000, last + 1)), numbers)
        self.assertIn('"trigger":"exit"', (folder / f"{last}.json").read_text()[:500])

    def test_nothing_half_written_is_left_by_any_end(self):
        for way in ("exec", "exit", "_exit", "thread"):
            for at_exit in ("on", "off"):
                outcome = self.run_program(
                    ["/bin/sh", "-c", f'"{harness.program("exit_variants")}" {way}; ls -A | grep ^[.]'], "cache",
                    VRAMSCOPE_INTERVAL="0.001", VRAMSCOPE_REPORT_AT_EXIT=at_exit,
                )  # fmt: skip
                self.assertNotIn(".vramscope-", outcome.stdout, f"{way}, {at_exit}")
                asked = {"exec": "exec"}.get(way, "exit")
                last = sorted(outcome.reports, key=lambda report: report["sequence"])[-1:]
                if at_exit == "on":
                    self.assertEqual(asked, last[0]["trigger"], way)

    def test_a_folder_that_is_not_there_is_one_line_not_one_an_interval(self):
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_INTERVAL="0.01",
                                     VRAMSCOPE_OUTPUT=f"{self.nowhere}/r.json",
                                     VRAMSCOPE_REPORT_AT_EXIT="off")  # fmt: skip
        self.assertIn(os.strerror(2), process.stderr.readline())
        time.sleep(0.1)  # too little only hides a failure
        _, said = process.communicate("go on\n" * 3, harness.DEADLINE_S)
        self.assertEqual("", said)

    def test_run_takes_them_and_ends_with_three_lines(self):
        finished = self.run_tool("run", "--sim", "--interval", "0.001", "--report-on-growth=1MiB",
                                 "--report-at-peak", "10%", harness.program("hold"))  # fmt: skip
        lines = [line for line in finished.stderr.splitlines() if line.startswith("vramscope: ")]
        self.assertEqual((0, 3), (finished.returncode, len(lines)), finished.stderr)
        last = in_order(self.folder)[-1]
        self.assertEqual("exit", last["trigger"])
        options = last["process"]["options"]
        self.assertEqual(("0.001", "1048576", "10%"), (
            options["interval"], options["report_on_growth"], options["report_at_peak"]))  # fmt: skip
        refused = self.run_tool("run", "--interval", "soon", "/bin/true")
        self.assertEqual(125, refused.returncode)
        self.assertIn("'soon' is not seconds such as 60 or 0.5, or 0", refused.stderr)


if __name__ == "__main__":
    harness.main()
