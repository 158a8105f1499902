// Repointing intercepts a driver that the program found before this library was loaded: pointers to
// the driver's functions become pointers to our wrappers. No code is changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vramscope {

struct Repointed {
  std::size_t pointers = 0;  // words in the data of programs and libraries
  std::size_t exports = 0;   // functions that the loader finds in the driver by name
};

// Replaces, in the running process, the addresses of the driver's functions (real.h) by those of
// our wrappers: in the data of programs and libraries, where a word that equals the address of such
// a function is taken for a pointer to it, and in the driver's table of exports, so that later
// lookups find ours. Leaves the data of the driver's own libraries and of this one alone. Pointers
// in heaps, on stacks and in registers keep calling the driver. Each word changes in one piece, so
// calls of other threads are safe. Takes the loader's lock. May throw bad_alloc.
Repointed point_to_wrappers();

// Takes it back: what points to our wrappers in those places points to the driver again.
Repointed point_to_driver();

}  // namespace vramscope
