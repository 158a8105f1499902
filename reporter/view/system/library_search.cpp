// Follows DT_NEEDED in the loader's order (ld.so(8)).
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/library_search.h"

#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "reporter/report/files/file_name.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/view/system/elf_program.h"
#include "reporter/view/system/library_cache.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

#ifdef __aarch64__
constexpr const char* kSystemLoader = "/lib/ld-linux-aarch64.so.1";
#define VRAMSCOPE_TRIPLET "aarch64-linux-gnu"
constexpr const char* kCapable[] = {""};
#else
constexpr const char* kSystemLoader = "/lib64/ld-linux-x86-64.so.2";
#define VRAMSCOPE_TRIPLET "x86_64-linux-gnu"
constexpr const char* kCapable[] = {"", "/glibc-hwcaps/x86-64-v4", "/glibc-hwcaps/x86-64-v3",
                                    "/glibc-hwcaps/x86-64-v2"};
#endif
// Of all distributions: a folder too many only makes us complain less.
constexpr const char* kUsualFolders[] = {"/lib/" VRAMSCOPE_TRIPLET,
                                         "/usr/lib/" VRAMSCOPE_TRIPLET,
                                         "/lib64",
                                         "/usr/lib64",
                                         "/lib",
                                         "/usr/lib"};
constexpr std::size_t kMostFolders = 256;     // of one list of them
constexpr std::size_t kMostLibraries = 4096;  // of one program

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error ? path : whole.string();
}

// The words between separators; an empty one is the current folder.
std::vector<std::string> folders_in(std::string_view list, std::string_view separators) {
  std::vector<std::string> folders;
  while (folders.size() < kMostFolders) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    folders.emplace_back(end == 0 ? "." : list.substr(0, end));
    if (end == list.size()) break;
    list.remove_prefix(end + 1);
  }
  return folders;
}

void replace(std::string& text, const std::string& name, const std::string& value) {
  for (const std::string& token : {"${" + name + "}", "$" + name}) {
    for (std::size_t at = 0; (at = text.find(token, at)) != text.npos; at += value.size()) {
      text.replace(at, token.size(), value);
    }
  }
}

// A program, or a library that it needs.
struct Object {
  std::string path;
  ElfProgram file;
  const Object* loader = nullptr;  // that needs it
  [[nodiscard]] std::string folder() const { return fs::path(canonical(path)).parent_path(); }
};

// A folder with $LIB in it is as many as there are names of that in distributions.
void add_expanded(std::vector<std::string>& folders, std::string folder, const Object& object) {
  const char* const platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  replace(folder, "ORIGIN", object.folder());
  replace(folder, "PLATFORM", platform == nullptr ? "" : platform);
  if (folder.find("$LIB") == folder.npos && folder.find("${LIB}") == folder.npos) {
    folders.push_back(std::move(folder));
    return;
  }
  for (const char* name : {"lib/" VRAMSCOPE_TRIPLET, "lib64", "lib"}) {
    std::string one = folder;
    replace(one, "LIB", name);
    folders.push_back(std::move(one));
  }
}

void add_list(std::vector<std::string>& folders, const Object& object, std::int64_t tag) {
  for (const std::string& list : object.file.dynamic_texts(tag)) {
    for (std::string& folder : folders_in(list, ":")) {
      add_expanded(folders, std::move(folder), object);
    }
  }
}

// Before the cache is asked.
std::vector<std::string> first_folders(const Object& object) {
  std::vector<std::string> folders;
  const bool has_runpath = !object.file.dynamic_texts(DT_RUNPATH).empty();
  for (const Object* one = &object; one != nullptr && !has_runpath; one = one->loader) {
    if (one->file.dynamic_texts(DT_RUNPATH).empty()) add_list(folders, *one, DT_RPATH);
  }
  const char* const typed = std::getenv("LD_LIBRARY_PATH");
  if (typed != nullptr && *typed != '\0') {
    for (std::string& folder : folders_in(typed, ":;")) {
      add_expanded(folders, std::move(folder), object);
    }
  }
  add_list(folders, object, DT_RUNPATH);
  return folders;
}

// What a name led to.
struct Found {
  std::optional<ElfProgram> file = {};
  std::string path = {};
  std::string problem = {};  // the loader stops here
  [[nodiscard]] bool is_end() const { return file.has_value() || !problem.empty(); }
};

// Libraries for other machines are passed over.
Found look_at(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::optional<ElfProgram> file = ElfProgram::open(path);
  if (!file) return {.path = path, .problem = path + " is no library"};
  if (!file->is_native()) return {};
  return {.file = std::move(file), .path = path};
}

