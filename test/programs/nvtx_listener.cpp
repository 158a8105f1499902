// Somebody else's tool for NVTX: prints some of what it hears, and makes handles of its own.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

int depth = 0;

int push(const char* name) {
  std::printf("push %s\n", name);
  return depth++;
}
int pop() {
  std::printf("pop\n");
  return depth > 0 ? --depth : -1;
}
nvtxDomainHandle_t make_domain(const char* name) {
  std::printf("domain %s\n", name);
  static int handle;
  return reinterpret_cast<nvtxDomainHandle_t>(&handle);
}
nvtxRangeId_t start(const char* name) {
  std::printf("start %s\n", name);
  return 77;
}
void end(nvtxRangeId_t id) { std::printf("end %llu\n", static_cast<unsigned long long>(id)); }

template <class Function>
void listen(NvtxFunctionTable table, unsigned int size, unsigned int id, Function function) {
  if (id < size && table[id] != nullptr) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr) return 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) return 0;
  listen(table, size, NVTX_CBID_CORE_RangePushA, push);
  listen(table, size, NVTX_CBID_CORE_RangePop, pop);
  listen(table, size, NVTX_CBID_CORE_RangeStartA, start);
  listen(table, size, NVTX_CBID_CORE_RangeEnd, end);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  listen(table, size, NVTX_CBID_CORE2_DomainCreateA, make_domain);
  return 1;
}

// The extension for payloads, module 2: of its functions the one that ends a range (slot 4). The
// module as in nvtxDetail/nvtxExtTypes.h.
struct Segment {
  std::size_t id;
  std::size_t count;
  std::intptr_t* slots;
};
struct Module {
  std::uint16_t version, size, id, compatibility;
  std::size_t count;
  Segment* segments;
};

static int pop_payload(nvtxDomainHandle_t, const void*, std::size_t) {
  std::printf("pop payload\n");
  return 5;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    Module* module) {
  constexpr std::size_t kPop = 4;
  if (module->id != 2 || module->count == 0 || module->segments->count <= kPop) return 0;
  module->segments->slots[kPop] = reinterpret_cast<std::intptr_t>(pop_payload);
  return 1;
}
