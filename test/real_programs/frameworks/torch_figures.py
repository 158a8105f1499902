"""The counters of PyTorch's allocator, and the segments that it took, from its own history."""
# SPDX-License-Identifier: Apache-2.0
import figures
import torch

MOST = 100_000  # entries of the history
COUNTERS = ("num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms")
FAMILIES = ("active", "active_bytes", "allocated_bytes", "allocation", "inactive_split_bytes", "requested_bytes",
            "reserved_bytes", "segment")  # fmt: skip


def begin():
    torch.manual_seed(1)
    torch.cuda.memory._record_memory_history(max_entries=MOST, stacks="python", context=None)
    print(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory)


def end(families=FAMILIES):
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    counters = {key: stats[key] for key in COUNTERS if families == FAMILIES}
    for family in families:
        for which in ("current", "peak", "allocated", "freed"):
            counters[f"{family}.all.{which}"] = stats[f"{family}.all.{which}"]
    history = [entry for device in torch.cuda.memory._snapshot()["device_traces"] for entry in device]
    assert len(history) < MOST, "the history is full"
    taken = [[entry["addr"], entry["size"]] for entry in history if entry["action"] == "segment_alloc"]
    figures.leave(counters, taken)
