// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/page_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "allocator/base/uncancelled.h"
#include "interpose/base/clock.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kProbeBytes = std::uint64_t{2} << 20;

// The memory has no exportable handle, because parts of it must not be exported like whole
// allocations.
CUmemAllocationProp properties_on(std::uint16_t device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  return properties;
}

int attribute(CUdevice_attribute which, std::uint16_t device) {
  int value = 0;
  return real().cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

// Drivers under WSL report support and fail later.
bool is_subsystem_for_linux() {
  const Uncancelled uncancelled;
  std::array<char, 256> text{};
  const int file = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = ::read(file, text.data(), text.size());
  close(file);
  const std::string_view release(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return release.find("icrosoft") != release.npos;
}

bool has_functions() {
  const Real& driver = real();
  return driver.cuMemAddressReserve && driver.cuMemAddressFree && driver.cuMemCreate &&
         driver.cuMemRelease && driver.cuMemMap && driver.cuMemUnmap && driver.cuMemSetAccess &&
         driver.cuMemGetAllocationGranularity && driver.cuMemsetD8_v2 && driver.cuMemcpyDtoH_v2;
}

}  // namespace

Grant PageMemory::reserve(std::uint16_t device, std::uint64_t bytes) noexcept {
  if (captures_.any()) return {.status = {Result::forbidden, 0}};
  const Uncancelled whole;
  if (!is_usable(device)) return {.status = {Result::failed, CUDA_ERROR_NOT_SUPPORTED}};
  const std::uint64_t start = now_ns();
  CUdeviceptr address = 0;
  const CUresult code = real().cuMemAddressReserve(&address, bytes, 0, 0, 0);
  if (code != CUDA_SUCCESS && bytes < kHalved) note(device, {"cuMemAddressReserve", code});
  const Status status = code == CUDA_SUCCESS ? Status{} : Status{Result::failed, code};
  return {.status = status, .address = address, .ns = elapsed_ns(start)};
}

// A device is not usable while another thread probes it.
bool PageMemory::is_usable(std::uint16_t device) noexcept {
  {
    const SystemLock lock(mutex_);
    Device& known = devices_[device];
    if (known.use != Use::untried) return known.use == Use::tried;
    known.use = Use::off;
  }
  const Failure failure = probe(device);
  const SystemLock lock(mutex_);
  devices_[device].last = failure;
  devices_[device].use = failure ? Use::off : Use::tried;
  return !failure;
}

// The reservation of the page goes in any case.
PageMemory::Failure PageMemory::probe(std::uint16_t device) noexcept {
  if (!has_functions()) return {"missing driver functions", CUDA_ERROR_NOT_FOUND};
  if (is_subsystem_for_linux()) return {"WSL", CUDA_ERROR_NOT_SUPPORTED};
  if (attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, device) != 0) {
    return {"integrated device", CUDA_ERROR_NOT_SUPPORTED};
  }
  if (attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) == 0) {
    return {"VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", CUDA_ERROR_NOT_SUPPORTED};
  }
  const CUmemAllocationProp properties = properties_on(device);
  std::size_t granularity = 0;
  CUresult code = real().cuMemGetAllocationGranularity(&granularity, &properties,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (code != CUDA_SUCCESS) return {"cuMemGetAllocationGranularity", code};
  if (granularity == 0 || kProbeBytes % granularity != 0) {
    return {"a granularity that does not divide 2 MiB", CUDA_ERROR_NOT_SUPPORTED};
  }
  CUdeviceptr address = 0;
  code = real().cuMemAddressReserve(&address, kProbeBytes, 0, 0, 0);
  if (code != CUDA_SUCCESS) return {"cuMemAddressReserve", code};
  Failure failure = probe_page(device, address);
  code = real().cuMemAddressFree(address, kProbeBytes);
  if (!failure && code != CUDA_SUCCESS) failure = {"cuMemAddressFree", code};
  return failure;
}

