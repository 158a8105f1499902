// SPDX-License-Identifier: Apache-2.0
#include "test/differential/session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace vramscope::differential {
namespace {

// A path of the library in which no separator of LD_PRELOAD stands: its own, or one by way of a
// link that lives as long as this.
class Preloadable {
 public:
  explicit Preloadable(const std::string& library) : path_(library) {
    if (!has_separator(library)) return;
    for (const std::string& parent :
         {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
      std::string folder = parent + "/vramscope-link-XXXXXX";
      if (has_separator(parent) || mkdtemp(folder.data()) == nullptr) continue;
      folder_ = folder;
      path_ = folder + "/libvramscope.so";
      std::filesystem::create_symlink(library, path_);
      return;
    }
    throw std::runtime_error("no folder for a link to " + library);
  }
  ~Preloadable() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Preloadable(const Preloadable&) = delete;
  Preloadable& operator=(const Preloadable&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static bool has_separator(const std::string& path) {
    return path.find_first_of(" :") != path.npos;
  }

  std::string path_, folder_;
};

}  // namespace

bool read_arguments(
    int argc, char** argv, SessionArguments& arguments, const Generate& generate,
    const std::function<void(const std::string& option, const OptionValue& value)>& special) {
  static const Preloadable library(std::filesystem::absolute(argv[2]));
  arguments.installation = {std::filesystem::absolute(argv[1]), library.path(),
                            std::filesystem::absolute(argv[3])};
  for (int i = 4; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string("0"); };
    if (option == "--kept") arguments.kept = value();
    if (option == "--keep") arguments.keep = value();
    if (option == "--file") arguments.file = value();
    if (option == "--calls") arguments.calls = std::stoull(value());
    if (option == "--seconds") arguments.seconds = std::stod(value());
    if (option == "--quiet") arguments.quiet = true;
    if (option == "--until-found") arguments.until_found = true;
    if (option == "--seeds") {
      arguments.first = std::stoull(value());
      arguments.count = std::stoull(value());
    }
    if (option == "--print") {
      std::printf("%s", text_of(generate(std::stoull(value()), arguments.calls)).c_str());
      return false;
    }
    special(option, value);
  }
  return true;
}

Cases::Cases(const SessionArguments& arguments, Generate generate)
    : arguments_(arguments), generate_(std::move(generate)) {
  if (!arguments_.file.empty()) files_.push_back(arguments_.file);
  if (arguments_.kept.empty()) return;
  for (const auto& entry : std::filesystem::directory_iterator(arguments_.kept)) {
    if (entry.path().extension() == ".seq") files_.push_back(entry.path());
  }
  std::sort(files_.begin(), files_.end());
}

double Cases::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Cases::next(Case& chosen) {
  if (elapsed() > arguments_.seconds) return false;
  const std::uint64_t number = next_++;
  if (number < files_.size()) {
    const std::string& path = files_[number];
    chosen = {std::filesystem::path(path).stem(), read_sequence_file(path), 0};
    return true;
  }
  if (number - files_.size() >= arguments_.count) return false;
  const std::uint64_t seed = arguments_.first + number - files_.size();
  chosen = {"seed " + std::to_string(seed), generate_(seed, arguments_.calls), seed};
  return true;
}

void work_in_folders(const std::string& parent, const std::string& name, unsigned workers,
                     const std::function<void(const std::string& folder)>& work) {
  std::string pattern = parent + "/vramscope-" + name + "-XXXXXX";
  const std::string whole = mkdtemp(pattern.data());
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < workers; ++i) {
    const std::string folder = whole + "/" + std::to_string(i);
    std::filesystem::create_directory(folder);
    threads.emplace_back([&work, folder] { work(folder); });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove_all(whole);
}

void print_result(bool ok, std::uint64_t number, const std::string& name,
                  const std::vector<std::string>& notes) {
  std::printf("%s %llu %s\n", ok ? "ok" : "not ok", static_cast<unsigned long long>(number),
              name.c_str());
  for (const std::string& note : notes) {
    std::istringstream lines(note);
    for (std::string line; std::getline(lines, line);) std::printf("# %s\n", line.c_str());
  }
  std::fflush(stdout);
}

std::string keep_in(const std::string& folder, std::string name, const Sequence& sequence) {
  std::replace(name.begin(), name.end(), ' ', '-');
  const std::string path = folder + "/" + name + ".seq";
  std::error_code unmade;
  std::filesystem::create_directories(folder, unmade);
  std::ofstream file(path);
  const bool is_kept = (file << text_of(sequence) << std::flush).good();
  return (is_kept ? "kept in " : "cannot be kept in ") + path + ":\n" + text_of(sequence);
}

}  // namespace vramscope::differential
