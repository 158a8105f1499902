"""replay, fit and tune refuse what is no whole run in one line, and play what is there if they are told to."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import pickle
import signal

import harness
from trace_case import TRACE, TraceTest, traces

VERBS = ("replay", "fit", "tune")
TITLES = "Thread,Time,Action,Pointer,Size,Stream\n"
LINE = "11,23:59:59:{:06},{},{},{},0x0\n"


def action(what, address, size, at):
    return {"action": what, "addr": address, "size": size, "stream": 0, "time_us": 1_700_000_000_000_000 + at, "frames": []}


class Refused(TraceTest):
    def written(self, name, content):
        path = pathlib.Path(self.folder, name)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def refuse(self, said, *words, verbs=VERBS):
        for verb in verbs:
            done = self.run_tool(verb, *words)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, len(done.stderr.splitlines())), (verb, words, done.stderr))
            self.assertIn(said, done.stderr, verb)

    def plays(self, gap, *words):
        """With --partial; the text says what the run lacks."""
        for verb in VERBS:
            done = self.run_tool(verb, "--partial", *words)
            self.assertEqual((0, ""), (done.returncode, done.stderr), (verb, words))
            self.assertIn(gap, " ".join(done.stdout.split()), verb)

    def test_words_that_are_no_settings(self):
        _, (path,) = self.traced([harness.program("train")])
        self.refuse("unknown", "--alloc-conf", "no_such_thing:1", path)
        self.refuse("'lru' is none of native-safe, pytorch", "--policy", "lru", path, verbs=("replay", "fit"))
        for size in ("0", "0GiB", "17TiB", "much"):
            self.refuse(f"'{size}' is", "--capacity", size, path, verbs=("replay", "tune"))
        self.refuse("'fast' is none of", "--call-costs", "fast", path, verbs=("replay", "tune"))

    def test_files_that_are_no_traces(self):
        self.refuse("expected a trace", self.written("empty", b""))
        self.refuse("is a folder", pathlib.Path(self.folder))
        self.refuse("No such file", pathlib.Path(self.folder, "none"))

    def test_a_trace_that_ends_in_the_middle(self):
        _, (path,) = self.traced([harness.program("train")])
        whole = path.read_bytes()
        for share in (0.3, 0.5, 0.9):
            self.refuse("cannot read", self.written("half.trace", whole[: int(len(whole) * share)]))
        self.plays("ends before the run does", self.written("half.trace", whole[: int(len(whole) * 0.97)]))

    def test_a_log_that_ends_in_the_middle(self):
        whole = TITLES + LINE.format(1, "allocate", "0x7f00", 3000000) + LINE.format(2, "allocate", "0x9f00", 3000000)
        path = self.written("rmm.csv", whole[:-9])
        self.refuse("ends in the middle of a line; --partial plays what is there", path)
        self.plays("ends before the run does", path)

    def test_a_log_that_begins_in_the_middle(self):
        path = self.written("rmm.csv", TITLES + LINE.format(1, "free", "0x1f00", 3000000) + LINE.format(2, "allocate", "0x7f00", 3000000))
        self.refuse("begins in the middle of a run: it frees memory whose allocation it does not have; --partial plays", path)
        self.plays("begins in the middle of the run", path)

    def test_a_trace_without_its_first_events(self):
        """Of one whose first chunk of events is gone, the frees are there."""
        _, (path,) = self.traced([harness.program("many_events"), "1", "20000"])
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[len(whole) // 4] ^= 0xFF
        self.refuse("cannot read", self.written("damaged.trace", bytes(damaged)))
        self.plays("damaged chunk", self.written("damaged.trace", bytes(damaged)))

    def test_a_snapshot_that_begins_late_has_its_live_memory_first(self):
        """Of a ring that forgot its oldest events, what was freed later is known, and its size."""
        actions = [action("free_completed", 0x7F00, 3000000, 0), action("alloc", 0x9F0000, 30000000, 1)]
        path = self.written("ring.pickle", pickle.dumps({"segments": [], "device_traces": [actions]}))
        self.plays("the order of 1 allocation before it is not known", path)
        (found,) = json.loads(self.run_tool("replay", "--json", path).stdout)
        self.assertEqual((2, 1), (found["allocations"], found["earlier_allocations"]))

    def test_files_without_sizes(self):
        lacking = [{name: value for name, value in action("alloc", 0x7F00, 1, 0).items() if name != "size"}]
        self.refuse("expected a size", self.written("s.pickle", pickle.dumps({"segments": [], "device_traces": [lacking]})))
        self.refuse("line 2: expected numbers for pointer, size", self.written("r.csv", TITLES + LINE.format(1, "allocate", "0x7f00", "")))

    def test_a_run_with_settings_that_nobody_knows(self):
        made = {"segments": [], "device_traces": [[action("alloc", 0x7F00, 3000000, 0)]],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "no_such_thing:1"}}  # fmt: skip
        self.refuse("no_such_thing", self.written("s.pickle", pickle.dumps(made)))

    def test_of_a_killed_program_all_until_then_is_played(self):
        """Its chunks are whole, so nothing has to be asked for; the text says that it ends early."""
        process = self.start_program([harness.program("hold")], "cache", VRAMSCOPE_TRACE=TRACE)
        self.assertTrue(process.stdout.readline())
        (path,) = traces(self.folder)
        end = harness.time.monotonic() + harness.DEADLINE_S
        while self.allocations(path) < 20:
            self.assertLess(harness.time.monotonic(), end)
            harness.time.sleep(0.01)
        process.kill()
        self.assertEqual(-signal.SIGKILL, process.wait())
        for verb in VERBS:
            done = self.run_tool(verb, path)
            self.assertEqual((0, ""), (done.returncode, done.stderr), verb)
            self.assertIn("ends before the run does", " ".join(done.stdout.split()), verb)


if __name__ == "__main__":
    harness.main()
