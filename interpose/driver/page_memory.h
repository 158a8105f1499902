// Memory in pages that are mapped into reserved addresses (the driver's virtual memory management):
// the part of the backend under segments that grow.
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

#include "allocator/ground/backend.h"
#include "allocator/ground/capability.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/contexts.h"
#include "reporter/ground/facts.h"

namespace vramscope {

// A device, a driver or a version proves nothing here: before the first use of a device all calls
// are tried on one page, which is written and read back. What fails later is undone; after three
// failures in a row nothing more is tried there. Nothing is called while a stream is captured.
// Threads: any. The calls are not the program's: nobody records them.
class PageMemory {
 public:
  PageMemory(Contexts& contexts, Captures& captures) : contexts_(contexts), captures_(captures) {}

  // See Backend. A context of the device is current.
  [[nodiscard]] Grant reserve(std::uint16_t device, std::uint64_t bytes) noexcept;
  [[nodiscard]] Grant map(std::uint16_t device, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept;
  // With any context or none.
  [[nodiscard]] Reply unmap(Address address, std::uint64_t bytes) noexcept;
  void release(Address address, std::uint64_t bytes) noexcept;

  // A context of `accessing` may use the memory of `owner` from now on: pages too.
  void enabled_peer(std::uint16_t accessing, std::uint16_t owner) noexcept;

  // What the driver took for them so far.
  [[nodiscard]] PageTimes times(std::uint16_t device) const;
  // One line for each device where segments stay plain, and why. May throw bad_alloc.
  [[nodiscard]] std::vector<std::string> problems() const;

 private:
  // What did not succeed: a call, or something in its place, with the driver's code.
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
    bool is_at_limit = false;  // of pages, and more were wanted
    PageTimes times;
  };
  struct Page {
    std::uint64_t bytes = 0;
    std::uint16_t device = 0;
  };
  static constexpr unsigned kMostFailures = 3;
  // A range that is at least as long is asked for in halves when it is refused.
  static constexpr std::uint64_t kHalved = std::uint64_t{2} << 30;
  // Of a device. Some drivers refuse access to more than some 500,000 mappings.
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
