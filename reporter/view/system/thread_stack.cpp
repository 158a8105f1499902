// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/thread_stack.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace vramscope {
namespace {

struct CloseDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

// Nothing is looked for elsewhere: a program's own unwind tables are enough.
int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                       GElf_Word, char**) {
  return -1;
}

constexpr std::array<std::string_view, 4> kLibraries = {"ld-linux", "libjemalloc", "libtcmalloc",
                                                        "libmimalloc"};
constexpr std::array<std::string_view, 16> kFunctions = {
    "malloc",   "calloc", "realloc",     "free",         "posix_memalign",  "aligned_alloc",
    "memalign", "valloc", "pvalloc",     "reallocarray", "dl_iterate_phdr", "fork",
    "_Fork",    "vfork",  "__libc_fork", "posix_spawn"};

bool may_hold_locks(Dwfl_Module* module, Dwarf_Addr at) {
  const char* const path =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  const std::string_view all = path == nullptr ? "" : path;
  const std::string_view file = all.substr(all.rfind('/') == all.npos ? 0 : all.rfind('/') + 1);
  const auto begins = [&](std::string_view name) { return file.starts_with(name); };
  if (std::ranges::any_of(kLibraries, begins)) return true;
  const char* const name = dwfl_module_addrname(module, at);
  return name != nullptr && std::ranges::count(kFunctions, std::string_view(name)) != 0;
}

// DWARF_CB_ABORT: the stack holds such a function, or one of no file.
int look_at_frame(Dwfl_Frame* frame, void*) {
  Dwarf_Addr at = 0;
  bool is_exact = false;
  if (!dwfl_frame_pc(frame, &at, &is_exact)) return DWARF_CB_ABORT;
  if (!is_exact) --at;
  Dwfl_Module* const module = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), at);
  if (module == nullptr || may_hold_locks(module, at)) return DWARF_CB_ABORT;
  return DWARF_CB_OK;
}

}  // namespace

bool may_call_loader(pid_t process, pid_t thread) {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                           .find_debuginfo = find_no_debug_file,
                                           .section_address = nullptr,
                                           .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, CloseDwfl> dwfl(dwfl_begin(&callbacks));
  if (dwfl == nullptr || dwfl_linux_proc_report(dwfl.get(), process) != 0 ||
      dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0) {
    return false;
  }
  constexpr bool kIsStopped = true;
  if (dwfl_linux_proc_attach(dwfl.get(), process, kIsStopped) != 0) return false;
  return dwfl_getthread_frames(dwfl.get(), thread, look_at_frame, nullptr) == 0;
}

}  // namespace vramscope
