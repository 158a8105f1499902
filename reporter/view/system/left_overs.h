// LeftOvers are the live files of this user's dead programs that nobody has recovered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

// Returns the folders in memory that exist and are private to the user.
[[nodiscard]] std::vector<std::string> usual_live_folders();

// Returns the files of a folder that are named like live files, sorted by name.
[[nodiscard]] std::vector<std::string> live_files_in(const std::string& folder);

// Files that are proved to be ours, and whose processes are proved to be dead
// (report/live/live_proof.h).
struct LeftOvers {
  struct File {
    std::string path;
    std::uint64_t bytes = 0;      // size on disk
    std::int64_t changed_ns = 0;  // last change, since 1970
  };
  std::vector<File> files;     // the oldest first
  std::vector<File> unneeded;  // of processes that ended normally and could not remove them
  std::uint64_t bytes = 0;     // of all `files`
  std::string folder;          // the first folder that has any
  std::uint64_t system = 0;    // bytes of that folder's file system
};
// Returns none if kLeftOversVariable is "off".
[[nodiscard]] LeftOvers left_overs();

// are_news() returns whether the user needs a message about these files: none was printed within
// the last day, or there are more or newer files than then. note_told() records the message in a
// file in their folder. If that file cannot be written, the next run prints the message again.
[[nodiscard]] bool are_news(const LeftOvers& left);
void note_told(const LeftOvers& left);

}  // namespace vramscope
