// Peaks of devices are the most that all kinds of memory of one together came to, and what each tag
// held then: the peaks of the kinds need not have come at one time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/ground/mapped_array.h"
#include "allocator/ground/place.h"

namespace vramscope {

// Bytes, with their peak. Every peak has a number, so that what a tag held then can be put aside
// when the tag changes next.
struct PeakLevel {
  std::uint64_t peak_bytes = 0;
  std::int64_t below = 0;     // peak - current; negative only until the peak is raised
  std::uint64_t peak = 1;     // number of the peak
  std::uint64_t peak_ns = 0;  // of the last peak, and by which tag
  Tag peak_tag = 0;

  [[nodiscard]] std::uint64_t current_bytes() const {
    return peak_bytes - static_cast<std::uint64_t>(below);
  }
  // The peak is what is there now.
  void set_peak() noexcept {
    peak_bytes = current_bytes();
    below = 0;
    ++peak;
  }
};

// Of each device since it had memory of two kinds, which costs nothing before. Bytes are requested
// bytes. Threads: one at a time.
class DevicePeaks {
 public:
  // Bytes and their number, in one register.
  using Amount = std::uint64_t __attribute__((vector_size(16)));
  // What a tag held, when `peak` is the number of its device's present one.
  struct AtPeak {
    Amount amount{};
    std::uint64_t peak = 0;
  };
  // As long as no other kind has raised it, which then has number 1, it is the first kind's.
  struct OfDevice : PeakLevel {
    enum class State : std::uint8_t { one_kind, known, lost };  // lost: it is not known any more

    State state = State::one_kind;
    Kind first = Kind::device;
    std::array<AtPeak, kKinds> unknown{};  // of tag 0, which may have memory of several kinds

    [[nodiscard]] bool is_known() const { return state == State::known; }
    // What a tag with memory of `kind` held then, which holds `live`, and held `at_own` at the
    // peak of its kind; `held`: what was put aside for it.
    [[nodiscard]] Amount at_peak(const AtPeak& held, Kind kind, Amount live, Amount at_own) const {
      if (peak == 1) return kind == first ? at_own : Amount{};
      return held.peak == peak ? held.amount : live;
    }
  };

  explicit DevicePeaks(LiveMemory* live) : tags_({live, LivePart::tag_joint_peaks}) {}

  [[nodiscard]] OfDevice& of(std::uint16_t device) { return devices_[device]; }
  [[nodiscard]] const OfDevice& of(std::uint16_t device) const { return devices_[device]; }
  [[nodiscard]] const MappedArray<AtPeak>& tags() const { return tags_; }

  // A second kind of memory is about to come; `level` is what there is of the first.
  static void begin(OfDevice& joint, Kind first, const PeakLevel& level) noexcept;

  // Memory of a tag, of which the tag held `before`, has come, or has gone. Without memory of ours
  // the joint peak is lost.
  void came(OfDevice& joint, Kind kind, Tag tag, Amount before, std::uint64_t bytes) noexcept;
  void went(OfDevice& joint, Kind kind, Tag tag, Amount before, std::uint64_t bytes) noexcept;

  void reset() noexcept;

 private:
  // Puts aside what the tag held at the present peak. False: no memory.
  [[nodiscard]] bool put_aside(OfDevice& joint, Kind kind, Tag tag, Amount before) noexcept;

  std::array<OfDevice, kMaxDevices> devices_{};
  MappedArray<AtPeak> tags_;  // as far as they have changed since
};

}  // namespace vramscope
