"""DistributedDataParallel and FSDP over NCCL, in one process."""
# SPDX-License-Identifier: Apache-2.0
import os

import torch
import torch.distributed as dist
import torch_figures
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def train(net, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        net(torch.randn(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def main():
    torch_figures.begin()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda:0"))
    total = torch.ones(1000, device="cuda")
    dist.all_reduce(total)
    dist.barrier()
    train(DistributedDataParallel(nn.Linear(64, 64).cuda(), device_ids=[0]))
    print("DDP", torch.cuda.memory_allocated())
    train(FullyShardedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8)).cuda()))
    print("FSDP", total.shape, torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
    torch_figures.end()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
