// ContextEnd handles the end of a context: its memory, graphs, executables and captures are
// forgotten.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "interpose/driver/profiler.h"

namespace vramscope {

// The driver may give the handle to another thread's new context as soon as its call returns. What
// belongs to the new context stays.
class ContextEnd {
 public:
  // Make it before the driver's call. No wait of ours enters the context while this object lives.
  ContextEnd(Profiler& profiler, CUcontext context, Contexts::Ending::Uses uses) noexcept;
  // Without happened() the context counts as living on.
  ~ContextEnd();
  ContextEnd(const ContextEnd&) = delete;
  ContextEnd& operator=(const ContextEnd&) = delete;
  // Call it when the driver has ended the context. Nothing of the context is given back to the
  // driver.
  void happened() noexcept;

 private:
  Profiler& profiler_;
  const CUcontext context_;
  const std::optional<std::uint16_t> device_;  // of the context, if memory is from before
  const Contexts::Generation generation_;
  const Contexts::Ending ending_;
  bool has_happened_ = false;
};

}  // namespace vramscope
