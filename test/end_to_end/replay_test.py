"""A replay with the settings of the recording gives the statistics of the recording, key by key."""
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import os
import pathlib
import pickle

import harness
from trace_case import TraceTest
import transparency_test

# Settings under which the workloads are recorded, and what the simulated device is.
SETTINGS = (
    {"VRAMSCOPE_POLICY": "native-safe"},
    {"VRAMSCOPE_POLICY": "pytorch"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "expandable_segments:True"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "growing_segments:True"},
    {"VRAMSCOPE_POLICY": "pytorch", "VRAMSCOPE_ALLOC_CONF": "max_split_size_mb:32,roundup_power2_divisions:4"},
    {"VRAMSCOPE_MODE": "dedicated"},
    {"VRAMSCOPE_MODE": "observe"},
)
WORKLOADS = harness.BUILD / "test/bench"
# Of a GPU that the workload nearly fills, so that idle memory must go back.
NARROW = {"transformer": "capacity=8GiB", "page_server": "capacity=4GiB", "hash_join": "capacity=4GiB"}

# What a trace does not have: the program's own wishes to the library.
UNTRACED = ("faces", "malloc_hook")


class ReplayTest(TraceTest):
    def replayed(self, path, *words):
        done = self.run_tool("replay", "--json", *words, path)
        self.assertEqual((0, ""), (done.returncode, done.stderr), path)
        (one,) = json.loads(done.stdout)
        return one

    def recorded_statistics(self, report):
        """Counters of each GPU and of the host, by the names that a replay gives them."""
        statistics = {device["index"]: device["memory_stats"] for device in report["devices"]}
        return statistics, report["host"]["memory_stats"]

    def assert_replays(self, report, path, where):
        found = self.replayed(path)
        rows = [row for row in found["rows"] if row["recorded"]]
        devices, host = self.recorded_statistics(report)
        for row in rows:
            self.assertTrue(row["fits"], where)
            self.assertEqual(0, row["served_refused"], where)
            if row["device"] is None or not row["memory_stats"]:
                continue
            recorded = devices[row["device"]]
            self.assertEqual({key: recorded[key] for key in row["memory_stats"]}, row["memory_stats"], where)
            self.assertEqual(set(recorded), set(row["memory_stats"]) | {key for key in recorded if key.startswith("allocated.")}, where)
        if rows[0]["host_memory_stats"]:
            self.assertEqual({key: host[key] for key in rows[0]["host_memory_stats"]}, rows[0]["host_memory_stats"], where)
        self.assertIn(found["as_recorded"], (True, None), where)
        return found


class Exact(ReplayTest):
    def record(self, command, simulator="", **settings):
        mode = settings.pop("VRAMSCOPE_MODE", "cache")
        outcome, found = self.traced(command, mode, simulator, **settings)
        reports = {r["trace"]["path"]: r for r in outcome.reports if r["trigger"] == "exit"}
        return [(reports[str(path)], path) for path in found if str(path) in reports]

    def test_the_workloads_of_the_benchmark(self):
        for name, narrow in NARROW.items():
            for simulator in ("capacity=80GiB", narrow):
                for settings in SETTINGS:
                    with self.subTest(name=name, simulator=simulator, settings=settings):
                        ((report, path),) = self.record([str(WORKLOADS / name)], simulator, **settings)
                        self.assert_replays(report, path, (name, settings))

    def test_the_demo_programs(self):
        for settings in SETTINGS:
            with self.subTest(settings=settings):
                ((report, path),) = self.record([harness.program("train")], **settings)
                found = self.assert_replays(report, path, settings)
                self.assertTrue(found["settings_known"])

    def test_the_programs_of_the_tests(self):
        """Where a replay cannot be exact, it says so."""
        tried = 0
        victims = transparency_test.VICTIMS
        if "VRAMSCOPE_THOROUGH" not in os.environ:
            victims = victims[::3]
        for command, simulator in victims:
            if command[0].startswith(UNTRACED):
                continue
            try:
                program = [harness.program(command[0]), *command[1:]]
            except harness.unittest.SkipTest:
                continue
            for report, path in self.record(program, simulator):
                done = self.run_tool("replay", "--json", path)
                if "there is nothing to replay" in done.stderr:
                    continue
                self.assertEqual(0, done.returncode, done.stderr)
                (found,) = json.loads(done.stdout)
                if any(found[gap] for gap in ("captures", "exports", "pools", "several_threads")) or report["devices"] == []:
                    continue
                with self.subTest(command=command, simulator=simulator):
                    self.assert_replays(report, path, command)
                    tried += 1
        self.assertLess(12, tried)


# All that PyTorch's allocator was asked for by a program (GPT of 124 million parameters, PyTorch 2.11, H200): "a ID BYTES
# STREAM", "f ID". Its own figures: torch.cuda.memory_stats at the end of that run.
GPT = harness.SOURCE / "test/golden/gpt.events.gz"
GPT_RESERVED, GPT_SEGMENTS, GPT_REQUESTED, GPT_ALLOCATIONS = 7_327_449_088, 89, 5_467_145_480, 13_170


