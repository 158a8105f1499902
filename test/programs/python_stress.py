#!/usr/bin/env python3
"""Allocates and frees from everything at once.  Argument: seconds.

Threads, deep recursion, generators left half-way, exceptions, code that is made and thrown away,
garbage collection, subinterpreters, forks, and at the end a daemon thread that goes on.
"""
# SPDX-License-Identifier: Apache-2.0
import gc
import itertools
import os
import random
import sys
import threading
import time

import python_driver as driver

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5
END = time.monotonic() + SECONDS
DONE = []  # (what, how often)


def pair(size=4096):
    driver.free(driver.allocate(size=size))
    del driver.ALLOCATED[:]


def recursion(random):
    def sink(depth):
        if depth == 0:
            return pair()
        try:
            return sink(depth - 1)
        finally:
            if depth % 100 == 0:
                pair()

    sink(random.randrange(400))


def generators(random):
    def numbers(depth):
        for number in range(10):
            pair()
            yield number
            if depth:
                yield from numbers(depth - 1)

    half_way = [numbers(random.randrange(5)) for _ in range(20)]
    for generator in half_way:
        for _ in itertools.islice(generator, random.randrange(8)):
            pair()
    random.shuffle(half_way)
    half_way[0].close()
    try:
        half_way[1].throw(KeyError)
    except KeyError:
        pass


def thrown_away(random):
    for _ in range(20):
        lines = "\n" * random.randrange(5)
        name = f"made_{random.randrange(100):02}"
        space = {"pair": pair}
        exec(compile(f"{lines}def {name}(n):\n  pair()\n  return n and {name}(n - 1)\n{name}(3)", "<made>", "exec"), space)
        space.clear()


def garbage(random):
    class Node:
        def __del__(self):
            pair()

    for _ in range(20):
        nodes = [Node() for _ in range(random.randrange(1, 5))]
        for node in nodes:
            node.next = random.choice(nodes)
        del nodes, node
    gc.collect()


def exceptions(random):
    for depth in range(random.randrange(20)):
        try:
            try:
                raise ValueError(depth)
            finally:
                pair()
        except ValueError as error:
            pair()
            kept = error.__traceback__
            del kept


def threads(random):
    def work(what, seed):
        driver.enter()
        what(random.__class__(seed))

    started = [
        threading.Thread(target=work, args=(what, random.random()))
        for what in (recursion, generators, thrown_away, garbage, exceptions)
    ]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def forks(_random):
    child = os.fork()
    if child == 0:
        try:
            recursion(random.Random(1))  # the driver refuses; what matters is that nothing faults
        except AssertionError:
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def subinterpreters(_random):
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    try:
        one = interpreters.create(isolated=False)
    except TypeError:
        one = interpreters.create("legacy")
    text = "import sys\nsys.path[:] = " + repr(sys.path) + "\nimport python_driver as driver\n"
    try:
        interpreters.run_string(one, text + "for _ in range(20): driver.free(driver.allocate())\n")
    finally:
        interpreters.destroy(one)


KINDS = [recursion, generators, thrown_away, garbage, exceptions, threads, forks]


def main():
    seed = random.randrange(1 << 32)
    print("seed", seed, file=sys.stderr)
    chance = random.Random(seed)
    driver.start()
    if sys.version_info < (3, 12):
        KINDS.append(subinterpreters)
    counts = dict.fromkeys((kind.__name__ for kind in KINDS), 0)
    while time.monotonic() < END or not all(counts.values()):
        kind = chance.choice(KINDS)
        kind(chance)
        counts[kind.__name__] += 1

    def go_on():
        driver.enter()
        while True:
            pair()

    threading.Thread(target=go_on, daemon=True).start()
    print(counts)


main()
