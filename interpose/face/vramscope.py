"""Vramscope for programs that want to talk to it: PyTorch's questions about memory, from Python.

One file without dependencies: copy it beside your program. It asks the library that `vramscope run`
(or LD_PRELOAD) loaded into this process; in a process without it, and before the first call of
CUDA, every function but is_active() and is_available() raises NotActive. mark(), range_push() and
range_pop() work before CUDA too, and range() never raises it.

Names, arguments, units and answers are those of torch.cuda (PyTorch 2.6; host_memory_stats: 2.8),
torch.cuda.nvtx and torch.accelerator.memory, but they cover the whole program, whoever allocates in it. `device` is
an ordinal, or None: the device of the calling thread's context, or 0 when it has none. A device that
does not exist is a RuntimeError. Any thread may call.
"""

# SPDX-License-Identifier: Apache-2.0
import contextlib
import ctypes

_CURRENT_DEVICE = -1


class NotActive(RuntimeError):
    """Vramscope does not record this process: not loaded, off, or CUDA has not started."""


class _Block(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("requested_size", ctypes.c_uint64),
        ("state", ctypes.c_char_p),
    ]


class _Segment(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_int32),
        ("context", ctypes.c_uint32),
        ("is_small", ctypes.c_int32),
        ("is_direct", ctypes.c_int32),
        ("address", ctypes.c_uint64),
        ("total_size", ctypes.c_uint64),
        ("allocated_size", ctypes.c_uint64),
        ("active_size", ctypes.c_uint64),
        ("requested_size", ctypes.c_uint64),
        ("blocks", ctypes.POINTER(_Block)),
        ("block_count", ctypes.c_size_t),
        ("is_expandable", ctypes.c_int32),
    ]


_EachCounter = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p)
_EachSegment = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Segment), ctypes.c_void_p)

# enum vramscope_result of vramscope.h
_ERRORS = {
    1: "Vramscope is not active in this process: run it by `vramscope run`, after CUDA has started",
    2: "Invalid device argument: there is no such device",
    3: "no counter is called so",
    4: "the calling thread has no CUDA context, or the device was not used yet",
    5: "the CUDA driver refused",
    6: "Vramscope is out of host memory",
}


def _call(name, *arguments):
    function = getattr(ctypes.CDLL(None), "vramscope_v1_" + name, None)
    code = 1 if function is None else function(*arguments)
    if code == 1:
        raise NotActive(_ERRORS[1])
    if code != 0:
        raise RuntimeError(_ERRORS.get(code, f"unknown answer {code}"))


def _ordinal(device):
    return ctypes.c_int(_CURRENT_DEVICE if device is None else device)


def _counters(name, *arguments):
    found = {}

    def add(key, value, _):
        found[key.decode()] = value

    _call(name, *arguments, _EachCounter(add), None)
    return found


def is_active():
    """Whether Vramscope records this process."""
    function = getattr(ctypes.CDLL(None), "vramscope_v1_is_active", None)
    return function is not None and function() == 1


def memory_stats(device=None):
    """Every counter of a device by its key, sorted, from one instant; {} before its first use.

    As torch.cuda.memory_stats: bytes and counts, `allocated_bytes.all.peak` and so on.
    """
    return _counters("memory_stats", _ordinal(device))


def memory_allocated(device=None):
    """Bytes in blocks that the program has now (torch.cuda.memory_allocated)."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """The most bytes that memory_allocated() was, since the start or since the peaks were reset
    (torch.cuda.max_memory_allocated)."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """Bytes in segments that the driver gave, used or idle (torch.cuda.memory_reserved)."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def memory_cached(device=None):
    """Old name of memory_reserved() (torch.cuda.memory_cached)."""
    return memory_reserved(device)


def max_memory_reserved(device=None):
    """The most bytes that memory_reserved() was, since the start or since the peaks were reset
    (torch.cuda.max_memory_reserved)."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def max_memory_cached(device=None):
    """Old name of max_memory_reserved() (torch.cuda.max_memory_cached)."""
    return max_memory_reserved(device)


def reset_peak_memory_stats(device=None):
    """Each peak of a device becomes its current value (torch.cuda.reset_peak_memory_stats)."""
    _call("reset_peak_memory_stats", _ordinal(device))


def reset_max_memory_allocated(device=None):
    """Old name of reset_peak_memory_stats(): every peak is reset, as PyTorch's does
    (torch.cuda.reset_max_memory_allocated)."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device=None):
    """Old name of reset_peak_memory_stats(): every peak is reset, as PyTorch's does
    (torch.cuda.reset_max_memory_cached)."""
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device=None):
    """Each `allocated` and `freed`, and each count, of a device becomes 0
    (torch.cuda.reset_accumulated_memory_stats)."""
    _call("reset_accumulated_memory_stats", _ordinal(device))


def reset_accumulated_host_memory_stats():
    """Each `allocated` and `freed`, each count and the total of each time of host memory becomes 0
    (torch.cuda.reset_accumulated_host_memory_stats)."""
    _call("reset_accumulated_host_memory_stats")


