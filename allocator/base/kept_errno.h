// Keeps the program's errno while code of ours runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace vramscope {

// From its making to the end of its scope; what is called meanwhile may change errno.
class KeptErrno {
 public:
  KeptErrno() noexcept = default;
  ~KeptErrno() { errno = value_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int value_ = errno;
};

}  // namespace vramscope
