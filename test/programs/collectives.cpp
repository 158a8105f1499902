// Opens NCCL by its path, as Python's wheels do, and looks at what its collectives leave in memory.
// SPDX-License-Identifier: Apache-2.0
// Argument: that path. The declarations are those that matter.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

static void* library = nullptr;
static CUdeviceptr from = 0, into = 0;

// The values before and after; `given` are the arguments behind the two places.
template <typename... Arguments>
static void collect(const char* name, Arguments... given) {
  int values[4] = {1, 2, 3, 4};
  cuMemcpyHtoD(from, values, sizeof values);
  cuMemsetD32(into, 9, 4);
  using Function = int (*)(CUdeviceptr, CUdeviceptr, Arguments...);
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  const int status = function == nullptr ? -1 : function(from, into, given...);
  cuCtxSynchronize();
  cuMemcpyDtoH(values, into, sizeof values);
  std::printf("%s: %d, %d %d %d %d\n", name, status, values[0], values[1], values[2], values[3]);
}

// Each of two ranks broadcasts two numbers into its part.
static void gather_by_broadcasts(void* comm, CUstream stream) {
  int values[4] = {5, 6, 7, 8};
  cuMemcpyHtoD(from, values, sizeof values);
  cuMemsetD32(into, 9, 4);
  using Function = int (*)(CUdeviceptr, CUdeviceptr, std::size_t, int, int, void*, CUstream);
  const auto broadcast = reinterpret_cast<Function>(dlsym(library, "ncclBroadcast"));
  const auto edge = [](const char* name) {
    return reinterpret_cast<int (*)()>(dlsym(library, name))();
  };
  edge("ncclGroupStart");
  edge("ncclGroupStart");
  broadcast(into, into, 2, 2, 0, comm, stream);
  edge("ncclGroupEnd");
  broadcast(from, into + 2 * sizeof(int), 2, 2, 1, comm, stream);
  edge("ncclGroupEnd");
  cuCtxSynchronize();
  cuMemcpyDtoH(values, into, sizeof values);
  std::printf("a group: %d %d %d %d\n", values[0], values[1], values[2], values[3]);
}

int main(int, char** arguments) {
  CUcontext context = nullptr;
  void* const comm = nullptr;
  CUstream const stream = nullptr;
  constexpr int kInt = 2, kSum = 0;
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::printf("%s\n", dlerror());
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuMemAlloc(&from, 64);
  cuMemAlloc(&into, 64);
  const std::size_t two = 2;
  collect("ncclAllGather", two, kInt, comm, stream);
  collect("ncclAllReduce", two, kInt, kSum, comm, stream);
  collect("ncclReduceScatter", two, kInt, kSum, comm, stream);
  collect("ncclBroadcast", two, kInt, 0, comm, stream);
  collect("ncclBroadcast", two, kInt, 1, comm, stream);
  collect("ncclReduce", two, kInt, kSum, 0, comm, stream);
  collect("ncclReduce", two, kInt, kSum, 1, comm, stream);
  collect("ncclAllGather", two, 99, comm, stream);
  collect("ncclSend");
  collect("ncclAlltoAll", two, kInt, comm, stream);
  collect("ncclGather", two, kInt, 0, comm, stream);
  collect("ncclGather", two, kInt, 1, comm, stream);
  gather_by_broadcasts(comm, stream);
  cuMemFree(from);
  cuMemFree(into);
}
