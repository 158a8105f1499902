#!/usr/bin/env python3
"""Has memory of a framework, says "ready", and asks for more with each line; for a tool that attaches meanwhile.

    gpu_attached.py driver | torch | jax | cupy | numba

Ends with status 77 and the reason where the framework or a device is missing.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import sys

FLOATS = 1 << 20


def driver_sum():
    """Stream-ordered memory of the driver itself; each time, the oldest block is freed."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, blocks = ctypes.c_void_p(), []

    def call(name, *arguments):
        if code := driver[name](*arguments):  # looked up anew each time, as attach needs it
            raise RuntimeError(f"{name} gives {code}")

    def ask():
        block = ctypes.c_uint64()
        call("cuMemAllocAsync", ctypes.byref(block), ctypes.c_size_t(8 * 4 * FLOATS), None)
        blocks.append(block)

    def more(number):
        if number > 1:
            call("cuMemFreeAsync", blocks.pop(0), None)
            ask()
        call("cuStreamSynchronize", None)
        return float(len(blocks))

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    for _ in range(8):
        ask()
    return more


def torch_sum():
    import torch

    kept = []
    if not torch.cuda.is_available():
        raise RuntimeError("a device that PyTorch can use")

    def more(number):
        kept.append(torch.full((32 * FLOATS,), float(number), device="cuda"))
        return float(sum(one.mean() for one in kept))

    return more


def jax_sum():
    os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
    import jax

    kept = []
    if jax.default_backend() != "gpu":
        raise RuntimeError("a device that JAX can use")

    def more(number):
        kept.append(jax.numpy.full((4 * FLOATS,), float(number)))
        return float(sum(one.mean() for one in kept))

    return more


def cupy_sum():
    import cupy

    kept = []
    cupy.cuda.runtime.getDeviceCount()
    cupy.cuda.set_allocator(None)  # each array asks the driver

    def more(number):
        kept.append(cupy.full((4 * FLOATS,), float(number)))
        return float(sum(one.mean() for one in kept))

    return more


def numba_sum():
    import numpy
    from numba import cuda

    kept = []
    if not cuda.is_available():
        raise RuntimeError("a device that Numba can use")

    def more(number):
        kept.append(cuda.to_device(numpy.full((4 * FLOATS,), float(number), dtype=numpy.float32)))
        return float(sum(one.copy_to_host().mean() for one in kept))

    return more


SUMS = {"driver": driver_sum, "torch": torch_sum, "jax": jax_sum, "cupy": cupy_sum, "numba": numba_sum}


def main():
    try:
        more = SUMS[sys.argv[1]]()
        more(1)
    except Exception as error:  # noqa: BLE001 - no package, no device, no driver: the reason is in the text
        print(f"missing: {type(error).__name__}: {error}", flush=True)
        sys.exit(77)
    print("ready", flush=True)
    for number, _ in enumerate(sys.stdin, 2):
        print(f"sum {more(number):.1f}", flush=True)


if __name__ == "__main__":
    main()
