"""RMM's resources, which log what they take of the device, and its statistics."""
# SPDX-License-Identifier: Apache-2.0
import csv
import glob
import os
import tempfile

import figures
import rmm
import rmm.statistics


def use(resource):
    rmm.mr.set_current_device_resource(resource)
    buffers = [rmm.DeviceBuffer(size=size) for size in (1, 1000, 3 << 20, 5 << 20)]
    buffers.pop(1)
    copy = rmm.DeviceBuffer.to_device(b"through" * 100)
    assert copy.tobytes() == b"through" * 100
    return buffers


def logged(folder):
    """Of the resource at the bottom."""
    taken = []
    for path in glob.glob(folder + "/log*"):
        for row in csv.DictReader(open(path)):
            if row["Action"].strip() == "allocate":
                taken.append([int(row["Pointer"].strip(), 16), int(row["Size"])])
    return taken


def main():
    with tempfile.TemporaryDirectory() as folder:
        bottom = rmm.mr.LoggingResourceAdaptor(rmm.mr.CudaMemoryResource(), log_file_name=os.path.join(folder, "log.csv"))
        pool = rmm.mr.PoolMemoryResource(bottom, initial_pool_size=16 << 20, maximum_pool_size=1 << 30)
        counted = rmm.mr.StatisticsResourceAdaptor(pool)
        kept = use(counted)
        counts = counted.allocation_counts
        numbers = {name: getattr(counts, name) for name in ("current_bytes", "peak_bytes", "total_bytes", "current_count")}
        numbers["pool"] = pool.pool_size()
        print(numbers, len(kept))
        for other in (rmm.mr.CudaAsyncMemoryResource(), rmm.mr.ManagedMemoryResource()):
            print(len(use(other)))
        bottom.flush()
        figures.leave(numbers, logged(folder))


if __name__ == "__main__":
    main()
