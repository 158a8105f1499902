#!/usr/bin/env python3
"""Captures a graph with PyTorch, replays it with new inputs and frees memory in between."""
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


def main():
    torch.manual_seed(0)
    weights = torch.arange(512 * 512, device="cuda", dtype=torch.float32).reshape(512, 512) / 1e5
    given = torch.zeros(64, 512, device="cuda")
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            torch.relu(given @ weights).sum()
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = torch.relu(given @ weights).sum()
    for step in range(5):
        given.fill_(step)
        graph.replay()
        noise = torch.full((4 << 20,), 7.0, device="cuda")  # may take memory that was just freed
        torch.cuda.synchronize()
        print(f"step {step} answer {answer.item():.1f} noise {noise.sum().item():.1f}")
        del noise
        torch.cuda.empty_cache()
    torch.cuda.synchronize()


main()