def history(events):
    """The actions of a snapshot of PyTorch, each block at addresses of its own."""
    live, next_address, actions = {}, 0x7F0000000000, []
    for line in events:
        what, number, *rest = line.split()
        if what == "a":
            live[number] = (next_address, int(rest[0]), int(rest[1]))
            next_address += -(-int(rest[0]) // 512) * 512 + 512
        if what in ("a", "f"):
            address, size, stream = live[number]
            actions.append({"action": "alloc" if what == "a" else "free_completed", "addr": address, "size": size,
                            "stream": stream, "time_us": 1_700_000_000_000_000 + len(actions), "frames": []})  # fmt: skip
    return actions


def cycles(count):
    """Each leaves two large blocks free behind a small one that stays (PyTorch's pull request 193400)."""
    mib = 1 << 20
    lines = [f"a weights {64 * mib} 0"]
    for i in range(count):
        lines += [f"a A{i} {91 * mib} 0", f"a B{i} {91 * mib // 2} 0", f"a kept{i} {2 * mib} 0", f"f A{i}", f"f B{i}"]
    return lines


class Imported(ReplayTest):
    def snapshot(self, actions, name="snapshot.pickle", conf=""):
        path = pathlib.Path(self.folder, name)
        made = {"segments": [], "device_traces": [actions], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": conf}}
        path.write_bytes(pickle.dumps(made))
        return path

    def test_the_settings_of_the_snapshot_are_those_of_the_recording(self):
        found = self.replayed(self.snapshot(history(["a 1 3000000 0"]), conf="large_segment_size_mb:32"))
        self.assertTrue(found["settings_known"])
        (recorded,) = [row for row in found["rows"] if row["recorded"]]
        self.assertEqual(("large_segment_size_mb:32", 32 << 20), (recorded["alloc_conf"], recorded["peak_reserved_bytes"]))

    def test_a_history_of_pytorch_gives_what_pytorch_said(self):
        with gzip.open(GPT, "rt") as events:
            found = self.replayed(self.snapshot(history(events)))
        row = found["rows"][0]
        stats = row["memory_stats"]
        self.assertEqual("pytorch", row["policy"])
        self.assertFalse(found["settings_known"])
        self.assertEqual(
            (GPT_RESERVED, GPT_SEGMENTS, GPT_REQUESTED, GPT_ALLOCATIONS),
            (row["peak_reserved_bytes"], stats["segment.all.peak"], row["peak_requested_bytes"], found["allocations"]),
        )

    def test_a_pair_of_settings_that_wastes_is_found_by_playing_it(self):
        """What a GPU reserved with both, by cycles, as published with the program; with one of them under 500 MiB."""
        confs = ("expandable_segments:True,max_split_size_mb:128", "expandable_segments:True", "max_split_size_mb:128", "")
        words = [word for conf in confs for word in ("--alloc-conf", conf)]
        for count, mib in ((1, 220), (21, 2980), (41, 5760), (61, 8520), (81, 11300), (101, 14060)):
            rows = self.replayed(self.snapshot(history(cycles(count))), *words)["rows"]
            both, *others = (row["peak_reserved_bytes"] >> 20 for row in rows)
            self.assertEqual(mib, both, count)
            self.assertLess(max(others), 500)

    def test_blocks_of_pytorch_stay_in_their_streams(self):
        one = ["a 1 4000000 0", "f 1", "a 2 4000000 0", "f 2"]
        two = ["a 1 4000000 0", "f 1", "a 2 4000000 7", "f 2"]
        peaks = [self.replayed(self.snapshot(history(lines)))["rows"][0]["peak_reserved_bytes"] for lines in (one, two)]
        self.assertEqual([20 << 20, 40 << 20], peaks)

    def test_a_log_of_rmm_is_played(self):
        path = pathlib.Path(self.folder, "rmm.csv")
        path.write_text("Thread,Time,Action,Pointer,Size,Stream\n11,23:59:59:000001,allocate,0x7f00,3000000,0x0\n"
                        "11,23:59:59:000002,free,0x7f00,3000000,0x0\n")  # fmt: skip
        found = self.replayed(path)
        self.assertEqual([4 << 20], [row["peak_reserved_bytes"] for row in found["rows"] if row["recorded"]])

    def test_a_snapshot_as_json_is_the_same_as_a_pickle(self):
        """One of PyTorch's shape, and what export makes of a trace of ours."""
        with gzip.open(GPT, "rt") as events:
            pickled = self.snapshot(history(events), "gpt.pickle")
        kept = pathlib.Path(self.folder, "gpt.json")
        kept.write_text(json.dumps(pickle.loads(pickled.read_bytes())))
        both = [{**self.replayed(path), "file": ""} for path in (pickled, kept)]
        self.assertEqual(*both)
        _, (path,) = self.traced([harness.program("train")])
        made = [pathlib.Path(self.folder, name) for name in ("t.pickle", "t.json")]
        for form, target in zip(("memory_viz", "memory_viz_json"), made):
            self.assertEqual(0, self.run_tool("export", "--format", form, "-o", target, path).returncode)
        self.assertEqual(*({**self.replayed(target), "file": ""} for target in made))

    def test_a_snapshot_as_json_that_is_none_is_one_line(self):
        whole = json.dumps({"segments": [], "device_traces": [history(["a 1 3000000 0"])]})
        path = pathlib.Path(self.folder, "s.json")
        for text in (whole[:-9], whole + "x", whole.replace("alloc", "al\\ud800loc"), '{"segments": ' + "[" * 99 + "]" * 99 + "}", '{"segments": 1}'):
            path.write_text(text)
            done = self.run_tool("replay", path)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, len(done.stderr.splitlines())), (text[:99], done.stderr))

    def test_without_a_history_there_is_nothing_to_replay(self):
        path = self.snapshot([])
        done = self.run_tool("replay", path)
        self.assertEqual(2, done.returncode)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)


if __name__ == "__main__":
    harness.main()
