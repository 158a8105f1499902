// A file has a line that identifies it, a checksum, and then numbers and texts.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/symbol_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/record/trace/format.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "vramscope symbols 3\n";
constexpr std::size_t kMostInFile = std::size_t{16} << 20;  // bytes
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

std::uint32_t checksum_of(std::string_view text) {
  return vramscope::checksum_of(std::as_bytes(std::span(text)));
}

std::string hexadecimal(std::uint32_t number) {
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", number);
  return digits.data();
}

bool is_build_id(std::string_view text) {
  return !text.empty() && text.size() <= kMostBuildIdDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Returns a text that changes when the file does; "-" for no file.
std::string mark_of(const std::string& path) {
  struct stat is {};
  if (stat(path.c_str(), &is) != 0) return path + " -\n";
  std::string mark = path;
  for (const auto number :
       {static_cast<std::int64_t>(is.st_dev), static_cast<std::int64_t>(is.st_ino),
        static_cast<std::int64_t>(is.st_size), is.st_mtim.tv_sec, is.st_mtim.tv_nsec,
        is.st_ctim.tv_sec, is.st_ctim.tv_nsec}) {
    mark += " " + std::to_string(number);
  }
  return mark + "\n";
}

// Returns the paths of separate debug files that GDB's manual names and elfutils searches.
std::vector<std::string> debug_files(const ModuleFact& module) {
  const std::string of_id =
      "/usr/lib/debug/.build-id/" + module.build_id.substr(0, 2) + "/" +
      module.build_id.substr(std::min<std::size_t>(2, module.build_id.size()));
  const fs::path path = module.path;
  const std::string name = path.filename().string() + ".debug";
  return {of_id,
          of_id + ".debug",
          path.parent_path() / name,
          path.parent_path() / ".debug" / name,
          "/usr/lib/debug" + path.string() + ".debug",
          "/usr/lib/debug" + path.string()};
}

bool is_ours_alone(const struct stat& is) {
  return is.st_uid == geteuid() && (is.st_mode & kOthersMayWrite) == 0;
}

// Makes every folder on the path. The last one must belong to us.
bool make_folder(const std::string& folder) {
  const mode_t kPrivate = S_IRWXU;
  for (std::size_t at = folder.find('/', 1); at != folder.npos; at = folder.find('/', at + 1)) {
    mkdir(folder.substr(0, at).c_str(), kPrivate);
  }
  mkdir(folder.c_str(), kPrivate);
  struct stat is {};
  return lstat(folder.c_str(), &is) == 0 && S_ISDIR(is.st_mode) && is_ours_alone(is);
}

std::string whole_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return "";
  std::string text;
  struct stat is {};
  if (fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is_ours_alone(is) && is.st_size > 0 &&
      static_cast<std::size_t>(is.st_size) <= kMostInFile) {
    text.resize(static_cast<std::size_t>(is.st_size));
    const ssize_t count = ::read(file, text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    futimens(file, nullptr);  // marks it as used
  }
  close(file);
  return text;
}

void put(std::string& to, std::uint64_t number) {
  std::array<std::byte, kMostNumberBytes> bytes{};
  const std::byte* const end = put_number(bytes.data(), number);
  to.append(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::size_t>(end - bytes.data()));
}
void put(std::string& to, const std::string& text) {
  put(to, std::uint64_t{text.size()});
  to += text;
}

std::string packed(const std::string& identity, const SymbolCache::Answers& answers) {
  std::string body;
  put(body, identity);
  put(body, std::uint64_t{answers.size()});
  for (const auto& [offset, frame] : answers) {
    put(body, offset);
    put(body, static_cast<std::uint64_t>(frame.state));
    put(body, std::uint64_t{frame.functions.size()});
    for (const SourceFrame& function : frame.functions) {
      put(body, function.function);
      put(body, function.file);
      put(body, static_cast<std::uint64_t>(function.line));
      put(body, std::uint64_t{function.is_inlined});
    }
  }
  return body;
}

SourceFrame unpacked_function(TraceBytes& bytes) {
  SourceFrame function;
  function.function = bytes.text();
  function.file = bytes.text();
  function.line = static_cast<std::int32_t>(bytes.number());
  function.is_inlined = bytes.number() != 0;
  return function;
}

SymbolCache::Answers unpacked(std::string_view body, const std::string& identity) {
  TraceBytes bytes(std::as_bytes(std::span(body)));
  SymbolCache::Answers answers;
  if (bytes.text() != identity) return {};
  for (std::uint64_t left = bytes.number(); left != 0 && !bytes.bad(); --left) {
    const std::uint64_t offset = bytes.number();
    ResolvedFrame frame{.state = static_cast<SymbolState>(bytes.number()), .functions = {}};
    if (frame.state > SymbolState::no_symbols) return {};
    for (std::uint64_t more = bytes.number(); more != 0 && !bytes.bad(); --more) {
      frame.functions.push_back(unpacked_function(bytes));
    }
    answers.insert_or_assign(offset, std::move(frame));
  }
  return bytes.bad() || !bytes.empty() ? SymbolCache::Answers() : answers;
}

std::string file_of(const std::string& folder, const ModuleFact& module,
                    const std::string& identity) {
  return folder + "/" + module.build_id + "." + hexadecimal(checksum_of(identity));
}

// Returns whether file_of() makes such names.
bool is_our_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  constexpr std::size_t kDigits = 8;
  return dot != name.npos && is_build_id(name.substr(0, dot)) && name.size() - dot - 1 == kDigits &&
         name.find_first_not_of("0123456789abcdef", dot + 1) == name.npos;
}

