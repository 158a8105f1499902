// LateDriver finds the function that a call means while no driver is mapped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Libraries such as TensorFlow's define the driver's functions themselves, and map the driver when
// one is called. Our definitions come before theirs, so the first call arrives here. Threads: any.
// A call that such a definition makes meanwhile finds nothing: it would find the same one again.
class LateDriver {
 public:
  // Looks for `name` in the library of the code at `caller` and in those that it needs, then behind
  // this library in search order.
  LateDriver(const char* name, const void* caller) noexcept;
  ~LateDriver();
  LateDriver(const LateDriver&) = delete;
  LateDriver& operator=(const LateDriver&) = delete;

  // Returns null if there is none but ours.
  template <class Function>
  [[nodiscard]] Function* find(Function*) const noexcept {
    return reinterpret_cast<Function*>(found_);
  }

 private:
  void* found_ = nullptr;
};

}  // namespace vramscope
