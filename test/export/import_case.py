"""What the tests of imports share: a snapshot as PyTorch writes it, a log as RMM does, and what the tool reads of them."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pickle
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

START_US = 1_700_000_000_000_000
KIB, MIB = 1 << 10, 1 << 20


def frames(*names):
    return [{"filename": f"/src/{name}.py", "line": 10 + i, "name": name} for i, name in enumerate(names)]


def snapshot(history=True):
    """As torch.cuda.memory._snapshot() gives it: three blocks live, one waiting, one of them older."""
    load, forward, old = frames("load", "main"), frames("forward", "main"), frames("old", "main")
    base, small = 0x7F0000000000, 0x7F4000000000

    def block(address, size, requested, state, stack):
        return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": stack}

    blocks = [
        block(base, 4 * MIB, 4 * MIB - 100, "active_allocated", load),
        block(base + 4 * MIB, 8 * MIB, 8 * MIB, "active_allocated", forward),
        block(base + 12 * MIB, 8 * MIB, 0, "inactive", []),
    ]
    little = [
        block(small, 512, 300, "active_allocated", old),
        block(small + 512, 1024, 1000, "active_pending_free", load),
        block(small + 1536, 2 * MIB - 1536, 0, "inactive", []),
    ]

    def segment(address, kind, parts):
        return {
            "device": 0, "address": address, "total_size": sum(part["size"] for part in parts),
            "allocated_size": sum(p["size"] for p in parts if p["state"] == "active_allocated"),
            "active_size": sum(p["size"] for p in parts if p["state"] != "inactive"),
            "requested_size": sum(p["requested_size"] for p in parts), "stream": 0, "segment_type": kind,
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": parts,
        }  # fmt: skip

    def event(action, at_us, address, size, stack, stream=0):
        where = {"device_free" if action == "oom" else "addr": address}
        return {"action": action, **where, "size": size, "stream": stream, "time_us": START_US + at_us,
                "frames": stack, "compile_context": "N/A"}  # fmt: skip

    events = [
        event("segment_alloc", 0, base, 20 * MIB, load),
        event("alloc", 10, base, 4 * MIB - 100, load),
        event("alloc", 20, base + 12 * MIB, 6 * MIB, forward),
        event("alloc", 30, small + 512, 1000, load, 0x55AA),
        event("free_requested", 40, base + 12 * MIB, 6 * MIB, []),
        event("free_completed", 41, base + 12 * MIB, 6 * MIB, []),
        event("oom", 50, 3 * MIB, 1 << 40, forward),
        event("alloc", 60, base + 4 * MIB, 8 * MIB, forward),
        event("free_requested", 70, small + 512, 1000, []),
        event("snapshot", 80, 0, 0, []),
    ]
    marks = [{"stage": stage, "name": "step", "device": 0, "time_us": START_US + at}
             for stage, at in (("START", 15), ("END", 35))]  # fmt: skip
    return {
        "segments": [segment(small, "small", little), segment(base, "large", blocks)],
        "device_traces": [events if history else []],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                               "garbage_collection_threshold": 0.0, "roundup_power2_divisions": {"1": 0}},
        "external_annotations": marks,
    }  # fmt: skip


RMM = """Thread,Time,Action,Pointer,Size,Stream
11,23:59:59:000001,allocate,0x7f00,1000,0x0
12,23:59:59:000011,allocate,0x8f00,500,0x5
11,00:00:00:000001,free,0x7f00,1000,0x0
11,00:00:00:000002,allocate failure,(nil),4096,0x0
11,00:00:00:000003,free,0x1234,16,0x0
"""


class Import(harness.Case):
    def file(self, content, name="snapshot.pickle"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def tool(self, *words, status=0):
        done = subprocess.run([harness.TOOL, *words], capture_output=True, env=harness.environment(),
                              timeout=harness.DEADLINE_S)  # fmt: skip
        self.assertEqual(status, done.returncode, (words, done.stderr))
        return done.stdout.decode("utf-8")

    def json(self, *words):
        return json.loads(self.tool(*words, "--json"))

    def of_snapshot(self, **how):
        return self.file(pickle.dumps(snapshot(**how)))


def refused(case, path, *words):
    done = subprocess.run([harness.TOOL, "report", path], capture_output=True, env=harness.environment(),
                          timeout=harness.DEADLINE_S)  # fmt: skip
    case.assertEqual((2, b""), (done.returncode, done.stdout), done.stderr)
    text = done.stderr.decode("utf-8", "replace")
    case.assertEqual(1, text.count("\n"), text)
    for word in (path, *words):
        case.assertIn(word, text)
