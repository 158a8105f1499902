"""Vramscope for programs that want to talk to it: PyTorch's questions about memory, from Python.

One file without dependencies: copy it beside your program. It asks the library that `vramscope run`
(or LD_PRELOAD) loaded into this process; in a process without it, and before the first call of
CUDA, every function but is_active() raises NotActive.

Names, arguments, units and answers are those of torch.cuda (PyTorch 2.6; host_memory_stats: 2.8)
and torch.accelerator.memory, but they cover the whole program, whoever allocates in it. `device` is
an ordinal, or None: the device of the calling thread's context, or 0 when it has none. A device that
does not exist is a RuntimeError. Any thread may call.
"""

# SPDX-License-Identifier: Apache-2.0
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
        "is_expandable": False,
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
