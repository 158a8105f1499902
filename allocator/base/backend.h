// A backend gives the allocator its segments and takes them back: its only door to a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

enum class Result : std::uint8_t {
  ok,
  out_of_memory,  // no room; asking again after giving memory back may succeed
  invalid,        // not the start of a live block of ours
  failed,         // the backend refused for another reason, told by `code`
  forbidden,      // a stream capture forbids it now: the backend did nothing
};

// What became of a call. `code` is the backend's own number (a CUresult for the real driver, 0 when
// there is none): it is passed on unchanged, never interpreted here.
struct Status {
  Result result = Result::ok;
  std::int32_t code = 0;
  [[nodiscard]] bool ok() const { return result == Result::ok; }
  friend bool operator==(const Status&, const Status&) = default;
};

struct Grant {
  Status status;
  Address address = 0;   // set only on success
  std::uint64_t ns = 0;  // time spent in the backend
  // What the device said of itself after that, when it was asked; total_bytes is 0 else.
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

struct Reply {
  Status status;
  std::uint64_t ns = 0;
};

// The only door between the allocator and a device.
// Threads: any. The allocator never holds its lock across a call.
class Backend {
 public:
  virtual ~Backend() = default;

  // One segment of exactly `bytes` > 0 bytes. Fails as a value, never throws.
  [[nodiscard]] virtual Grant reserve(Place where, std::size_t bytes) noexcept = 0;

  // Gives back a segment that came from reserve(where). Result::invalid: there is none any more,
  // its place has ended. Any other refusal: the segment is still there, and can be given back
  // later. Result::forbidden: as for wait().
  virtual Reply release(Place where, Address segment) noexcept = 0;

  // Returns when everything submitted so far has finished that a free of memory of `where` waits
  // for: in its own context, and on other devices that may use it. Result::forbidden, also when a
  // capture began since may_wait() said that there is none.
  virtual Reply wait(Place where) noexcept = 0;
  // The same as the first thing that the present call does: its time may count from where the call
  // began (call_time_ns).
  virtual Reply wait_first(Place where) noexcept { return wait(where); }

  // A sticky error of `where` that nobody has been told of, without waiting for the device;
  // forbidden as for wait().
  virtual Reply probe(Place where) noexcept = 0;

  // False while a stream capture forbids waits and probes.
  [[nodiscard]] virtual bool may_wait(Place where) noexcept = 0;
  // May memory of `where` be given back now, whose users have finished or whose release waits for
  // them?
  [[nodiscard]] virtual bool may_release(Place where) noexcept { return may_wait(where); }

  // Memory in pages, for segments that grow. A backend that has none answers Result::failed, and
  // what it fails here the allocator asks of reserve(): only out_of_memory of map() means what it
  // means there. Result::forbidden: a capture forbids it now.
  // A range of addresses that nothing lies behind; `bytes` is a multiple of `page`, and `page` one
  // of 2 MiB.
  [[nodiscard]] virtual Grant reserve_addresses(Place, std::uint64_t /*bytes*/,
                                                std::uint64_t /*page*/) noexcept {
    return {.status = {Result::failed, 0}};
  }
  // Whole pages of such a range, none of them backed: all are after that, or none.
  [[nodiscard]] virtual Grant map(Place, Address, std::uint64_t /*bytes*/,
                                  std::uint64_t /*page*/) noexcept {
    return {.status = {Result::failed, 0}};
  }
  // Whole pages, all of them backed, that nothing uses: none is after that, or all. Also when the
  // place has ended.
  virtual Reply unmap(Place, Address, std::uint64_t /*bytes*/, std::uint64_t /*page*/) noexcept {
    return {.status = {Result::failed, 0}};
  }
  // A range without backed pages, whole. Also when the place has ended.
  virtual void release_addresses(Place, Address, std::uint64_t /*bytes*/) noexcept {}

  // Total bytes of the device behind `where`, or of the host: the base of memory fractions.
  // Constant per place.
  [[nodiscard]] virtual std::uint64_t total_bytes(Place where) noexcept = 0;
};

}  // namespace vramscope
