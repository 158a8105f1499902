"""Exports of what came when: curves, events and samples are read by those for whom they are, and add up."""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from export_case import Export  # noqa: E402
import harness  # noqa: E402

# Functions of the program's by which memory comes.
ALLOCATING = ("cuMemAlloc_v2", "cuMemHostAlloc", "cuMemAllocHost_v2", "cuMemHostRegister_v2", "cuMemAllocManaged")


def function_of(frame):
    """Without " (file:line)" behind it; template arguments may have parentheses, too."""
    return re.sub(r" \([^()]*\)$", "", frame)


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
                stack.insert(0, function_of(frames[frame]["name"]))
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

    def test_perfetto_ends_memory_with_its_context(self):
        """The flow ended at whichever call came next."""
        trace = os.path.join(self.folder, "c.trace")
        subprocess.run([harness.TOOL, "run", "--sim", "--trace", trace, harness.program("second_context")], check=True,
                       capture_output=True, cwd=self.folder, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        text = self.decoded("perfetto", "Trace", trace)
        names = dict(re.findall(r'event_names \{\s+iid: (\d+)\s+\w+: "(.*)"', text))
        ends = [packet for packet in text.split("packet {") if "terminating_flow_ids" in packet]
        of_context = [packet for packet in ends if 'name: "end of a context"' in packet]
        self.assertEqual([1], [packet.count("terminating_flow_ids") for packet in of_context])
        for packet in ends:
            if packet not in of_context:
                self.assertIn("Free", names[re.search(r"\n    name_iid: (\d+)\n", packet)[1]])

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
                self.assertIn(function_of(values["caller"]) + " (", values["stack"])
                stacks[tuple(function_of(frame) for frame in reversed(values["stack"].split(" < ")))] += 1
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


if __name__ == "__main__":
    harness.main()
