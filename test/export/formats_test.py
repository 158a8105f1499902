"""Exports of what was held: stacks, tables and snapshots are read by those for whom they are, and add up."""
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import pickle
import pickletools
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from export_case import COSTS, Export  # noqa: E402
import harness  # noqa: E402

# What the page that shows PyTorch's snapshots understands of pickle.
INSTRUCTIONS = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "BININT1", "BININT2",
                "BININT", "LONG1", "BINUNICODE", "NEWTRUE", "NEWFALSE", "BINPUT", "LONG_BINPUT", "BINGET",
                "LONG_BINGET", "STOP"}  # fmt: skip


class Stacks(Export):
    def test_folded_lines_add_up_to_the_sites(self):
        for cost in COSTS:
            for _, text in self.of_both("folded", "--cost", cost):
                lines = [re.fullmatch(r"([^\0-\x1f]+) (\d+)", line) for line in text.splitlines()]
                self.assertEqual(self.sum_of_sites(cost), sum(int(line[2]) for line in lines))
                self.assertTrue(all(line[1].split(";")[0] in ("GPU 0", "pinned", "registered") for line in lines))

    def test_folded_shows_one_kind_alone(self):
        for _, text in self.of_both("folded", "--kind", "device", "--device", "0"):
            self.assertEqual(self.device["peak_bytes"], sum(int(line.split()[-1]) for line in text.splitlines()))

    def test_speedscope_has_a_profile_for_each_cost(self):
        for _, text in self.of_both("speedscope"):
            document = json.loads(text)
            self.assertEqual("https://www.speedscope.app/file-format-schema.json", document["$schema"])
            frames = document["shared"]["frames"]
            self.assertIn("main", [frame["name"] for frame in frames])
            profiles = {profile["name"]: profile for profile in document["profiles"]}
            self.assertEqual(["peak", "leaked", "kept", "total", "allocations"], list(profiles))
            self.assertEqual([], profiles.pop("kept")["weights"])
            for cost, profile in zip(COSTS, profiles.values(), strict=True):
                self.assertEqual(self.sum_of_sites(cost), sum(profile["weights"]))
                self.assertEqual(sum(profile["weights"]), profile["endValue"])
                self.assertEqual(len(profile["samples"]), len(profile["weights"]))
                self.assertTrue(all(0 <= f < len(frames) for stack in profile["samples"] for f in stack))

    def test_dhat_has_what_the_viewer_adds_up(self):
        for _, text in self.of_both("dhat"):
            document = json.loads(text)
            self.assertEqual(2, document["dhatFileVersion"])
            points = document["pps"]
            for name, cost in (("gb", "peak"), ("eb", "leaked"), ("tb", "total"), ("tbk", "count")):
                self.assertEqual(self.sum_of_sites(cost), sum(point[name] for point in points), name)
            self.assertTrue(all(point["mb"] >= point["gb"] and point["mbk"] >= point["gbk"] for point in points))
            self.assertTrue(all((point["gb"] == 0) == (point["gbk"] == 0) for point in points))
            self.assertTrue(all(0 < f < len(document["ftbl"]) for point in points for f in point["fs"]))


