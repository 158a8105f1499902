"""What export writes is read by those for whom it is, and adds up to what the report says."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import collections
import copy
import functools
import json
import os
import pickle
import pickletools
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

COSTS = {"peak": "peak_bytes", "leaked": "live_bytes", "total": "total_bytes", "count": "total_count"}
OF_BOTH = ("folded", "speedscope", "memory_viz", "memory_viz_json", "chrome", "massif", "dhat",
           "openmetrics", "pprof", "perfetto", "sqlite")  # fmt: skip
TEXTS = [form for form in OF_BOTH if form not in ("pprof", "perfetto", "sqlite")]
OF_TRACES = ("heaptrack", "rmm")
# Functions of the program's by which memory comes.
ALLOCATING = ("cuMemAlloc_v2", "cuMemHostAlloc", "cuMemAllocHost_v2", "cuMemHostRegister_v2", "cuMemAllocManaged")
# What the page that shows PyTorch's snapshots understands of pickle.
INSTRUCTIONS = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "BININT1", "BININT2",
                "BININT", "LONG1", "BINUNICODE", "NEWTRUE", "NEWFALSE", "BINPUT", "LONG_BINPUT", "BINGET",
                "LONG_BINGET", "STOP"}  # fmt: skip
HOSTILE = [
    "quote\"back\\slash'", "semi;colon and space", "line\nbreak\r\ttab", "escape\x1b[31m\x07bell",
    "turned\u202egnp.exe", "<script>alert(1)</script>&amp;", "long" * 2500, "{}[],:%s%n$(id)`id`",
    "replaced\ufffd", "", "-5", "\u00fc\u4e2d\U0001f600",
]  # fmt: skip


@functools.cache
def run_once():
    """A folder with the report and the trace of a program."""
    train = harness.program("train")
    home = tempfile.mkdtemp(prefix="vramscope-export-")
    atexit.register(shutil.rmtree, home)
    command = [harness.TOOL, "run", "--sim", "--trace", home + "/t.trace", "--output", home + "/r.json", train]
    subprocess.run(command, check=True, capture_output=True, cwd=home, env=harness.environment())
    return home


class Export(harness.Case):
    """Of a program that ran once, with a trace."""

    def marked(self):
        path = os.path.join(self.folder, "marked.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.report, "range_marks": 1, "marks": [{"time_ns": 1500, "name": "epoch 1"}]}, file)
        return path

    def setUp(self):
        super().setUp()
        home = run_once()
        self.trace, self.path = home + "/t.trace", home + "/r.json"
        with open(self.path, encoding="utf-8") as file:
            self.report = json.load(file)
        self.device = next(kind for kind in self.report["kinds"] if kind["kind"] == "device")

    def export(self, form, path, *more, binary=False):
        done = subprocess.run([harness.TOOL, "export", "--format", form, *more, path],
                              capture_output=True, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        if b"this build is without" in done.stderr:
            self.skipTest(done.stderr.decode().strip())
        said = re.fullmatch(rb"(vramscope: \w+ in [^ ]+ \([\d.]+ [KMG]?i?B\); to open it: .*\n)?(vramscope: \w+ leaves out .*\n)?", done.stderr)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIsNotNone(said, done.stderr)
        self.assertEqual("-o" in more, said[1] is not None, done.stderr)
        return done.stdout if binary else done.stdout.decode("utf-8")

    def lost(self, form, path, *more, status=0):
        """What is said besides how the file is opened."""
        to = os.path.join(self.folder, "lost")
        done = subprocess.run([harness.TOOL, "export", "--format", form, "-o", to, *more, path], capture_output=True, text=True,
                              env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        if "this build is without" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(status, done.returncode, done.stderr)
        self.assertEqual(status == 0, os.path.exists(to), done.stderr)
        if status == 0:
            self.assertGreater(os.path.getsize(to), 0)
            os.unlink(to)
        return [line for line in done.stderr.splitlines() if status != 0 or " leaves out " in line]

    def of_both(self, form, *more, binary=False):
        for path in (self.path, self.trace):
            with self.subTest(path):
                yield path, self.export(form, path, *more, binary=binary)

    def sum_of_sites(self, cost):
        return sum(site[COSTS[cost]] for site in self.report["sites"])



class Losses(Export):
    """Each export says what is not in it, and one with nothing in it leaves no file."""

    def test_memory_that_a_format_cannot_show_is_named(self):
        for path in (self.path, self.trace):
            self.assertEqual(["vramscope: massif leaves out pinned and registered; call stacks of other moments than the peak"],
                             [line.replace(" memory", "") for line in self.lost("massif", path)])  # fmt: skip
            (line,) = self.lost("memory_viz", path)
            self.assertIn("pinned", line)
            self.assertEqual(path == self.path, "what came and went" in line)
            (line,) = self.lost("massif", path, "--kind", "pinned")
            self.assertNotIn("GPU", line)
        (line,) = self.lost("rmm", self.trace)
        self.assertIn("pinned", line)
        self.assertIn("call stacks", line)

    def test_formats_with_everything_in_them_say_nothing(self):
        for form in ("folded", "speedscope", "pprof", "sqlite", "dhat"):
            for path in (self.path, self.trace):
                self.assertEqual([], self.lost(form, path), form)

    def test_pools_that_massif_leaves_out_are_named(self):
        made = os.path.join(self.folder, "pools.json")
        subprocess.run([harness.TOOL, "run", "--sim", "--output", made, harness.program("pool_keeps")], capture_output=True,
                       env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        (line,) = self.lost("massif", made)
        self.assertIn("stream_ordered", line)

    def test_a_format_without_an_allocation_is_no_file(self):
        for form, path in (("folded", self.path), ("folded", self.trace), ("speedscope", self.path), ("dhat", self.trace),
                           ("pprof", self.path), ("heaptrack", self.trace), ("rmm", self.trace), ("massif", self.path)):  # fmt: skip
            (line,) = self.lost(form, path, "--site", "nobody_has_this_name", status=2)
            self.assertIn(form, line)
            self.assertIn("there is none", line)
        (line,) = self.lost("folded", self.path, "--cost", "leaked", "--site", "load_batch", status=2)
        self.assertIn("leaked", line)


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
            for cost, profile in zip(COSTS, document["profiles"], strict=True):
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


class Times(Export):
    def test_chrome_counts_what_is_held(self):
        document = json.loads(self.export("chrome", self.trace))
        events = document["traceEvents"]
        held = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "GPU 0"]
        self.assertEqual(self.device["peak_bytes"], max(held))
        self.assertEqual(self.device["current_bytes"], held[-1])
        calls = [e for e in events if e["ph"] == "X"]
        self.assertEqual(sum(f["calls"] for f in self.report["functions"]), len(calls))
        for begin, end in (("b", "e"), ("s", "f")):
            begun = collections.Counter((e["cat"], e["id"]) for e in events if e["ph"] == begin)
            ended = collections.Counter((e["cat"], e["id"]) for e in events if e["ph"] == end)
            self.assertEqual({1}, set(begun.values()) | set(ended.values()))
            self.assertEqual(sum(kind["current_bytes"] > 0 for kind in self.report["kinds"]), len(begun - ended))

    def test_chrome_has_whole_stacks(self):
        document = json.loads(self.export("chrome", self.trace, "--with-native"))
        frames, stacks = document["stackFrames"], collections.Counter()
        for event in document["traceEvents"]:
            stack, frame = [], str(event.get("sf", ""))
            while frame:
                stack.insert(0, frames[frame]["name"].split(" (")[0])
                frame = frames[frame].get("parent")
            if event["ph"] == "b":
                stacks[event["cat"], *stack] += 1
            self.assertEqual(event["ph"] == "b" or event["name"] in ALLOCATING, stack != [], event)
        folded = collections.Counter()
        for line in self.export("folded", self.trace, "--with-native", "--cost", "count").splitlines():
            stack, _, count = line.rpartition(" ")
            folded[tuple(stack.split(";"))] += int(count)
        self.assertEqual(folded, stacks)

    def test_chrome_of_a_report_has_its_timeline(self):
        events = json.loads(self.export("chrome", self.path))["traceEvents"]
        self.assertEqual(self.device["peak_bytes"],
                         max(e["args"]["bytes"] for e in events if e["name"] == "GPU 0 (most)"))  # fmt: skip

    def test_marks_are_instants_in_chrome(self):
        events = json.loads(self.export("chrome", self.marked()))["traceEvents"]
        self.assertEqual([("epoch 1", 1.5)], [(event["name"], event["ts"]) for event in events if event["ph"] == "i"])

    def test_ms_print_reads_massif(self):
        ms_print = harness.installed("ms_print")
        for path, text in self.of_both("massif"):
            file = os.path.join(self.folder, "massif.out")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            done = subprocess.run([ms_print, file], capture_output=True, text=True, check=True)
            self.assertEqual("", done.stderr)
            self.assertIn(f"({self.device['peak_bytes']:,}B) (requested of GPU 0)", done.stdout)
            self.assertIn("(peak)", done.stdout)
            most = max(int(found) for found in re.findall(r"mem_heap_B=(\d+)", text))
            self.assertEqual(self.device["peak_bytes"], most, path)

    def test_heaptrack_print_adds_up_the_same(self):
        heaptrack_print = harness.installed("heaptrack_print")
        file = os.path.join(self.folder, "heaptrack.out")
        self.export("heaptrack", self.trace, "--kind", "device", "-o", file)
        folded = os.path.join(self.folder, "peak.folded")
        done = subprocess.run(
            [heaptrack_print, "-f", file, "-F", folded, "--flamegraph-cost-type", "peak"],
            capture_output=True, text=True, check=True)  # fmt: skip
        self.assertIn(f"calls to allocation functions: {self.device['allocations']} ", done.stdout)
        with open(folded, encoding="utf-8") as lines:
            self.assertEqual(self.device["peak_bytes"], sum(int(line.split()[-1]) for line in lines))
        subprocess.run([heaptrack_print, "-f", file, "-F", folded, "--flamegraph-cost-type", "leaked"],
                       capture_output=True, check=True)  # fmt: skip
        with open(folded, encoding="utf-8") as lines:
            self.assertEqual(self.device["current_bytes"], sum(int(line.split()[-1]) for line in lines))

    def test_rmm_log_can_be_replayed(self):
        lines = self.export("rmm", self.trace).splitlines()
        self.assertEqual("Thread,Time,Action,Pointer,Size,Stream", lines[0])
        live, most, count = {}, 0, 0
        for line in lines[1:]:
            thread, time, action, pointer, size, stream = line.split(",")
            self.assertRegex(time, r"^[0-2]\d:[0-5]\d:[0-5]\d:\d{6}$")
            self.assertTrue(int(thread) > 0 and int(stream) == 0 and int(pointer, 16) > 0)
            if action == "allocate":
                self.assertNotIn(pointer, live)
                live[pointer] = int(size)
                count += 1
            else:
                self.assertEqual("free", action)
                self.assertEqual(int(size), live.pop(pointer))
            most = max(most, sum(live.values()))
        self.assertEqual((self.device["peak_bytes"], self.device["current_bytes"], self.device["allocations"]),
                         (most, sum(live.values()), count))  # fmt: skip

    def test_prometheus_reads_openmetrics(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("python3-prometheus-client is not installed")
        for _, text in self.of_both("openmetrics"):
            samples = {}
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    samples[sample.name, sample.labels.get("kind"), sample.labels.get("function")] = sample.value
            for name, field in (("requested_bytes", "current_bytes"), ("requested_peak_bytes", "peak_bytes"),
                                ("allocations_total", "allocations"), ("frees_total", "frees")):  # fmt: skip
                for kind in self.report["kinds"]:
                    self.assertEqual(kind[field], samples["vramscope_" + name, kind["kind"], None])
            for function in self.report["functions"]:
                self.assertEqual(function["calls"], samples["vramscope_calls_total", None, function["name"]])


class Messages(Export):
    """What protobuf makes, read by its own compiler."""

    def decoded(self, form, message, path):
        text = self.export(form, path, binary=True)
        schema = harness.SOURCE / "reporter/view/export" / (form + ".proto")
        done = subprocess.run(
            [harness.installed("protoc"), f"--decode=vramscope.{form}.{message}", f"--proto_path={schema.parent}", schema],
            input=text, capture_output=True, check=True)  # fmt: skip
        self.assertEqual(b"", done.stderr)
        self.assertNotRegex(done.stdout.decode(), r"(?m)^ *\d+[:{ ]")  # a field that the schema lacks
        return done.stdout.decode()

    def test_pprof_samples_add_up_to_the_sites(self):
        for path in (self.path, self.trace):
            text = self.decoded("pprof", "Profile", path)
            samples = [[int(value) for value in re.findall(r"^  value: (-?\d+)$", sample, re.M)]
                       for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S)]  # fmt: skip
            sums = [sum(column) for column in zip(*samples, strict=True)]
            wanted = [self.sum_of_sites(cost) for cost in ("count", "total", "leaked", "peak")]
            self.assertEqual(wanted, [sums[0], sums[1], sums[3], sums[5]])
            self.assertIn('"peak_space"', text)
            strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
            first = int(re.search(r"^mapping \{\n(?:.*\n)*?  filename: (\d+)$", text, re.M)[1])
            self.assertEqual(self.report["process"]["executable"], strings[first], "readers take it for the program")

    def test_perfetto_counts_what_is_held(self):
        text = self.decoded("perfetto", "Trace", self.trace)
        track = re.search(r"uuid: (\d+)\s+name: \"GPU 0\"", text)[1]
        held = [int(value) for value in
                re.findall(rf"type: TYPE_COUNTER\s+track_uuid: {track}\s+counter_value: (\d+)", text)]  # fmt: skip
        self.assertEqual((self.device["peak_bytes"], self.device["current_bytes"]), (max(held), held[-1]))
        begun = text.count("TYPE_SLICE_BEGIN")
        self.assertEqual(sum(f["calls"] for f in self.report["functions"]), begun)
        self.assertEqual(begun, text.count("TYPE_SLICE_END"))
        flows = re.findall(r"^ +flow_ids: (\d+)", text, re.M)
        ended = re.findall(r"terminating_flow_ids: (\d+)", text)
        self.assertEqual(len(flows), sum(kind["allocations"] for kind in self.report["kinds"]))
        self.assertEqual(len(ended), sum(kind["frees"] for kind in self.report["kinds"]))
        self.assertLessEqual(set(ended), set(flows))

    def test_perfetto_has_whole_stacks(self):
        text = self.decoded("perfetto", "Trace", self.trace)
        said = {}
        for name in ("event_names", "debug_annotation_names", "debug_annotation_string_values"):
            found = re.findall(rf'{name} \{{\s+iid: (\d+)\s+\w+: "(.*)"', text)
            said[name] = dict(found)
            self.assertEqual(len(found), len(said[name]), "each once")
        stacks = collections.Counter()
        for slice in re.findall(r"\n  track_event \{\n(.*?)\n  \}\n", text, re.S):
            if "TYPE_SLICE_BEGIN" not in slice:
                continue
            name = said["event_names"][re.search(r"\n +name_iid: (\d+)\n", "\n" + slice.rpartition("    }")[2] + "\n")[1]]
            values = {said["debug_annotation_names"][key]: said["debug_annotation_string_values"][value]
                      for key, value in re.findall(r"name_iid: (\d+)\s+string_value_iid: (\d+)", slice)}  # fmt: skip
            self.assertEqual(name in ALLOCATING, values.keys() == {"caller", "stack"}, slice)
            if values:
                self.assertIn(values["caller"].split(" (")[0] + " (", values["stack"])
                stacks[tuple(frame.split(" (")[0] for frame in reversed(values["stack"].split(" < ")))] += 1
        folded = collections.Counter()
        for line in self.export("folded", self.trace, "--cost", "count").splitlines():
            stack, _, count = line.rpartition(" ")
            folded[tuple(stack.split(";")[1:])] += int(count)
        self.assertEqual(folded, stacks)

    def test_marks_are_instants_in_perfetto(self):
        text = self.decoded("perfetto", "Trace", self.marked())
        (packet,) = (one for one in text.split("packet {") if "TYPE_INSTANT" in one)
        self.assertIn("timestamp: 1500\n", packet)
        self.assertIn('name: "epoch 1"\n', packet)

    def test_perfetto_of_a_report_has_its_timeline(self):
        text = self.decoded("perfetto", "Trace", self.path)
        self.assertIn('name: "GPU 0 (most)"', text)
        self.assertIn(f"counter_value: {self.device['peak_bytes']}\n", text)


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
        leaks = database.execute("SELECT never_freed_bytes, place FROM leaks").fetchall()
        self.assertEqual(self.sum_of_sites("leaked"), sum(bytes for bytes, _ in leaks))
        self.assertRegex(leaks[0][1], r"^optimizer_step \(.*train.cu:\d+\) < main \(.*train.cu:\d+\)$")
        for view in ("owners", "temporary", "free_pieces"):
            database.execute(f"SELECT * FROM {view}").fetchall()

    def test_a_trace_has_no_view_that_it_cannot_answer(self):
        database = self.tables(self.trace)
        views = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
        self.assertEqual({"peak", "leaks"}, views)
        for view in views:
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


class Hostile(Export):
    """Whatever stacks are called, every format stays what it is."""

    def hostile_report(self):
        report = json.loads(json.dumps(self.report))
        modules = len(report["modules"])
        report["modules"] += [{"path": "/" + name, "build_id": "", "base": 0} for name in HOSTILE]
        report["sources"] = [{"path": "/" + name, "bytes": 0, "modified_ns": 0} for name in HOSTILE]
        report["codes"] = [{"name": name, "source": i, "first_line": 1} for i, name in enumerate(HOSTILE)]
        first = len(report["frames"])
        for i in range(len(HOSTILE)):
            report["frames"].append({"module": modules + i, "offset": 16 * i})
            report["frames"].append({"module": None, "offset": 0, "code": i, "line": i})
        for i, site in enumerate(report["sites"]):
            site["frames"] = list(range(first, len(report["frames"])))[i::2] or [first]
        report["process"].update(executable="/x/" + HOSTILE[2], arguments=HOSTILE, hostname=HOSTILE[0])
        path = os.path.join(self.folder, "hostile.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return path

    def test_every_format_of_a_report_stays_well_formed(self):
        path = self.hostile_report()
        for view in ("--with-native", "--native-only"):
            texts = {form: self.export(form, path, view, binary=True) for form in TEXTS}
            for form, text in texts.items():
                if form != "memory_viz":
                    shown = text.decode("utf-8").replace("\\u202e", "")
                    self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f\u202e]", shown), form)
            for form in ("speedscope", "memory_viz_json", "chrome", "dhat"):
                json.loads(texts[form])
            self.assertEqual(json.loads(texts["memory_viz_json"]), pickle.loads(texts["memory_viz"]))
            lines = texts["folded"].decode().splitlines()
            self.assertEqual(self.sum_of_sites("peak"), sum(int(line.rsplit(" ", 1)[1]) for line in lines))

    def test_database_of_hostile_names_is_whole(self):
        file = os.path.join(self.folder, "hostile.sqlite")
        self.export("sqlite", self.hostile_report(), "--native-only", "-o", file)
        database = sqlite3.connect(file)
        self.assertEqual([("ok",)], database.execute("PRAGMA integrity_check").fetchall())
        peak = database.execute("SELECT sum(peak_bytes) FROM shares").fetchone()[0]
        self.assertEqual(self.sum_of_sites("peak"), peak)
        database.close()

    def test_messages_of_hostile_names_are_whole(self):
        for form in ("pprof", "perfetto"):
            done = subprocess.run([harness.installed("protoc"), "--decode_raw"], capture_output=True, check=True,
                                  input=self.export(form, self.hostile_report(), binary=True))  # fmt: skip
            self.assertEqual(b"", done.stderr)

    def test_consumers_read_hostile_names(self):
        path = self.hostile_report()
        self.read_by_prometheus(self.export("openmetrics", path))
        file = os.path.join(self.folder, "massif.out")
        self.export("massif", path, "-o", file)
        if shutil.which("ms_print"):
            done = subprocess.run(["ms_print", file], capture_output=True, text=True, check=True)
            self.assertEqual("", done.stderr)
            self.assertIn(f"({self.device['peak_bytes']:,}B)", done.stdout)

    def read_by_prometheus(self, text):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            return
        self.assertGreater(len(list(text_string_to_metric_families(text))), 5)


class Words(Export):
    def refused(self, *words):
        done = self.run_tool("export", *words)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        return done.stderr

    def test_bad_usage_is_one_line(self):
        self.assertIn("is no format; nearest is folded", self.refused("--format", "foldde", self.path))
        self.assertIn("--format is required", self.refused(self.path))
        self.assertIn("is none of peak,", self.refused("--format", "folded", "--cost", "x", self.path))
        self.assertIn("'x' is none of device, pinned", self.refused("--format", "folded", "--kind", "x", self.path))
        self.assertIn("-o FOLDER", self.refused("--format", "folded", self.path, self.trace))
        self.assertIn("nowhere", self.refused("--format", "folded", "nowhere"))
        self.assertIn("cannot write", self.refused("--format", "folded", "-o", "/proc/x", self.path))

    def test_formats_of_traces_say_how_to_get_one(self):
        for form in OF_TRACES:
            alone = os.path.join(self.folder, "alone.json")
            changed = {**self.report, "process": {**self.report["process"], "pid": 1}}
            with open(alone, "w", encoding="utf-8") as file:
                json.dump(changed, file)
            self.assertIn("run --trace", self.refused("--format", form, alone))
            named = f"its own is there: vramscope export --format {form} {self.trace}\n"
            self.assertIn(named, self.refused("--format", form, self.path))

    def test_damaged_traces_are_refused(self):
        with open(self.trace, "rb") as file:
            whole = file.read()
        cut = os.path.join(self.folder, "cut.trace")
        with open(cut, "wb") as file:
            file.write(whole[: len(whole) // 2])
        self.assertIn("cannot read", self.refused("--format", "folded", cut))

    def test_several_go_into_a_folder(self):
        done = self.run_tool("export", "--format", "folded", "-o", self.folder, self.path, self.trace)
        said = rf"vramscope: 2 files of folded in {self.folder} \([\d.]+ KiB\); to open one: flamegraph.pl {self.folder}/r.folded >.*\n"
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, "^" + said + "$")
        self.assertEqual(["r.folded", "t.folded"], sorted(os.listdir(self.folder)))

    def test_standard_output_is_silent(self):
        self.assertEqual(self.export("folded", self.path), self.export_to_dash("folded"))

    def export_to_dash(self, form):
        done = self.run_tool("export", "--format", form, "-o", "-", self.path)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def test_compressed_traces_are_read(self):
        zstd = harness.installed("zstd")
        packed = os.path.join(self.folder, "t.trace.zst")
        subprocess.run([zstd, "-q", self.trace, "-o", packed], check=True)
        self.assertEqual(self.export("rmm", self.trace), self.export("rmm", packed))

    def test_help_names_every_format(self):
        text = self.run_tool("export", "--help").stdout
        for form in OF_BOTH + OF_TRACES:
            self.assertIn(f"\n  {form} ", text)


if __name__ == "__main__":
    harness.main()
