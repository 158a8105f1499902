// cuGetProcAddress: the newest ABI of a name that the asker knows, in the flavour it wants.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interpose/settings/private_variables.h"
#include "test/simulator/device/refused_program.h"
#include "test/simulator/driver/gates.h"

namespace vramscope::simulator {

namespace {

constexpr int kFirstPerThread = 7000;          // CUDA 7 brought per-thread default streams
constexpr int kFirstThatRefusesLater = 13000;  // who refuses versions above his own (OPEN.md)

struct Entry {
  std::string_view symbol;
  std::string_view asked;
  int since;
  bool per_thread;
  void (*address)();
};

constexpr Entry kEntries[] = {
#define DRIVER(symbol, asked, since, needs) \
  {#symbol, #asked, since, false, vramscope_gate_##symbol},
#define STREAMED(symbol, asked, since, suffix, needs) \
  UNSUPPORTED_STREAMED(symbol, asked, since, suffix)
#define UNSUPPORTED(symbol, asked, since) {#symbol, #asked, since, false, vramscope_gate_##symbol},
#define UNSUPPORTED_STREAMED(symbol, asked, since, suffix)              \
  {#symbol, #asked, since, false, vramscope_gate_##symbol},             \
      {#symbol #suffix, #asked, std::max(since, kFirstPerThread), true, \
       vramscope_gate_##symbol##suffix},
#include "test/simulator/driver/functions.def"
#include "test/simulator/driver/unsupported.def"
};

// A driver of that version, or one that lacks some entries, has no such symbol.
bool is_absent(const Entry& entry, const Configuration& settings) {
  if (entry.since > settings.driver_version) return true;
  return std::ranges::any_of(settings.lacks, [&entry](const std::string& name) {
    return name == entry.asked || name == entry.symbol;
  });
}

// Takes a symbol out of what dlsym looks through: one without an address counts as undefined.
void hide(const Entry& entry) {
  Dl_info info;
  void* found = nullptr;
  if (dladdr1(reinterpret_cast<void*>(entry.address), &info, &found, RTLD_DL_SYMENT) == 0) return;
  if (found == nullptr || entry.symbol != info.dli_sname) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(found) / page * page;
  const auto bytes = reinterpret_cast<std::uintptr_t>(found) + sizeof(ElfW(Sym)) - first;
  if (mprotect(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_WRITE) != 0) return;
  auto* symbol = static_cast<ElfW(Sym)*>(found);
  symbol->st_value = 0;
  symbol->st_shndx = SHN_UNDEF;
  mprotect(reinterpret_cast<void*>(first), bytes, PROT_READ);
}

// As the library is loaded. Programs that link the driver were bound before; they may choose other
// settings until cuInit.
[[gnu::constructor]] void hide_absent_symbols() {
  const char* const text = secure_getenv(kSimulatorVariable);
  const Parsed parsed = parse_configuration(text == nullptr ? "" : text);
  for (const Entry& entry : kEntries) {
    if (is_absent(entry, parsed.configuration)) hide(entry);
  }
}

using Index = std::unordered_map<std::string_view, std::vector<const Entry*>>;

const Index& index() {
  static const Index& once = *[] {
    auto* made = new Index;
    for (const Entry& entry : kEntries) {
      if (!is_absent(entry, configuration())) (*made)[entry.asked].push_back(&entry);
    }
    return made;
  }();
  return once;
}

struct Answer {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// As drivers of CUDA 11.4 to 12.5 answer (test/golden/driver_lookups.txt): for a version above
// their own with the newest that they have, which later ones refuse; and whoever asks for
// per-thread streams gets no legacy function where both are.
Answer look_up(std::string_view name, int version, bool per_thread) {
  const auto found = index().find(name);
  if (found == index().end()) return {};
  const bool twins = per_thread && std::ranges::any_of(found->second, &Entry::per_thread);
  const Entry* best = nullptr;
  for (const Entry* entry : found->second) {
    if (entry->since > version || entry->per_thread != twins) continue;
    if (best == nullptr || entry->since > best->since) best = entry;
  }
  if (best == nullptr) return {nullptr, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT};
  return {reinterpret_cast<void*>(best->address), CU_GET_PROC_ADDRESS_SUCCESS};
}

CUresult query(const char* name, void** function, int version, cuuint64_t flags, Answer* answer) {
  constexpr cuuint64_t kBoth =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || function == nullptr || flags > kBoth) return CUDA_ERROR_INVALID_VALUE;
  const int own = configuration().driver_version;
  if (own >= kFirstThatRefusesLater && version > own) return CUDA_ERROR_INVALID_VALUE;
  *answer = look_up(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *function = answer->address;
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

// The ABI of CUDA 11.3: no status, so that a name without an answer is an error.
CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  Answer answer;
  const CUresult result = query(name, function, version, flags, &answer);
  if (result != CUDA_SUCCESS) return result;
  return answer.address == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

// The ABI of CUDA 12: success without an address, told by the status (cuda.h 13.0).
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  Answer answer;
  const CUresult result = query(name, function, version, flags, &answer);
  if (result == CUDA_SUCCESS && status != nullptr) *status = answer.status;
  return result;
}

namespace {

// NVIDIA's libraries that carry a runtime, or parts of one, of their own.
bool carries_a_runtime(std::string_view file) {
  constexpr std::string_view kNames[] = {"libcublas",   "libcudnn",     "libcufft",    "libcurand",
                                         "libcusolver", "libcusparse",  "libcutensor", "libnccl",
                                         "libnpp",      "libnvJitLink", "libnvjpeg",   "libnvrtc"};
  return std::ranges::any_of(kNames, [file](auto name) { return file.starts_with(name); });
}

// The file whose code called in: the first one up the stack that is neither ours nor the preloaded
// library's.
_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* found) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(_Unwind_GetIP(frame)), &info) == 0) return _URC_END_OF_STACK;
  const std::string_view path = info.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.starts_with("libcuda.so") || file.starts_with("libvramscope")) return _URC_NO_REASON;
  *static_cast<std::string_view*>(found) = file;
  return _URC_END_OF_STACK;
}

std::string_view calling_file() {
  std::string_view found;
  _Unwind_Backtrace(&look_at, &found);
  return found;
}

}  // namespace

// NVIDIA's runtime asks, for a self-test of the driver that is not ours to answer. Inside one of
// its libraries only that library fails; a program's own runtime would fail in each call.
CUresult cuGetExportTable(const void**, const CUuuid*) {
  if (carries_a_runtime(calling_file())) return CUDA_ERROR_NOT_SUPPORTED;
  refuse_program(
      "NVIDIA's runtime is linked statically and has no symbols by which the simulated one could "
      "take its place; " +
      std::string(kWaysOut));
}

}  // namespace body

}  // namespace vramscope::simulator
