#!/usr/bin/env python3
"""Calls the runtime from Python by ctypes, as small scripts do.  Argument: the runtime's name."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys


def allocate_in_python(runtime, size):
    pointer = ctypes.c_void_p()
    print("cudaMalloc:", runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer


def main():
    runtime = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcudart.so.13")
    sent, received = ctypes.create_string_buffer(b"vram" * 1000), ctypes.create_string_buffer(4001)
    pointer = allocate_in_python(runtime, 4001)
    to_device, to_host = 1, 2
    size = ctypes.c_size_t(4001)
    print("to device:", runtime.cudaMemcpy(pointer, sent, size, to_device))
    print("to host:", runtime.cudaMemcpy(received, pointer, size, to_host))
    print("same:", received.raw == sent.raw)
    print("cudaFree:", runtime.cudaFree(pointer))
    print("again:", runtime.cudaFree(pointer))
    allocate_in_python(runtime, 1 << 20)  # left behind


main()
