"""A training step in a CUDA graph, replayed; pools of graphs; streams and events."""
# SPDX-License-Identifier: Apache-2.0
import torch
import torch_figures
from torch import nn


def main():
    torch_figures.begin()
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), capturable=True)
    given = torch.zeros(32, 64, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(given).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(4):
        given.copy_(torch.randn(32, 64))
        graph.replay()
    called = torch.cuda.make_graphed_callables(net, (given,))
    called(given).sum().backward()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(side)
    end.record(side)
    end.synchronize()
    print(begin.elapsed_time(end) >= 0, side.query(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
    torch_figures.end()


if __name__ == "__main__":
    main()
