"""Vramscope's functions for programs: PyTorch's queries about memory, from Python.

This is one file without dependencies: copy it next to your program. It calls the library that
`vramscope run` (or LD_PRELOAD) loaded into this process. Without it, and before the first call of
CUDA, every function except is_active() and is_available() raises NotActive. expect() works earlier.
mark() and ranges do, too, and without Vramscope they do nothing, as NVTX without a tool. The module
is a plugin of pytest, too: -p vramscope.

Names, arguments, units and results are those of torch.cuda (PyTorch 2.6; host_memory_stats: 2.8),
torch.cuda.nvtx and torch.accelerator.memory, but for all allocations of the program. `device` is an
ordinal, or None for that of the calling thread's context, else device 0. A device that does not
exist raises RuntimeError. Any thread may call.
"""

# SPDX-License-Identifier: Apache-2.0
import contextlib
import ctypes
import functools
import gc
import re

_INT, _BYTES = ctypes.c_int32, ctypes.c_uint64
_CURRENT_DEVICE, _EXCEEDED = -1, 7  # of vramscope.h
_NO_RANGES = -2  # NVTX_NO_PUSH_POP_TRACKING


class NotActive(RuntimeError):
    """Vramscope does not record this process: not loaded, off, or CUDA has not started."""


class _Block(ctypes.Structure):
    _fields_ = [("address", _BYTES), ("size", _BYTES), ("requested_size", _BYTES), ("state", ctypes.c_char_p)]


class _Segment(ctypes.Structure):
    _fields_ = [
        ("device", _INT), ("context", ctypes.c_uint32), ("is_small", _INT), ("is_direct", _INT),
        *((name, _BYTES) for name in ("address", "total_size", "allocated_size", "active_size", "requested_size")),
        ("blocks", ctypes.POINTER(_Block)), ("block_count", ctypes.c_size_t), ("is_expandable", _INT),
    ]  # fmt: skip


_EachLine = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
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
    8: "256 expectations are open",
}


def _call(name, *arguments):
    function = getattr(ctypes.CDLL(None), "vramscope_v1_" + name, None)
    code = 1 if function is None else function(*arguments)
    if code == 1:
        raise NotActive(_ERRORS[1])
    if code not in (0, _EXCEEDED):
        raise RuntimeError(_ERRORS.get(code, f"unknown answer {code}"))
    return code


def _ordinal(device):
    return ctypes.c_int(_CURRENT_DEVICE if device is None else device)


def _counters(name, *arguments):
    found = {}

    def add(key, value, _):
        found[key.decode()] = value

    _call(name, *arguments, _EachCounter(add), None)
    return found


def is_active():
    """Returns whether Vramscope records this process: from its first call of CUDA on. Before that it
    is False, also under `vramscope run`."""
    function = getattr(ctypes.CDLL(None), "vramscope_v1_is_active", None)
    return function is not None and function() == 1


def memory_stats(device=None):
    """Returns every counter of a device as in torch.cuda.memory_stats, such as
    `allocated_bytes.all.peak`, sorted by key, from one instant; {} before its first use."""
    return _counters("memory_stats", _ordinal(device))


def memory_allocated(device=None):
    """Returns the bytes in blocks that the program holds now (torch.cuda.memory_allocated)."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """Returns the most bytes that memory_allocated() was since the start or since the last reset of
    peaks (torch.cuda.max_memory_allocated)."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """Returns the bytes in segments, used or idle (torch.cuda.memory_reserved)."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    """Returns the most bytes that memory_reserved() was since the start or since the last reset of
    peaks (torch.cuda.max_memory_reserved)."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device=None):
    """Sets each peak of a device to its current value (torch.cuda.reset_peak_memory_stats)."""
    _call("reset_peak_memory_stats", _ordinal(device))


# Old names in torch.cuda. As PyTorch's do, those of resets reset every peak.
memory_cached = memory_reserved
max_memory_cached = max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None):
    """Sets each `allocated` and `freed`, and each count, of a device to 0
    (torch.cuda.reset_accumulated_memory_stats)."""
    _call("reset_accumulated_memory_stats", _ordinal(device))


def reset_accumulated_host_memory_stats():
    """Sets each `allocated` and `freed`, each count, and the total of each time of host memory to 0
    (torch.cuda.reset_accumulated_host_memory_stats)."""
    _call("reset_accumulated_host_memory_stats")


def empty_cache():
    """Gives segments without a block in use back to the driver, on every device
    (torch.cuda.empty_cache). Pinned memory stays. Raises RuntimeError if the calling thread has no
    context. During a stream capture nothing goes back."""
    _call("empty_cache")


def host_memory_stats():
    """Returns every counter of pinned and registered host memory, sorted by key; {} before the first
    use. Bytes, counts, and times in whole microseconds (torch.cuda.host_memory_stats)."""
    return _counters("host_memory_stats")


