"""What gpu-check runs, most valuable first, and how long each may take."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
NATIVE = "native"
# The library is asked which of them it knows.
CANDIDATE_MODES = ("cache", "cache at-reuse", "dedicated", "observe", "off")
BUDGET_S = 720
# In the order in which they run: what needs quiet has the device for itself.
PARTS = ("questions", "ways", "kills", "load", "frameworks", "programs", "threads", "measurements", "alternating",
         "pages")  # fmt: skip


# Blocks that are mapped by hand, where the library serves any.
EXPANDABLE, GROWING = (
    (("VRAMSCOPE_POLICY", "pytorch"), ("VRAMSCOPE_ALLOC_CONF", f"{name}:True"))
    for name in ("expandable_segments", "growing_segments")
)


class Program(NamedTuple):
    words: tuple  # a name in test/programs, then its arguments
    device: str = "any"  # or "gpu", "sim": those that need one of them
    limit_s: int = 30
    variables: tuple = ()  # pairs, for the program's environment
    alone: bool = False  # nothing may run beside it: it counts what is free
    modes: tuple = ()  # those that it runs in; (): all

    @property
    def name(self):
        return " ".join([*(f"{k}={v}" for k, v in self.variables), *self.words])

    @property
    def is_script(self):
        return self.words[0].endswith(".py")


# Of programs that take ten seconds to start.
FEW = ("cache", "observe")
UNCACHED = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")


def framework(name, *variables, modes=FEW):
    return Program((name,), "gpu", 90, variables, modes=modes)


# Each ends with status 77 and the reason where its package is missing. The longest come first, so that what runs
# beside them ends with them.
FRAMEWORKS = [
    framework("torch_gpt.py", modes=()),
    framework("torch_gpt.py", UNCACHED, modes=()),
    framework("torch_gpt.py", UNCACHED, *EXPANDABLE, modes=("cache",)),
    framework("torch_gpt.py", UNCACHED, *GROWING, modes=("cache",)),
    framework("torch_gpt.py", ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")),
    framework("torch_gpt.py", ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")),
    framework("torch_train.py"),
    framework("torch_train.py", UNCACHED),
    framework("transformers_gpt2.py"),
    framework("nccl_reduce.py", ("NCCL_CUMEM_ENABLE", "0")),
    framework("nccl_reduce.py", ("NCCL_CUMEM_ENABLE", "1")),
    framework("nccl_reduce.py", *EXPANDABLE, modes=("cache",)),
    framework("nccl_reduce.py", *GROWING, modes=("cache",)),
    framework("torch_graph.py"),
    framework("cupy_arrays.py"),
    framework("triton_add.py"),
    framework("jax_steps.py", ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")),
    framework("jax_steps.py", ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".3")),  # others run beside it
]

# Blocks that are freed under kernels, under each policy.
LOAD = [
    Program(("gpu_load",), limit_s=60),
    Program(("gpu_load",), limit_s=60, variables=(("VRAMSCOPE_POLICY", "pytorch"),), modes=("cache",)),
    Program(("gpu_load",), limit_s=60, variables=EXPANDABLE, modes=("cache",)),
    Program(("gpu_load",), limit_s=60, variables=GROWING, modes=("cache",)),
]

# As nvcc makes them, with the runtime shared and static, and one with ours inside.
RUNTIMES = [
    Program(("train",)),
    Program(("train_nvcc_static",), "gpu"),
    Program(("train_static",), "sim"),
    Program(("last_error",)),
]

# What CUDA_INJECTION64_PATH and attach have to do with: the driver itself, a runtime, frameworks.
INJECTED = [
    Program(("linked",)),
    Program(("train",)),
    framework("torch_train.py"),
    framework("cupy_arrays.py"),
    framework("jax_steps.py", ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")),
]
ATTACHED = [
    Program(("churn",)),
    Program(("gpu_attached.py", "driver")),
    *(Program(("gpu_attached.py", name), "gpu") for name in ("torch", "jax", "cupy", "numba")),
]

# They fill the device or count what is free, so that others beside them would show.
ALONE = ("meminfo", "oom", "memory_limit", "device_limit", "ipc_processes", "capture_ends", "capture_room", "free_async",
         "graph_blocks", "malloc_hook", "nested_free")  # fmt: skip
# Those in which a program runs on a real device, whose time is short: off changes nothing there.
SHORT_OF_TIME = ("cache", "cache at-reuse", "dedicated", "observe")
# Enough to fill a device of any size; on the simulated one its own capacity does.
ON_A_GPU = {("oom",): ("oom", "4096"), ("oom", "96"): ("oom", "4096")}
# Others use the device, so that what is free says nothing.
ON_A_GPU |= {(name,): (name, "shared") for name in ("graph_pending", "pool_keeps", "small_device")}
# They are told from outside what to do, or end only where the driver has no threads, or keeps no
# lock of its own when a thread ends inside it: the end-to-end tests alone can run them.
ELSEWHERE = (("sticky_error",), ("exit_variants", "last_thread"),
             *(("cancelled", way) for way in ("itself", "together", "waiting", "exits")))  # fmt: skip


def victims(build, simulated):
    """Those of the end-to-end tests, and what a mode changes of them on purpose; what they ask of the simulated device is left out on a real
    one, where a program that is listed with several such wishes runs once."""
    folder = str(ROOT / "test/end_to_end")
    arguments, sys.argv = sys.argv, ["gpu-check", str(build)]
    sys.path.insert(0, folder)
    try:
        import behaviours
        import transparency_test
    finally:
        sys.argv = arguments
        sys.path.remove(folder)
    known = {program.words[0] for program in RUNTIMES}
    found = {}
    for words, wish in transparency_test.VICTIMS:
        words = tuple(words)
        if words[0] in known or (not simulated and words in ELSEWHERE):
            continue
        words = words if simulated else ON_A_GPU.get(words, words)
        variables = (("VRAMSCOPE_SIM", wish),) if simulated and wish else ()
        program = Program(words, variables=variables, alone=words[0].startswith(ALONE),
                          modes=() if simulated else SHORT_OF_TIME)  # fmt: skip
        found[program.name] = program
    return list(found.values()), behaviours.by_design
