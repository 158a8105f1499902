// Linking of code: inputs are kept, and what comes out of it declares what they declare.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "test/simulator/driver/driver.h"
#include "test/simulator/driver/jit_options.h"

struct CUlinkState_st {
  std::mutex mutex;  // guards everything below
  unsigned inputs = 0;
  std::string binary;  // the first input that is no text, whole
  std::string text;    // all that are
};

namespace vramscope::simulator {

namespace {

Handles<CUlinkState_st>& links() {
  static auto& all = *new Handles<CUlinkState_st>;
  return all;
}

CUresult create(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  leave_logs_empty(count, options, values);
  *state = links().add(std::make_shared<CUlinkState_st>());
  return CUDA_SUCCESS;
}

CUresult add(CUlinkState state, CUjitInputType type, std::string_view input) {
  const auto link = links().find(state);
  if (!link) return CUDA_ERROR_INVALID_HANDLE;
  if (type >= CU_JIT_NUM_INPUT_TYPES || input.empty()) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(link->mutex);
  ++link->inputs;
  if (type == CU_JIT_INPUT_PTX) {
    link->text.append(input.substr(0, input.find('\0'))).append("\n");
  } else if (link->binary.empty()) {
    link->binary = input;
  }
  return CUDA_SUCCESS;
}

CUresult add_data(CUlinkState state, CUjitInputType type, const void* data, std::size_t bytes) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(state, type, {static_cast<const char*>(data), bytes});
}

CUresult add_file(CUlinkState state, CUjitInputType type, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  return add(state, type, content);
}

}  // namespace

namespace body {

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return create(count, options, values, state);
}
CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return create(count, options, values, state);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                          const char*, unsigned, CUjit_option*, void**) {
  return add_data(state, type, data, bytes);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                       const char*, unsigned, CUjit_option*, void**) {
  return add_data(state, type, data, bytes);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned,
                          CUjit_option*, void**) {
  return add_file(state, type, path);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned,
                       CUjit_option*, void**) {
  return add_file(state, type, path);
}

// The result belongs to the state.
CUresult cuLinkComplete(CUlinkState state, void** image, std::size_t* bytes) {
  const auto link = links().find(state);
  if (!link) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(link->mutex);
  if (link->inputs == 0) return CUDA_ERROR_INVALID_VALUE;
  std::string& result = link->binary.empty() ? link->text : link->binary;
  if (image != nullptr) *image = result.data();
  if (bytes != nullptr) *bytes = result.size() + (link->binary.empty() ? 1 : 0);
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  return links().remove(state) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace body

}  // namespace vramscope::simulator
