// PageMemory is the part of the backend for segments that grow. It maps pages into reserved
// addresses (the driver's virtual memory management).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/backend.h"
#include "allocator/base/capability.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/contexts.h"
#include "reporter/base/facts.h"

namespace vramscope {

// Support cannot be derived from a device, a driver or a version. So before the first use of a
// device all calls are tried on one page, which is written and read back. A later failure is
// undone; after three failures in a row the device is not tried again. Nothing is called while a
// stream is captured. Threads: any. The calls are not those of the program and are not recorded.
class PageMemory {
 public:
  PageMemory(Contexts& contexts, Captures& captures) : contexts_(contexts), captures_(captures) {}

  // See Backend. A context of the device must be current.
  [[nodiscard]] Grant reserve(std::uint16_t device, std::uint64_t bytes) noexcept;
  [[nodiscard]] Grant map(std::uint16_t device, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept;
  // See Backend. Any context or none may be current.
  [[nodiscard]] Reply unmap(Address address, std::uint64_t bytes) noexcept;
  void release(Address address, std::uint64_t bytes) noexcept;

  // Lets contexts of `accessing` use the pages of `owner` from now on.
  void enabled_peer(std::uint16_t accessing, std::uint16_t owner) noexcept;

  // Returns the time that the driver spent on pages so far.
  [[nodiscard]] PageTimes times(std::uint16_t device) const;
  // Returns one line for each device on which segments stay plain, with the reason. May throw
  // bad_alloc.
  [[nodiscard]] std::vector<std::string> problems() const;

 private:
  // What failed: a call or a check, with the driver's code.
  struct Failure {
    const char* what = nullptr;  // null: none
    CUresult code = CUDA_SUCCESS;
    explicit operator bool() const { return what != nullptr; }
  };
  enum class Use : std::uint8_t { untried, tried, off };
  struct Device {
    Use use = Use::untried;
    unsigned failures = 0;  // in a row
    Failure last;
    std::size_t pages = 0;     // that are mapped
    bool is_at_limit = false;  // the number of pages reached the limit
    PageTimes times;
  };
  struct Page {
    std::uint64_t bytes = 0;
    std::uint16_t device = 0;
  };
  static constexpr unsigned kMostFailures = 3;
  // If a range of at least this size is refused, it is requested in halves.
  static constexpr std::uint64_t kHalved = std::uint64_t{2} << 30;
  // Pages of a device. Some drivers refuse access to more than some 500,000 mappings.
  static constexpr std::size_t kMostPages = std::size_t{1} << 16;

  [[nodiscard]] bool is_usable(std::uint16_t device) noexcept;
  void note(std::uint16_t device, Failure failure) noexcept;
  [[nodiscard]] std::optional<std::pair<Address, Page>> next_page(Address from, Address end) const;
  [[nodiscard]] bool has_room(std::uint16_t device, std::uint64_t pages) noexcept;
  [[nodiscard]] bool keep(std::uint16_t device, Address address, std::uint64_t bytes,
                          std::uint64_t ns) noexcept;
  [[nodiscard]] Failure map_page(std::uint16_t device, Address address,
                                 std::uint64_t bytes) noexcept;
  [[nodiscard]] Failure give_access(std::uint16_t device, Address address,
                                    std::uint64_t bytes) noexcept;
  [[nodiscard]] Failure probe(std::uint16_t device) noexcept;
  [[nodiscard]] Failure probe_page(std::uint16_t device, Address address) noexcept;

  Contexts& contexts_;
  Captures& captures_;
  mutable SystemMutex mutex_;
  std::array<Device, kMaxDevices> devices_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::map<Address, Page> pages_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
