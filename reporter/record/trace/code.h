// TraceState turns one event into bytes and back. Writer and reader keep the same memory of the
// events before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reporter/base/event.h"
#include "reporter/base/segment.h"
#include "reporter/record/trace/format.h"

namespace vramscope {

// The bits of an event's first byte.
namespace trace {
enum class What : std::uint8_t {
  call,          // no recorded memory was allocated or freed
  came,          // a call that allocated memory
  went,          // a call that freed memory
  came_besides,  // memory that a call allocated in addition; the call's event follows
  went_besides,  // memory that a call freed in addition; the call's event follows
  place_ended,   // a place ended with all memory in it
  thread,        // the events that follow are those of another thread
  live_before,   // memory that was live when the trace began; a reader makes it (begin.h)
};
inline constexpr std::uint8_t kWhat = 0x07;
inline constexpr std::uint8_t kDetails = 0x08;   // a byte of details and the function follow; else
                                                 // both are as before
inline constexpr std::uint8_t kSerial = 0x10;    // the difference to the expected serial number
                                                 // follows
inline constexpr std::uint8_t kRecalled = 0x20;  // a byte follows that selects a remembered address
inline constexpr std::uint8_t kTag = 0x40;       // the tag follows
inline constexpr std::uint8_t kMemory = 0x80;    // bytes and place follow

// The bits of the details.
inline constexpr std::uint8_t kFailed = 0x01;
inline constexpr unsigned kServedShift = 1;  // two bits
inline constexpr std::uint8_t kDriverTime = 0x08;
inline constexpr std::uint8_t kSyncTime = 0x10;
inline constexpr unsigned kEffectShift = 5;  // three bits
}  // namespace trace

// An event with the fields that a lane adds to it.
struct TraceEvent {
  trace::What what = trace::What::call;
  std::uint32_t thread = 0;  // number of a ThreadFact, kOtherValue, or 0: unknown
  Event event;               // if it is not a call: start_ns, serial and the memory
};

// Threads: one.
class TraceState {
 public:
  // Enough for any event, with a change of thread before it.
  static constexpr std::size_t kMostBytes = 128;

  // Begins a part, with nothing remembered.
  void clear() noexcept;

  // Writes at `at`, where kMostBytes must fit. Returns the end.
  [[nodiscard]] std::byte* put(const TraceEvent& event, std::byte* at) noexcept;
  // Reads the next event of a part. Returns false if the part is damaged although its checksum is
  // right.
  [[nodiscard]] bool get(TraceBytes& bytes, TraceEvent& event) noexcept;

 private:
  struct Memory {  // of the last event at an address, and of a tag
    Address address = 0;
    std::uint64_t bytes = 0;
    Place place;
    Tag tag = 0;
  };
  static constexpr std::size_t kRemembered = 256;
  struct Details {
    std::uint8_t bits = 0;
    std::uint16_t function = 0;
  };

  [[nodiscard]] static std::size_t slot_of(Address address) noexcept {
    return address * 0x9e3779b97f4a7c15U >> 56;
  }
  [[nodiscard]] const Memory& expected_memory(trace::What what, const Memory* recalled,
                                              Tag tag) const noexcept;
  [[nodiscard]] std::uint64_t expected_serial(trace::What what) const noexcept;
  void remember(const Event& event) noexcept;

  [[nodiscard]] std::byte* put_call(trace::What what, const Event& event, std::uint8_t& head,
                                    std::byte* at) noexcept;
  [[nodiscard]] std::byte* put_serial(trace::What what, std::uint64_t serial, std::uint8_t& head,
                                      std::byte* at) noexcept;
  [[nodiscard]] std::byte* put_change(trace::What what, const Event& event, std::uint8_t& head,
                                      std::byte* at) noexcept;
  void get_call(trace::What what, TraceBytes& bytes, std::uint8_t head, Event& event) noexcept;
  void get_serial(trace::What what, TraceBytes& bytes, std::uint8_t head, Event& event) noexcept;
  void get_change(trace::What what, TraceBytes& bytes, std::uint8_t head, Event& event) noexcept;

  std::uint64_t end_ns_ = 0;  // of the last call
  std::uint64_t serial_ = 0;
  Address address_ = 0;  // the last address, rounded down to a unit
  Tag tag_ = 0;          // of the last memory
  std::uint32_t thread_ = 0;
  std::array<Details, 3> details_{};  // by What: call, came, went
  std::array<Memory, kRemembered> by_address_{};
  std::array<Memory, kRemembered> by_tag_{};
};

// Writes a change of a segment at `at`, where kMostSegmentBytes must fit. Returns the end.
inline constexpr std::size_t kMostSegmentBytes = 96;
[[nodiscard]] std::byte* put_segment(const SegmentChange& change, std::byte* at) noexcept;
// Returns false if the bytes are not such a change.
[[nodiscard]] bool get_segment(TraceBytes& bytes, SegmentChange& change) noexcept;

// The same for what is used and not recorded.
[[nodiscard]] std::byte* put_unrecorded(const UnrecordedChange& change, std::byte* at) noexcept;
[[nodiscard]] bool get_unrecorded(TraceBytes& bytes, UnrecordedChange& change) noexcept;

}  // namespace vramscope
