#!/usr/bin/env python3
"""Times a pair of cuMemAlloc and cuMemFree below a number of Python frames.  One JSON object.

Arguments: frames, pairs.  The pairs run in C, in libpython_pairs.so beside this build's programs,
so that nothing of the interpreter but its stack is in the time.  scripts/bench runs it with Python
frames and without; the difference is what reading them costs.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import functools
import json
import statistics
import sys

LIBRARY, FRAMES, PAIRS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROUNDS = 11


def sample(function):
    return function(PAIRS)


def descend(function, frames):
    return sample(function) if frames <= 0 else descend(function, frames - 1)


def main():
    library = ctypes.CDLL(LIBRARY)
    function = library.ran_ns_of_pairs
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_int]
    descend(function, FRAMES)
    below = functools.partial(descend, function, FRAMES)  # some native frames more
    times = [below() / PAIRS for _ in range(ROUNDS)]
    print(json.dumps({"frames": FRAMES, "ran_ns_per_pair": statistics.median(times)}))


main()
