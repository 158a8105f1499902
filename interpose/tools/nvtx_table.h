// NvtxTable puts functions into the tables through which a copy of NVTX calls a tool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstddef>

namespace vramscope {

// The number of a function in its NVTX module, and the function to call.
struct Replacement {
  std::size_t id;
  NvtxFunctionPointer function;
};
template <class Function>
NvtxFunctionPointer plain(Function function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

// A table of NVTX as it was before the other library changed it. It lies in the program's copy of
// NVTX, which outlives this.
template <std::size_t N>
struct NvtxTable {
  NvtxFunctionTable slots = nullptr;
  unsigned int size = 0;
  NvtxFunctionPointer before[N] = {};

  NvtxTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &slots, &size) == 0) slots = nullptr;
    each([&](std::size_t id) { before[id] = *slots[id]; });
  }
  // Saves the other library's functions and puts ours in their place.
  template <std::size_t M>
  void replace(NvtxFunctionPointer (&other)[N], const Replacement (&list)[M]) {
    each([&](std::size_t id) {
      if (*slots[id] != before[id]) other[id] = *slots[id];
    });
    for (const Replacement& row : list) {
      if (slots != nullptr && row.id < size && slots[row.id] != nullptr) {
        *slots[row.id] = row.function;
      }
    }
  }

 private:
  template <class F>
  void each(F f) {
    for (std::size_t id = 1; slots != nullptr && id < size && id < N; ++id) {
      if (slots[id] != nullptr) f(id);
    }
  }
};

}  // namespace vramscope
