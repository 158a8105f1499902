"""Questions about lookups, memory, addresses and contexts."""
# SPDX-License-Identifier: Apache-2.0
import ctypes

from gpu_driver import KIB, MIB, spin
from gpu_question import codes, in_others_capture, question


@question("Does cuGetProcAddress give the exported symbols' addresses?", "yes")
def proc_address(gpu):
    return "yes" if gpu.proc_address("cuMemAlloc", 3020)[1] == gpu.symbol("cuMemAlloc_v2") else "no"


@question("cuGetProcAddress for an unknown name: code, pointer, status", "0, None, 1")
def unknown_name(gpu):
    return codes(*gpu.proc_address("cuNoSuchFunction", 12000))


@question("cuGetProcAddress for a version above the driver's", "1", "`cuGetProcAddress` for a version above the driver")
def future_version(gpu):
    return codes(gpu.proc_address("cuMemAlloc", 99000)[0])


@question("From which size on is cuMemAlloc aligned to 2 MiB?", "2048 KiB", by_device=True)
def own_pages(gpu):
    for size in (64 * KIB, 256 * KIB, 512 * KIB, MIB, 2 * MIB, 4 * MIB):
        if all(gpu.alloc(size) % (2 * MIB) == 0 for _ in range(8)):
            return f"{size // KIB} KiB"
    return "none up to 4 MiB"


@question("By how much does free memory fall for 1 KiB, 1 MiB, 3 MiB (in KiB)?", "0, 0, 4096",
          by_device=True)  # fmt: skip
