// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/exporters.h"

#include <link.h>

#include <algorithm>

#include "reporter/record/stack/loaded_counts.h"

namespace vramscope {
namespace {

// Beginnings of file names of libraries that export device memory; versions, plug-ins and languages
// follow. They export whole driver allocations, so a part of a segment would export the wrong
// bytes.
struct Name {
  std::string_view beginning;
  std::string_view reason;
};
constexpr Name kExporters[] = {
    {"libnccl", "NCCL maps buffers of its peers by IPC handle and DMA-BUF"},
    {"libmpi", "Open MPI, MPICH and their kin send device memory by IPC handle"},
    {"libopen-rte", "part of Open MPI"},
    {"libopen-pal", "part of Open MPI: where its CUDA calls are"},
    {"libmca_", "plug-ins of Open MPI"},
    {"libpmix", "start-up of MPI programs: shared segments"},
    {"libucc", "UCC: collectives over UCX and NCCL"},
    {"libucm", "UCX: watches memory that it registered"},
    {"libucp", "UCX: protocols over IPC and RDMA"},
    {"libucs", "UCX: its base, memory pools among it"},
    {"libuct", "UCX: transports, cuda_ipc and InfiniBand among them"},
    {"libnvshmem", "NVSHMEM: a heap that all processes reach"},
    {"libfabric", "OFI: registers device memory with network hardware"},
    {"libibverbs", "RDMA: registers device memory with network hardware"},
    {"libmlx5", "RDMA: the hardware's part of libibverbs"},
    {"librdmacm", "RDMA: connections"},
    {"libpsm2", "Omni-Path: registers device memory"},
    {"libgdrapi", "GDRCopy: maps device memory for the host by P2P tokens"},
    {"libcufile", "GPUDirect Storage: registers device memory with storage"},
    {"libnixl", "transfers of device memory between machines"},
};
constexpr std::string_view kCuda = "libcuda";  // libcuda.so.1, libcudart.so.12: their callers count

std::string_view file_of(const char* path) {
  const std::string_view all = path == nullptr ? "" : path;
  return all.substr(all.rfind('/') + 1);
}

}  // namespace

bool is_exporter(std::string_view file) noexcept {
  return std::any_of(std::begin(kExporters), std::end(kExporters),
                     [&](const Name& name) { return file.starts_with(name.beginning); });
}

Exporters::Loaded Exporters::find_loaded() noexcept {
  Loaded found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) noexcept {
        Loaded& loaded = *static_cast<Loaded*>(out);
        loaded.adds = object->dlpi_adds;
        loaded.subs = object->dlpi_subs;
        const std::string_view file = file_of(object->dlpi_name);
        const bool exports = is_exporter(file);
        if (!exports && !file.starts_with(kCuda)) return 0;
        for (const ElfW(Phdr) & header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
          if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
          if (loaded.count == kMaxRanges) return 1;
          const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
          loaded.ranges[loaded.count++] = {begin, begin + header.p_memsz, exports};
        }
        return 0;
      },
      &found);
  return found;
}

// A new stack or caller may be in a new object.
void Exporters::refresh() noexcept {
  const LoadedCounts now = count_loaded();
  {
    const std::lock_guard lock(mutex_);
    if (loaded_.adds == now.adds && loaded_.subs == now.subs) return;
  }
  const Loaded found = find_loaded();
  const std::lock_guard lock(mutex_);
  if (found.adds + found.subs < loaded_.adds + loaded_.subs) return;  // another thread is ahead
  if (found.subs != loaded_.subs) {
    for (std::atomic<std::uint64_t>& known : known_) known.store(0, std::memory_order_relaxed);
  }
  loaded_ = found;
}

const Exporters::Range* Exporters::range_of(std::uintptr_t address) const noexcept {
  const auto end = loaded_.ranges.begin() + static_cast<std::ptrdiff_t>(loaded_.count);
  const auto range = std::find_if(loaded_.ranges.begin(), end, [&](const Range& r) {
    return address > r.begin && address <= r.end;  // a return address lies after its call
  });
  return range == end ? nullptr : &*range;
}

// The innermost frame outside CUDA decides. Without stacks only the driver's caller is known. That
// recognises a library that calls the driver or has a static runtime, as NVIDIA's have, but not one
// that calls a shared runtime.
bool Exporters::find_out(std::span<const std::uintptr_t> frames, std::uint64_t key) noexcept {
  refresh();
  const std::lock_guard lock(mutex_);
  bool exports = false;
  for (const std::uintptr_t frame : frames) {
    const Range* range = range_of(frame);
    if (range != nullptr && !range->exports) continue;
    exports = range != nullptr;
    break;
  }
  known_[key % kKnown].store(key << 1 | std::uint64_t{exports}, std::memory_order_relaxed);
  return exports;
}

void Exporters::note_export(Recorder& recorder) noexcept {
  if (everybody_.exchange(true, std::memory_order_relaxed)) return;
  recorder.warn(
      "the program exports memory to other processes: its later allocations are dedicated");
}

}  // namespace vramscope
