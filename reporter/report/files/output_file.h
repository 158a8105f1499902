// OutputFile is a file that appears under its name only when it is complete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "allocator/ground/own_file.h"
#include "reporter/report/files/maker.h"

namespace vramscope {

// A name beside `path` that says who gives it, for a file that is not complete. Short whatever
// `path` is, and not used by another process, on this machine or another that shares the folder.
[[nodiscard]] std::string unfinished_name(const std::string& path, int attempt);

// Removes what was being written beside `path` when its writer was killed: of `dead`, a process
// that is known to be dead ({}: nobody), and of all of whom that can be proved. Plain files of the
// calling user's, of mode 0600, with one name, which says who gave it.
void remove_unfinished(const std::string& path, const Maker& dead);

// Whether the file of that name, no link, is still the one that was looked at, as it was then.
[[nodiscard]] bool is_unchanged(const std::string& path, const struct stat& judged);

// Threads: one. Never throws but bad_alloc from open() and publish(). The first failure is kept;
// what is written after it is dropped; EBADF when the program closed the descriptor, and may have
// opened something else under its number. Destroyed unpublished, it leaves nothing behind.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Opens a temporary name beside the path: mode 0600, links not followed, no folder made. A
  // folder, device or pipe of that name is an error: nothing is made beside it.
  void open();

  void write(std::string_view text) noexcept {
    if (text.size() > kBufferBytes - used_) {
      write_large(text);
      return;
    }
    text.copy(buffer_.get() + used_, text.size());
    used_ += text.size();
  }

  // Writes what is pending and closes the file: all of it can be read under temporary_name().
  void finish() noexcept;
  [[nodiscard]] const std::string& temporary_name() const { return temporary_; }
  // Gives the file its name, or the first free one of "~1", "~2", ... behind it; "" on failure.
  [[nodiscard]] std::string publish();

  // Which file it is, once it was opened.
  [[nodiscard]] const FileIdentity& identity() const { return own_; }
  // Gives the file its name and no other; false: it is taken (EEXIST), or that failed.
  [[nodiscard]] bool publish_here();
  // Puts the file in the place of one that was there, which keeps its mode and its owner, when that
  // is still the same file (ESTALE). False: it is not, or that failed; both files are as before.
  [[nodiscard]] bool replace(const struct stat& judged);
  // Who may read and write it besides its owner, instead of nobody. It is open.
  void set_mode(mode_t mode) noexcept;

  [[nodiscard]] int error() const { return error_; }  // errno of the first failure, 0: none

 private:
  static constexpr std::size_t kBufferBytes = 1 << 16;

  void write_large(std::string_view text) noexcept;
  void flush() noexcept;
  void fail(int error) noexcept;
  [[nodiscard]] bool is_ours() const noexcept;
  void drop_unless_ours() noexcept;
  [[nodiscard]] bool rename_to(const std::string& name) noexcept;

  std::string path_;
  std::string temporary_;  // "" when there is no file to remove
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  int descriptor_ = -1;
  FileIdentity own_;  // what the descriptor names, while it is ours
  int error_ = 0;
};

}  // namespace vramscope
