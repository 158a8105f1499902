"""A DataLoader with workers and pinned memory, copies beside work, a snapshot, expandable segments."""
# SPDX-License-Identifier: Apache-2.0
import pickle
import tempfile

import torch
import torch_figures
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch_figures.begin()
    data = TensorDataset(torch.arange(4096, dtype=torch.float32).reshape(256, 16), torch.arange(256))
    total = 0
    for values, numbers in DataLoader(data, batch_size=64, num_workers=2, pin_memory=True):
        assert values.is_pinned()
        moved = values.to("cuda", non_blocking=True)
        total += int(moved.cpu().sum().item()) + int(numbers.sum())
    print("sum", total)
    pinned = torch.empty(3 << 20, dtype=torch.uint8).pin_memory()
    there = pinned.to("cuda", non_blocking=True)
    del pinned
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (1, 1 << 20, 30 << 20)]
    with tempfile.NamedTemporaryFile() as file:
        torch.cuda.memory._dump_snapshot(file.name)
        snapshot = pickle.load(open(file.name, "rb"))
    active = sum(block["state"] == "active_allocated" for segment in snapshot["segments"] for block in segment["blocks"])
    print(len(snapshot["segments"]), active, len(kept), there.numel())
    kept.clear()
    torch.cuda.empty_cache()
    print(torch.cuda.memory_reserved())
    torch_figures.end()


if __name__ == "__main__":
    main()
