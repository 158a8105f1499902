#!/usr/bin/env python3
"""Trains a small network with PyTorch; prints its losses and what PyTorch says about its memory."""
# SPDX-License-Identifier: Apache-2.0
import sys

try:
    import torch
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("missing: a device that PyTorch can use")
    sys.exit(77)

KEYS = [
    f"{name}.all.{part}"
    for name in ("allocation", "segment", "allocated_bytes", "reserved_bytes", "requested_bytes")
    for part in ("current", "peak", "allocated", "freed")
] + ["num_alloc_retries", "num_ooms"]


def say_memory(when):
    statistics = torch.cuda.memory_stats()
    for key in KEYS:
        print(f"{when} {key} {statistics.get(key, 0)}")


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    print("torch", torch.__version__, "cuda", torch.version.cuda)
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(20):
        generator = torch.Generator().manual_seed(step)
        rows = 256 + 64 * (step % 3)
        batch = torch.randn(rows, 1024, generator=generator).pin_memory()
        batch = batch.cuda(non_blocking=True)
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.5f}")
    say_memory("trained")
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        print("out of memory, as expected")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        sums = [float(torch.full((n * 100_000,), 2.0, device="cuda").sum()) for n in range(1, 9)]
    stream.synchronize()
    print("sums", sums)
    del model, optimizer, batch, loss
    torch.cuda.empty_cache()
    say_memory("emptied")


main()
