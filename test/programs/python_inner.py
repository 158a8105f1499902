#!/usr/bin/env python3
"""Allocates in interpreters within the interpreter.  Prints what each of them says of its stacks."""
# SPDX-License-Identifier: Apache-2.0
import sys

import python_driver as driver

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

INNER = """
import sys
sys.path[:] = {path!r}
import python_driver as driver

def inside():
    driver.allocate(size={size})
    driver.allocate(driver.library(holding_the_lock=True), size={size} + 512)

inside()
driver.tell()
print()
"""


def outside(size):
    try:
        inner = interpreters.create(isolated=False)
    except TypeError:
        inner = interpreters.create("legacy")
    line = sys._getframe().f_lineno + 1
    interpreters.run_string(inner, INNER.format(path=sys.path, size=size))
    interpreters.destroy(inner)
    driver.allocate(size=size + 1024)
    frames = driver.frames_of(sys._getframe())
    frames[0][2] = line
    driver.ALLOCATED.append((0, frames))  # of who ran the one within


driver.start()
outside(4096)
outside(8192)
driver.tell()
