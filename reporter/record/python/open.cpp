// Finds the interpreter of this process through the loader.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "allocator/base/kept_errno.h"
#include "reporter/record/python/stack.h"

namespace vramscope {

namespace {

constinit PythonInterpreter interpreter;

template <class T>
T find(DlsymFunction real_dlsym, void* library, const char* name) {
  return reinterpret_cast<T>(real_dlsym(library, name));
}

// Returns the address and length of a function from its symbol.
TextRange range_of(void* function) {
  Dl_info info{};
  void* entry = nullptr;
  if (function == nullptr || dladdr1(function, &info, &entry, RTLD_DL_SYMENT) == 0) return {};
  const auto* const symbol = static_cast<const ElfW(Sym)*>(entry);
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  if (symbol == nullptr || info.dli_saddr != function) return {};
  return {begin, begin + symbol->st_size};
}

// Pins a library, so that it is not unloaded while we use it. The program itself cannot be
// unloaded.
void pin(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
  if (dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) == nullptr) dlerror();
}

std::string version_text(unsigned long version) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lu.%lu.%lu", version >> 24, version >> 16 & 255,
                version >> 8 & 255);
  return text.data();
}

PythonState look_in(DlsymFunction real_dlsym, void* library, std::string& version) {
  const auto runtime = find<std::uintptr_t>(real_dlsym, library, "_PyRuntime");
  const auto type = find<std::uintptr_t>(real_dlsym, library, "PyCode_Type");
  const auto this_thread = find<void* (*)()>(real_dlsym, library, "PyGILState_GetThisThreadState");
  if (type == 0 || this_thread == nullptr) return PythonState::none;
  const auto* const number = find<const unsigned long*>(real_dlsym, library, "Py_Version");
  if (number == nullptr || runtime == 0) {  // Py_Version came with 3.11
    version = "3.10 or older";
    return PythonState::unknown;
  }
  version = version_text(*number);
  const auto layout = python_layout(static_cast<std::uint32_t>(*number), runtime);
  if (!layout) return PythonState::unknown;
  interpreter = {.layout = *layout,
                 .runtime = runtime,
                 .code_type = type,
                 .this_thread = this_thread,
                 .loop = range_of(find<void*>(real_dlsym, library, "_PyEval_EvalFrameDefault"))};
  if (!set_sizes(interpreter)) return PythonState::unknown;
  pin(reinterpret_cast<const void*>(runtime));
  use_python(&interpreter);
  return PythonState::read;
}

}  // namespace

PythonState open_python(DlsymFunction real_dlsym, const std::string& library,
                        std::string& version) noexcept {
  const KeptErrno kept;
  PythonState state = PythonState::none;
  try {
    state = look_in(real_dlsym, RTLD_DEFAULT, version);
    if (state == PythonState::none && !library.empty()) {
      void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (handle != nullptr) state = look_in(real_dlsym, handle, version);
    }
    if (state != PythonState::read) dlerror();  // the program must not find our failure there
  } catch (...) {                               // no memory for a text: the frames stay unread
  }
  return state;
}

}  // namespace vramscope
