"""Workers of a multiprocessing pool allocate 1 MiB each, and the pool ends them amid their work (SIGTERM).

Usage: pool.py WORKERS
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import multiprocessing
import sys
import time

WORKERS = int(sys.argv[1])


def work(size):
    driver = ctypes.CDLL("libcuda.so.1")
    context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    codes = [
        driver.cuInit(0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        driver.cuCtxSetCurrent(context),
        driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)),
    ]
    assert codes == [0, 0, 0, 0], codes
    READY.release()
    time.sleep(600)


def begin(ready):
    global READY
    READY = ready


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    ready = context.Semaphore(0)
    pool = context.Pool(WORKERS, begin, [ready])
    pool.map_async(work, [1 << 20] * WORKERS, chunksize=1)
    for _ in range(WORKERS):
        assert ready.acquire(timeout=100)
    print("ready")
    pool.terminate()
    pool.join()
