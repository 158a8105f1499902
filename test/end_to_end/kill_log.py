"""What test/programs/counted_threads counts for itself, and how a report may differ from it after a kill."""
# SPDX-License-Identifier: Apache-2.0
import struct

SIZES = (1, 513, 4000, 70000, 2**20 - 1, 2**20, 2**20 + 1, 2**21, 5000000, 3 * 2**20 + 77, 9 * 2**20 + 78,
         20 * 2**20 + 1, 1000, 5000, 100000, 2**20 + 79)  # fmt: skip
DEVICE = 12  # of them; the rest are pinned
THREADS = 4
BYTES = THREADS * len(SIZES) * 4 * 8


def counted(log):
    """Of each size: allocations begun and done, frees begun and done."""
    numbers = struct.unpack(f"<{len(log) // 8}Q", log)
    return [[sum(numbers[(thread * len(SIZES) + size) * 4 + what] for thread in range(THREADS))
             for what in range(4)] for size in range(len(SIZES))]  # fmt: skip


def disagreements(report, log):
    """What of the report is not between what had been done and what had been begun."""
    counts = counted(log)
    live = {}
    segments = [segment for device in report["devices"] for segment in device["segments"]]
    for segment in segments + report["host"]["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                key = segment["kind"] == "pinned", block["requested_size"]
                live[key] = live.get(key, 0) + 1
    for number, (begun, done, free_begun, free_done) in enumerate(counts):
        key = number >= DEVICE, SIZES[number]
        found = live.pop(key, 0)
        if not done - free_begun <= found <= begun - free_done:
            yield f"{found} live blocks of {key}, not {done - free_begun} to {begun - free_done}"
    if live:
        yield f"blocks that nobody asked for: {live}"
    for kind in report["kinds"]:
        of = [c for n, c in enumerate(counts) if (n >= DEVICE) == (kind["kind"] == "pinned")]
        begun, done, free_begun, free_done = map(sum, zip(*of))
        # An allocation in flight may be there as one that was freed again.
        most_frees = free_begun + begun - done
        if not done <= kind["allocations"] <= begun or not free_done <= kind["frees"] <= most_frees:
            yield f"{kind}, not {done} to {begun} and {free_done} to {most_frees}"
