// Shareable memory has a file of its own, with its properties behind the bytes; the rest lies in
// the file of the device, to save descriptors.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "test/simulator/device/export_slot.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr char kMark[16] = "vramscope-phys";

struct Trailer {
  char mark[16];
  std::uint64_t bytes;
  CUmemAllocationProp properties;
};

// Far from the ids of allocations, which MEMORY_BLOCK_ID answers too.
std::atomic<std::uint64_t> next_id{std::uint64_t{1} << 32};

std::mutex shared_mutex;  // guards shared()

// Shareable memory that this process has, by inode: importing it again is no second memory.
std::map<std::uint64_t, std::weak_ptr<PhysicalMemory>>& shared() {
  static auto& all = *new std::map<std::uint64_t, std::weak_ptr<PhysicalMemory>>;
  return all;
}

Device& device_of(const CUmemAllocationProp& properties) {
  return *driver().devices[static_cast<std::size_t>(properties.location.id)];
}

// A descriptor of its own opening, so that its locks are not those of the one that came.
int open_again(int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

bool is_shareable(const CUmemAllocationProp& properties) {
  return (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
}

bool read_trailer(int file, Trailer* trailer) {
  const off_t at = lseek(file, 0, SEEK_END) - static_cast<off_t>(sizeof *trailer);
  if (at < 0) return false;
  return pread(file, trailer, sizeof *trailer, at) == ssize_t{sizeof *trailer} &&
         std::memcmp(trailer->mark, kMark, sizeof kMark) == 0 &&
         trailer->bytes == static_cast<std::uint64_t>(at);
}

}  // namespace

PhysicalMemory::PhysicalMemory(const CUmemAllocationProp& properties, std::uint64_t bytes)
    : properties_(properties), bytes_(bytes), id_(next_id++) {}

PhysicalMemory::Made PhysicalMemory::create(const CUmemAllocationProp& properties,
                                            std::uint64_t bytes) {
  Device& device = device_of(properties);
  device.take_what_was_let_go();
  const Grant grant = device.accounts.allocate(Memory::device, bytes);
  if (!grant.status.ok()) return {.result = result_of(grant.status), .memory = {}};
  std::shared_ptr<PhysicalMemory> made(new PhysicalMemory(properties, bytes));
  made->charged_ = grant.address;
  device.shadow.settle(grant.address, bytes);
  if (is_shareable(properties)) {
    if (!made->make_file()) return {.result = CUDA_ERROR_OUT_OF_MEMORY, .memory = {}};
    const std::lock_guard lock(shared_mutex);
    shared()[made->place_.inode] = made;
  } else {
    const auto place = device.shadow.place_of(grant.address, bytes);
    if (!place) return {.result = CUDA_ERROR_OUT_OF_MEMORY, .memory = {}};
    made->place_ = *place;
  }
  return {.result = CUDA_SUCCESS, .memory = std::move(made)};
}

PhysicalMemory::Made PhysicalMemory::import(int file) {
  Trailer trailer;
  if (!read_trailer(file, &trailer)) return {.result = CUDA_ERROR_INVALID_VALUE, .memory = {}};
  if (driver().device(trailer.properties.location.id) == nullptr) {
    return {.result = CUDA_ERROR_NOT_SUPPORTED, .memory = {}};
  }
  const std::uint64_t inode = inode_of(file);
  const std::lock_guard lock(shared_mutex);
  auto& entry = shared()[inode];
  if (auto known = entry.lock()) return {.result = CUDA_SUCCESS, .memory = std::move(known)};
  std::shared_ptr<PhysicalMemory> made(new PhysicalMemory(trailer.properties, trailer.bytes));
  made->place_ = {.file = open_again(file), .inode = inode, .offset = 0};
  made->has_own_file_ = true;
  if (made->place_.file < 0) return {.result = CUDA_ERROR_OPERATING_SYSTEM, .memory = {}};
  note_use_of(made->place_.file, 0);
  entry = made;
  return {.result = CUDA_SUCCESS, .memory = std::move(made)};
}

PhysicalMemory::~PhysicalMemory() {
  const bool has_file = has_own_file_ && inode_of(place_.file) == place_.inode;
  const bool is_left = charged_ != 0 && has_file && is_used_elsewhere(place_.file, 0);
  if (charged_ != 0) {
    Device& device = device_of(properties_);
    device.shadow.discard(charged_, bytes_);
    (void)device.accounts.release(charged_, is_left ? bytes_ : 0);
  }
  if (is_left) {
    leave_to_importers();
  } else if (has_file) {
    close(place_.file);
  }
}

void PhysicalMemory::leave_to_importers() const {
  device_of(properties_).left.add(bytes_, [place = place_] {
    const bool has_file = inode_of(place.file) == place.inode;
    if (has_file && is_used_elsewhere(place.file, 0)) return true;
    if (has_file) close(place.file);
    return false;
  });
}

int PhysicalMemory::export_file() const {
  if (!has_own_file_ || inode_of(place_.file) != place_.inode) return -1;
  return fcntl(place_.file, F_DUPFD_CLOEXEC, 0);
}

bool PhysicalMemory::make_file() {
  const int file = memfd_create("vramscope-simulated-memory", MFD_CLOEXEC);
  if (file < 0) return false;
  has_own_file_ = true;
  place_ = {.file = file, .inode = inode_of(file), .offset = 0};
  Trailer trailer = {.mark = {}, .bytes = bytes_, .properties = properties_};
  std::memcpy(trailer.mark, kMark, sizeof kMark);
  return pwrite(file, &trailer, sizeof trailer, static_cast<off_t>(bytes_)) ==
         ssize_t{sizeof trailer};
}

}  // namespace vramscope::simulator
