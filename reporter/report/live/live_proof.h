// LiveProof says what is certain about a file that looks like a live file: whether it is one of
// ours, which process owns it, and whether anybody may still need it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "allocator/base/live_memory.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_owner.h"

namespace vramscope {

struct LiveProof {
  enum class What : std::uint8_t {
    foreign,  // anything else: `why` says what was expected
    begun,    // ours without a header yet: in our own folder, under a name that only we use
    whole     // it has our magic and format, and names its owner
  };
  What what = What::foreign;
  std::string why = {};
  // Only of a whole file:
  LiveOwner owner = {};
  OwnerState state = OwnerState::untold;
  // It is the very file that its process made, under its original name. Otherwise it is a copy or
  // was renamed, and then it belongs to the user.
  bool is_as_made = false;
  LiveState last = LiveState::needed;  // the last state that a dead process wrote
};

// Examines a file without a problem. Reads only its header. May throw bad_alloc.
[[nodiscard]] LiveProof proof_of(const OpenLiveFile& file);

// Returns "" if the file is proved to be ours and its process to be dead, else why it must stay.
[[nodiscard]] std::string why_it_stays(const OpenLiveFile& file, const LiveProof& proof);

// Returns the process in the name of a file in a private folder, "PROGRAM.PID.live" or
// "PROGRAM.PID.live~N" for the suffix ".live"; 0: it is not such a name.
[[nodiscard]] std::int64_t maker_in(std::string_view name, std::string_view suffix);

// Removes the file's name if it is proved to be ours and its process to be dead. The tool removes
// live files in no other way. Returns "" or why it was left alone. Keeps the file locked.
[[nodiscard]] std::string remove_proved(const OpenLiveFile& file, const LiveProof& proof);

}  // namespace vramscope
