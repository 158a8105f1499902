"""torch.compile, as far as it goes: Triton compiles for the device and loads its kernels by the driver."""
# SPDX-License-Identifier: Apache-2.0
import torch
import torch_figures
from torch import nn


def main():
    torch_figures.begin()
    net = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)).cuda()
    compiled = torch.compile(net)
    for _ in range(2):
        output = compiled(torch.randn(16, 64, device="cuda"))
        output.sum().backward()
    print(tuple(output.shape), torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
    torch_figures.end()


if __name__ == "__main__":
    main()