Found look_in(const std::string& folder, const std::string& name) {
  for (const char* within : kCapable) {
    if (Found found = look_at(folder + within + "/" + name); found.is_end()) return found;
  }
  return {};
}

Found look_for(const std::string& name, const Object& object, const LibraryCache& cache) {
  if (name.find('/') != name.npos) {
    std::vector<std::string> paths;
    add_expanded(paths, name, object);
    return look_at(paths.front());
  }
  for (const std::string& folder : first_folders(object)) {
    if (Found found = look_in(folder, name); found.is_end()) return found;
  }
  const bool no_usual = (object.file.dynamic_number(DT_FLAGS_1) & DF_1_NODEFLIB) != 0;
  for (const std::string& path : cache.paths_of(name)) {
    if (Found found = look_at(path); !no_usual && found.is_end()) return found;
  }
  for (const char* folder : kUsualFolders) {
    if (no_usual) break;
    if (Found found = look_in(folder, name); found.is_end()) return found;
  }
  return {};
}

// All that a program needs, breadth first. Threads: one.
class Search {
 public:
  // "" or the first problem.
  std::string follow(const std::string& path, ElfProgram file) {
    objects_.push_back({.path = path, .file = std::move(file)});
    for (std::size_t i = 0; i < objects_.size() && i < kMostLibraries; ++i) {
      for (const std::string& name : objects_[i].file.dynamic_texts(DT_NEEDED)) {
        if (const std::string problem = add(name, objects_[i]); !problem.empty()) return problem;
      }
    }
    for (const Object& object : objects_) {
      if (const std::string problem = lacks_version(object); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  std::string add(const std::string& name, const Object& object) {
    if (by_name_.contains(name) || name == base_name(kSystemLoader)) return "";
    Found found = look_for(name, object, cache_);
    if (!found.problem.empty()) return found.problem;
    if (!found.file) return name + " is not found (required by " + object.path + ")";
    objects_.push_back({.path = found.path, .file = std::move(*found.file), .loader = &object});
    const Object& added = objects_.back();
    by_name_.try_emplace(name, &added);
    for (const std::string& own : added.file.dynamic_texts(DT_SONAME)) {
      by_name_.try_emplace(own, &added);
    }
    return "";
  }

  [[nodiscard]] std::string lacks_version(const Object& object) const {
    for (const ElfProgram::VersionNeed& need : object.file.versions_needed()) {
      const auto library = by_name_.find(need.library);
      if (library == by_name_.end() || need.is_weak) continue;
      const std::vector<std::string> there = library->second->file.versions_defined();
      if (there.empty() || std::find(there.begin(), there.end(), need.version) != there.end()) {
        continue;
      }
      return library->second->path + ": version `" + need.version + "' not found (required by " +
             object.path + ")";
    }
    return "";
  }

  LibraryCache cache_ = LibraryCache::of_system();
  std::deque<Object> objects_;  // whose elements stay where they are
  std::map<std::string, const Object*> by_name_;
};

// Each library stays open.
void allow_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Of a file that may be anybody's, on a file system that need not answer.
LoaderAnswer searched(const std::string& path) {
  // Files are mapped, of which those of machine learning have gigabytes each.
  const ApartLimits limits{.address_bytes = std::uint64_t{1} << 40,
                           .cpu_seconds = kSearchSeconds,
                           .wait_seconds = kSearchSeconds};
  ApartAnswer answer = run_apart(limits, [&]() -> std::string {
    allow_open_files();
    std::optional<ElfProgram> file = ElfProgram::open(path);
    return file ? Search().follow(path, std::move(*file)) : path + " is no library";
  });
  return {.refusal = std::move(answer.text), .unknown = std::move(answer.problem)};
}

// Of what the tool itself would load by that name.
std::string path_of(const std::string& library) {
  constexpr const char* kSelf = "/proc/self/exe";
  auto self = ElfProgram::open(kSelf);
  if (!self) return "";
  const Object tool{.path = kSelf, .file = std::move(*self)};
  const Found found = look_for(library, tool, LibraryCache::of_system());
  return found.file ? found.path : "";
}

}  // namespace

bool is_system_loader(const std::string& loader) {
  return canonical(loader) == canonical(kSystemLoader);
}

LoaderAnswer ask_by_reading(const std::string& program, const std::string& loader) {
  if (is_system_loader(loader)) return searched(program);
  return {.unknown = "its loader is " + loader + ", not the system's"};
}

std::string found_by_loader(const std::string& library) {
  const std::string path = path_of(library);
  if (path.empty()) return "";
  const LoaderAnswer answer = searched(path);
  return answer.refusal.empty() && answer.unknown.empty() ? canonical(path) : "";
}

}  // namespace vramscope
