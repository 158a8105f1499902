// Beside NVIDIA's NCCL, which runs as it is: its memory is its own. Its kernels are not executed,
// so that a collective would leave memory as it was, and programs read what others said: how many
// parameters each has, for one. Each rank sees here what it gave itself, in the place of every
// other: as if all had said the same. The auditor puts these functions in front of NCCL's exports.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {
namespace {

using Comm = void*;

// NCCL's own, by the names under which a profiler calls them.
template <typename Function>
Function theirs(const char* name) {
  static void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

// ncclResult_t
constexpr int kSuccess = 0;
constexpr int kInternalError = 3;

template <typename... Arguments>
int call(const char* name, Arguments... arguments) {
  const auto function = theirs<int (*)(Arguments...)>(name);
  return function == nullptr ? kInternalError : function(arguments...);
}

// Of a ncclDataType_t; 0: none is known.
std::size_t element_bytes(int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < 0 || type >= static_cast<int>(std::size(kBytes)) ? 0 : kBytes[type];
}

int ranks_of(Comm comm) {
  int count = 0;
  return call("pncclCommCount", comm, &count) == kSuccess ? count : 0;
}

int rank_of(Comm comm) {
  int rank = 0;
  return call("pncclCommUserRank", comm, &rank) == kSuccess ? rank : -1;
}

// Behind what NCCL has put into the stream. One that is alone moves its data itself.
void copy(void* into, const void* from, std::size_t bytes, CUstream stream) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr || into == nullptr || from == nullptr || into == from || bytes == 0) return;
  using Copy = decltype(&::cuMemcpyDtoDAsync_v2);
  static const auto function = reinterpret_cast<Copy>(dlsym(driver, "cuMemcpyDtoDAsync_v2"));
  if (function != nullptr)
    function(reinterpret_cast<CUdeviceptr>(into), reinterpret_cast<CUdeviceptr>(from), bytes,
             stream);
}

template <typename Byte>
Byte* part(Byte* all, std::size_t number, std::size_t bytes) {
  return all == nullptr ? nullptr : all + number * bytes;
}

void copy_to_all(void* into, const void* from, std::size_t bytes, int ranks, CUstream stream) {
  for (int i = 0; i < ranks; ++i)
    copy(part(static_cast<std::byte*>(into), static_cast<std::size_t>(i), bytes), from, bytes,
         stream);
}

// A group of broadcasts, one from each rank, is a gathering: PyTorch's all_gather of lists.
struct Broadcast {
  const void* from;
  void* into;
  std::size_t bytes;
  bool is_own;
  Comm comm;
  CUstream stream;
};
struct Group {
  int depth = 0;
  std::vector<Broadcast> broadcasts;
};
Group& group() {
  thread_local Group of_thread;
  return of_thread;
}

void end_group() {
  Group& ended = group();
  for (const Broadcast& other : ended.broadcasts) {
    const auto matches = [&](const Broadcast& one) {
      return one.is_own && one.comm == other.comm && one.bytes == other.bytes;
    };
    const auto own = std::ranges::find_if(ended.broadcasts, matches);
    if (own != ended.broadcasts.end()) copy(other.into, own->from, other.bytes, other.stream);
  }
  ended.broadcasts.clear();
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int ncclAllReduce(const void* from, void* into, std::size_t count, int type, int operation,
                  Comm comm, CUstream stream) {
  const int result = call("pncclAllReduce", from, into, count, type, operation, comm, stream);
  if (result == kSuccess && ranks_of(comm) > 1)
    copy(into, from, count * element_bytes(type), stream);
  return result;
}

int ncclReduce(const void* from, void* into, std::size_t count, int type, int operation, int root,
               Comm comm, CUstream stream) {
  const int result = call("pncclReduce", from, into, count, type, operation, root, comm, stream);
  if (result == kSuccess && ranks_of(comm) > 1 && rank_of(comm) == root)
    copy(into, from, count * element_bytes(type), stream);
  return result;
}

int ncclGroupStart() {
  ++group().depth;
  return call("pncclGroupStart");
}

int ncclGroupEnd() {
  const int result = call("pncclGroupEnd");
  if (group().depth > 0 && --group().depth == 0) end_group();
  return result;
}

// What a rank other than the root gets stays as it was, outside of a group.
int ncclBroadcast(const void* from, void* into, std::size_t count, int type, int root, Comm comm,
                  CUstream stream) {
  const int result = call("pncclBroadcast", from, into, count, type, root, comm, stream);
  if (result != kSuccess || ranks_of(comm) < 2) return result;
  const std::size_t bytes = count * element_bytes(type);
  const bool is_own = rank_of(comm) == root;
  if (group().depth > 0) group().broadcasts.push_back({from, into, bytes, is_own, comm, stream});
  if (is_own) copy(into, from, bytes, stream);
  return result;
}

int ncclAllGather(const void* from, void* into, std::size_t count, int type, Comm comm,
                  CUstream stream) {
  const int result = call("pncclAllGather", from, into, count, type, comm, stream);
  const int ranks = ranks_of(comm);
  if (result == kSuccess && ranks > 1)
    copy_to_all(into, from, count * element_bytes(type), ranks, stream);
  return result;
}

int ncclReduceScatter(const void* from, void* into, std::size_t count, int type, int operation,
                      Comm comm, CUstream stream) {
  const int result = call("pncclReduceScatter", from, into, count, type, operation, comm, stream);
  const std::size_t bytes = count * element_bytes(type);
  if (result == kSuccess && ranks_of(comm) > 1)
    copy(into,
         part(static_cast<const std::byte*>(from), static_cast<std::size_t>(rank_of(comm)), bytes),
         bytes, stream);
  return result;
}

// Of what each rank gives to all, one part comes here.
int ncclAlltoAll(const void* from, void* into, std::size_t count, int type, Comm comm,
                 CUstream stream) {
  const int result = call("pncclAlltoAll", from, into, count, type, comm, stream);
  const int ranks = ranks_of(comm);
  const std::size_t bytes = count * element_bytes(type);
  if (result != kSuccess || ranks < 2) return result;
  const auto rank = static_cast<std::size_t>(rank_of(comm));
  copy_to_all(into, part(static_cast<const std::byte*>(from), rank, bytes), bytes, ranks, stream);
  return result;
}

int ncclGather(const void* from, void* into, std::size_t count, int type, int root, Comm comm,
               CUstream stream) {
  const int result = call("pncclGather", from, into, count, type, root, comm, stream);
  const int ranks = ranks_of(comm);
  if (result == kSuccess && ranks > 1 && rank_of(comm) == root)
    copy_to_all(into, from, count * element_bytes(type), ranks, stream);
  return result;
}

}  // extern "C"
#pragma GCC visibility pop
