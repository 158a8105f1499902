"""Questions about pinned memory's flags, about tests of a context's life, and about peers that a free waits for."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import threading
import time

from gpu_driver import MIB, kernel
from gpu_question import codes, question
from gpu_reach_questions import ONE_DEVICE, two_devices


def pinned_flags(gpu, size, flags):
    """What cuMemHostGetFlags says of a block of that size: at its first use, and after a free."""
    said = []
    for _ in range(2):
        address, told = ctypes.c_void_p(), ctypes.c_uint(99)
        code = gpu.cuMemHostAlloc(ctypes.byref(address), size, ctypes.c_uint(flags))
        if code != 0:
            return f"!{code}"
        code = gpu.cuMemHostGetFlags(ctypes.byref(told), address)
        said.append(str(told.value) if code == 0 else f"!{code}")
        gpu.must("free", gpu.cuMemFreeHost(address))
    return "/".join(said)


@question("cuMemHostGetFlags, first use/reuse, of the flags 0 to 7 each: 100 B, 100,000 B, 1 MiB, 16 MiB",
          "a time")  # fmt: skip
def flags_of_pinned(gpu):
    return "; ".join(
        " ".join(pinned_flags(gpu, size, flags) for flags in range(8))
        for size in (100, 100_000, MIB, 16 * MIB)
    )


def destroyed_current(gpu):
    """A context that is current here, and that another thread has destroyed."""
    context = gpu.create_context()
    thread = threading.Thread(target=lambda: gpu.must("destroy", gpu.cuCtxDestroy_v2(ctypes.c_void_p(context))))
    thread.start()
    thread.join()
    return context


@question("In a context that another thread destroyed: cuCtxGetCurrent, GetDevice, GetFlags, GetApiVersion, "
          "GetId of it, cuStreamQuery, cuCtxSynchronize", "a time")  # fmt: skip
def tests_of_life(gpu):
    context, number = ctypes.c_void_p(destroyed_current(gpu)), ctypes.c_uint64()
    place = ctypes.byref(number)
    told = [gpu.cuCtxGetCurrent(place), gpu.cuCtxGetDevice(place), gpu.cuCtxGetFlags(place),
            gpu.cuCtxGetApiVersion(context, place)]  # fmt: skip
    told.append(gpu.cuCtxGetId(context, place) if gpu.symbol("cuCtxGetId") else "not exported")
    return codes(*told, gpu.cuStreamQuery(None), gpu.cuCtxSynchronize())


@question("Of an address that was a context, and of one that is current nowhere: cuCtxGetApiVersion, cuCtxGetId",
          "a time")  # fmt: skip
def life_elsewhere(gpu):
    number = ctypes.c_uint64()
    gone = gpu.create_context()
    gpu.must("destroy", gpu.cuCtxDestroy_v2(ctypes.c_void_p(gone)))
    alive = gpu.create_context()
    gpu.set_current(gpu.context)
    told = []
    for context in (gone, alive):
        for name in ("cuCtxGetApiVersion", "cuCtxGetId"):
            if gpu.symbol(name) is None:
                told.append("not exported")
            else:
                told.append(getattr(gpu, name)(ctypes.c_void_p(context), ctypes.byref(number)))
    return codes(*told)


@question("Does cuMemFree wait for a kernel of a context of another device that has access to its context?",
          ONE_DEVICE)  # fmt: skip
def free_waits_for_peer(gpu):
    other = two_devices(gpu)
    if other is None:
        return ONE_DEVICE
    block = gpu.alloc(64 * MIB)
    gpu.set_current(other)
    enabled = gpu.cuCtxEnablePeerAccess(ctypes.c_void_p(gpu.context), ctypes.c_uint(0))
    launch = kernel(gpu, "spin")
    if launch is None:
        return f"{enabled}, not measured: no kernels here"
    launch(1_000_000)
    gpu.cuCtxSynchronize()
    launch(200_000_000)
    gpu.set_current(gpu.context)
    start = time.monotonic()
    gpu.must("free", gpu.cuMemFree_v2(block))
    return f"{enabled}, {'waits' if time.monotonic() - start > 0.1 else 'does not wait'}"
