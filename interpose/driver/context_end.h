// The end of a context: its memory, graphs, executables and captures are forgotten with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/driver/profiler.h"

namespace vramscope {

// The driver may give the handle to another thread's new context as soon as the call that ended
// this one returns: what belongs to the new one stays.
class ContextEnd {
 public:
  // Before the driver's call: no wait of ours enters the context until this object is gone.
  ContextEnd(Profiler& profiler, CUcontext context, Contexts::Ending::Uses uses) noexcept;
  // Unless it happened, the context lives on.
  ~ContextEnd();
  ContextEnd(const ContextEnd&) = delete;
  ContextEnd& operator=(const ContextEnd&) = delete;
  // The driver has ended the context: nothing of it is given back to the driver.
  void happened() noexcept;

 private:
  Profiler& profiler_;
  const CUcontext context_;
  const Contexts::Generation generation_;
  const Contexts::Ending ending_;
  bool has_happened_ = false;
};

}  // namespace vramscope
