"""Questions about the driver's own footprint: pages, chunks, and memory that is mapped by hand."""
# SPDX-License-Identifier: Apache-2.0
import ctypes

from gpu_driver import KIB, MIB
from gpu_question import codes, question

PAGE = 2 * MIB
SIZES = (1, 400, 512, 513, 3 * KIB, 4 * KIB, 10 * KIB, 16 * KIB, 64 * KIB, 96 * KIB, 384 * KIB,
         768 * KIB, MIB - 1, MIB, MIB + 1, 3 * MIB // 2, PAGE, PAGE + 1, 3 * MIB, 5 * MIB,
         10 * MIB, 17 * MIB, 20 * MIB, 64 * MIB)  # fmt: skip


def rounded(size, step):
    return -(-size // step) * step


def model(size, count):
    """Bytes that so many equal blocks are expected to take (test/simulator/README.md)."""
    small = rounded(size, 512)
    return rounded(size, PAGE) * count if small > MIB else -(-count // (PAGE // small)) * PAGE


@question("Footprint after each of up to 1000 equal blocks, 24 sizes from 1 B to 64 MiB: where not as "
          "the model", "nowhere", "Is the footprint of `cuMemAlloc` the model's", "G1", 60,
          by_device=True)  # fmt: skip
def footprint(gpu):
    told = (footprint_of(gpu, size) for size in SIZES)
    return "; ".join(one for one in told if one) or "nowhere"


def footprint_of(gpu, size):
    """The first number of blocks that does not take what the model says, and all of them."""
    count = max(1, min(1000, gpu.free_memory() // 2 // rounded(size, PAGE if size > MIB else 1)))
    before, blocks, odd = gpu.free_memory(), [], ""
    for number in range(1, count + 1):
        blocks.append(gpu.alloc(size))
        taken = before - gpu.free_memory()
        if not odd and taken != model(size, number):
            odd = f"{size} B: {taken // KIB} KiB for {number}, not {model(size, number) // KIB}"
    if odd:
        odd += f", {taken // KIB} for {count}, not {model(size, count) // KIB}"
    for block in blocks:
        gpu.cuMemFree_v2(block)
    return odd


def chunks_left(gpu, order):
    """MiB still used after each free of six blocks of 1 MiB."""
    before = gpu.free_memory()
    blocks = [gpu.alloc(MIB) for _ in range(6)]
    left = []
    for number in order:
        gpu.cuMemFree_v2(blocks[number])
        left.append((before - gpu.free_memory()) // MIB)
    return " ".join(str(one) for one in left)


@question("MiB used after each free of six blocks of 1 MiB: in order, in reverse, every second first",
          "6 4 4 2 2 0, 6 4 4 2 2 0, 6 6 6 4 2 0; again: the same; in another context: the same",
          "Is an empty chunk given back", "G2", by_device=True)  # fmt: skip
def empty_chunks(gpu):
    first, again = chunks_left_in_orders(gpu), chunks_left_in_orders(gpu)
    gpu.create_context()
    elsewhere = chunks_left_in_orders(gpu)
    again, elsewhere = ("the same" if one == first else one for one in (again, elsewhere))
    return f"{first}; again: {again}; in another context: {elsewhere}"


def chunks_left_in_orders(gpu):
    orders = ((0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (0, 2, 4, 1, 3, 5))
    return ", ".join(chunks_left(gpu, order) for order in orders)


@question("MiB for 512 bytes in one context, then also in another", "2, 4",
          "Does each context have chunks of its own", "G2", by_device=True)  # fmt: skip
def chunks_of_contexts(gpu):
    gpu.create_context()
    first, start = gpu.context, gpu.free_memory()
    gpu.alloc(512)
    one = start - gpu.free_memory()
    gpu.set_current(first)
    gpu.alloc(512)
    return codes(one // MIB, (start - gpu.free_memory()) // MIB)


@question("Blocks of 2 MiB in the last 4 GiB, every second freed: 2 GiB in one piece", "0",
          ask="G3", limit_s=60, by_device=True)  # fmt: skip
def fragmentation(gpu):
    room = min(4096 * MIB, gpu.free_memory() // 2)
    ballast, code = gpu.free_memory() - room, 1
    while code and ballast > 0:  # not all that is free can be had
        code, _ = gpu.try_alloc(ballast)
        ballast -= 64 * MIB
    blocks = []
    while True:
        code, block = gpu.try_alloc(PAGE)
        if code:
            break
        blocks.append(block)
    for block in blocks[::2]:
        gpu.cuMemFree_v2(block)
    return codes(gpu.try_alloc(len(blocks[::2]) * PAGE)[0])


@question("Holes of 64, 16 and 32 KiB in one chunk: where 16 KiB, then 24 KiB go", "16, 32",
          "Where does an allocation up to 1 MiB go", "G4", by_device=True)  # fmt: skip
def reuse_in_a_chunk(gpu):
    holes = {}
    for size in (64 * KIB, 16 * KIB, 32 * KIB):
        holes[gpu.alloc(size)] = size
        gpu.alloc(4 * KIB)
    for hole in holes:
        gpu.cuMemFree_v2(hole)
    return codes(*(hole_around(holes, gpu.alloc(size)) for size in (16 * KIB, 24 * KIB)))


def hole_around(holes, address):
    found = [size // KIB for start, size in holes.items() if start <= address < start + size]
    return found[0] if found else "none"


class Properties(ctypes.Structure):
    """CUmemAllocationProp of pinned memory of device 0."""

    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("where", ctypes.c_int),
                ("device", ctypes.c_int), ("rest", ctypes.c_char * 16)]  # fmt: skip


class Access(ctypes.Structure):
    """CUmemAccessDesc: a device reads and writes."""

    _fields_ = [("where", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


ZERO = ctypes.c_uint64(0)


class Pages:
    """Memory mapped by hand, and the codes of the four calls."""

    def __init__(self, gpu, size):
        self.gpu, self.size = gpu, size
        address, handle = ctypes.c_uint64(), ctypes.c_uint64()
        properties, access = Properties(type=1, where=1), Access(where=1, flags=3)
        self.codes = [
            gpu.cuMemAddressReserve(ctypes.byref(address), size, 0, 0, ZERO),
            gpu.cuMemCreate(ctypes.byref(handle), size, ctypes.byref(properties), ZERO),
            gpu.cuMemMap(address, size, 0, handle, ZERO),
            gpu.cuMemSetAccess(address, size, ctypes.byref(access), 1),
        ]
        self.address, self.handle = address.value, handle.value

    def grant(self, device):
        """The code of giving another device access, too."""
        access = Access(where=1, device=device, flags=3)
        return self.gpu.cuMemSetAccess(self.address, self.size, ctypes.byref(access), 1)

    def end(self):
        return codes(
            self.gpu.cuMemUnmap(self.address, self.size), self.gpu.cuMemRelease(self.handle),
            self.gpu.cuMemAddressFree(self.address, self.size),
        )  # fmt: skip


@question("Memory mapped by hand: cuIpcGetMemHandle, SYNC_MEMOPS, P2P_TOKENS, retaining its handle",
          "1, 801, 0, 0", "P2P tokens of memory mapped by hand", "G11",
          by_device=True)  # fmt: skip
def mapped_exports(gpu):
    pages, one, tokens = Pages(gpu, 4 * MIB), ctypes.c_uint(1), (ctypes.c_char * 16)()
    return codes(
        gpu.cuIpcGetMemHandle(ctypes.byref((ctypes.c_char * 64)()), pages.address),
        gpu.cuPointerSetAttribute(ctypes.byref(one), ctypes.c_int(6), pages.address),
        gpu.cuPointerGetAttribute(ctypes.byref(tokens), ctypes.c_int(5), pages.address),
        gpu.cuMemRetainAllocationHandle(ctypes.byref(ctypes.c_uint64()), pages.address),
    )


@question("cuMemAlloc memory: cuIpcGetMemHandle, SYNC_MEMOPS, P2P_TOKENS, retaining its handle",
          "0, 0, 0, 1", ask="G11")  # fmt: skip
def plain_exports(gpu):
    block, one, tokens = gpu.alloc(4 * MIB), ctypes.c_uint(1), (ctypes.c_char * 16)()
    return codes(
        gpu.cuIpcGetMemHandle(ctypes.byref((ctypes.c_char * 64)()), block),
        gpu.cuPointerSetAttribute(ctypes.byref(one), ctypes.c_int(6), block),
        gpu.cuPointerGetAttribute(ctypes.byref(tokens), ctypes.c_int(5), block),
        gpu.cuMemRetainAllocationHandle(ctypes.byref(ctypes.c_uint64()), block),
    )


@question("MiB of 64 mapped by hand and 64 of cuMemAlloc that are used after their context's end", "64",
          ask="G9")  # fmt: skip
def pages_outlive_contexts(gpu):
    before = gpu.free_memory()
    context = gpu.create_context()
    Pages(gpu, 64 * MIB)
    gpu.alloc(64 * MIB)
    gpu.cuCtxDestroy_v2(ctypes.c_void_p(context))
    gpu.set_current(gpu.context)
    return codes((before - gpu.free_memory()) // MIB)


@question("Mapping by hand during an own capture (global, of the thread, relaxed): seven calls, its end",
          "0, 0, 0, 0, 0, 0, 0, 0; 0, 0, 0, 0, 0, 0, 0, 0; 0, 0, 0, 0, 0, 0, 0, 0",
          "`cuMemCreate`, `cuMemMap`, `cuMemSetAccess`", "G8")  # fmt: skip
def pages_in_captures(gpu):
    told = []
    for mode in range(3):
        stream = gpu.stream()
        gpu.begin_capture(stream, mode)
        pages = Pages(gpu, 4 * MIB)
        ended = pages.end()
        told.append(f"{codes(*pages.codes)}, {ended}, {gpu.end_capture(stream)}")
    return "; ".join(told)


@question("How often one handle of 2 MiB can be mapped, of 2000 times", "2000",
          ask="G12")  # fmt: skip
def many_mappings(gpu):
    handle, address = ctypes.c_uint64(), ctypes.c_uint64()
    properties, count = Properties(type=1, where=1), 2000
    gpu.cuMemCreate(ctypes.byref(handle), PAGE, ctypes.byref(properties), ZERO)
    gpu.must("reserve", gpu.cuMemAddressReserve(ctypes.byref(address), count * PAGE, 0, 0, ZERO))
    for number in range(count):
        if gpu.cuMemMap(address.value + number * PAGE, PAGE, 0, handle, ZERO):
            return codes(number)
    return codes(count)
