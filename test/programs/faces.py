"""Talks to Vramscope through vramscope.py.  Argument: the folder that it is in."""

# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import vramscope  # noqa: E402

MIB = 1 << 20


def answer(what, question, *arguments):
    try:
        print(f"{what}: {question(*arguments)}")
    except vramscope.NotActive:
        print(f"{what}: not active")
    except RuntimeError as error:
        print(f"{what}: {type(error).__name__}: {error}")


def must(code):
    assert code == 0, code


def allocate(driver, size):
    block = ctypes.c_uint64()
    must(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)))
    return block


def ask_all():
    for name in (
        "is_active", "memory_allocated", "max_memory_allocated", "memory_reserved",
        "memory_cached", "max_memory_reserved", "max_memory_cached",
    ):  # fmt: skip
        answer(name, getattr(vramscope, name))
    answer("memory_stats", lambda: len(vramscope.memory_stats()))
    answer("sorted", lambda: list(vramscope.memory_stats()) == sorted(vramscope.memory_stats()))
    answer("host_memory_stats", lambda: len(vramscope.host_memory_stats()))
    answer("snapshot", lambda: [segment["total_size"] for segment in vramscope.memory_snapshot()])


def tiled():
    return all(
        sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        for segment in vramscope.memory_snapshot()
    )


def main():
    ask_all()
    with vramscope.range("whole run"):
        use_cuda()


def use_cuda():
    driver = ctypes.CDLL("libcuda.so.1")
    must(driver.cuInit(0))
    answer("empty without a context", vramscope.empty_cache)
    answer("info without a context", vramscope.get_memory_info)
    context = ctypes.c_void_p()
    must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(driver.cuCtxSetCurrent(context))
    ask_all()
    kept, freed = allocate(driver, 3 * MIB), allocate(driver, 30 * MIB)
    must(driver.cuMemFree_v2(freed))
    ask_all()
    answer("tiled", tiled)
    answer("another device", vramscope.memory_stats, 1)
    answer("no such device", vramscope.memory_allocated, 7)
    answer("info of another device", vramscope.get_memory_info, 1)
    for name in (
        "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
        "reset_accumulated_memory_stats", "reset_accumulated_host_memory_stats",
        "empty_cache",
    ):  # fmt: skip
        answer(name, getattr(vramscope, name))
    ask_all()
    answer("allocated", lambda: vramscope.memory_stats()["allocation.all.allocated"])
    answer("free and total", lambda: [number // MIB for number in vramscope.get_memory_info()])
    must(driver.cuMemFree_v2(kept))
    ask_about_devices()
    allocate_in_ranges(driver)


def ask_about_devices():
    for name in ("device_count", "is_available", "current_device", "get_device_name", "synchronize", "ipc_collect"):
        answer(name, getattr(vramscope, name))
    answer("get_device_capability", vramscope.get_device_capability, 1)
    answer("synchronize another", vramscope.synchronize, 1)


def allocate_in_ranges(driver):
    @vramscope.range("layer {}", 3)
    def decorated():
        must(driver.cuMemFree_v2(allocate(driver, MIB)))

    with vramscope.range("epoch"):
        decorated()
        answer("range_push", vramscope.range_push, "optimizer")
        must(driver.cuMemFree_v2(allocate(driver, MIB)))
        answer("range_pop", vramscope.range_pop)
        answer("mark", vramscope.mark, "step")


main()
