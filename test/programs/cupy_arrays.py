#!/usr/bin/env python3
"""Adds and multiplies arrays with CuPy; prints sums and what its pools hold."""
# SPDX-License-Identifier: Apache-2.0
import sys

try:
    import cupy
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
try:
    cupy.cuda.runtime.getDeviceCount()
except Exception as error:  # noqa: BLE001 - no device, no driver: the reason is in the text
    print(f"missing: {error}")
    sys.exit(77)


def main():
    print("cupy", cupy.__version__, "runtime", cupy.cuda.runtime.runtimeGetVersion())
    pool, pinned = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
    for number in range(1, 6):
        one = cupy.arange(number * 250_000, dtype=cupy.float64)
        two = cupy.full((number * 250_000,), number, dtype=cupy.float64)
        print(f"round {number} sum {float((one * two).sum()):.1f}, used {pool.used_bytes()}")
    square = cupy.arange(256 * 256, dtype=cupy.float32).reshape(256, 256) / 65536
    print(f"trace {float(cupy.trace(square @ square)):.3f}")
    del one, two, square
    pool.free_all_blocks()
    pinned.free_all_blocks()
    print("pool", pool.used_bytes(), pool.total_bytes())
    with cupy.cuda.using_allocator(None):  # straight from cudaMalloc
        plain = [cupy.ones(n * 1_000_003, dtype=cupy.uint8) for n in range(1, 9)]
        print("plain", [int(array.sum(dtype=cupy.int64)) for array in plain])
    if cupy.cuda.runtime.deviceGetAttribute(115, 0):  # cudaDevAttrMemoryPoolsSupported
        with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
            print("ordered", int(cupy.ones(1_000_003, dtype=cupy.uint8).sum(dtype=cupy.int64)))


main()
