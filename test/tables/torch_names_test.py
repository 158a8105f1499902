# What torch.cuda asks is offered by vramscope.py and vramscope.h, or declined with a reason.
# SPDX-License-Identifier: Apache-2.0
"""torch_names_test.py VRAMSCOPE_PY VRAMSCOPE_H PAGE"""
import ast
import re
import sys

# The page torch.cuda of PyTorch 2.6's documentation, its sections one after the other.
PAGE = """
StreamContext can_device_access_peer current_blas_handle current_device current_stream cudart
default_stream device device_count device_of get_arch_list get_device_capability get_device_name
get_device_properties get_gencode_flags get_stream_from_external get_sync_debug_mode init ipc_collect
is_available is_initialized is_tf32_supported memory_usage set_device set_stream set_sync_debug_mode
stream synchronize utilization temperature power_draw clock_rate OutOfMemoryError

get_rng_state get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed
seed_all initial_seed

comm.broadcast comm.broadcast_coalesced comm.reduce_add comm.scatter comm.gather

Stream ExternalStream Event

is_current_stream_capturing graph_pool_handle CUDAGraph graph make_graphed_callables

empty_cache get_per_process_memory_fraction list_gpu_processes mem_get_info memory_stats
memory_summary memory_snapshot memory_allocated max_memory_allocated reset_max_memory_allocated
memory_reserved max_memory_reserved set_per_process_memory_fraction memory_cached max_memory_cached
reset_max_memory_cached reset_peak_memory_stats caching_allocator_alloc caching_allocator_delete
get_allocator_backend CUDAPluggableAllocator change_current_allocator MemPool MemPoolContext

nvtx.mark nvtx.range_push nvtx.range_pop nvtx.range
""".split()
RENAMED = {"mem_get_info": "get_memory_info"}  # as in torch.accelerator
# Python's alone; the others are in C too.
PYTHON_ONLY = {"range"}
HEADING = "### Names of torch.cuda without an answer"


def offered_in_python(text):
    """Public function -> docstring; another name of a function has the function's."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "pytest_")):  # hooks of the plugin
            found[node.name] = ast.get_docstring(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in found:
            found.update((name.id, found[node.value.id]) for name in node.targets)
    return found


def declined(readme):
    """The names in the first column of the table, and rows without a reason."""
    section = readme.split(HEADING)[1].split("\n## ")[0] if HEADING in readme else ""
    rows = [row.strip("|").split("|") for row in section.splitlines() if row.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([\w.]+)`", row[0])]
    return names, [row[0].strip() for row in rows if len(row) < 2 or len(row[1].split()) < 3]


def problems(python, header, readme):
    offered = offered_in_python(python)
    names, unreasoned = declined(readme)
    yield from (f"declined without a reason: {row}" for row in unreasoned)
    yield from (f"declined twice: {name}" for name in sorted({n for n in names if names.count(n) > 1}))
    for name in PAGE:
        known = RENAMED.get(name, name.removeprefix("nvtx."))
        if (known in offered) == (name in names):
            yield f"{name}: " + ("both offered and declined" if known in offered else "neither offered nor declined")
    yield from (f"{name}: declined, but not on the page" for name in names if name not in PAGE)
    yield from (f"{name}: no docstring" for name, text in offered.items() if not text)
    in_c = set(re.findall(r"^static inline int vramscope_(\w+)\(", header, re.M))
    for name in sorted(set(offered) - in_c - PYTHON_ONLY):
        yield f"{name}: in vramscope.py, not in vramscope.h"


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: " + __doc__)
    texts = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    found = list(problems(*texts))
    for problem in found:
        print("torch names:", problem)
    print(f"torch names: {len(PAGE)} names, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
