#!/usr/bin/env python3
"""Sums vectors of 64 B to 256 MiB over all devices of this process with NCCL, by ctypes; one will do."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import glob
import importlib.util
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
KIB, MIB = 1 << 10, 1 << 20
SIZES = (64, 4 * KIB, 2 * MIB - 512, 12 * MIB, 256 * MIB)
INT32, ADD = 2, 0
GIVEN = 5  # of the first device; the next has one more


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


class Rank:
    """One device, with two blocks of the largest size."""

    def __init__(self, gpu, device):
        context = ctypes.c_void_p()
        retained = gpu.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), ctypes.c_int(device))
        must("retain", retained)
        self.gpu, self.context, self.value = gpu, context.value, GIVEN + device
        self.enter()
        self.stream = gpu.stream()
        self.given, self.total = gpu.alloc(SIZES[-1]), gpu.alloc(SIZES[-1])
        self.communicator = None
        self.handles = []

    def enter(self):
        self.gpu.set_current(self.context)

    def prepare(self, size):
        self.enter()
        self.gpu.cuMemsetD32_v2(self.given, ctypes.c_uint(self.value), size // 4)
        self.gpu.cuMemsetD32_v2(self.total, ctypes.c_uint(0), size // 4)
        must("wait", self.gpu.cuCtxSynchronize())

    def wrong(self, size, expected):
        self.enter()
        must("wait", self.gpu.cuStreamSynchronize(self.stream))
        seen = ctypes.create_string_buffer(size)
        must("copy", self.gpu.cuMemcpyDtoH_v2(ctypes.addressof(seen), self.total, size))
        return seen.raw != expected.to_bytes(4, "little") * (size // 4)

    def free(self):
        self.enter()
        must("free", self.gpu.cuMemFree_v2(self.given))
        must("free", self.gpu.cuMemFree_v2(self.total))


class Sum:
    def __init__(self, gpu, library):
        count = ctypes.c_int()
        must("count", gpu.cuDeviceGetCount(ctypes.byref(count)))
        self.gpu, self.library = gpu, library
        self.ranks = [Rank(gpu, device) for device in range(count.value)]
        self.expected = sum(rank.value for rank in self.ranks)
        communicators = (ctypes.c_void_p * count.value)()
        must("init", library.ncclCommInitAll(communicators, count.value, None))
        for rank, communicator in zip(self.ranks, communicators):
            rank.communicator = ctypes.c_void_p(communicator)

    def reduce(self, size):
        must("group", self.library.ncclGroupStart())
        for rank in self.ranks:
            rank.enter()
            code = self.library.ncclAllReduce(
                ctypes.c_uint64(rank.given), ctypes.c_uint64(rank.total), ctypes.c_size_t(size // 4),
                INT32, ADD, rank.communicator, rank.stream,
            )  # fmt: skip
            must("all reduce", code)
        must("group", self.library.ncclGroupEnd())

    def check(self, name, size, run):
        for rank in self.ranks:
            rank.prepare(size)
        run()
        wrong = sum(rank.wrong(size, self.expected) for rank in self.ranks)
        print(f"{name} of {size} bytes: wrong on {wrong} devices", flush=True)

    def register(self):
        """Whether this NCCL can."""
        try:
            for rank in self.ranks:
                rank.enter()
                for block in (rank.given, rank.total):
                    handle = ctypes.c_void_p()
                    code = self.library.ncclCommRegister(
                        rank.communicator, ctypes.c_uint64(block), ctypes.c_size_t(SIZES[-1]),
                        ctypes.byref(handle),
                    )  # fmt: skip
                    must("register", code)
                    rank.handles.append(handle)
            return True
        except AttributeError:
            return False

    def deregister(self):
        for rank in self.ranks:
            for handle in rank.handles:
                must("deregister", self.library.ncclCommDeregister(rank.communicator, handle))

    def replay(self, size):
        """The same as a graph of each device, launched twice."""
        graphs = []
        for rank in self.ranks:
            rank.enter()
            must("capture", self.gpu.begin_capture(rank.stream, 2))
        self.reduce(size)
        for rank in self.ranks:
            rank.enter()
            graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
            must("end", self.gpu.cuStreamEndCapture(rank.stream, ctypes.byref(graph)))
            code = self.gpu.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, 0)
            must("instantiate", code)
            graphs.append((rank, graph, executable))
        for _ in range(2):
            for rank, _, executable in graphs:
                rank.enter()
                must("launch", self.gpu.cuGraphLaunch(executable, rank.stream))
            for rank, _, _ in graphs:
                rank.enter()
                must("wait", self.gpu.cuStreamSynchronize(rank.stream))
        for rank, graph, executable in graphs:
            rank.enter()
            must("end of graph", self.gpu.cuGraphExecDestroy(executable))
            must("end of graph", self.gpu.cuGraphDestroy(graph))

    def end(self):
        for rank in self.ranks:
            rank.enter()
            must("destroy", self.library.ncclCommDestroy(rank.communicator))
            rank.free()


def main():
    library = nccl()
    from gpu_driver import Driver

    try:
        gpu = Driver()
    except (OSError, RuntimeError) as error:
        print(f"missing: {error}")
        sys.exit(77)
    version = ctypes.c_int()
    must("version", library.ncclGetVersion(ctypes.byref(version)))
    total = Sum(gpu, library)
    print("nccl", version.value, "devices", len(total.ranks))
    for size in SIZES:
        total.check("sum", size, lambda size=size: total.reduce(size))
    total.check("sum by a graph", SIZES[-2], lambda: total.replay(SIZES[-2]))
    registered = total.register()
    print("buffers registered" if registered else "this NCCL registers no buffers")
    if registered:
        for size in SIZES[-2:]:
            total.check("sum of registered buffers", size, lambda size=size: total.reduce(size))
        total.check("sum of registered buffers by a graph", SIZES[-2], lambda: total.replay(SIZES[-2]))
        total.deregister()
    total.end()


main()
