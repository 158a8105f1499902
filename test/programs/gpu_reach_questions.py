"""Questions about who reaches memory, cuMemAlloc's and memory that is mapped by hand: other contexts,
peers, and how fast kernels do."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import time

from gpu_device_questions import NO_KERNELS
from gpu_driver import MIB, kernel
from gpu_page_questions import ZERO, Access, Pages, Properties
from gpu_question import codes, question

ONE_DEVICE = "not asked: one device only"
BLOCKS, THREADS, READS = 2048, 256, 2048


@question("Mapped memory in a second context: set 1 byte, read it; kernel; after its context's end: set "
          "it, context attribute, release of its handle", "0, 7, none; 0, none, 0", ask="G9")  # fmt: skip
def pages_elsewhere(gpu):
    first = gpu.create_context()
    pages = Pages(gpu, 4 * MIB)
    gpu.create_context()
    seen = ctypes.c_ubyte()
    wrote = gpu.cuMemsetD8_v2(pages.address, ctypes.c_ubyte(7), 1)
    gpu.cuMemcpyDtoH_v2(ctypes.byref(seen), pages.address, 1)
    launch = kernel(gpu, "copy")
    kernels = "none"
    if launch is not None:
        launch(pages.address, pages.address + MIB, MIB // 16, blocks=64, threads=256)
        kernels = gpu.cuCtxSynchronize()
    gpu.must("end", gpu.cuCtxDestroy_v2(ctypes.c_void_p(first)))
    after = gpu.cuMemsetD8_v2(pages.address, ctypes.c_ubyte(8), 1)
    _, context = gpu.attribute(1, pages.address)
    named = "none" if context == 0 else "some"
    return f"{codes(wrote, seen.value, kernels)}; {codes(after, named, gpu.cuMemRelease(pages.handle))}"


@question("After a reset of the primary context: MiB used of 64 mapped and 64 of cuMemAlloc, codes of "
          "the type of both, of release and unmap", "64; 0, 1; 0, 0", ask="G9")  # fmt: skip
def pages_after_reset(gpu):
    before = gpu.free_memory()
    pages, block = Pages(gpu, 64 * MIB), gpu.alloc(64 * MIB)
    gpu.must("reset", gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0)))
    gpu.retain()
    used = (before - gpu.free_memory()) // MIB
    known = codes(gpu.attribute(2, pages.address)[0], gpu.attribute(2, block)[0])
    ended = codes(gpu.cuMemRelease(pages.handle), gpu.cuMemUnmap(pages.address, pages.size))
    return f"{used}; {known}; {ended}"


def two_devices(gpu):
    """A context of the second device, or None."""
    count, context = ctypes.c_int(), ctypes.c_void_p()
    gpu.must("count", gpu.cuDeviceGetCount(ctypes.byref(count)))
    if count.value < 2:
        return None
    gpu.must("retain", gpu.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1))
    return context.value


def reached(gpu, other, memory):
    """Codes of a set, a copy within and a copy between devices in the other one's context, each with
    whether the bytes are right."""
    seen = ctypes.c_ubyte()

    def shows(value, address):
        gpu.cuMemcpyDtoH_v2(ctypes.byref(seen), address, 1)
        return seen.value == value

    gpu.set_current(other)
    mine = gpu.alloc(4 * MIB)
    told = []
    code = gpu.cuMemsetD8_v2(memory, ctypes.c_ubyte(5), MIB)
    told.append(f"{code}{'' if code else '+' if shows(5, memory) else '-'}")
    gpu.set_current(gpu.context)
    gpu.cuMemsetD8_v2(memory, ctypes.c_ubyte(6), MIB)
    gpu.cuCtxSynchronize()
    gpu.set_current(other)
    code = gpu.cuMemcpyDtoD_v2(mine, memory, MIB)
    told.append(f"{code}{'' if code else '+' if shows(6, mine) else '-'}")
    gpu.cuMemsetD8_v2(mine, ctypes.c_ubyte(0), MIB)
    code = gpu.cuMemcpyPeer(mine, ctypes.c_void_p(other), memory, ctypes.c_void_p(gpu.context), MIB)
    told.append(f"{code}{'' if code else '+' if shows(6, mine) else '-'}")
    launch = kernel(gpu, "copy")
    if launch is not None:  # last: where it may not, the context is broken
        launch(memory, mine, MIB // 16, blocks=64, threads=256)
        told.append(str(gpu.cuCtxSynchronize()))
    return " ".join(told)


@question("cuMemAlloc memory of device 0 for device 1, peers enabled: set, copy, peer copy, kernel",
          ONE_DEVICE, ask="G10")  # fmt: skip
def plain_peers(gpu):
    other = two_devices(gpu)
    if other is None:
        return ONE_DEVICE
    block = gpu.alloc(4 * MIB)
    gpu.set_current(other)
    enabled = gpu.cuCtxEnablePeerAccess(ctypes.c_void_p(gpu.context), ctypes.c_uint(0))
    return f"{enabled}: {reached(gpu, other, block)}"


@question("The same without", ONE_DEVICE, ask="G10")
def plain_strangers(gpu):
    other = two_devices(gpu)
    return ONE_DEVICE if other is None else reached(gpu, other, gpu.alloc(4 * MIB))


@question("Mapped memory of device 0 for device 1, access granted: set, copy, peer copy, kernel",
          ONE_DEVICE, ask="G10")  # fmt: skip
def mapped_peers(gpu):
    other = two_devices(gpu)
    if other is None:
        return ONE_DEVICE
    pages = Pages(gpu, 4 * MIB)
    return f"{pages.grant(1)}: {reached(gpu, other, pages.address)}"


@question("The same with peers enabled and no access granted", ONE_DEVICE, ask="G10")
def mapped_strangers(gpu):
    other = two_devices(gpu)
    if other is None:
        return ONE_DEVICE
    pages = Pages(gpu, 4 * MIB)
    gpu.set_current(other)
    enabled = gpu.cuCtxEnablePeerAccess(ctypes.c_void_p(gpu.context), ctypes.c_uint(0))
    return f"{enabled}: {reached(gpu, other, pages.address)}"


@question("Wrong bytes of a MiB that a kernel copied", "0 wrong", ask="G14")
def copied(gpu):
    source, target, launch = gpu.alloc(4 * MIB), gpu.alloc(4 * MIB), kernel(gpu, "copy")
    if launch is None:
        return NO_KERNELS
    gpu.must("set", gpu.cuMemsetD8_v2(source, ctypes.c_ubyte(7), MIB))
    gpu.must("launch", launch(source, target, MIB // 16, blocks=64, threads=256))
    seen = (ctypes.c_ubyte * MIB)()
    gpu.must("copy", gpu.cuMemcpyDtoH_v2(ctypes.addressof(seen), target, MIB))
    return f"{MIB - bytes(seen).count(7)} wrong"


class Mapped:
    """So many bytes mapped in handles of a size."""

    def __init__(self, gpu, size, page):
        address, properties, access = ctypes.c_uint64(), Properties(type=1, where=1), Access(where=1, flags=3)
        gpu.must("reserve", gpu.cuMemAddressReserve(ctypes.byref(address), size, 0, 0, ZERO))
        self.gpu, self.address, self.size, self.page = gpu, address.value, size, page
        for at in range(self.address, self.address + size, page):
            handle = ctypes.c_uint64()
            gpu.must("create", gpu.cuMemCreate(ctypes.byref(handle), page, ctypes.byref(properties), ZERO))
            gpu.must("map", gpu.cuMemMap(at, page, 0, handle, ZERO))
            gpu.must("release", gpu.cuMemRelease(handle))
        gpu.must("access", gpu.cuMemSetAccess(self.address, size, ctypes.byref(access), 1))

    def end(self):
        for at in range(self.address, self.address + self.size, self.page):
            self.gpu.cuMemUnmap(at, self.page)
        self.gpu.cuMemAddressFree(self.address, self.size)


def seconds_of(gpu, launch):
    """Best of five."""
    times = []
    for _ in range(5):
        gpu.must("wait", gpu.cuCtxSynchronize())
        start = time.perf_counter()
        gpu.must("launch", launch())
        gpu.must("wait", gpu.cuCtxSynchronize())
        times.append(time.perf_counter() - start)
    return min(times)


def speeds(gpu, address, size, copy, random_reads):
    """GB/s of a copy of one half to the other, and of lines of 128 bytes read at random."""
    half, out = size // 2, gpu.alloc(BLOCKS * THREADS * 4)
    copied = seconds_of(
        gpu, lambda: copy(address, address + half, half // 16, blocks=BLOCKS, threads=THREADS)
    )
    read = seconds_of(
        gpu, lambda: random_reads(address, out, size // 128, READS, blocks=BLOCKS, threads=THREADS)
    )
    gpu.cuMemFree_v2(out)
    return size / copied / 1e9, BLOCKS * THREADS * READS * 128 / read / 1e9


@question("GB/s of copies and of random reads over 40 GB, or what fits: cuMemAlloc, 2 MiB, 20 MiB handles",
          "a time", ask="G13", limit_s=120)  # fmt: skip
def kernel_speed(gpu):
    copy, random_reads = (kernel(gpu, name) for name in ("copy", "random_reads"))
    if copy is None or random_reads is None:
        return NO_KERNELS
    size = min(40_000 * MIB, gpu.free_memory() * 7 // 10) // (20 * MIB) * (20 * MIB)
    block = gpu.alloc(size)
    told = [speeds(gpu, block, size, copy, random_reads)]
    gpu.cuMemFree_v2(block)
    for page in (2 * MIB, 20 * MIB):
        mapped = Mapped(gpu, size, page)
        told.append(speeds(gpu, mapped.address, size, copy, random_reads))
        mapped.end()
    ratios = codes(*(f"{one[0] / told[0][0]:.3f} {one[1] / told[0][1]:.3f}" for one in told[1:]))
    found = codes(*(f"{one[0]:.0f} {one[1]:.0f}" for one in told))
    return f"{found} (beside cuMemAlloc: {ratios}; {size // MIB} MiB)"
