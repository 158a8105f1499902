#!/usr/bin/env python3
"""Adds two vectors by a kernel that Triton compiles."""
# SPDX-License-Identifier: Apache-2.0
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("missing: a device that PyTorch can use")
    sys.exit(77)


@triton.jit
def add(one, two, total, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    values = tl.load(one + offsets, mask=mask) + tl.load(two + offsets, mask=mask)
    tl.store(total + offsets, values, mask=mask)


def main():
    print("triton", triton.__version__)
    for count in (1_000, 1_000_000, 5_000_011):
        one = torch.arange(count, device="cuda", dtype=torch.float32)
        two = torch.full((count,), 2.0, device="cuda")
        total = torch.empty_like(one)
        add[(triton.cdiv(count, 1024),)](one, two, total, count, BLOCK=1024)
        print(f"{count}: right {bool(torch.equal(total, one + two))}")


main()