PageMemory::Failure PageMemory::probe_page(std::uint16_t device, Address address) noexcept {
  constexpr unsigned char kWritten = 0xA5;
  Failure failure = map_page(device, address, kProbeBytes);
  if (failure) return failure;
  failure = give_access(device, address, kProbeBytes);
  unsigned char read = 0;
  CUresult code = CUDA_SUCCESS;
  if (!failure) {
    code = real().cuMemsetD8_v2(address, kWritten, kProbeBytes);
    if (code == CUDA_SUCCESS) code = real().cuMemcpyDtoH_v2(&read, address + kProbeBytes - 1, 1);
    if (code != CUDA_SUCCESS || read != kWritten) failure = {"writing and reading back", code};
  }
  code = real().cuMemUnmap(address, kProbeBytes);
  if (!failure && code != CUDA_SUCCESS) failure = {"cuMemUnmap", code};
  return failure;
}

void PageMemory::note(std::uint16_t device, Failure failure) noexcept {
  const SystemLock lock(mutex_);
  Device& known = devices_[device];
  known.failures = failure ? known.failures + 1 : 0;
  if (!failure) return;
  known.last = failure;
  if (known.failures >= kMostFailures) known.use = Use::off;
}

// The mapping keeps the memory, so the handle is released at once.
PageMemory::Failure PageMemory::map_page(std::uint16_t device, Address address,
                                         std::uint64_t bytes) noexcept {
  const CUmemAllocationProp properties = properties_on(device);
  CUmemGenericAllocationHandle handle{};
  CUresult code = real().cuMemCreate(&handle, bytes, &properties, 0);
  if (code != CUDA_SUCCESS) return {"cuMemCreate", code};
  code = real().cuMemMap(address, bytes, 0, handle, 0);
  real().cuMemRelease(handle);
  return code == CUDA_SUCCESS ? Failure{} : Failure{"cuMemMap", code};
}

// Gives access to the device and to those that have enabled it as a peer. Waits once for a busy
// device.
PageMemory::Failure PageMemory::give_access(std::uint16_t device, Address address,
                                            std::uint64_t bytes) noexcept {
  std::array<CUmemAccessDesc, kMaxDevices> access{};
  std::size_t count = 0;
  const std::uint64_t reaching = contexts_.devices_reaching(device) | std::uint64_t{1} << device;
  for (std::uint16_t i = 0; i < kMaxDevices; ++i) {
    if ((reaching >> i & 1) == 0) continue;
    access[count++] = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = i},
                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  }
  CUresult code = real().cuMemSetAccess(address, bytes, access.data(), count);
  if (code == CUDA_ERROR_NOT_READY && real().cuCtxSynchronize() == CUDA_SUCCESS) {
    code = real().cuMemSetAccess(address, bytes, access.data(), count);
  }
  return code == CUDA_SUCCESS ? Failure{} : Failure{"cuMemSetAccess", code};
}

// Out of memory is the only refusal that counts as no failure. A device with too many pages gets no
// more, but keeps its pages.
Grant PageMemory::map(std::uint16_t device, Address address, std::uint64_t bytes,
                      std::uint64_t page) noexcept {
  if (captures_.any()) return {.status = {Result::forbidden, 0}};
  const Uncancelled whole;  // many calls of ours belong to one of the program
  if (!is_usable(device) || !has_room(device, bytes / page)) {
    return {.status = {Result::failed, CUDA_ERROR_NOT_SUPPORTED}};
  }
  const std::uint64_t start = now_ns();
  Failure failure;
  std::uint64_t mapped = 0;
  for (; mapped < bytes && !failure; mapped += failure ? 0 : page) {
    const std::uint64_t begun = now_ns();
    failure = map_page(device, address + mapped, page);
    if (!failure && !keep(device, address + mapped, page, elapsed_ns(begun))) {
      real().cuMemUnmap(address + mapped, page);
      failure = {"memory of Vramscope's own", CUDA_ERROR_UNKNOWN};
    }
  }
  const bool is_full = failure.code == CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t created = now_ns();
  if (!failure) failure = give_access(device, address, bytes);
  if (failure) {
    static_cast<void>(unmap(address, mapped));
  } else {
    const SystemLock lock(mutex_);
    devices_[device].times.access.add(elapsed_ns(created));
  }
  if (!is_full) note(device, failure);
  const Status status{!failure  ? Result::ok
                      : is_full ? Result::out_of_memory
                                : Result::failed,
                      failure.code};
  return {.status = status, .address = address, .ns = elapsed_ns(start)};
}

