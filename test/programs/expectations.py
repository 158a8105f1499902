"""Limits its own memory by vramscope.py.  Argument: the folder that it is in; "" if Python finds it."""

# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys
import threading

sys.dont_write_bytecode = True
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
import vramscope  # noqa: E402

MIB = 1 << 20
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()


def must(code):
    assert code == 0, code


def allocate(mib):
    block = ctypes.c_uint64()
    must(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(mib * MIB)))
    return block


def free(block):
    must(driver.cuMemFree_v2(block))


def say(what, action):
    """Prints what the action gives or raises, on one line."""
    try:
        print(f"{what}: {action()}")
    except (AssertionError, RuntimeError, ValueError, KeyError) as error:
        print(f"{what}: {type(error).__name__}: {error}".replace("\n", " | "))


def figures(found):
    return found.new_bytes, found.peak_bytes, found.leaked_bytes


def within(body=lambda: free(allocate(8)), **limits):
    with vramscope.expect(**limits) as found:
        body()
    return figures(found)


@vramscope.expect(max_new_bytes="4 MiB")
def decorated(mib, depth=1):
    """Each call has limits of its own."""
    if depth > 1:
        decorated(mib, depth - 1)
    free(allocate(mib))
    return mib


def raise_key_error():
    allocate(1)
    raise KeyError("of the body")


class Cycle:
    def __init__(self):
        self.block, self.own = allocate(5), self

    def __del__(self):
        free(self.block)


def in_threads():
    done = []

    def work():
        must(driver.cuCtxSetCurrent(context))
        for _ in [None] * 20:
            done.append(decorated(1))

    threads = [threading.Thread(target=work) for _ in [None] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)


def nested():
    with vramscope.expect(leaks=0) as outer:
        block = allocate(3)
        with vramscope.expect("1 MiB", missing="raise") as inner:
            free(allocate(1))
        free(block)
    return figures(outer), figures(inner)


def reused():
    """One object, entered twice."""
    limit = vramscope.expect(max_new_bytes="1 GiB")
    with limit:
        block = allocate(2)
        with limit:
            free(allocate(1))
        inner = figures(limit)
        free(block)
    return inner, figures(limit)


def main():
    early = vramscope.expect(missing="skip")
    with early:
        must(driver.cuInit(0))
        must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        must(driver.cuCtxSetCurrent(context))
        kept = allocate(3)
    say("early", lambda: figures(early))
    say("fits", lambda: within(max_new_bytes="8 MiB", max_peak=11 * MIB, leaks="0 B"))
    say("new", lambda: within(max_new_bytes=8 * MIB - 1))
    say("peak", lambda: within(max_peak="0.5 MiB"))
    say("leak", lambda: within(lambda: allocate(2), leaks=0))
    say("all", lambda: within(lambda: allocate(2), max_new_bytes=0, max_peak=0, leaks=0))
    say("garbage", lambda: within(Cycle, leaks=0))
    say("raises", lambda: within(raise_key_error, leaks=0))
    say("skips", lambda: within(max_new_bytes=0, missing="skip"))
    say("decorated", lambda: decorated(4))
    say("decorated again", lambda: decorated(5))
    say("recursion", lambda: decorated(4, depth=3))
    if vramscope.is_active():
        say("threads", in_threads)
    say("nested", nested)
    say("reused", reused)
    say("device", lambda: within(device=1))
    say("no device", lambda: within(device=7))
    for size in ("24 MB", "MiB", "-1", "", "1e3", 1.5):
        say(f"size {size!r}", lambda size=size: within(lambda: None, max_peak=size))
    free(kept)


main()
