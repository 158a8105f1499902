"""Questions about work on the device: captures, and what waits for it."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import queue
import threading
import time

from gpu_driver import KIB, MIB, spin
from gpu_question import codes, in_others_capture, question


@question("cuEventRecord in a capture, then cuEventQuery: codes, end of capture", "0, 907, 901",
          "`cuEventQuery` of an event that a capture")  # fmt: skip
def captured_event(gpu):
    return asked_in_capture(gpu, gpu.cuEventQuery)


@question("The same with cuEventSynchronize", "0, 907, 901", "`cuEventSynchronize` of an event")
def captured_wait(gpu):
    return asked_in_capture(gpu, gpu.cuEventSynchronize)


def asked_in_capture(gpu, ask):
    stream, event = gpu.stream(), ctypes.c_void_p()
    gpu.cuEventCreate(ctypes.byref(event), 0)
    gpu.begin_capture(stream, 2)
    record = gpu.cuEventRecord(event, stream)
    return codes(record, ask(event), gpu.end_capture(stream))


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


@question("During another thread's global capture: cuMemAlloc, cuMemFree, of nothing, cuMemFreeHost",
          "900/901, 900/901, 900/901, 900/901")
def others_capture_memory(gpu):
    block, pinned = gpu.alloc(4 * MIB), gpu.pinned(4 * MIB)
    return codes(
        in_others_capture(gpu, lambda: gpu.try_alloc(MIB)[0]),
        in_others_capture(gpu, lambda: gpu.cuMemFree_v2(block)),
        in_others_capture(gpu, lambda: gpu.cuMemFree_v2(0)),
        in_others_capture(gpu, lambda: gpu.cuMemFreeHost(pinned)),
    )


@question("... cuMemHostRegister, cuEventQuery, cuCtxSynchronize, cuMemGetInfo",
          "900/901, 900/901, 900/901, 0/0")
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


@question("cuMemFreeAsync in a capture of plain memory; end of the capture", "1, 0",
          "Does a capture survive a `cuMemFreeAsync`")  # fmt: skip
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


@question("Does cuMemFree wait for a kernel of another context?", "does not wait")
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


@question("Launch of a graph after the context ended that was current when it was instantiated", "0",
          "Does an executable graph end with a context?")  # fmt: skip
def graph_of_ended_context(gpu):
    mine, stream = gpu.context, gpu.stream()
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    gpu.must("make", gpu.cuGraphCreate(ctypes.byref(graph), 0))
    other = gpu.create_context()
    gpu.must("instantiate", gpu.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, 0))
    gpu.set_current(mine)
    gpu.must("launch", gpu.cuGraphLaunch(executable, stream))
    gpu.must("wait", gpu.cuStreamSynchronize(stream))
    gpu.must("destroy", gpu.cuCtxDestroy_v2(other))
    return codes(gpu.cuGraphLaunch(executable, stream))


@question("A capture that begins while another thread waits for its context: begin, wait, end",
          "0, 0, 0", "Does a capture break when it begins while")  # fmt: skip
def capture_beside_wait(gpu):
    stream, busy = gpu.stream(), gpu.stream()
    host, block = gpu.pinned(64 * MIB), gpu.alloc(64 * MIB)
    waited = queue.Queue()

    def wait():
        gpu.set_current(gpu.context)
        waited.put(None)
        waited.put(gpu.cuCtxSynchronize())

    for _ in range(8):
        gpu.must("copy", gpu.cuMemcpyHtoDAsync_v2(block, host, 64 * MIB, busy))
    thread = threading.Thread(target=wait)
    thread.start()
    waited.get()
    time.sleep(0.005)
    begun = gpu.begin_capture(stream, 2)
    code = waited.get()
    thread.join()
    return codes(begun, code, gpu.end_capture(stream))


@question("After a fault: cuMemFree, a reset, cuDevicePrimaryCtxRetain, an allocation",
          "700, 0, 700, 709")  # fmt: skip
def after_fault(gpu):
    block = gpu.alloc(4 * MIB)
    if spin(gpu) is None:
        return "not measured: no kernels here"
    spin(gpu, "fault")(0)
    gpu.cuCtxSynchronize()
    freed = gpu.cuMemFree_v2(block)
    reset = gpu.cuDevicePrimaryCtxReset_v2(ctypes.c_int(0))
    again = gpu.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), ctypes.c_int(0))
    return codes(freed, reset, again, gpu.try_alloc(MIB)[0])


@question("After a fault: cuCtxPopCurrent", "0", "`cuCtxPopCurrent` after a sticky error")
def pop_after_fault(gpu):
    if spin(gpu) is None:
        return "not measured: no kernels here"
    spin(gpu, "fault")(0)
    gpu.cuCtxSynchronize()
    return codes(gpu.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