bool PageMemory::has_room(std::uint16_t device, std::uint64_t pages) noexcept {
  const SystemLock lock(mutex_);
  Device& known = devices_[device];
  if (known.pages + pages <= kMostPages) return true;
  known.is_at_limit = true;
  return false;
}

bool PageMemory::keep(std::uint16_t device, Address address, std::uint64_t bytes,
                      std::uint64_t ns) noexcept {
  const SystemLock lock(mutex_);
  try {
    pages_[address] = {.bytes = bytes, .device = device};
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++devices_[device].pages;
  devices_[device].times.map.add(ns);
  return true;
}

PageTimes PageMemory::times(std::uint16_t device) const {
  const SystemLock lock(mutex_);
  return devices_[device].times;
}

// Unmaps page by page, because the driver takes only whole mappings. If it refuses a page after
// others are unmapped, that page is lost: nobody uses it again, and map() refuses it.
Reply PageMemory::unmap(Address address, std::uint64_t bytes) noexcept {
  if (captures_.forbid_frees()) return {.status = {Result::forbidden, 0}};
  const Uncancelled whole;
  const std::uint64_t start = now_ns();
  CUresult refusal = CUDA_SUCCESS;
  bool is_some_gone = false;
  Address from = address;
  while (const auto page = next_page(from, address + bytes)) {
    from = page->first + page->second.bytes;
    const std::uint64_t begun = now_ns();
    const CUresult code = real().cuMemUnmap(page->first, page->second.bytes);
    if (code != CUDA_SUCCESS) {
      refusal = code;
      continue;
    }
    is_some_gone = true;
    const SystemLock lock(mutex_);
    Device& device = devices_[page->second.device];
    --device.pages;
    device.times.unmap.add(elapsed_ns(begun));
    pages_.erase(page->first);
  }
  const bool is_kept = refusal != CUDA_SUCCESS && !is_some_gone;
  const Status status = is_kept ? Status{Result::failed, refusal} : Status{};
  return {.status = status, .ns = elapsed_ns(start)};
}

// Callers call the driver without the lock.
std::optional<std::pair<Address, PageMemory::Page>> PageMemory::next_page(Address from,
                                                                          Address end) const {
  const SystemLock lock(mutex_);
  const auto it = pages_.lower_bound(from);
  if (it == pages_.end() || it->first >= end) return std::nullopt;
  return *it;
}

void PageMemory::release(Address address, std::uint64_t bytes) noexcept {
  real().cuMemAddressFree(address, bytes);
}

// Pages that are mapped later include the peer.
void PageMemory::enabled_peer(std::uint16_t accessing, std::uint16_t owner) noexcept {
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = accessing},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Address from = 0;
  while (const auto page = next_page(from, ~Address{0})) {
    from = page->first + page->second.bytes;
    if (page->second.device != owner) continue;
    const CUresult code = real().cuMemSetAccess(page->first, page->second.bytes, &access, 1);
    if (code == CUDA_SUCCESS) continue;
    const SystemLock lock(mutex_);
    devices_[owner].use = Use::off;  // mapped pages stay
    devices_[owner].last = {"cuMemSetAccess for a peer", code};
    return;
  }
}

std::vector<std::string> PageMemory::problems() const {
  std::vector<std::string> lines;
  const SystemLock lock(mutex_);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    if (device.is_at_limit) {
      lines.push_back("device " + std::to_string(i) + " has " + std::to_string(kMostPages) +
                      " pages; further segments use none");
    }
    if (device.use != Use::off || !device.last) continue;
    lines.push_back("segments of device " + std::to_string(i) + " use no pages: error " +
                    std::to_string(device.last.code) + " (" + device.last.what + ")");
  }
  return lines;
}

}  // namespace vramscope
