// Loads and unloads code by every door, and leaves no memory behind.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string>

#include "test/programs/driver.h"

namespace {

// Code without a kernel, for any device that is still supported.
constexpr char kCode[] = ".version 6.0\n.target sm_50\n.address_size 64\n";

std::string write_code() {
  char path[] = "/tmp/vramscope-modules-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, kCode, sizeof kCode) != ssize_t{sizeof kCode}) std::exit(3);
  close(file);
  return path;
}

void unload(const char* what, CUresult loaded, CUmodule module) {
  show(what, loaded);
  if (loaded == CUDA_SUCCESS) show("  cuModuleUnload", cuModuleUnload(module));
}

#if CUDA_VERSION >= 12000
void unload(const char* what, CUresult loaded, CUlibrary library) {
  show(what, loaded);
  if (loaded == CUDA_SUCCESS) show("  cuLibraryUnload", cuLibraryUnload(library));
}
#endif

}  // namespace

int main() {
  start();
  const std::string path = write_code();
  CUmodule module = nullptr;
  unload("cuModuleLoad", cuModuleLoad(&module, path.c_str()), module);
  unload("cuModuleLoadData", cuModuleLoadData(&module, kCode), module);
  unload("cuModuleLoadDataEx", cuModuleLoadDataEx(&module, kCode, 0, nullptr, nullptr), module);
  unload("cuModuleLoadFatBinary", cuModuleLoadFatBinary(&module, kCode), module);
  show("nowhere", cuModuleLoadData(nullptr, kCode));
#if CUDA_VERSION >= 12000
  CUlibrary library = nullptr;
  unload("cuLibraryLoadData",
         cuLibraryLoadData(&library, kCode, nullptr, nullptr, 0, nullptr, nullptr, 0), library);
  unload("cuLibraryLoadFromFile",
         cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
         library);
#endif
  unlink(path.c_str());
}
