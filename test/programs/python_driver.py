"""The driver for Python victims, and the truth about each allocation: the stack that Python sees."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import sys

ALLOCATED = []  # (bytes, frames innermost first): [function, file, line]
LIBRARIES = {}


def library(holding_the_lock=False):
    """The driver; ctypes releases the interpreter's lock around calls unless told otherwise."""
    if holding_the_lock not in LIBRARIES:
        kind = ctypes.PyDLL if holding_the_lock else ctypes.CDLL
        LIBRARIES[holding_the_lock] = kind("libcuda.so.1")
    return LIBRARIES[holding_the_lock]


def start():
    assert library().cuInit(0) == 0
    enter()


def enter():
    """Makes the device's primary context current on this thread."""
    context = ctypes.c_void_p()
    assert library().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library().cuCtxSetCurrent(context) == 0


def frames_of(frame):
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def note(size):
    """Evaluated in the line of the call: what Python says of whoever calls this."""
    ALLOCATED.append((size, frames_of(sys._getframe(1))))
    return size


def next_size():
    return (len(ALLOCATED) + 1) * 512


def allocate(driver=None, size=0):
    driver, size, pointer = driver or library(), size or next_size(), ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(note(size))) == 0
    return pointer.value


def free(pointer):
    assert library().cuMemFree_v2(ctypes.c_uint64(pointer)) == 0


def tell():
    json.dump(ALLOCATED, sys.stdout)
    sys.stdout.flush()
