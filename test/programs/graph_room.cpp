// Graphs take the memory of their nodes when they are launched or uploaded: what is idle elsewhere
// gives way, and what does not fit is refused. For a device of 1 GiB.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"
#include "test/programs/graph_nodes.h"

static void allocate_and_free(const char* what, std::size_t bytes) {
  CUdeviceptr block = 0;
  show(what, cuMemAlloc(&block, bytes));
  if (block != 0) MUST(cuMemFree(block));
}

int main() {
  start();
  CUstream stream = nullptr;
  CUgraph inner = nullptr, outer = nullptr;
  MUST(cuStreamCreate(&stream, 0));
  allocate_and_free("allocate 600 MiB", 600 * kMiB);

  MUST(cuGraphCreate(&inner, 0));
  CUgraphNode node = nullptr;
  const CUdeviceptr freed_inside = add_allocation(inner, 512 * kMiB, &node);
  add_free(inner, freed_inside, node);
  CUgraphExec run = instantiate(inner);
  allocate_and_free("what no launch took is free", 900 * kMiB);
  show("launch with 512 MiB", cuGraphLaunch(run, stream));
  show("again", cuGraphLaunch(run, stream));
  MUST(cuStreamSynchronize(stream));
  allocate_and_free("allocate 600 MiB beside it", 600 * kMiB);
  allocate_and_free("allocate 400 MiB beside it", 400 * kMiB);

  MUST(cuGraphCreate(&outer, 0));
  const CUdeviceptr left = add_allocation(outer, 640 * kMiB);
  CUgraphExec leaver = instantiate(outer);
  show("upload 640 MiB, of which 512 are shared", cuGraphUpload(leaver, stream));
  show("launch with 640 MiB", cuGraphLaunch(leaver, stream));
  show("upload 512 MiB more", cuGraphUpload(run, stream));
  show("launch with 512 MiB more", cuGraphLaunch(run, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(run));
  allocate_and_free("allocate 320 MiB beside what was left", 320 * kMiB);
  MUST(cuGraphExecDestroy(leaver));
  MUST(cuGraphDestroy(outer));
  MUST(cuDeviceGraphMemTrim(0));

  allocate_and_free("allocate 512 MiB beside what was left", 512 * kMiB);
  show("free what was left", cuMemFree(left));
  MUST(cuDeviceGraphMemTrim(0));
  allocate_and_free("allocate 900 MiB", 900 * kMiB);
  run = instantiate(inner);
  show("launch with 512 MiB", cuGraphLaunch(run, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(run));
  MUST(cuGraphDestroy(inner));
  allocate_and_free("allocate 900 MiB beside what the driver keeps", 900 * kMiB);
  show("trim", cuDeviceGraphMemTrim(0));
  allocate_and_free("allocate 900 MiB", 900 * kMiB);
}
