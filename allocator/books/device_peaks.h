// The peak of a device is the most that all kinds of its memory held together, with what each tag
// held then. The peaks of single kinds need not have been at the same time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/mapped_array.h"
#include "allocator/base/place.h"

namespace vramscope {

// Bytes and their peak. Every peak has a number, so that a tag can save what it held then when it
// changes next.
struct PeakLevel {
  std::uint64_t peak_bytes = 0;
  std::int64_t below = 0;     // peak - current; negative only until the peak is raised
  std::uint64_t peak = 1;     // number of the peak
  std::uint64_t peak_ns = 0;  // when the last peak was reached
  Tag peak_tag = 0;

  [[nodiscard]] std::uint64_t current_bytes() const {
    return peak_bytes - static_cast<std::uint64_t>(below);
  }
  // Sets the peak to the current bytes.
  void set_peak() noexcept {
    peak_bytes = current_bytes();
    below = 0;
    ++peak;
  }
};

// The peaks of each device since it had memory of two kinds; before that they cost nothing. Bytes
// are requested bytes. Threads: one at a time.
class DevicePeaks {
 public:
  // Bytes and their number, in one register.
  using Amount = std::uint64_t __attribute__((vector_size(16)));
  // What a tag held at the peak numbered `peak`.
  struct AtPeak {
    Amount amount{};
    std::uint64_t peak = 0;
  };
  // The peak of one device. As long as it has number 1, no second kind has raised it, and it is the
  // peak of the first kind.
  struct OfDevice : PeakLevel {
    enum class State : std::uint8_t { one_kind, known, lost };  // lost: the peak is unknown

    State state = State::one_kind;
    Kind first = Kind::device;
    std::array<AtPeak, kKinds> unknown{};  // of tag 0, which can have memory of several kinds

    [[nodiscard]] bool is_known() const { return state == State::known; }
    // Returns what a tag with memory of `kind` held at the peak. `held`: the saved amount; `live`:
    // what the tag holds now; `at_own`: what it held at the peak of its kind.
    [[nodiscard]] Amount at_peak(const AtPeak& held, Kind kind, Amount live, Amount at_own) const {
      if (peak == 1) return kind == first ? at_own : Amount{};
      return held.peak == peak ? held.amount : live;
    }
  };

  explicit DevicePeaks(LiveMemory* live) : tags_({live, LivePart::tag_joint_peaks}) {}

  [[nodiscard]] OfDevice& of(std::uint16_t device) { return devices_[device]; }
  [[nodiscard]] const OfDevice& of(std::uint16_t device) const { return devices_[device]; }
  [[nodiscard]] const MappedArray<AtPeak>& tags() const { return tags_; }

  // Begins when a device gets a second kind of memory. `level` is that of the first kind.
  static void begin(OfDevice& joint, Kind first, const PeakLevel& level) noexcept;

  // Count memory of a tag that was allocated or freed. `before`: what the tag held before. If our
  // memory is exhausted, the peak of the device becomes unknown.
  void came(OfDevice& joint, Kind kind, Tag tag, Amount before, std::uint64_t bytes) noexcept;
  void went(OfDevice& joint, Kind kind, Tag tag, Amount before, std::uint64_t bytes) noexcept;

  void reset() noexcept;

 private:
  // Saves what the tag held at the current peak. Returns false if memory is exhausted.
  [[nodiscard]] bool put_aside(OfDevice& joint, Kind kind, Tag tag, Amount before) noexcept;

  std::array<OfDevice, kMaxDevices> devices_{};
  MappedArray<AtPeak> tags_;  // those that changed since their device's peak began
};

}  // namespace vramscope
