// FreeCalls says what became of calls that free memory: of a device's, of the host's, and of all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace vramscope {

struct DeviceReport;
struct Report;

// Calls that free plain memory of one device, or pinned and registered memory of the host.
struct FreeCalls {
  std::uint64_t kept = 0;       // the cache kept their memory
  std::uint64_t by_driver = 0;  // they called the driver
  // How many of `by_driver` had nothing to free, as cudaFree(nullptr); nothing: not known, because
  // memory also ended with its context, or calls went unrecorded.
  std::optional<std::uint64_t> of_nothing = {};
  // Segments that the cache gave back apart from these calls; nothing: not known, as of pages.
  std::optional<std::uint64_t> given_back_later = {};
};
[[nodiscard]] FreeCalls free_calls(const Report& report, const DeviceReport& device);
[[nodiscard]] FreeCalls host_free_calls(const Report& report);

// Calls that free memory of any kind that counts, and the frees that the kinds count. A call may
// free nothing: of no address, or of a handle that is still in use. A free may need no call: of
// memory that ended with its context or graph.
struct AllFrees {
  std::uint64_t calls = 0;  // that succeeded
  std::uint64_t frees = 0;
  std::uint64_t total_ns = 0;  // in all calls
};
[[nodiscard]] AllFrees all_frees(const Report& report);

}  // namespace vramscope
