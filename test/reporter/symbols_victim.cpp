// A library whose functions the symbol test looks up by their return addresses.
// SPDX-License-Identifier: Apache-2.0

namespace victim {

template <class T>
[[gnu::always_inline]] inline T inner(T (*callback)()) {
  return callback() + 1;  // line 8: kInnerLine
}

[[gnu::visibility("default"), gnu::noinline]] int outer(int (*callback)()) {
  return inner<int>(callback) * 2;  // line 12: kOuterLine
}

}  // namespace victim

extern "C" [[gnu::visibility("default")]] int call_outer(int (*callback)()) {
  return victim::outer(callback) - 1;
}
