"""DistributedDataParallel and FSDP over NCCL, in as many processes as there are devices."""
# SPDX-License-Identifier: Apache-2.0
import gc
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing
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
    return sum(parameter.numel() for parameter in net.parameters())


def work(rank, ranks, folder):
    torch.cuda.set_device(rank)
    torch_figures.begin()
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks,
                            device_id=torch.device("cuda", rank))  # fmt: skip
    given = torch.full((1000,), 3.0).cuda()  # a copy, which is executed
    everyone = torch.zeros(1000 * ranks, device="cuda")
    dist.all_gather_into_tensor(everyone, given)
    dist.all_reduce(given)
    dist.barrier()
    said = [f"rank {rank} of {ranks}", everyone.sum().item() / ranks]
    said.append(train(DistributedDataParallel(nn.Linear(64, 64).cuda(), device_ids=[rank])))
    said.append(train(FullyShardedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8)).cuda())))
    torch.cuda.synchronize()
    gc.collect()
    # When memory of another stream comes back depends on time.
    if rank == 0:
        torch_figures.end(["segment", "reserved_bytes"])
    (pathlib.Path(folder) / f"said{rank}").write_text(" ".join(map(str, said)))
    dist.destroy_process_group()


def main():
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    ranks = torch.cuda.device_count()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (ranks, folder), nprocs=ranks)
        for rank in range(ranks):
            print((pathlib.Path(folder) / f"said{rank}").read_text())


if __name__ == "__main__":
    main()
