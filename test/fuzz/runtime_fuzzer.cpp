// Objects that a fuzzer makes, in which a CUDA runtime is looked for by the names in symbol tables.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <filesystem>

#include "test/fuzz/fuzzed_file.h"
#include "test/simulator/redirect/elf_file.h"
#include "test/simulator/redirect/runtime_inside.h"

namespace vramscope::simulator {
namespace {

// A folder whose simulated runtimes are the object itself, which has the names that it looks for.
std::string folder_of_runtimes(const std::string& object) {
  static const std::string folder = [] {
    char name[] = "/tmp/vramscope-fuzz-XXXXXX";
    if (mkdtemp(name) == nullptr) std::abort();
    return std::string(name);
  }();
  for (const char* name : {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"}) {
    std::error_code ignored;
    std::filesystem::remove(folder + "/" + name, ignored);
    std::filesystem::create_symlink(object, folder + "/" + name);
  }
  return folder;
}

std::uint64_t dynamic_section(const std::string& path) {
  const auto object = ElfFile::open(path);
  if (!object) return 0;
  for (const Elf64_Phdr& segment : object->segments()) {
    if (segment.p_type == PT_DYNAMIC) return segment.p_vaddr;
  }
  return 0;
}

// What is to be written lies in code of the object, with room, and nowhere twice.
void demand_sound(const RuntimeInside& inside, const std::string& path) {
  if (!inside.problem.empty()) return vramscope::demand_one_line(inside.problem);
  const auto object = ElfFile::open(path);
  std::uint64_t end = 0;
  for (const RuntimeFunction& one : inside.functions) {
    if (one.address < end || object->at(one.address).size() < one.room) std::abort();
    end = one.address + one.room;
  }
}

}  // namespace
}  // namespace vramscope::simulator

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope::simulator;
  const vramscope::FuzzedFile file({bytes, size});
  const std::string path = file.path();
  demand_sound(runtime_inside(path, dynamic_section(path), folder_of_runtimes(path)), path);
  return 0;
}
