#!/usr/bin/env python3
"""Asks the driver what its documents leave open; one line an answer.

`gpu_questions.py NAME` asks one; `--list` says which there are and what the simulated driver
does (test/simulator/OPEN.md). scripts/gpu-check asks each in a process of its own.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import pathlib
import queue
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_driver import KIB, MIB, Driver, spin  # noqa: E402

LIMIT_S = 20
QUESTIONS = {}


def question(text, simulator, row=""):
    """`simulator`: what it answers. `row`: how the question begins in OPEN.md, if it is there."""

    def add(function):
        QUESTIONS[function.__name__] = (text, simulator, row, function)
        return function

    return add


def codes(*values):
    return ", ".join(str(value) for value in values)


@question("Does cuGetProcAddress give the exported symbols' addresses?", "yes")
def proc_address(gpu):
    return "yes" if gpu.proc_address("cuMemAlloc", 3020)[1] == gpu.symbol("cuMemAlloc_v2") else "no"


@question("cuGetProcAddress for an unknown name: code, pointer, status", "0, None, 1",
          "`cuGetProcAddress_v2` for an unknown name")  # fmt: skip
def unknown_name(gpu):
    return codes(*gpu.proc_address("cuNoSuchFunction", 12000))


@question("cuGetProcAddress for a version above the driver's", "1",
          "`cuGetProcAddress` for a version")  # fmt: skip
def future_version(gpu):
    return codes(gpu.proc_address("cuMemAlloc", 99000)[0])


@question("From which size on is cuMemAlloc aligned to 2 MiB?", "1024 KiB")
def own_pages(gpu):
    for size in (64 * KIB, 256 * KIB, 512 * KIB, MIB, 2 * MIB, 4 * MIB):
        if all(gpu.alloc(size) % (2 * MIB) == 0 for _ in range(8)):
            return f"{size // KIB} KiB"
    return "none up to 4 MiB"


@question("By how much does free memory fall for 1 KiB, 1 MiB, 3 MiB (in KiB)?", "0, 2048, 4096")
def steps(gpu):
    gpu.alloc(512)
    falls = []
    for size in (KIB, MIB, 3 * MIB):
        before = gpu.free_memory()
        gpu.alloc(size)
        falls.append((before - gpu.free_memory()) // KIB)
    return codes(*falls)


@question("Does a context, a stream, a module take device memory (KiB)?", "0, 0, 0")
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


@question("cuMemFree under another context of the device, and without one", "0, 201")
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


@question("cuPointerGetAttribute without a current context", "201",
          "`cuPointerGetAttribute` without")  # fmt: skip
def attribute_without_context(gpu):
    block = gpu.alloc(MIB)
    gpu.leave_contexts()
    return codes(gpu.attribute(2, block)[0])


@question("cuMemGetAddressRange of an unknown pointer, of a freed block", "500, 500",
          "`cuMemGetAddressRange` of an unknown")  # fmt: skip
def unknown_range(gpu):
    block = gpu.alloc(32 * MIB)
    gpu.cuMemFree_v2(block)
    return codes(gpu.address_range(0x1234), gpu.address_range(block))


@question("Bytes that cuMemGetAddressRange names for 1000 bytes", "1000")
def range_size(gpu):
    return str(gpu.address_range_size(gpu.alloc(1000)))


@question("cuMemFreeAsync of cuMemAlloc memory, then cuMemFree", "0, 1", "`cuMemFreeAsync` of `cuMemAlloc`")
def free_async_of_plain(gpu):
    block, stream = gpu.alloc(4 * MIB), gpu.stream()
    code = gpu.cuMemFreeAsync(block, stream)
    gpu.cuStreamSynchronize(stream)
    return codes(code, gpu.cuMemFree_v2(block))


@question("The 32-bit cuMemAlloc of CUDA 2", "801", "First-generation entry points")
def first_generation(gpu):
    if gpu.symbol("cuMemAlloc") is None:
        return "not exported"
    return codes(gpu.raw("cuMemAlloc", ctypes.byref(ctypes.c_uint(0)), ctypes.c_uint(4096)))


@question("Registering a part of pinned memory", "712", "Host memory registered over")
def register_pinned(gpu):
    return codes(gpu.cuMemHostRegister_v2(gpu.pinned(4 * MIB) + 4096, 4096, 0))


@question("Pinned memory of no bytes: code, pointer set", "0, True")
def pinned_nothing(gpu):
    pointer = ctypes.c_void_p(0xABC0)
    code = gpu.cuMemHostAlloc(ctypes.byref(pointer), 0, 0)
    return codes(code, pointer.value != 0xABC0)


@question("Managed memory of more than the device has", "2", "`cuMemAllocManaged` without memory")
def managed_beyond(gpu):
    pointer = ctypes.c_uint64(0)
    return codes(gpu.cuMemAllocManaged(ctypes.byref(pointer), gpu.total_memory() + 1024 * MIB, 1))


@question("A primary context after its reset: allocation, free of an old block", "709, 709",
          "A primary context after reset")  # fmt: skip
def after_reset(gpu):
    block = gpu.alloc(4 * MIB)
    gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    return codes(gpu.try_alloc(MIB)[0], gpu.cuMemFree_v2(block))


@question("Does the same handle come back after a reset?", "yes")
def handle_after_reset(gpu):
    before = gpu.context
    gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    return "yes" if gpu.retain() == before else "no"


@question("cuEventRecord in a capture, then cuEventQuery: codes, end of capture", "0, 907, 0",
          "`cuEventRecord` inside a capture")  # fmt: skip
def captured_event(gpu):
    stream, event = gpu.stream(), ctypes.c_void_p()
    gpu.cuEventCreate(ctypes.byref(event), 0)
    gpu.begin_capture(stream, 2)
    record = gpu.cuEventRecord(event, stream)
    return codes(record, gpu.cuEventQuery(event), gpu.end_capture(stream))


@question("cuMemAlloc in a global capture after an exchange to RELAXED; end; mode given back",
          "0, 0, 0")  # fmt: skip
def relaxed_exchange(gpu):
    stream, mode = gpu.stream(), ctypes.c_int(2)
    gpu.begin_capture(stream, 0)
    gpu.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    given = mode.value
    code = gpu.try_alloc(4 * MIB)[0]
    gpu.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    return codes(code, gpu.end_capture(stream), given)


def in_others_capture(gpu, function):
    """The code of function() while another thread captures globally, and of that capture's end."""
    stream, begun, ended = gpu.stream(), queue.Queue(), queue.Queue()

    def capture():
        gpu.set_current(gpu.context)
        begun.put(gpu.begin_capture(stream, 0))
        ended.get()
        begun.put(gpu.end_capture(stream))

    thread = threading.Thread(target=capture)
    thread.start()
    begun.get()
    code = function()
    ended.put(None)
    thread.join()
    return f"{code}/{begun.get()}"


