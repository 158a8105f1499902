#!/usr/bin/env python3
"""Allocates while the interpreter ends.  Argument: a library whose threads go on meanwhile."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import ctypes
import sys
import threading
import time

import python_driver as driver


class Last:
    def __init__(self):
        self.allocate = driver.allocate

    def __del__(self):
        self.allocate(size=2048)


def at_exit():
    driver.allocate(size=1024)


driver.start()
atexit.register(at_exit)
last = Last()
keep = sys.modules["__keep__"] = last
for _ in range(2 if len(sys.argv) > 1 else 0):
    loop = ctypes.CDLL(sys.argv[1])
    threading.Thread(target=loop.allocate_for_ever, daemon=True).start()
if len(sys.argv) > 1:
    time.sleep(0.05)
print("ending")
