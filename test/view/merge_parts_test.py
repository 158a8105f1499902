# Very many reports are merged in parts, and what cannot be read is left out.
# SPDX-License-Identifier: Apache-2.0
"""merge_parts_test.py VRAMSCOPE SAMPLE"""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from merge_case import MergeTest, SAMPLE, TOOL


class MergeParts(MergeTest):
    def broken(self):
        broken = self.folder / "broken.json"
        broken.write_text(SAMPLE.read_text().replace('"pid":4711', '"pid":4712')[:-200])
        return broken

    def test_one_that_cannot_be_read_is_named_and_left_out(self):
        whole = self.merge(SAMPLE).read_bytes()
        result = self.call("merge", "-o", self.folder / "some.json", SAMPLE, self.broken())
        self.assertEqual(result.returncode, 2)
        self.assertIn("broken.json: ends early at byte", result.stderr)
        self.assertIn("1 process in", result.stderr)
        self.assertIn("1 file left out", result.stderr)
        self.assertEqual(whole, (self.folder / "some.json").read_bytes())

    def test_if_none_can_be_read_nothing_is_written(self):
        result = self.call("merge", "-o", self.folder / "none.json", self.broken())
        self.assertEqual(result.returncode, 2)
        self.assertFalse((self.folder / "none.json").exists())

    def test_parts_give_the_same_bytes_as_all_at_once(self):
        reports = list(self.some_reports(7))
        whole = self.merge(*reports).read_bytes()
        parts = self.folder / "parts"
        parts.mkdir()
        for part in range(3):
            result = self.call("merge", "--part", f"{part}/3", "-o", parts / f"{part}.json", *reports)
            self.assertEqual((0, "", ""), (result.returncode, result.stdout, result.stderr))
        self.assertEqual(whole, self.merge(parts).read_bytes())

    def test_more_parts_than_reports_leave_some_without_a_file(self):
        result = self.call("merge", "--part", "5/9", "-o", self.folder / "none.json", *self.some_reports(2))
        self.assertEqual(0, result.returncode, result.stderr)
        self.assertFalse((self.folder / "none.json").exists())

    def without_launchers(self):
        """A folder with the programs that the printed commands start."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name in ("sh", "mkdir", "seq", "xargs", "nproc"):
            (folder / name).symlink_to(shutil.which(name))
        (folder / "vramscope").symlink_to(os.path.abspath(TOOL))
        return folder

    def test_the_commands_of_a_tree_give_the_same_bytes_as_all_at_once(self):
        folder = self.folder / "it's a job"
        folder.mkdir()
        for report in self.some_reports(7):
            shutil.copy(report, folder)
        whole = self.merge(folder).read_bytes()
        alone = {"PATH": str(self.without_launchers()), "LC_ALL": "C"}
        printed = subprocess.run([os.path.abspath(TOOL), "merge", "--tree", "3", "-o", "all.json", folder], capture_output=True, text=True,
                                 check=True, env=alone, cwd=self.folder).stdout
        self.assertIn("xargs", printed)
        subprocess.run(["sh", "-e", "-c", printed], check=True, env=alone, cwd=self.folder, capture_output=True)
        self.assertEqual(whole, (self.folder / "all.json").read_bytes())

    def large_report(self):
        """The text of a report of pid 12345 with hundreds of call sites that hold memory, and with timelines of many devices."""
        report = copy.deepcopy(self.sample)
        report["process"].update(pid=12345, start_time_ns=12345)
        module = report["frames"][0]["module"]
        site = {**report["sites"][0], "live_bytes": 512, "live_count": 1}
        part = {**site["parts"][0], "live_bytes": 512, "live_count": 1}
        for number in range(300):
            report["frames"].append({"module": module, "offset": 1 << 20 | number, "code": None, "line": 0})
            report["sites"].append({**site, "frames": [len(report["frames"]) - 1], "parts": [part]})
        series = report["timeline"]["series"][0]
        values = [(1 << 30) + number for number in range(256)]
        report["timeline"]["series"] = [{**series, "device": device, "highest": values, "last": values} for device in range(16)]
        return json.dumps(report, separators=(",", ":"))

    def merging_takes(self, text, count):
        """The most memory of a merge of so many reports, in KiB; not less than what this process takes."""
        folder = self.folder / str(count)
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.json").write_text(text.replace("12345", str(10000 + number)))
        merged = self.folder / f"{count}.json"
        with subprocess.Popen([TOOL, "merge", "--symbols", "off", "-o", str(merged), str(folder)], stderr=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode)
        with merged.open() as lines:
            self.assertEqual(count, sum(line.startswith('{"process":{') for line in lines))
        return used.ru_maxrss

    def test_memory_does_not_grow_with_the_call_sites_and_timelines_of_each_process(self):
        text = self.large_report()
        few, many = self.merging_takes(text, 350), self.merging_takes(text, 450)
        self.assertLess(many - few, 100 * 64)  # a process's timelines alone are 64 KiB of numbers

    def test_functions_are_named_as_the_verb_symbols_names_them(self):
        with pathlib.Path(TOOL).open("rb") as program:
            entry = int.from_bytes(program.read(32)[24:], "little")  # of an ELF file of 64 bits
        report = copy.deepcopy(self.sample)
        report["modules"].append({"path": os.path.abspath(TOOL), "build_id": "", "base": 0})
        report["frames"].append({"module": len(report["modules"]) - 1, "offset": entry + 1, "code": None, "line": 0})
        report["sites"][0]["frames"] = [len(report["frames"]) - 1]
        short = {name: report[name] for name in ("schema", "process", "modules", "sources", "codes", "frames")}
        short["sites"] = [{"frames": report["sites"][0]["frames"]}]
        for one in (report, short):
            self.check_names([self.write({**one, "process": {**one["process"], "pid": pid}}) for pid in (1, 2)])

    def check_names(self, files):
        merged, bare = self.folder / "merged.json", self.folder / "bare.json"
        self.assertEqual(0, self.call("merge", "--symbols", "end", "-o", merged, *files).returncode)
        self.assertEqual(0, self.call("merge", "--symbols", "off", "-o", bare, *files).returncode)
        self.assertFalse(b'"_start"' in bare.read_bytes())
        self.assertEqual(0, self.call("symbols", bare).returncode)
        self.assertIn("_start", json.loads(merged.read_text())["symbols"]["names"])
        self.assertEqual(bare.read_bytes(), merged.read_bytes())

    def test_what_is_no_part_is_refused(self):
        for option, word in (("--part", "3/3"), ("--part", "1"), ("--part", "-1/3"), ("--part", "0/0"), ("--tree", "1"),
                             ("--tree", "x"), ("--tree", "70000")):
            result = self.call("merge", option, word, SAMPLE)
            self.assertEqual(2, result.returncode, (option, word))
            self.assertIn(f"'{word}' is no ", result.stderr)
            self.assertEqual(1, result.stderr.count("\n"), result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
