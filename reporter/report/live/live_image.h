// map_live_image() maps the live memory of an ended process at the addresses that the process used,
// so that the pointers in it are valid.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "allocator/base/live_memory.h"

namespace vramscope {

// A live file that can be trusted as far as its owner: a regular file of the calling user, with a
// single name, which nobody else may open.
class OpenLiveFile {
 public:
  // Opens the file without following links and without waiting.
  explicit OpenLiveFile(const std::string& path);
  ~OpenLiveFile();
  OpenLiveFile(const OpenLiveFile&) = delete;
  OpenLiveFile& operator=(const OpenLiveFile&) = delete;

  // Returns "" or why it is not such a file, without its path.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns whether the file still has its name.
  [[nodiscard]] bool is_still_there() const;
  // Locks the file exclusively, against its writer and other recoveries. Returns false on failure.
  [[nodiscard]] bool lock() const;
  // Removes the file's name, if it still refers to this file.
  void remove() const;

 private:
  std::string path_;
  std::string problem_;
  int number_ = -1;
};

// Returns why the file does not begin like a whole live file of this version, with the byte, or ""
// if it does.
[[nodiscard]] std::string why_no_header(int file);

// The kind of image. moving: the process still runs, so the image is a copy of pages that were not
// read at one instant.
enum class ImageOf : bool { ended, moving };

// Maps every part of the file at the addresses that its header names. The mapping is never undone,
// so it must be made in a process of its own (run_apart). Throws std::runtime_error with one line:
// which byte, and what was expected.
[[nodiscard]] const LiveHeader& map_live_image(int file, ImageOf how);

// Does the same again for the copy of a file, which is undone first; its pages may be more now.
[[nodiscard]] const LiveHeader& map_live_image_again(int file, const LiveHeader& old);

// Returns the bytes of all parts in the file according to its header, or 0 if the header cannot be
// right.
[[nodiscard]] std::uint64_t live_bytes(int file);

}  // namespace vramscope
