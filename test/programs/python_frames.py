#!/usr/bin/env python3
"""Allocates from every kind of Python frame.  Prints what Python itself says of each stack."""
# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import ctypes
import functools
import gc
import signal
import sys
import threading

import python_driver as driver

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def plain_calls():
    driver.allocate()
    (lambda: driver.allocate())()
    driver.allocate(driver.library(holding_the_lock=True))
    functools.partial(driver.allocate)()
    list(map(lambda _: driver.allocate(), [1]))
    sorted([2, 1], key=lambda _: driver.allocate())


@case
def names_beyond_ascii():
    def größe_表_𝔘():
        driver.allocate()

    größe_表_𝔘()


@case
def generators():
    def inner():
        yield driver.allocate()
        yield driver.allocate()

    def outer():
        yield from inner()
        for pointer in inner():
            yield pointer

    for _ in outer():
        driver.allocate()
    next(outer())
    suspended = inner()
    next(suspended)
    list(suspended)


@case
def comprehensions():
    [driver.allocate() for _ in range(2)]
    {driver.allocate(): 1 for _ in range(1)}
    sum(driver.allocate() for _ in range(2))
    [[driver.allocate() for _ in range(1)] for _ in range(1)]


@case
def decorators():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*arguments, **named):
            return function(*arguments, **named)

        return wrapper

    @logged
    @logged
    def layer(size):
        return driver.allocate(size=size)

    layer(driver.next_size())
    layer(size=driver.next_size())

    @functools.lru_cache
    def cached(_):
        return driver.allocate()

    cached(1)


@case
def classes():
    class Layer:
        weight = driver.allocate()

        def __init__(self):
            self.bias = driver.allocate()

        @property
        def gradient(self):
            return driver.allocate()

        def __getattr__(self, name):
            return driver.allocate()

        def __call__(self):
            return driver.allocate()

        @staticmethod
        def make():
            return driver.allocate()

        def __del__(self):
            driver.allocate()

    layer = Layer()
    layer.gradient, layer.unknown, layer(), Layer.make()
    layer = None
    circle = Layer()
    circle.myself = circle
    circle = None
    gc.collect()


@case
def exceptions():
    @contextlib.contextmanager
    def scope():
        driver.allocate()
        try:
            yield
        finally:
            driver.allocate()

    class Guard:
        def __enter__(self):
            driver.allocate()

        def __exit__(self, *reason):
            driver.allocate()

    def fail():
        try:
            raise ValueError("on the way")
        finally:
            driver.allocate()

    try:
        with scope(), Guard():
            fail()
    except ValueError:
        driver.allocate()
        with contextlib.suppress(KeyError):
            raise KeyError from None
        driver.allocate()


@case
def lines():
    value = [
        driver.allocate(),
        (
            driver.allocate()
            if driver.allocate()
            else None
        ),
    ]
    while len(value) < 4: value.append(driver.allocate())  # fmt: skip
    assert driver.allocate() and (
        driver.allocate()
    )


@case
def threads():
    def work(depth):
        if depth:
            return work(depth - 1)
        driver.enter()
        return driver.allocate()

    for depth in range(3):
        thread = threading.Thread(target=work, args=(depth,))
        thread.start()
        thread.join()


@case
def coroutines():
    async def leaf():
        await asyncio.sleep(0)
        return driver.allocate()

    async def numbers():
        for _ in range(2):
            await asyncio.sleep(0)
            yield driver.allocate()

    class Awaited:
        def __await__(self):
            driver.allocate()
            yield from leaf().__await__()

    async def middle():
        driver.allocate()
        await leaf()
        await Awaited()
        async for _ in numbers():
            driver.allocate()
        return [x async for x in numbers()]

    async def main():
        await middle()
        await asyncio.gather(leaf(), middle())

    asyncio.run(main())


@case
def recursion():
    def descend():
        try:
            descend()
        except RecursionError:
            pass

    def sink(depth):
        return driver.allocate() if depth == 0 else sink(depth - 1)

    descend()
    sink(sys.getrecursionlimit() - 100)
    sink(3)


@case
def callbacks():
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc = ctypes.CDLL("libc.so.6")

    def compare(_left, _right):
        driver.allocate()
        return 0

    numbers = (ctypes.c_int * 2)(2, 1)
    libc.qsort(numbers, ctypes.c_size_t(2), ctypes.c_size_t(4), callback(compare))


@case
def made_at_run_time():
    for turn in range(50):
        space = {"driver": driver}
        text = "\n" * (turn % 7) + f"def made_{turn:02}():\n  driver.allocate()\nmade_{turn:02}()\n"
        exec(compile(text, f"<made {turn % 3}>", "exec"), space)  # the same addresses come again
        space.clear()
        gc.collect()
    eval("driver.allocate()", {"driver": driver})


@case
def traced():
    def trace(_frame, _event, _argument):
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    driver.allocate()
    sys.settrace(before)


@case
def signals():
    signal.signal(signal.SIGALRM, lambda _number, _frame: driver.allocate())
    signal.raise_signal(signal.SIGALRM)


def main():
    driver.start()
    wanted = sys.argv[1:]
    for function in CASES:
        if not wanted or function.__name__ in wanted:
            function()
    driver.tell()


main()
