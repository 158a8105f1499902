"""Numba's arrays, kernels, streams, pinned and managed memory: each array is an allocation of the driver."""
# SPDX-License-Identifier: Apache-2.0
import warnings

import figures
import numpy
from numba import cuda

warnings.simplefilter("ignore")  # of few threads


@cuda.jit
def add(one, other, into):
    i = cuda.grid(1)
    if i < one.size:
        into[i] = one[i] + other[i]


def main():
    print(cuda.get_current_device().name)
    total = cuda.current_context().get_memory_info().total
    one = cuda.to_device(numpy.arange(1000, dtype=numpy.float32))
    into = cuda.device_array(1000, numpy.float32)
    add[8, 128](one, one, into)
    stream = cuda.stream()
    more = cuda.to_device(numpy.ones((30, 40)), stream=stream)
    stream.synchronize()
    print(float(one.copy_to_host().sum()), float(more.copy_to_host().sum()), into.copy_to_host().shape)
    pinned = cuda.pinned_array(1000)
    managed = cuda.managed_array(100, numpy.int32)
    managed[:] = 3
    mapped = cuda.mapped_array(10)
    event = cuda.event()
    event.record(stream)
    event.wait(stream)
    print(pinned.shape, int(managed.sum()), mapped.shape)
    arrays = (one, into, more)
    taken = [[int(array.__cuda_array_interface__["data"][0]), array.alloc_size] for array in arrays]
    figures.leave({"total": total, "bytes": sum(size for _, size in taken)}, taken)


if __name__ == "__main__":
    main()