def empty_cache():
    """Gives the segments in which the program has nothing back to the driver, on every device;
    pinned memory stays (torch.cuda.empty_cache). A RuntimeError when the calling thread has no
    context. During a stream capture nothing goes back."""
    _call("empty_cache")


def host_memory_stats():
    """Every counter of pinned and registered host memory by its key, sorted; {} before the first
    use. Bytes, counts, and times in whole microseconds (torch.cuda.host_memory_stats)."""
    return _counters("host_memory_stats")


def get_memory_info(device=None):
    """(free, total) bytes of a device, as cudaMemGetInfo tells this program
    (torch.cuda.mem_get_info, torch.accelerator.get_memory_info). A RuntimeError when the calling
    thread has no context, or the program has not used the device yet."""
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    _call("get_memory_info", _ordinal(device), ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def _describe(segment):
    blocks = []
    for block in segment.blocks[: segment.block_count]:
        blocks.append(
            {
                "address": block.address,
                "size": block.size,
                "requested_size": block.requested_size,
                "state": block.state.decode(),
                "frames": [],
            }
        )
    return {
        "device": segment.device,
        "address": segment.address,
        "total_size": segment.total_size,
        "allocated_size": segment.allocated_size,
        "active_size": segment.active_size,
        "requested_size": segment.requested_size,
        "stream": 0,
        "segment_type": "small" if segment.is_small else "large",
        "segment_pool_id": (0, 0),
        "is_expandable": bool(segment.is_expandable),
        "frames": [],
        "blocks": blocks,
        "context": segment.context,
        "is_direct": bool(segment.is_direct),
    }


def memory_snapshot():
    """Every segment of device memory with its blocks, by device and address, from one instant, in
    the form of torch.cuda.memory_snapshot. Stacks are in Vramscope's reports; `frames` is empty."""
    segments = []

    def add(segment, _):
        segments.append(_describe(segment.contents))

    _call("memory_snapshot", _EachSegment(add), None)
    return segments


def ipc_collect():
    """What the program exported to other processes and has freed goes back to the driver
    (torch.cuda.ipc_collect). It does at its free; what could not then (a capture, a graph) is tried
    again now, with everything that empty_cache() gives back. A RuntimeError when the calling thread
    has no context."""
    _call("ipc_collect")


def device_count():
    """How many devices the program sees, 0 or more (torch.cuda.device_count)."""
    count = ctypes.c_int()
    _call("device_count", ctypes.byref(count))
    return count.value


def is_available():
    """Whether somebody answers here and the program sees a device (torch.cuda.is_available).
    Never raises."""
    try:
        return device_count() > 0
    except RuntimeError:
        return False


def current_device():
    """The ordinal of the device of the calling thread's context, 0 when it has none
    (torch.cuda.current_device). A RuntimeError when there is no device."""
    device = ctypes.c_int()
    _call("current_device", ctypes.byref(device))
    return device.value


def get_device_name(device=None):
    """The name of a device, "NVIDIA H200" (torch.cuda.get_device_name)."""
    name = ctypes.create_string_buffer(256)
    _call("get_device_name", _ordinal(device), name, ctypes.c_size_t(len(name)))
    return name.value.decode(errors="replace")


def get_device_capability(device=None):
    """The compute capability of a device, (9, 0) for 9.0 (torch.cuda.get_device_capability)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call("get_device_capability", _ordinal(device), ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def synchronize(device=None):
    """Waits for everything that was submitted to a device (torch.cuda.synchronize), in the calling
    thread's context or, of another device, in one that the program has there. A RuntimeError when
    there is none, and where the driver's own call fails: after an error of the device, and during a
    stream capture."""
    _call("synchronize", _ordinal(device))


def mark(msg):
    """An instant (torch.cuda.nvtx.mark); reports have it, and `vramscope timeline` draws it."""
    _call("mark", str(msg).encode())


def range_push(msg):
    """A range of the calling thread begins (torch.cuda.nvtx.range_push); its depth, from 0 on.

    What is allocated until it ends belongs to it, as with a range of NVTX's default domain; the two
    can be mixed. 256 bytes of the message are kept.
    """
    depth = ctypes.c_int()
    _call("range_push", str(msg).encode(), ctypes.byref(depth))
    return depth.value


def range_pop():
    """The calling thread's last range ends (torch.cuda.nvtx.range_pop); its depth, from 0 on, or -1
    when none was open."""
    depth = ctypes.c_int()
    _call("range_pop", ctypes.byref(depth))
    return depth.value


@contextlib.contextmanager
def range(msg, *args, **kwargs):  # noqa: A001 as torch.cuda.nvtx.range is called
    """A range around the body of `with` or, as a decorator, around each call of a function
    (torch.cuda.nvtx.range). `msg` is formatted with the further arguments, as str.format does. Where
    nobody answers the body runs all the same, without a range."""
    msg = msg.format(*args, **kwargs)
    try:
        range_push(msg)
        opened = True
    except NotActive:
        opened = False
    try:
        yield
    finally:
        if opened:
            range_pop()
