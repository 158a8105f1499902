// LeftOvers are the live files of this user's dead programs that nobody has recovered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

// The folders in memory that are there, and are the user's alone.
[[nodiscard]] std::vector<std::string> usual_live_folders();

// What is called like a live file in a folder, in the order of names.
[[nodiscard]] std::vector<std::string> live_files_in(const std::string& folder);

// Proved to be ours, and their processes to be dead (report/live/live_proof.h).
struct LeftOvers {
  struct File {
    std::string path;
    std::uint64_t bytes = 0;      // that it takes
    std::int64_t changed_ns = 0;  // when it was last changed, since 1970
  };
  std::vector<File> files;     // the oldest first
  std::vector<File> unneeded;  // of processes that could not remove them when they ended as usual
  std::uint64_t bytes = 0;     // of all `files`
  std::string folder;          // the first that has any
  std::uint64_t system = 0;    // bytes of that folder's file system
};
// None where kLeftOversVariable says "off".
[[nodiscard]] LeftOvers left_overs();

// A person who was told of them is not told of the same ones again, within a day: a note of it lies
// in their folder. Without room for a note they are told again.
[[nodiscard]] bool are_news(const LeftOvers& left);
void note_told(const LeftOvers& left);

}  // namespace vramscope