def get_memory_info(device=None):
    """Returns (free, total) bytes of a device, as cudaMemGetInfo reports them to this program
    (torch.cuda.mem_get_info, torch.accelerator.get_memory_info). Raises RuntimeError if the calling
    thread has no context, or the program has not used the device yet."""
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    _call("get_memory_info", _ordinal(device), ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def _describe(segment):
    blocks = [
        {"address": block.address, "size": block.size, "requested_size": block.requested_size,
         "state": block.state.decode(), "frames": []}
        for block in segment.blocks[: segment.block_count]
    ]  # fmt: skip
    sizes = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size")
    return {
        **{name: getattr(segment, name) for name in sizes},
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
    """Returns every segment of device memory with its blocks, sorted by device and address, from one
    instant, in the form of torch.cuda.memory_snapshot. `frames` is empty: stacks are in Vramscope's
    reports."""
    segments = []

    def add(segment, _):
        segments.append(_describe(segment.contents))

    _call("memory_snapshot", _EachSegment(add), None)
    return segments


def ipc_collect():
    """Gives memory that was exported to other processes and freed back to the driver
    (torch.cuda.ipc_collect). Usually the free does that. If it could not (a capture, a graph), this
    call tries again, and also does what empty_cache() does. Raises RuntimeError if the calling
    thread has no context."""
    _call("ipc_collect")


def device_count():
    """Returns the number of devices that the program sees, 0 or more (torch.cuda.device_count)."""
    count = ctypes.c_int()
    _call("device_count", ctypes.byref(count))
    return count.value


def is_available():
    """Returns whether Vramscope is active and the program sees a device (torch.cuda.is_available).
    Never raises."""
    try:
        return device_count() > 0
    except RuntimeError:
        return False


def current_device():
    """Returns the ordinal of the device of the calling thread's context, or 0 if the thread has none
    (torch.cuda.current_device). Raises RuntimeError if there is no device."""
    device = ctypes.c_int()
    _call("current_device", ctypes.byref(device))
    return device.value


def get_device_name(device=None):
    """Returns the name of a device, such as "NVIDIA H200" (torch.cuda.get_device_name)."""
    name = ctypes.create_string_buffer(256)
    _call("get_device_name", _ordinal(device), name, ctypes.c_size_t(len(name)))
    return name.value.decode(errors="replace")


def get_device_capability(device=None):
    """Returns the compute capability of a device, (9, 0) for 9.0
    (torch.cuda.get_device_capability)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call("get_device_capability", _ordinal(device), ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def synchronize(device=None):
    """Waits for everything that was submitted to a device (torch.cuda.synchronize), in the calling
    thread's context or, for another device, in a context that the program has there. Raises
    RuntimeError if there is no such context, and if the driver's own call fails: after an error of
    the device, and during a stream capture."""
    _call("synchronize", _ordinal(device))


def mark(msg):
    """Marks this instant (torch.cuda.nvtx.mark). Reports list it, `vramscope timeline` draws it."""
    with contextlib.suppress(NotActive):
        _call("mark", str(msg).encode())


def range_push(msg):
    """Begins a range of the calling thread (torch.cuda.nvtx.range_push). Returns its depth, from 0 on,
    or -2 without Vramscope, as NVTX without a tool.

    Allocations until its end belong to it, as with a range of NVTX's default domain; both kinds can
    be mixed. 256 bytes of the message are kept.
    """
    depth = ctypes.c_int(_NO_RANGES)
    with contextlib.suppress(NotActive):
        _call("range_push", str(msg).encode(), ctypes.byref(depth))
    return depth.value


def range_pop():
    """Ends the calling thread's last range (torch.cuda.nvtx.range_pop). Returns its depth, from 0 on,
    -1 if none was open, or -2 without Vramscope."""
    depth = ctypes.c_int(_NO_RANGES)
    with contextlib.suppress(NotActive):
        _call("range_pop", ctypes.byref(depth))
    return depth.value


@contextlib.contextmanager
def range(msg, *args, **kwargs):  # noqa: A001 as torch.cuda.nvtx.range is called
    """Makes a range around the body of `with` or, as a decorator, around each call of a function
    (torch.cuda.nvtx.range). `msg` is formatted with the further arguments, as str.format does."""
    depth = range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        if depth != _NO_RANGES:
            range_pop()


class ExpectationFailed(AssertionError):
    """A limit of expect() does not hold. The message has the figures and call sites."""


def _bytes(size):
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([KMGT])i)?B?", str(size))
    if not found:
        raise ValueError(f"{size!r} is not a size such as 1048576 or '512 MiB'")
    return int(float(found[1]) * 1024 ** ("KMGT".index(found[2]) + 1 if found[2] else 0))


class expect(contextlib.ContextDecorator):
    """Limits the GPU memory of the body of `with` or, as a decorator, of each call of a function.

    max_new_bytes: most that is allocated inside and live at one time; max_peak: most that is live at
    one time, older memory included; leaks: what is allocated inside and live at the end, after
    gc.collect(). Sizes are bytes or texts such as "512 MiB". All threads and all kinds of memory on
    the device count. The counters of memory_stats() do not change.

    Raises ExpectationFailed if a limit does not hold and the body did not raise. Then new_bytes,
    peak_bytes and leaked_bytes say what was measured. Without Vramscope it raises NotActive or, with
    missing="skip", does nothing, and these attributes are None.
    """

    new_bytes = peak_bytes = leaked_bytes = None

    def __init__(self, max_new_bytes=None, max_peak=None, leaks=None, device=None, *, missing="raise"):
        limits = [-1 if limit is None else _bytes(limit) for limit in (max_new_bytes, max_peak, leaks)]
        self._asked = (_ordinal(device), *map(ctypes.c_int64, limits))
        self._collects, self._skips, self._open = leaks is not None, missing == "skip", []
        again = functools.partial(expect, max_new_bytes, max_peak, leaks, device, missing=missing)
        self._recreate_cm = again  # by ContextDecorator, for each call of the function

    def __enter__(self):
        number = ctypes.c_uint64()
        with contextlib.suppress(*[NotActive] * self._skips):
            _call("expect_begin", *self._asked, ctypes.byref(number))
        self._open.append(number)
        return self

    def __exit__(self, kind, error, trace):
        __tracebackhide__ = True  # by pytest
        number, usage, lines = self._open.pop(), (ctypes.c_int64 * 3)(), []
        if kind is None and self._collects:
            gc.collect()
        each = _EachLine(lambda line, _: lines.append(line.decode(errors="replace")))
        with contextlib.suppress(*[NotActive] * self._skips, *[RuntimeError] * (kind is not None)):
            exceeded = _call("expect_end", number, usage, each, None)
            self.new_bytes, self.peak_bytes, self.leaked_bytes = usage
            if exceeded and kind is None:
                raise ExpectationFailed("\n".join(lines))


# The plugin of pytest: the names and arguments of its hooks are pytest's.
_MARKERS = {
    "limit_gpu_memory": lambda size, device=None: expect(size, device=device, missing="skip"),
    "limit_gpu_leaks": lambda size="0 B", device=None: expect(leaks=size, device=device, missing="skip"),
}


def pytest_addoption(parser):
    group = parser.getgroup("vramscope")
    group.addoption("--vramscope", action="store_true", help="list the ten tests that need the most GPU memory")


def pytest_configure(config):
    for name, limits in zip(_MARKERS, ("most new GPU memory", "most GPU memory that is not freed")):
        config.addinivalue_line("markers", f"{name}(size, device=None): {limits}, such as '24 MiB' (vramscope)")


def pytest_collection_modifyitems(items):
    for item in items:
        item.runtest = functools.partial(_run_test, item, item.runtest)


def _run_test(item, run):
    __tracebackhide__ = True
    marked = [(make, item.get_closest_marker(name)) for name, make in _MARKERS.items()]
    limits = [make(*marker.args, **marker.kwargs) for make, marker in marked if marker]
    if not limits and not item.config.getoption("vramscope", False):
        return run()
    measured = expect(missing="skip")
    for limit in (*limits, measured):
        run = functools.partial(_run_within, limit, run)
    try:
        run()
    finally:  # pytest-xdist brings the property to the process that prints it
        used = None if measured.new_bytes is None else [measured.new_bytes, measured.peak_bytes]
        item.user_properties.append(("vramscope_bytes", used))


def _run_within(limit, run):
    with limit:
        run()


def pytest_terminal_summary(terminalreporter, config):
    calls = [test for tests in terminalreporter.stats.values() for test in tests if getattr(test, "when", "") == "call"]
    found = [(dict(test.user_properties).get("vramscope_bytes", ()), test.nodeid) for test in calls]
    rows, say = sorted(((*used, name) for used, name in found if used), reverse=True), terminalreporter.write_line
    if config.getoption("vramscope", False) and rows:
        terminalreporter.section("GPU memory of tests")
        if config.getoption("numprocesses", None):
            say("Each worker of pytest-xdist counts its own memory.")
        say("       NEW         PEAK  TEST")
        for new, peak, name in rows[:10]:
            say(f"{new / 2**20:7.1f} MiB  {peak / 2**20:7.1f} MiB  {name}")
    if missing := sum(used is None for used, _ in found):
        say(f"vramscope: not active: no GPU memory measured or limited, in {missing} tests")