def steps(gpu):
    gpu.alloc(512)
    falls = []
    for size in (KIB, MIB, 3 * MIB):
        before = gpu.free_memory()
        gpu.alloc(size)
        falls.append((before - gpu.free_memory()) // KIB)
    return codes(*falls)


@question("Does a context, a stream, a module take device memory (KiB)?", "536128, 0, 0",
          "What do a context, a stream, a module take", by_device=True)  # fmt: skip
def consumers(gpu):
    before = gpu.free_memory()
    gpu.create_context()
    gpu.set_current(gpu.context)
    context = before - gpu.free_memory()
    gpu.stream()
    stream = before - context - gpu.free_memory()
    spin(gpu)
    module = before - context - stream - gpu.free_memory()
    return codes(context // KIB, stream // KIB, module // KIB)


@question("cuMemFree inside a block, then at its start", "1, 0")
def interior_free(gpu):
    block = gpu.alloc(4 * MIB)
    return codes(gpu.cuMemFree_v2(block + 512), gpu.cuMemFree_v2(block))


@question("cuMemFree under another context of the device, and without one", "0, 0")
def free_elsewhere(gpu):
    one, two = gpu.alloc(4 * MIB), gpu.alloc(4 * MIB)
    gpu.create_context()
    under_other = gpu.cuMemFree_v2(one)
    gpu.leave_contexts()
    return codes(under_other, gpu.cuMemFree_v2(two))


@question("Do BUFFER_IDs of later allocations rise?", "yes")
def buffer_ids(gpu):
    ids = []
    for _ in range(5):
        block = gpu.alloc(4 * MIB)
        ids.append(gpu.attribute(7, block)[1])
        gpu.cuMemFree_v2(block)
    return "yes" if ids == sorted(set(ids)) else f"no: {ids}"


@question("cuPointerGetAttribute without a current context", "0")
def attribute_without_context(gpu):
    block = gpu.alloc(MIB)
    gpu.leave_contexts()
    return codes(gpu.attribute(2, block)[0])


@question("cuMemGetAddressRange of an unknown pointer, of a freed block", "500, 500")
def unknown_range(gpu):
    block = gpu.alloc(32 * MIB)
    gpu.cuMemFree_v2(block)
    return codes(gpu.address_range(0x1234), gpu.address_range(block))


@question("Bytes that cuMemGetAddressRange names for 1000 bytes", "1000")
def range_size(gpu):
    return str(gpu.address_range_size(gpu.alloc(1000)))


@question("cuMemFreeAsync of cuMemAlloc memory, then cuMemFree", "0, 1")
def free_async_of_plain(gpu):
    block, stream = gpu.alloc(4 * MIB), gpu.stream()
    code = gpu.cuMemFreeAsync(block, stream)
    gpu.cuStreamSynchronize(stream)
    return codes(code, gpu.cuMemFree_v2(block))


@question("The 32-bit cuMemAlloc and cuMemAllocHost of CUDA 2", "201, 201",
          "First-generation entry points")  # fmt: skip
def first_generation(gpu):
    if gpu.symbol("cuMemAlloc") is None:
        return "not exported"
    return codes(
        gpu.raw("cuMemAlloc", ctypes.byref(ctypes.c_uint(0)), ctypes.c_uint(4096)),
        gpu.raw("cuMemAllocHost", ctypes.byref(ctypes.c_void_p()), ctypes.c_uint(4096)),
    )


@question("The cuMemGetInfo of CUDA 2; its cuCtxCreate, then its cuMemAlloc and cuMemAllocHost in there",
          "201; 2, 201, 201", "Contexts of the first `cuCtxCreate`")  # fmt: skip
def first_generation_contexts(gpu):
    word, context = ctypes.c_uint(0), ctypes.c_void_p()
    asked = gpu.raw("cuMemGetInfo", ctypes.byref(word), ctypes.byref(word))
    made = gpu.raw("cuCtxCreate", ctypes.byref(context), ctypes.c_uint(0), ctypes.c_int(0))
    return f"{asked}; {codes(made)}, {first_generation(gpu)}"


@question("Registering a part of pinned memory", "1", "Host memory registered over")
def register_pinned(gpu):
    return codes(gpu.cuMemHostRegister_v2(gpu.pinned(4 * MIB) + 4096, 4096, 0))


@question("Pinned memory of no bytes: code, pointer set", "0, True")
def pinned_nothing(gpu):
    pointer = ctypes.c_void_p(0xABC0)
    code = gpu.cuMemHostAlloc(ctypes.byref(pointer), 0, 0)
    return codes(code, pointer.value != 0xABC0)


@question("Managed memory of more than the device has", "0")
def managed_beyond(gpu):
    pointer = ctypes.c_uint64(0)
    return codes(gpu.cuMemAllocManaged(ctypes.byref(pointer), gpu.total_memory() + 1024 * MIB, 1))


@question("A primary context after its reset: allocation, free of an old block", "709, 709")
def after_reset(gpu):
    block = gpu.alloc(4 * MIB)
    gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    return codes(gpu.try_alloc(MIB)[0], gpu.cuMemFree_v2(block))


@question("Does the same handle come back after a reset?", "yes")
def handle_after_reset(gpu):
    before = gpu.context
    gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    return "yes" if gpu.retain() == before else "no"


class Properties(ctypes.Structure):
    """CUmemAllocationProp of pinned memory of device 0."""

    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("where", ctypes.c_int),
                ("device", ctypes.c_int), ("rest", ctypes.c_char * 16)]  # fmt: skip


@question("During another thread's global capture: cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemUnmap",
          "0/0, 0/0, 0/0, 0/0", "`cuMemCreate`, `cuMemMap`, `cuMemSetAccess`")  # fmt: skip
def others_capture_pages(gpu):
    address, handle, size = ctypes.c_uint64(), ctypes.c_uint64(), 32 * MIB
    properties = Properties(type=1, where=1)
    zero = ctypes.c_uint64(0)
    calls = (
        lambda: gpu.cuMemAddressReserve(ctypes.byref(address), size, 0, 0, zero),
        lambda: gpu.cuMemCreate(ctypes.byref(handle), size, ctypes.byref(properties), zero),
        lambda: gpu.cuMemMap(address, size, 0, handle, zero),
        lambda: gpu.cuMemUnmap(address, size),
    )
    return codes(*(in_others_capture(gpu, call) for call in calls))
