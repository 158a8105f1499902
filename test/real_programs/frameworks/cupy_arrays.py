"""CuPy's arrays, libraries, kernels, streams and pools."""
# SPDX-License-Identifier: Apache-2.0
import cupy
import cupyx.scipy.sparse
import figures
import numpy


class Taken(cupy.cuda.MemoryHook):
    """What the pool takes of the device."""

    name = "Taken"

    def __init__(self):
        self.allocations = []

    def alloc_postprocess(self, **told):
        self.allocations.append([told["mem_ptr"], told["mem_size"]])


def compute():
    numbers = cupy.arange(1000, dtype=cupy.float32)
    matrix = cupy.ones((64, 64), cupy.float32)
    print((numbers * 2 + 1).shape, (matrix @ matrix).shape, cupy.fft.fft(numbers).dtype)
    print([part.shape for part in cupy.linalg.svd(matrix)], cupy.linalg.solve(matrix, matrix).shape)
    print(cupy.random.default_rng(1).standard_normal(100).shape, cupy.sort(numbers).shape)
    print(cupyx.scipy.sparse.csr_matrix(matrix).dot(matrix).shape)
    cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * 2", "doubled")(numbers)
    source = 'extern "C" __global__ void first(float* x) { x[0] = 1; }'
    cupy.RawKernel(source, "first")((1,), (1,), (numbers,))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        again = cupy.asarray(numpy.arange(5000))
    stream.synchronize()
    print(int(cupy.asnumpy(again).sum()))


def main():
    pool, pinned = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
    with Taken() as taken:
        compute()
        kept = [cupy.empty(size, cupy.uint8) for size in (1, 5000, 3 << 20)]
        held = pool.total_bytes()
        counters = {"total": held, "used": pool.used_bytes(), "free_blocks": pool.n_free_blocks(),
                    "pinned_free_blocks": pinned.n_free_blocks(), "kept": len(kept)}  # fmt: skip
        kept.clear()
        pool.free_all_blocks()
        counters["left"] = pool.total_bytes()
    with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
        print(cupy.zeros(1 << 20, cupy.uint8).shape)
    managed = cupy.cuda.malloc_managed(4096)
    print(managed.mem.size)
    figures.leave(counters, taken.allocations)


if __name__ == "__main__":
    main()
