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

namespace victim {

template <class T>
struct Holder {
  template <class Function>
  [[gnu::noinline]] static int run(Function function) {
    return function() + static_cast<int>(sizeof(T));
  }
};

}  // namespace victim

// The type of the argument has no linkage, so the linker knows no name of the function's own.
extern "C" [[gnu::visibility("default")]] int call_member(int (*callback)()) {
  return victim::Holder<char>::run([callback] { return callback(); }) - 1;
}
