// Copies names and tables of lines out of the interpreter.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/codes.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "reporter/record/python/lines.h"
#include "reporter/record/stack/safe_read.h"

namespace vramscope {

namespace {

using Address = std::uintptr_t;

// Longer names and tables are cut, since no person wrote them.
constexpr std::uint64_t kMostCharacters = 4096;
constexpr std::uint64_t kMostLineBytes = std::uint64_t{1} << 20;

void append_utf8(std::string& text, std::uint32_t point) {
  const auto tail = [point](unsigned shift) {
    return static_cast<char>(0x80U | (point >> shift & 0x3fU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += {static_cast<char>(0xc0U | point >> 6), tail(0)};
  } else if (point < 0x10000) {
    text += {static_cast<char>(0xe0U | point >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xf0U | (point >> 18 & 7U)), tail(12), tail(6), tail(0)};
  }
}

// Copies a str as UTF-8. Its characters lie behind its head, in 1, 2 or 4 bytes each.
bool copy_text(const PythonLayout& layout, Address address, std::string& text) {
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!safe_read::copy(address + layout.text_length, &length, sizeof length)) return false;
  if (!safe_read::copy(address + layout.text_state, &state, sizeof state)) return false;
  const auto [width, is_compact, is_ascii] = text_state(state);
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return false;
  length = std::min(length, kMostCharacters);
  std::string characters(length * width, '\0');
  const Address data = address + (is_ascii ? layout.ascii_data : layout.compact_data);
  if (!characters.empty() && !safe_read::copy(data, characters.data(), characters.size())) {
    return false;
  }
  text.clear();
  for (std::size_t i = 0; i < length; ++i) {
    std::uint32_t point = 0;
    for (std::uint32_t byte = 0; byte < width; ++byte) {
      point |= std::uint32_t{static_cast<std::uint8_t>(characters[i * width + byte])} << 8 * byte;
    }
    append_utf8(text, point);
  }
  return true;
}

bool copy_pointer(Address address, Address& pointer) {
  return safe_read::copy(address, &pointer, sizeof pointer);
}

// Returns the file's present properties, while the program runs the code that was read from it.
// Names such as "<string>" belong to no file.
SourceFact describe_source(const std::string& file) {
  SourceFact source{.path = file, .bytes = 0, .modified_ns = 0};
  if (file.empty() || file.front() == '<') return source;
  if (file.front() != '/') {
    std::array<char, PATH_MAX> folder{};
    if (getcwd(folder.data(), folder.size()) != nullptr) {
      source.path = std::string(folder.data()) + "/" + file;
    }
  }
  constexpr std::uint64_t kSecond = 1'000'000'000;
  struct stat status {};
  if (stat(source.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return source;
  source.bytes = static_cast<std::uint64_t>(status.st_size);
  source.modified_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * kSecond +
                       static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return source;
}

}  // namespace

bool PythonCodes::copy_code(const PythonInterpreter& python, Address code, Copied& copied) {
  const PythonLayout& layout = python.layout;
  Address file = 0;
  Address name = 0;
  Address lines = 0;
  std::uint64_t line_bytes = 0;
  if (!copy_pointer(code + layout.code_file, file) || !copy_text(layout, file, copied.file) ||
      !copy_pointer(code + layout.code_name, name) || !copy_text(layout, name, copied.name) ||
      !copy_pointer(code + layout.code_lines, lines) ||
      !safe_read::copy(lines + layout.bytes_size, &line_bytes, sizeof line_bytes) ||
      !safe_read::copy(code + layout.code_first_line, &copied.first_line,
                       sizeof copied.first_line)) {
    return false;
  }
  copied.lines.resize(std::min(line_bytes, kMostLineBytes));
  return copied.lines.empty() ||
         safe_read::copy(lines + layout.bytes_data, copied.lines.data(), copied.lines.size());
}

std::uint32_t PythonCodes::source_index(const std::string& file) {
  const auto known = source_indices_.find(file);
  if (known != source_indices_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(sources_.size());
  sources_.push_back(describe_source(file));
  source_indices_.emplace(file, index);
  return index;
}

std::uint32_t PythonCodes::code_index(const Copied& copied) {
  const bool full = codes_.size() >= kMaxCodes;
  const std::string& name = full ? "others" : copied.name;
  const std::uint32_t source = source_index(full ? std::string() : copied.file);
  const std::uint32_t first_line = full ? 0 : copied.first_line;
  const auto index = static_cast<std::uint32_t>(codes_.size());
  const auto [known, added] = code_indices_.try_emplace({name, source, first_line}, index);
  if (added) codes_.push_back({.name = name, .source = source, .first_line = first_line});
  return known->second;
}

PythonCodes::Seen PythonCodes::enter(Copied&& copied) {
  const std::uint32_t code = code_index(copied);
  return {.code = code, .first_line = copied.first_line, .lines = std::move(copied.lines)};
}

bool PythonCodes::resolve(const PythonInterpreter& python, const PythonFrame& frame,
                          FrameFact& fact) {
  const auto known = seen_.find(frame.identity);
  Seen read_now;
  const Seen* seen = known == seen_.end() ? nullptr : &known->second;
  if (seen == nullptr) {
    Copied copied;
    if (!copy_code(python, frame.code, copied)) return false;
    read_now = enter(std::move(copied));
    seen = seen_.size() < kMaxSeen
               ? &seen_.emplace(frame.identity, std::move(read_now)).first->second
               : &read_now;
  }
  fact = {.module = kNoModule,
          .offset = 0,
          .code = seen->code,
          .line = python_line(seen->lines, seen->first_line, frame.offset)};
  return true;
}

std::vector<PythonCodes::Frame> PythonCodes::resolve(std::span<const PythonFrame> frames) {
  std::vector<Frame> resolved;
  const PythonInterpreter* const interpreter = python();
  if (interpreter == nullptr) return resolved;
  const SystemLock guard(lock_);
  for (const PythonFrame& frame : frames) {
    Frame next{.fact = {}, .ends_loop = frame.ends_loop};
    if (!resolve(*interpreter, frame, next.fact)) continue;
    resolved.push_back(next);
  }
  return resolved;
}

std::vector<std::string> PythonCodes::sources_of(const std::vector<FrameFact>& frames) const {
  std::vector<std::string> files(frames.size());
  const SystemLock guard(lock_);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uint32_t code = frames[i].code;
    if (code >= codes_.size() || codes_[code].source >= sources_.size()) continue;
    files[i] = sources_[codes_[code].source].path;
  }
  return files;
}

void PythonCodes::copy_to(RecorderFacts& facts, std::size_t known_sources,
                          std::size_t known_codes) const {
  const SystemLock guard(lock_);
  facts.sources = rows_from(sources_, known_sources);
  facts.codes = rows_from(codes_, known_codes);
}

std::vector<FrameFact> weave(const std::vector<FrameFact>& native,
                             std::span<const std::uintptr_t> addresses,
                             const std::vector<PythonCodes::Frame>& python, TextRange loop) {
  if (python.empty()) return native;
  std::vector<FrameFact> woven;
  woven.reserve(native.size() + python.size());
  auto next = python.begin();
  for (std::size_t i = 0; i < native.size(); ++i) {
    const bool is_loop = loop.contains(addresses[i] - 1) && next != python.end();
    if (!is_loop) {
      woven.push_back(native[i]);
      continue;
    }
    FrameFact innermost = next->fact;
    innermost.module = native[i].module;
    innermost.offset = native[i].offset;
    woven.push_back(innermost);
    for (bool ends = (next++)->ends_loop; !ends && next != python.end(); ++next) {
      woven.push_back(next->fact);
      ends = next->ends_loop;
    }
  }
  for (; next != python.end(); ++next) woven.push_back(next->fact);
  return woven;
}

}  // namespace vramscope
