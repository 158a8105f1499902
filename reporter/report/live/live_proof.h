// LiveProof is what can be said for certain of a file that looks like a live file: whether it is
// one of ours, whose, and whether anybody may still need it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "allocator/ground/live_memory.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_owner.h"

namespace vramscope {

struct LiveProof {
  enum class What : std::uint8_t {
    foreign,  // anything else: `why` says what was expected
    begun,    // of ours, without a header yet: in our own folder, under a name that only we make
    whole     // it has our magic and format, and says whose it is
  };
  What what = What::foreign;
  std::string why = {};
  // Of a whole one:
  LiveOwner owner = {};
  OwnerState state = OwnerState::untold;
  // It is the very file that its process made, under that name; else a copy, or renamed, and then
  // the user's own.
  bool is_as_made = false;
  LiveState last = LiveState::needed;  // of a dead process: what it said in the end
};

// Of a file without a problem. Reads its header alone. May throw bad_alloc.
[[nodiscard]] LiveProof proof_of(const OpenLiveFile& file);

// "" where that proves it to be ours, and its process to be dead; else why it has to stay.
[[nodiscard]] std::string why_it_stays(const OpenLiveFile& file, const LiveProof& proof);

// Takes its name away where that proves it to be ours, and its process to be dead; the only way in
// which the tool removes a live file. Gives "", or why it was left alone. Keeps the file locked.
[[nodiscard]] std::string remove_proved(const OpenLiveFile& file, const LiveProof& proof);

}  // namespace vramscope