UNSAFE = "`cuMemFree`, `cuMemFreeHost`, `cuMemHostRegister`"


@question("During another thread's global capture: cuMemAlloc, cuMemFree, of nothing, cuMemFreeHost",
          "900/901, 900/901, 900/901, 900/901", UNSAFE)  # fmt: skip
def others_capture_memory(gpu):
    block, pinned = gpu.alloc(4 * MIB), gpu.pinned(4 * MIB)
    return codes(
        in_others_capture(gpu, lambda: gpu.try_alloc(MIB)[0]),
        in_others_capture(gpu, lambda: gpu.cuMemFree_v2(block)),
        in_others_capture(gpu, lambda: gpu.cuMemFree_v2(0)),
        in_others_capture(gpu, lambda: gpu.cuMemFreeHost(pinned)),
    )


@question("... cuMemHostRegister, cuEventQuery, cuCtxSynchronize, cuMemGetInfo",
          "900/901, 900/901, 900/901, 0/0", UNSAFE)  # fmt: skip
def others_capture_rest(gpu):
    host, event = ctypes.create_string_buffer(64 * KIB), ctypes.c_void_p()
    gpu.cuEventCreate(ctypes.byref(event), 0)
    return codes(
        in_others_capture(
            gpu, lambda: gpu.cuMemHostRegister_v2(ctypes.addressof(host), 64 * KIB, 0)
        ),
        in_others_capture(gpu, lambda: gpu.cuEventQuery(event)),
        in_others_capture(gpu, lambda: gpu.cuCtxSynchronize()),
        in_others_capture(gpu, lambda: 0 if gpu.free_memory() >= 0 else 1),
    )


@question("cuMemFreeAsync in a capture of plain memory; end of the capture", "1, 901",
          "`cuMemFreeAsync` in a capture")  # fmt: skip
def captured_free(gpu):
    block, stream = gpu.alloc(4 * MIB), gpu.stream()
    gpu.begin_capture(stream, 2)
    return codes(gpu.cuMemFreeAsync(block, stream), gpu.end_capture(stream))


def under_kernel(gpu, context, function):
    """Whether function() waits for a kernel that runs in `context`."""
    current = gpu.context
    gpu.set_current(context)
    launch = spin(gpu)
    if launch is None:
        return "not measured: no kernels here"
    launch(1_000_000)
    gpu.cuCtxSynchronize()
    launch(200_000_000)
    gpu.set_current(current)
    start = time.monotonic()
    function()
    took = time.monotonic() - start
    gpu.set_current(context)
    gpu.cuCtxSynchronize()
    gpu.set_current(current)
    return "waits" if took > 0.1 else "does not wait"


@question("Does cuMemFree of 64 KiB wait for a kernel of its own context?", "waits")
def free_waits_small(gpu):
    block = gpu.alloc(64 * KIB)
    return under_kernel(gpu, gpu.context, lambda: gpu.cuMemFree_v2(block))


