"""Questions about memory that is mapped by hand, beside memory of cuMemAlloc: what a program can tell,
what it costs, and where it ends."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import threading
import time

from gpu_driver import KIB, MIB, spin
from gpu_page_questions import PAGE, ZERO, Access, Pages, Properties
from gpu_question import codes, question

NO_KERNELS = "not asked: no kernels run here"

# All of CUpointer_attribute up to CUDA 12.8, with how to say each without numbers that differ by run.
SAY_CONTEXT, SAY_ADDRESS, SAY_ID = "context", "address", "id"
ATTRIBUTES = (
    ("context", 1, SAY_CONTEXT), ("type", 2, None), ("device pointer", 3, SAY_ADDRESS),
    ("host pointer", 4, SAY_ADDRESS), ("tokens", 5, SAY_ID), ("sync", 6, None), ("buffer", 7, SAY_ID),
    ("managed", 8, None), ("device", 9, None), ("legacy IPC", 10, None),
    ("range start", 11, SAY_ADDRESS), ("range size", 12, None), ("mapped", 13, None),
    ("handle types", 14, None), ("RDMA", 15, None), ("access", 16, None), ("pool", 17, None),
    ("mapping size", 18, None), ("mapping base", 19, SAY_ADDRESS), ("block", 20, SAY_ID),
    ("decompress", 21, None),
)  # fmt: skip


def said(gpu, how, value, block):
    if how is SAY_CONTEXT:
        return "own" if value == gpu.context else "none" if value == 0 else "other"
    if how is SAY_ADDRESS:
        return "start" if value == block else "none" if value == 0 else f"start{value - block:+}"
    return "some" if how is SAY_ID else str(value & 0xFFFFFFFF)


def attributes(gpu, address, block):
    """Values, or a code in brackets."""
    told = []
    for name, number, how in ATTRIBUTES:
        room = (ctypes.c_uint64 * 4)()  # tokens are the largest
        code = gpu.cuPointerGetAttribute(ctypes.byref(room), ctypes.c_int(number), address)
        told.append(f"{name} {said(gpu, how, room[0], block) if code == 0 else f'({code})'}")
    return ", ".join(told)


def differences(before, after):
    pairs = zip(before.split(", "), after.split(", "))
    return ", ".join(two for one, two in pairs if one != two) or "the same"


FREED = "all (1)"


def of_three(gpu, block, free):
    live, inside = attributes(gpu, block, block), attributes(gpu, block + 4096, block)
    free()
    freed = attributes(gpu, block, block)
    is_unknown = all(one.endswith(" (1)") for one in freed.split(", "))
    return f"{live}; inside: {differences(live, inside)}; freed: {FREED if is_unknown else freed}"


@question("Attributes of cuMemAlloc memory; where they differ inside it; of freed memory",
          "context own, type 2, device pointer start, host pointer (1), tokens some, sync 1, "
          "buffer some, managed 0, device 0, legacy IPC 1, range start start, range size "
          "4194304, mapped 1, handle types 0, RDMA 1, access 3, pool 0, mapping size 4194304, "
          "mapping base start, block some, decompress 1; inside: device pointer start+4096; "
          "freed: all (1)", "RDMA and decompression of memory", "G5", by_device=True)  # fmt: skip
def plain_attributes(gpu):
    block = gpu.alloc(4 * MIB)
    return of_three(gpu, block, lambda: gpu.cuMemFree_v2(block))


@question("The same of memory mapped by hand", "context none, type 2, device pointer start, host pointer (1), tokens some, sync 1, "
          "buffer some, managed 0, device 0, legacy IPC 0, range start start, range size "
          "4194304, mapped 1, handle types 0, RDMA 0, access 3, pool 0, mapping size 4194304, "
          "mapping base start, block some, decompress 0; inside: device pointer start+4096; "
          "freed: all (1)",
          ask="G5", by_device=True)  # fmt: skip
def mapped_attributes(gpu):
    pages = Pages(gpu, 4 * MIB)
    return of_three(gpu, pages.address, pages.end)


def step(marks, function):
    start = time.perf_counter()
    code = function()
    marks.append((time.perf_counter() - start) * 1e6)
    return code


def page_steps(gpu, size, handles):
    """Microseconds of reserve, create, map, set access, unmap, release and free for so many handles, and
    of as many cuMemAlloc and cuMemFree; None where there is no room."""
    address, each = ctypes.c_uint64(), []
    properties, access = Properties(type=1, where=1), Access(where=1, flags=3)
    made = [ctypes.c_uint64() for _ in range(handles)]
    whole, blocks = size * handles, []

    def at(i):
        return address.value + i * size

    steps = (
        lambda: gpu.cuMemAddressReserve(ctypes.byref(address), whole, 0, 0, ZERO),
        lambda: any([gpu.cuMemCreate(ctypes.byref(one), size, ctypes.byref(properties), ZERO) for one in made]),
        lambda: any([gpu.cuMemMap(at(i), size, 0, one, ZERO) for i, one in enumerate(made)]),
        lambda: gpu.cuMemSetAccess(address.value, whole, ctypes.byref(access), 1),
        lambda: any([gpu.cuMemUnmap(at(i), size) for i in range(handles)]),
        lambda: any([gpu.cuMemRelease(one) for one in made]),
        lambda: gpu.cuMemAddressFree(address.value, whole),
        lambda: any([blocks.append(gpu.alloc(size)) for _ in range(handles)]),
        lambda: any([gpu.cuMemFree_v2(block) for block in blocks]),
    )
    for one in steps:
        if step(each, one):
            return None
    return each


STEPS = ("reserve", "create", "map", "access", "unmap", "release", "free", "cuMemAlloc", "cuMemFree")


def latencies(gpu, size, handles, rounds):
    """Median and 99th percentile of each step."""
    if gpu.free_memory() < 2 * size * handles:
        return "no room"
    runs = [page_steps(gpu, size, handles) for _ in range(rounds)]
    if None in runs:
        return "refused"
    columns = [sorted(column) for column in zip(*runs)]
    return " ".join(
        f"{name} {column[rounds // 2]:.0f}/{column[rounds * 99 // 100]:.0f}"
        for name, column in zip(STEPS, columns)
    )


def sizes_and_handles(gpu, rounds):
    return "; ".join(
        f"{handles} x {size // MIB} MiB: {latencies(gpu, size, handles, rounds)}"
        for size in (2 * MIB, 20 * MIB, 64 * MIB, 512 * MIB)
        for handles in (1, 64)
    )


@question("us by Python, median/99 %, of mapping and unmapping 1 and 64 handles, device idle", "a time",
          ask="G6", limit_s=90)  # fmt: skip
def idle_latencies(gpu):
    return sizes_and_handles(gpu, 21)


def on_busy_device(gpu, function):
    """What function() gives while another thread launches kernels of a millisecond; None: none run."""
    launch, ends = spin(gpu), threading.Event()
    if launch is None:
        return None

    def keep_busy():
        gpu.set_current(gpu.context)
        while not ends.is_set():
            launch(1_000_000)
            time.sleep(0.0005)

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        return function()
    finally:
        ends.set()
        thread.join()


@question("The same while another thread keeps the device busy", "a time", ask="G6", limit_s=120)
def busy_latencies(gpu):
    return on_busy_device(gpu, lambda: sizes_and_handles(gpu, 7)) or NO_KERNELS


def waited_ms(gpu, launch, function):
    """How long function() takes while a kernel of 200 ms runs."""
    launch(1000)
    gpu.cuCtxSynchronize()
    launch(200_000_000)
    start = time.perf_counter()
    function()
    took = time.perf_counter() - start
    gpu.cuCtxSynchronize()
    return took * 1e3


@question("Does cuMemUnmap wait for a kernel?", "does not wait", ask="G7")
def unmap_waits(gpu):
    launch, pages = spin(gpu), Pages(gpu, 4 * MIB)
    if launch is None:
        return NO_KERNELS
    took = waited_ms(gpu, launch, lambda: gpu.cuMemUnmap(pages.address, pages.size))
    return "waits" if took > 100 else "does not wait"


@question("Milliseconds that cuMemSetAccess and all calls of mapping take under a kernel of 200 ms",
          "a time", ask="G7")  # fmt: skip
def what_waits(gpu):
    launch, pages = spin(gpu), Pages(gpu, 4 * MIB)
    if launch is None:
        return NO_KERNELS
    calls = (lambda: pages.grant(0), lambda: Pages(gpu, 4 * MIB))
    return codes(*(f"{waited_ms(gpu, launch, call):.0f}" for call in calls))


@question("Codes of 200 times cuMemSetAccess while another thread keeps the device busy (600: NOT_READY)",
          "0", ask="G7")  # fmt: skip
def access_not_ready(gpu):
    pages = Pages(gpu, 4 * MIB)
    seen = on_busy_device(gpu, lambda: [pages.grant(0) for _ in range(200)])
    return NO_KERNELS if seen is None else codes(*sorted(set(seen)))


class TextureOfLinear(ctypes.Structure):
    """CUDA_RESOURCE_DESC of linear memory, 32-bit floats, one channel."""

    _fields_ = [("kind", ctypes.c_int), ("gap", ctypes.c_int), ("address", ctypes.c_uint64),
                ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("size", ctypes.c_size_t),
                ("rest", ctypes.c_char * 104), ("flags", ctypes.c_uint), ("end", ctypes.c_uint)]  # fmt: skip


def uses(gpu, address):
    """Codes of a DMA-BUF and of a texture of 4 MiB there."""
    descriptor, texture = ctypes.c_int(-1), ctypes.c_uint64()
    exported = gpu.cuMemGetHandleForAddressRange(
        ctypes.byref(descriptor), address, 4 * MIB, ctypes.c_int(1), ZERO
    )
    if descriptor.value >= 0:
        os.close(descriptor.value)
    linear = TextureOfLinear(kind=2, address=address, format=0x20, channels=1, size=4 * MIB)
    how = (ctypes.c_char * 256)()
    made = gpu.cuTexObjectCreate(ctypes.byref(texture), ctypes.byref(linear), ctypes.byref(how), None)
    return codes(exported, made)


@question("A DMA-BUF and a texture of cuMemAlloc memory, of mapped memory", "0, 0; 0, 0", ask="G11")
def dma_buf_and_texture(gpu):
    return f"{uses(gpu, gpu.alloc(4 * MIB))}; {uses(gpu, Pages(gpu, 4 * MIB).address)}"


@question("Hardware decompression: algorithms of the device; usable: cuMemAlloc memory, mapped memory",
          "0, 1, 0", ask="G11", by_device=True)  # fmt: skip
def decompression(gpu):
    algorithms = ctypes.c_int()
    known = gpu.library.cuDeviceGetAttribute(ctypes.byref(algorithms), ctypes.c_int(136), ctypes.c_int(0))
    usable = (gpu.attribute(21, at) for at in (gpu.alloc(4 * MIB), Pages(gpu, 4 * MIB).address))
    told = (value & 0xFF if code == 0 else f"({code})" for code, value in usable)
    return codes(f"({known})" if known else algorithms.value, *told)


@question("A frame of the video decoder and a GL buffer in both kinds of memory",
          "not asked: needs a video stream and a GL context", ask="G11")  # fmt: skip
def video_and_graphics(_):
    return "not asked: needs a video stream and a GL context"


def open_files():
    return len(os.listdir("/proc/self/fd"))


@question("64 handles of 2 MiB, each mapped: file descriptors, KiB of free memory beyond the 128 MiB",
          "0, 0", ask="G12", by_device=True)  # fmt: skip
def cost_of_handles(gpu):
    Pages(gpu, PAGE)
    files, before = open_files(), gpu.free_memory()
    kept = [Pages(gpu, PAGE) for _ in range(64)]
    beyond = before - gpu.free_memory() - sum(pages.size for pages in kept)
    return codes(open_files() - files, beyond // KIB)


@question("Mappings of one handle until a refusal, or within 10 s; its code", "a time", ask="G12",
          limit_s=60)  # fmt: skip
def mappings_until_refused(gpu):
    handle, address, count = ctypes.c_uint64(), ctypes.c_uint64(), 1 << 20
    properties, access = Properties(type=1, where=1), Access(where=1, flags=3)
    gpu.must("create", gpu.cuMemCreate(ctypes.byref(handle), PAGE, ctypes.byref(properties), ZERO))
    while gpu.cuMemAddressReserve(ctypes.byref(address), count * PAGE, 0, 0, ZERO):
        count //= 2
        if count < 1024:
            return "not asked: no addresses"
    end = time.monotonic() + 10
    for number in range(count):
        at = address.value + number * PAGE
        code = gpu.cuMemMap(at, PAGE, 0, handle, ZERO)
        code = code or gpu.cuMemSetAccess(at, PAGE, ctypes.byref(access), 1)
        if code or time.monotonic() > end:
            return codes(number, f"code {code}")
    return codes(count, "code 0")
