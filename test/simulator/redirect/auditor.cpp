// The loader tells an auditor (man rtld-audit) of each object that it has mapped, before it runs
// any code of it. Where NVIDIA's runtime is inside, its public functions are redirected to a
// simulated runtime: a driver that only pretends cannot serve NVIDIA's own.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulator/device/refused_program.h"
#include "test/simulator/redirect/jumps.h"
#include "test/simulator/redirect/runtime_inside.h"

namespace vramscope::simulator {
namespace {

constexpr std::string_view kOwnProgram = "/proc/self/exe";

std::string path_of(const link_map& object) {
  const std::string name = object.l_name;
  return name.empty() ? std::string(kOwnProgram) : name;
}

// The folder of this library, where the simulated runtimes lie; "": the loader does not say.
const std::string& own_folder() {
  static const std::string folder = [] {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&path_of), &info) == 0) return std::string();
    const std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/'));
  }();
  return folder;
}

// Objects that were mapped and not looked at yet.
std::vector<const link_map*>& waiting() {
  static std::vector<const link_map*> objects;
  return objects;
}

bool has_started = false;  // the program: objects come by dlopen now

// Our stand-in for a library of NVIDIA's, which lies beside this one; "": there is none.
std::string stand_in_for(std::string_view name) {
  constexpr std::string_view kStandIns[] = {
      "libcublas.so.12",   "libcublas.so.13",   "libcublasLt.so.12", "libcublasLt.so.13",
      "libcudnn.so.9",     "libcurand.so.10",   "libcufft.so.11",    "libcufft.so.12",
      "libcusolver.so.11", "libcusolver.so.12", "libcusparse.so.12"};
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (std::ranges::find(kStandIns, file) == std::end(kStandIns)) return "";
  std::string path = own_folder() + "/" + std::string(file);
  return access(path.c_str(), R_OK) == 0 ? path : "";
}

// An object that comes later is left as it is: the calls of the program go on to be answered.
void leave(const std::string& path, const std::string& problem) {
  const std::string line =
      (path == kOwnProgram ? "" : path + ": ") + problem + "; " + std::string(kWaysOut);
  if (!has_started) refuse_program(line);
  say_once(line);
}

// NCCL runs as it is, but for the values of its collectives (libraries/nccl.cpp).
void serve_nccl(const std::string& path, const link_map& object) {
  constexpr std::string_view kFile = "libnccl.so.2";
  const std::string library = own_folder() + "/libvramscope_nccl.so";
  if (!std::string_view(path).substr(path.rfind('/') + 1).starts_with(kFile)) return;
  const auto dynamic = reinterpret_cast<std::uintptr_t>(object.l_ld) - object.l_addr;
  const ExportRows exports = rows_to_replace(path, dynamic, library);
  if (exports.rows.empty()) return;
  const std::string problem = redirect_exports(exports, object.l_addr, library);
  if (!problem.empty()) say_once(path + ": " + problem + "; its collectives leave memory as it is");
}

void look_at(const link_map& object) {
  const std::string path = path_of(object);
  if (path.substr(0, path.rfind('/')) == own_folder()) return;
  serve_nccl(path, object);
  const auto dynamic = reinterpret_cast<std::uintptr_t>(object.l_ld) - object.l_addr;
  const RuntimeInside inside = runtime_inside(path, dynamic, own_folder());
  if (!inside.problem.empty()) return leave(path, inside.problem);
  if (inside.functions.empty()) return;
  const std::string problem =
      redirect(inside.functions, object.l_addr, own_folder() + "/" + inside.library);
  if (!problem.empty()) leave(path, problem);
}

}  // namespace
}  // namespace vramscope::simulator

#pragma GCC visibility push(default)
extern "C" {

unsigned la_version(unsigned loaders) { return std::min<unsigned>(loaders, LAV_CURRENT); }

// The loader asks for each library by the name that the program gave, before it looks anywhere: a
// copy that a wheel brings by RPATH or by its path is not reached. The answer has to stay.
char* la_objsearch(const char* name, uintptr_t*, unsigned why) {
  using namespace vramscope::simulator;
  static std::map<std::string, std::string> answers;
  const std::string path = why == LA_SER_ORIG ? stand_in_for(name) : "";
  if (path.empty()) return const_cast<char*>(name);
  return answers.try_emplace(path, path).first->second.data();
}

unsigned la_objopen(link_map* object, Lmid_t list, uintptr_t*) {
  if (list == LM_ID_BASE) vramscope::simulator::waiting().push_back(object);
  return 0;  // nothing is to be told of its calls
}

unsigned la_objclose(uintptr_t* cookie) {
  std::erase(vramscope::simulator::waiting(), reinterpret_cast<const link_map*>(*cookie));
  return 0;
}

// Threads: that which loads, with the loader's lock.
void la_activity(uintptr_t*, unsigned what) {
  using namespace vramscope::simulator;
  if (what != LA_ACT_CONSISTENT) return;
  const std::vector<const link_map*> objects = std::move(waiting());
  waiting().clear();
  for (const link_map* const object : objects) look_at(*object);
  has_started = true;
}

}  // extern "C"
#pragma GCC visibility pop
