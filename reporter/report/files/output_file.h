// OutputFile is a file that appears under its name only when it is complete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "allocator/base/own_file.h"
#include "reporter/report/files/maker.h"

namespace vramscope {

// Returns a name next to `path` for an incomplete file, which identifies its maker. It is short
// whatever `path` is, and no other process uses it, on this machine or on another that shares the
// folder.
[[nodiscard]] std::string unfinished_name(const std::string& path, int attempt);

// Removes incomplete files next to `path` whose writers were killed: those of `dead`, a process
// that is known to be dead ({}: none), and those of every process that is proved to be dead. They
// must be regular files of the calling user, with mode 0600 and a single name, which identifies the
// writer.
void remove_unfinished(const std::string& path, const Maker& dead);

// Returns whether the file of that name, not a link, is still the one that was examined, and
// unchanged.
[[nodiscard]] bool is_unchanged(const std::string& path, const struct stat& judged);

// Threads: one. Never throws, except bad_alloc from open() and publish(). The first failure is
// kept, and everything written after it is dropped. The error is EBADF if the program closed the
// descriptor and may have opened something else under its number. If the object is destroyed
// without publishing, no file remains.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Opens a temporary name next to the path with mode 0600. Links are not followed and no folder is
  // made. If the path is a folder, device or pipe, that is an error and nothing is created.
  void open();
  // Writes to an open file instead, which stays the caller's. It has no name here, so it is
  // finished and not published.
  void open_as(int descriptor) noexcept;

  void write(std::string_view text) noexcept {
    if (text.size() > kBufferBytes - used_) {
      write_large(text);
      return;
    }
    text.copy(buffer_.get() + used_, text.size());
    used_ += text.size();
  }

  // Writes what is pending and closes the file. All of it can then be read under temporary_name().
  void finish() noexcept;
  [[nodiscard]] const std::string& temporary_name() const { return temporary_; }
  // Gives the file its name, or the first free one of "~1", "~2", ... appended to it. Returns the
  // name, or "" on failure.
  [[nodiscard]] std::string publish();

  // Returns the file's identity, after open().
  [[nodiscard]] const FileIdentity& identity() const { return own_; }
  // Gives the file exactly its name. Returns false if the name is taken (EEXIST) or renaming
  // failed.
  [[nodiscard]] bool publish_here();
  // Replaces an existing file, whose mode and owner are kept, if it is still the file that was
  // examined (else ESTALE). Returns false on failure; both files are then unchanged.
  [[nodiscard]] bool replace(const struct stat& judged);
  // Sets who may read and write the open file besides its owner; the default is nobody.
  void set_mode(mode_t mode) noexcept;

  [[nodiscard]] int error() const { return error_; }  // errno of the first failure; 0: none

 private:
  static constexpr std::size_t kBufferBytes = 1 << 16;

  void write_large(std::string_view text) noexcept;
  void flush() noexcept;
  void fail(int error) noexcept;
  [[nodiscard]] bool is_ours() const noexcept;
  void drop_unless_ours() noexcept;
  [[nodiscard]] bool rename_to(const std::string& name) noexcept;

  std::string path_;
  std::string temporary_;  // "" if there is no file to remove
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  int descriptor_ = -1;
  FileIdentity own_;  // what the descriptor must refer to
  int error_ = 0;
};

}  // namespace vramscope