// Returns the size of a file that we wrote; 0: it is another file.
std::uint64_t bytes_of_ours(const fs::path& path) {
  struct stat is {};
  const bool is_file = is_our_name(path.filename().native()) && lstat(path.c_str(), &is) == 0 &&
                       S_ISREG(is.st_mode) && is_ours_alone(is) && is.st_nlink == 1;
  if (!is_file || beginning_of(path, kHead.size()) != kHead) return 0;
  return static_cast<std::uint64_t>(is.st_size);
}

// Publishes the whole file under its name, replacing only a file of ours, or does nothing.
bool publish(const std::string& path, std::string_view text) {
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0 && bytes_of_ours(path) == 0) return false;
  remove_unfinished(path, {});
  const std::string name = unfinished_name(path, 0);
  const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool is_whole =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool is_there = close(file) == 0 && is_whole && rename(name.c_str(), path.c_str()) == 0;
  if (!is_there) unlink(name.c_str());
  return is_there;
}

// Removes only files that we wrote.
void remove_oldest(const std::string& folder, std::uint64_t most_bytes) {
  std::vector<std::tuple<fs::file_time_type, std::uint64_t, fs::path>> files;
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;  // another process removed it
    const std::uint64_t bytes = bytes_of_ours(entry->path());
    if (bytes == 0) continue;
    files.emplace_back(entry->last_write_time(gone), bytes, entry->path());
    sum += bytes;
  }
  std::sort(files.begin(), files.end());
  for (const auto& [time, bytes, path] : files) {
    if (sum <= most_bytes) return;
    if (fs::remove(path, error)) sum -= bytes;
  }
}

}  // namespace

std::string SymbolCache::identity_of(const ModuleFact& module) const {
  if (folder_.empty() || !is_build_id(module.build_id) || !module.path.starts_with('/')) return "";
  std::string identity = std::string(VRAMSCOPE_VERSION) + "\n" + mark_of(module.path);
  for (const std::string& path : debug_files(module)) identity += mark_of(path);
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  return identity + (servers == nullptr ? "" : servers);
}

SymbolCache::Answers SymbolCache::read(const ModuleFact& module,
                                       const std::string& identity) const {
  if (identity.empty()) return {};
  struct stat is {};
  if (lstat(folder_.c_str(), &is) != 0 || !S_ISDIR(is.st_mode) || !is_ours_alone(is)) return {};
  const std::string text = whole_file(file_of(folder_, module, identity));
  std::string_view body = text;
  if (!body.starts_with(kHead)) return {};
  body.remove_prefix(kHead.size());
  constexpr std::size_t kDigits = 8;
  if (body.size() < kDigits) return {};
  const std::string_view sum = body.substr(0, kDigits);
  body.remove_prefix(kDigits);
  return hexadecimal(checksum_of(body)) == sum ? unpacked(body, identity) : Answers();
}

void SymbolCache::write(const ModuleFact& module, const std::string& identity,
                        const Answers& answers) const {
  if (identity.empty() || identity != identity_of(module) || !make_folder(folder_)) return;
  const std::string body = packed(identity, answers);
  if (body.size() + kHead.size() + 8 > kMostInFile) return;
  const std::string text = std::string(kHead) + hexadecimal(checksum_of(body)) + body;
  if (publish(file_of(folder_, module, identity), text)) remove_oldest(folder_, kMostBytes);
}

std::string symbol_cache_folder() {
  const auto path_in = [](const char* variable) -> std::string {
    const char* const value = std::getenv(variable);
    return value == nullptr || *value != '/' ? "" : value;  // XDG says to ignore relative paths
  };
  if (const std::string cache = path_in("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/vramscope/symbols";
  }
  const std::string home = path_in("HOME");
  return home.empty() ? "" : home + "/.cache/vramscope/symbols";
}

}  // namespace vramscope