@question("Does cuMemFree of 64 MiB wait for a kernel of its own context?", "waits")
def free_waits_large(gpu):
    block = gpu.alloc(64 * MIB)
    return under_kernel(gpu, gpu.context, lambda: gpu.cuMemFree_v2(block))


@question("Does cuMemFree wait for a kernel of another context?", "waits",
          "Does every `cuMemFree` wait")  # fmt: skip
def free_waits_elsewhere(gpu):
    block, mine = gpu.alloc(64 * MIB), gpu.context
    other = gpu.create_context()
    gpu.set_current(mine)
    return under_kernel(gpu, other, lambda: gpu.cuMemFree_v2(block))


@question("Does cuMemAlloc of 64 MiB wait for a kernel?", "does not wait")
def alloc_waits(gpu):
    return under_kernel(gpu, gpu.context, lambda: gpu.alloc(64 * MIB))


@question("Does cuMemcpyHtoDAsync of pageable memory wait for the kernel before it?", "waits",
          "An asynchronous copy that touches pageable")  # fmt: skip
def pageable_copy(gpu):
    block, host = gpu.alloc(16 * MIB), ctypes.create_string_buffer(16 * MIB)
    copy = ctypes.addressof(host)
    return under_kernel(
        gpu, gpu.context, lambda: gpu.cuMemcpyHtoDAsync_v2(block, copy, 16 * MIB, None)
    )


@question("After a fault: cuMemFree, then a reset, then an allocation", "700, 700, 700",
          "A sticky error that `sticky=`")  # fmt: skip
def after_fault(gpu):
    block = gpu.alloc(4 * MIB)
    if spin(gpu) is None:
        return "not measured: no kernels here"
    spin(gpu, "fault")(0)
    gpu.cuCtxSynchronize()
    freed = gpu.cuMemFree_v2(block)
    reset = gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    gpu.retain()
    return codes(freed, reset, gpu.try_alloc(MIB)[0])


def in_another_process(name, handle):
    """What `name` answers in a process that was given the handle."""
    done = subprocess.run(
        [sys.executable, __file__, name, bytes(handle).hex()],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    return done.stdout.strip() or f"ended with {done.returncode}: {done.stderr.strip()[-80:]}"


@question("In another process: open a handle, cuMemFree of the mapping, fall of free memory, close",
          "0, 1, 0, 0", "`cuIpcOpenMemHandle` and the importer's")  # fmt: skip
def imported(gpu):
    return in_another_process("importer", gpu.ipc_handle(gpu.alloc(64 * MIB)))


@question("In another process: open the handle of freed memory", "205",
          "`cuIpcOpenMemHandle` of memory that was freed")  # fmt: skip
def import_of_freed(gpu):
    block = gpu.alloc(64 * MIB)
    handle = gpu.ipc_handle(block)
    gpu.cuMemFree_v2(block)
    return in_another_process("importer", handle).split(",")[0]


@question("A handle opened in the process that made it; cuIpcGetMemHandle inside a block", "201, 0")
def import_of_own(gpu):
    block = gpu.alloc(64 * MIB)
    code, _ = gpu.ipc_open(gpu.ipc_handle(block))
    return codes(code, gpu.cuIpcGetMemHandle(ctypes.byref((ctypes.c_char * 64)()), block + 4096))


def importer(gpu, handle):
    before = gpu.free_memory()
    code, mapped = gpu.ipc_open(handle)
    if code != 0:
        return codes(code)
    freed, fell = gpu.cuMemFree_v2(mapped), before - gpu.free_memory()
    return codes(code, freed, fell // KIB, gpu.cuIpcCloseMemHandle(mapped))


def median_us(function):
    times = []
    for _ in range(200):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return sorted(times)[100] * 1e6


@question("Cost in us, by Python: cuCtxSynchronize idle, cuStreamQuery, cuCtxGetCurrent, cuMemGetInfo",
          "a time")  # fmt: skip
def probe_costs(gpu):
    current = ctypes.c_void_p()
    return ", ".join(
        f"{median_us(function):.1f}"
        for function in (
            gpu.cuCtxSynchronize,
            lambda: gpu.cuStreamQuery(None),
            lambda: gpu.cuCtxGetCurrent(ctypes.byref(current)),
            gpu.free_memory,
        )
    )


def ask(name):
    try:
        return QUESTIONS[name][-1](Driver())
    except (OSError, AttributeError, RuntimeError) as error:
        return f"not asked: {error}"


def main():
    if sys.argv[1:2] == ["--list"]:
        for name, (text, simulator, row, _) in QUESTIONS.items():
            print(json.dumps({"name": name, "question": text, "simulator": simulator, "row": row}))
    elif sys.argv[1:2] == ["importer"]:
        print(importer(Driver(), bytes.fromhex(sys.argv[2])))
    else:
        for name in sys.argv[1:] or QUESTIONS:
            print(f"{name}: {ask(name)}" if len(sys.argv) != 2 else ask(name), flush=True)


if __name__ == "__main__":
    main()
