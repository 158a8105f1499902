// Device memory shared between processes by cuIpc*MemHandle: the importer opens the file that
// holds the exporter's bytes and maps its part.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "test/simulator/device/imports.h"
#include "test/simulator/device/window.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr char kIpcMark[8] = "vramipc";

// What our 64 opaque bytes hold. The exporter's id of the allocation makes each one unique.
struct IpcHandle {
  char mark[8];
  std::int32_t exporter;
  std::int32_t file;  // a descriptor of the exporter
  std::uint64_t inode;
  std::uint64_t offset;  // of the allocation's first byte
  std::uint64_t bytes;
  std::uint64_t id;
  std::int32_t device;
};
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

// An allocation anywhere: the file and the exporter's id of it.
using Identity = std::pair<std::uint64_t, std::uint64_t>;

struct Import {
  Identity identity;
  CUcontext context = nullptr;
  std::shared_ptr<Window> window;
  std::unique_ptr<ExportSlot> slot;
  std::uint64_t bytes = 0;
  unsigned opened = 1;
};

std::mutex imports_mutex;  // guards imports()

std::map<Address, Import>& imports() {  // by the address that the program has
  static auto& all = *new std::map<Address, Import>;
  return all;
}

// A descriptor of our own for the exporter's file; negative when there is none any more.
int open_file(const IpcHandle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.exporter) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0 || inode_of(file) == handle.inode) return file;
  close(file);
  return -1;
}

CUresult map_import(const IpcHandle& handle, int file, Import& import) {
  import.slot = std::make_unique<ExportSlot>(file, handle.id);
  if (!import.slot->ok()) return CUDA_ERROR_MAP_FAILED;
  if (!import.slot->open()) return CUDA_ERROR_INVALID_VALUE;  // freed (OPEN.md)
  note_use_of(file, slot_of(handle.id));                      // the mappings below hold it
  const std::uint64_t first = handle.offset / kGranule * kGranule;
  const std::uint64_t length = round_up(handle.offset + handle.bytes - first, kGranule);
  import.window = std::make_shared<Window>(length, kGranule, 0);
  if (import.window->ok() && import.window->map(import.window->base(), length, file, first)) {
    return CUDA_SUCCESS;
  }
  (void)import.slot->close();
  return CUDA_ERROR_MAP_FAILED;
}

// The count of an import that this context has, or a new one.
CUresult open_import(const IpcHandle& handle, CUdeviceptr* pointer) {
  const Identity identity{handle.inode, handle.id};
  CUcontext context = current_context();
  const std::lock_guard lock(imports_mutex);
  for (auto& [address, import] : imports()) {
    if (import.opened == 0) continue;  // about to end
    if (import.identity != identity || import.context->device != context->device) continue;
    // One context per device (hip-tests device/hipIpcOpenMemHandle.cc:81).
    if (import.context != context) return CUDA_ERROR_INVALID_HANDLE;
    ++import.opened;
    *pointer = address;
    return CUDA_SUCCESS;
  }
  const int file = open_file(handle);
  if (file < 0) return CUDA_ERROR_MAP_FAILED;
  Import import{
      .identity = identity, .context = context, .window = {}, .slot = {}, .bytes = handle.bytes};
  const CUresult result = map_import(handle, file, import);
  close(file);
  if (result != CUDA_SUCCESS) return result;
  const Address start = import.window->base() + handle.offset % kGranule;
  windows().add(import.window);
  imports().emplace(start, std::move(import));
  driver().memory.add({.start = start,
                       .bytes = handle.bytes,
                       .kind = Kind::device,
                       .origin = Origin::imported,
                       .context = context,
                       .device = handle.device});
  *pointer = start;
  return CUDA_SUCCESS;
}

}  // namespace

void end_import(Address start) {
  const std::lock_guard lock(imports_mutex);
  auto node = imports().extract(start);
  if (node.empty()) return;
  const Import& import = node.mapped();
  windows().remove(import.window->base());
  const bool bytes_are_nobodys = import.slot->close();
  if (!bytes_are_nobodys || shares_a_granule(import.bytes)) return;  // small ones have neighbours
  import.window->erase_bytes(import.window->base(), import.window->bytes());
}

namespace body {

// An interior pointer gives the handle of the whole allocation, as on the real driver.
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().memory.find(pointer);
  if (!found || !found->is_plain()) return CUDA_ERROR_INVALID_VALUE;
  Device& device = *driver().devices[static_cast<std::size_t>(found->device)];
  const auto place = device.shadow.export_from(found->start, found->bytes, found->buffer_id);
  if (!place) return CUDA_ERROR_MAP_FAILED;
  IpcHandle content = {.mark = {},
                       .exporter = getpid(),
                       .file = place->file,
                       .inode = place->inode,
                       .offset = place->offset,
                       .bytes = found->bytes,
                       .id = found->buffer_id,
                       .device = found->device};
  std::memcpy(content.mark, kIpcMark, sizeof kIpcMark);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &content, sizeof content);
  return CUDA_SUCCESS;
}

// The exporter may not open its own handle.
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  IpcHandle content;
  std::memcpy(&content, &handle, sizeof content);
  if (std::memcmp(content.mark, kIpcMark, sizeof kIpcMark) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(content.device) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (content.exporter == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  return open_import(content, pointer);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  return body::cuIpcOpenMemHandle_v2(pointer, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  driver().wait_for_all_work();
  {
    const std::lock_guard lock(imports_mutex);
    const auto found = imports().find(pointer);
    if (found == imports().end()) return CUDA_ERROR_INVALID_VALUE;
    if (--found->second.opened != 0) return CUDA_SUCCESS;
    const auto imported = [](const Allocation& a) { return a.origin == Origin::imported; };
    if (!driver().memory.take(pointer, imported)) return CUDA_SUCCESS;  // its context ends it
  }
  end_import(pointer);
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
