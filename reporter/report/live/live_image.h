// LiveImage is the live memory of a process that ended, mapped where that process had it, so that
// the pointers in it lead where they led.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "allocator/ground/live_memory.h"

namespace vramscope {

// A live file that may be trusted as far as its owner may: a plain file of ours, under one name,
// which nobody else may open.
class OpenLiveFile {
 public:
  // Links are not followed, and nothing is waited for.
  explicit OpenLiveFile(const std::string& path);
  ~OpenLiveFile();
  OpenLiveFile(const OpenLiveFile&) = delete;
  OpenLiveFile& operator=(const OpenLiveFile&) = delete;

  // "" or why it is none, without its path.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Whether nobody took its name away meanwhile.
  [[nodiscard]] bool is_still_there() const;
  // Nobody else has it to himself from now on: neither who writes it nor another who recovers it.
  [[nodiscard]] bool lock() const;
  // Takes its name away, if that still leads to it.
  void remove() const;

 private:
  std::string path_;
  std::string problem_;
  int number_ = -1;
};

// Why the file does not begin as a whole live file of this version does, with the byte; "": it
// does.
[[nodiscard]] std::string why_no_header(int file);

// How the image is made. moving: of a process that still runs, so that it is a copy of pages that
// were not all read at one instant.
enum class ImageOf : bool { ended, moving };

// Maps every part of the file at the addresses that its header names, for good: in a process of its
// own (run_apart). Throws std::runtime_error with one line: which byte, and what was expected.
[[nodiscard]] const LiveHeader& map_live_image(int file, ImageOf how);

// The bytes of all parts in the file, as the header says; 0 when it says nothing that could be
// true.
[[nodiscard]] std::uint64_t live_bytes(int file);

}  // namespace vramscope
