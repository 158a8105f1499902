// Events of one process opened in another by cuIpc*EventHandle.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/shared_moments.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr char kEventMark[8] = "vrameve";
constexpr unsigned kShareable = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// What our 64 opaque bytes hold.
struct EventHandle {
  char mark[8];
  std::int32_t exporter;
  std::int32_t file;  // a descriptor of the exporter
  std::uint64_t inode;
};
static_assert(sizeof(EventHandle) <= sizeof(CUipcEventHandle));

// The exporter's page; null when it has ended or destroyed the event.
std::shared_ptr<SharedMoments> open_moments(const EventHandle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.exporter) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  std::shared_ptr<SharedMoments> moments;
  if (inode_of(file) == handle.inode) moments = std::make_shared<SharedMoments>(file);
  close(file);
  return moments && moments->ok() ? moments : nullptr;
}

}  // namespace

namespace body {

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto event = events().find(event_handle);
  if (!event || !event->shared || event->shared->file() < 0) return CUDA_ERROR_INVALID_HANDLE;
  const int file = event->shared->file();
  EventHandle content = {.mark = {}, .exporter = getpid(), .file = file, .inode = inode_of(file)};
  std::memcpy(content.mark, kEventMark, sizeof kEventMark);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &content, sizeof content);
  return CUDA_SUCCESS;
}

// The exporter may not open its own handle, as with memory.
CUresult cuIpcOpenEventHandle(CUevent* handle, CUipcEventHandle exported) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EventHandle content;
  std::memcpy(&content, &exported, sizeof content);
  if (std::memcmp(content.mark, kEventMark, sizeof kEventMark) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (content.exporter == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  auto event = std::make_shared<CUevent_st>();
  event->shared = open_moments(content);
  if (!event->shared) return CUDA_ERROR_MAP_FAILED;
  event->context = current_context();
  event->flags = kShareable;
  *handle = events().add(std::move(event));
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
