"""What a script of the public figures says of its memory: a line for each, the name and bytes."""
# SPDX-License-Identifier: Apache-2.0
import torch


def say(name, bytes_):
    print(f"figure {name} {bytes_}", flush=True)


def say_most():
    """What PyTorch's allocator had in use and took from the driver at most, and what it holds now."""
    torch.cuda.synchronize()
    say("max_allocated", torch.cuda.max_memory_allocated())
    say("max_reserved", torch.cuda.max_memory_reserved())
    say("reserved", torch.cuda.memory_reserved())


def used_of_device():
    free, total = torch.cuda.mem_get_info()
    return total - free