class Database(Export):
    def tables(self, path):
        file = os.path.join(self.folder, os.path.basename(path) + ".sqlite")
        with open(file, "w", encoding="utf-8") as old:
            old.write("what was there before")
        self.export("sqlite", path, "--force", "-o", file)
        database = sqlite3.connect(file)
        self.addCleanup(database.close)
        self.assertEqual([("ok",)], database.execute("PRAGMA integrity_check").fetchall())
        return database

    def test_tables_add_up_to_the_report(self):
        for path in (self.path, self.trace):
            database = self.tables(path)
            for cost, column in COSTS.items():
                found = database.execute(f"SELECT sum({column}) FROM shares").fetchone()[0]
                self.assertEqual(self.sum_of_sites(cost), found, cost)
            kinds = database.execute("SELECT kind, peak_bytes, current_bytes FROM kinds ORDER BY kind").fetchall()
            self.assertEqual(sorted((k["kind"], k["peak_bytes"], k["current_bytes"]) for k in self.report["kinds"]), kinds)

    def test_views_answer_questions(self):
        database = self.tables(self.path)
        peak = database.execute("SELECT sum(peak_bytes) FROM peak WHERE kind = 'device'").fetchone()[0]
        self.assertEqual(self.device["peak_bytes"], peak)
        leaks = database.execute("SELECT leaked_bytes, place FROM leaks").fetchall()
        self.assertEqual(self.sum_of_sites("leaked"), sum(bytes for bytes, _ in leaks))
        self.assertRegex(leaks[0][1], r"^optimizer_step \(.*train.cu:\d+\) < main \(.*train.cu:\d+\)$")
        for view in ("owners", "temporary", "free_pieces"):
            database.execute(f"SELECT * FROM {view}").fetchall()

    def test_a_trace_has_no_view_that_it_cannot_answer(self):
        database = self.tables(self.trace)
        views = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
        self.assertEqual({"peak", "leaks", "kept"}, views)
        for view in views - {"kept"}:
            self.assertNotEqual([], database.execute(f"SELECT * FROM {view}").fetchall(), view)

    def test_marks_are_a_table(self):
        rows = self.tables(self.marked()).execute("SELECT * FROM marks").fetchall()
        self.assertEqual([(1500, "epoch 1")], rows)

    def test_places_tell_call_stacks_apart_and_stacks_are_whole(self):
        report = copy.deepcopy(self.report)
        report["codes"] = [{"name": f"f{i}", "source": 0, "first_line": 1} for i in range(9)]
        report["sources"] = [{"path": "/src/a.py", "bytes": 1, "modified_ns": 1}]
        frames = len(report["frames"])
        report["frames"] += [{"module": None, "offset": 0, "code": i, "line": i + 1} for i in range(9)]
        alike = [list(range(frames, frames + 5)), list(range(frames, frames + 4)) + [frames + 7], [frames + 8]]
        for site, stack in zip(report["sites"], alike):
            site["frames"] = stack
        file = os.path.join(self.folder, "alike.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(report, out)
        rows = self.tables(file).execute("SELECT place, stack FROM sites ORDER BY site LIMIT 3").fetchall()
        chain = " < ".join(f"f{i} (a.py:{i + 1})" for i in range(4))
        first, second = chain + " < f4 (a.py:5)", chain + " < f7 (a.py:8)"
        self.assertEqual([(first, first), (second, second), ("f8 (a.py:9)", "f8 (a.py:9)")], rows)

    def test_report_has_blocks_and_statistics(self):
        database = self.tables(self.path)
        device = self.report["devices"][0]
        segments = device["segments"] + self.report["host"]["segments"] + self.report["host"]["registrations"]
        blocks = [(b["address"], b["size"], b["state"]) for s in segments for b in s["blocks"]]
        found = database.execute("SELECT address, size, state FROM blocks").fetchall()
        self.assertEqual(sorted(blocks), sorted(found))
        statistics = dict(database.execute("SELECT name, value FROM statistics WHERE device = 0"))
        self.assertEqual(device["memory_stats"], statistics)

    def test_trace_has_its_events(self):
        events = self.tables(self.trace).execute("SELECT count(*) FROM events").fetchone()[0]
        self.assertEqual(self.report["trace"]["events"], events)


class MemoryViz(Export):
    def snapshot(self, path):
        text = self.export("memory_viz", path, binary=True)
        for instruction, argument, _ in pickletools.genops(text):
            self.assertIn(instruction.name, INSTRUCTIONS)
            if instruction.name == "PROTO":
                self.assertEqual(2, argument)
            if instruction.name == "LONG1":
                self.assertTrue(0 <= argument < 2**63)
        result = pickle.loads(text)
        self.assertEqual(result, json.loads(self.export("memory_viz_json", path)))
        return result

    def test_segments_are_those_of_the_report(self):
        segments = self.snapshot(self.path)["segments"]
        for ours, shown in zip(self.report["devices"][0]["segments"], segments, strict=True):
            for name in ("address", "total_size", "allocated_size", "segment_type"):
                self.assertEqual(ours[name], shown[name])
            address = shown["address"]
            for block, seen in zip(ours["blocks"], shown["blocks"], strict=True):
                self.assertEqual((block["size"], block["requested_size"], block["state"], address),
                                 (seen["size"], seen["requested_size"], seen["state"], seen["address"]))  # fmt: skip
                self.assertEqual(block["state"] == "active_allocated", seen["frames"] != [])
                address += seen["size"]

    def test_trace_obeys_what_the_page_takes_for_granted(self):
        """Every block lies in a segment while it lives; what is freed was there; nothing is left but
        what the segments show."""
        snapshot = self.snapshot(self.trace)
        segments, blocks, most = {}, {}, 0
        for event in snapshot["device_traces"][0]:
            address, size = event["addr"], event["size"]
            self.assertTrue(event["frames"] and {"filename", "line", "name"} == set(event["frames"][0]))
            if event["action"] == "segment_alloc":
                self.assertNotIn(address, segments)
                segments[address] = size
            elif event["action"] == "segment_free":
                self.assertEqual(size, segments.pop(address))
            elif event["action"] == "alloc":
                self.assertTrue(any(a <= address and address + size <= a + s for a, s in segments.items()))
                blocks[address] = size
            elif event["action"] == "free_completed":
                self.assertEqual(size, blocks.pop(address))
            else:
                self.assertEqual("free_requested", event["action"])
            most = max(most, sum(blocks.values()))
        self.assertEqual(self.device["peak_bytes"], most)
        self.assertEqual(blocks, {s["address"]: s["blocks"][0]["size"] for s in snapshot["segments"]})
        self.assertEqual(self.device["current_bytes"], sum(blocks.values()))


if __name__ == "__main__":
    harness.main()
