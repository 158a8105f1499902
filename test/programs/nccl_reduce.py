#!/usr/bin/env python3
"""Sums a vector over all devices of this process with NCCL, by ctypes; one device will do."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import glob
import importlib.util
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])


def nccl():
    """The library: the loader's, or that of the package nvidia-nccl."""
    candidates = ["libnccl.so.2"]
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else []:
        candidates += glob.glob(f"{folder}/nccl/lib/libnccl.so.2")
    for name in candidates:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    print("missing: libnccl.so.2")
    sys.exit(77)


def must(what, code):
    if code != 0:
        print(f"{what} failed with {code}")
        sys.exit(3)


def main():
    library = nccl()
    from gpu_driver import MIB, Driver

    try:
        gpu = Driver()
    except (OSError, RuntimeError) as error:
        print(f"missing: {error}")
        sys.exit(77)
    version = ctypes.c_int()
    must("version", library.ncclGetVersion(ctypes.byref(version)))
    print("nccl", version.value)
    communicator = ctypes.c_void_p()
    must("init", library.ncclCommInitAll(ctypes.byref(communicator), 1, None))
    count = 3 * MIB
    given, total, stream = gpu.alloc(4 * count), gpu.alloc(4 * count), gpu.stream()
    must("set", gpu.cuMemsetD32_v2(given, ctypes.c_uint(5), count))
    int32, add = 2, 0
    for _ in range(3):
        must(
            "all reduce",
            library.ncclAllReduce(
                ctypes.c_uint64(given), ctypes.c_uint64(total), ctypes.c_size_t(count), int32, add,
                communicator, stream,
            ),
        )  # fmt: skip
    must("wait", gpu.cuStreamSynchronize(stream))
    seen = (ctypes.c_uint32 * count)()
    must("copy", gpu.cuMemcpyDtoH_v2(ctypes.addressof(seen), total, 4 * count))
    print("wrong values:", sum(value != 5 for value in seen))
    must("destroy", library.ncclCommDestroy(communicator))
    must("free", gpu.cuMemFree_v2(given))
    must("free", gpu.cuMemFree_v2(total))


main()
