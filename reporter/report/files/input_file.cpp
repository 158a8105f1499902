// Reads whole files, pipes included, within a limit.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "reporter/record/trace/format.h"
#include "reporter/report/files/descriptor.h"

namespace vramscope {

namespace {

constexpr std::size_t kChunk = 1 << 16;
constexpr std::size_t kMostOfReport = std::size_t{4} << 30;  // bytes: 30 million blocks

// Returns -1 with errno, or 0 at the end of the file. Waits for a pipe's writer; without a writer
// the file ends.
ssize_t append_chunk(int descriptor, std::string& text) {
  const std::size_t used = text.size();
  text.resize(used + kChunk);
  ssize_t count = -1;
  do {
    count = read(descriptor, text.data() + used, kChunk);
    if (count < 0 && errno == EAGAIN && fcntl(descriptor, F_SETFL, 0) == 0) errno = EINTR;
  } while (count < 0 && errno == EINTR);
  text.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count;
}

std::string too_large(const Wanted& wanted) {
  return "byte " + std::to_string(wanted.most_bytes) + ": expected a smaller file";
}

std::string not_an_object(std::string_view text) {
  if (text.starts_with(kTraceMagic)) {
    return "byte 1: expected a report, found a trace, which vramscope trace shows";
  }
  const bool is_packed = text.starts_with("\x1f\x8b") || text.starts_with("\x28\xb5\x2f\xfd");
  if (is_packed) return "byte 1: expected a report, found a compressed file: unpack it first";
  if (text.empty()) return ends_early_at(0) + ", or empty";
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const std::size_t zero = text.find('\0');  // a file with holes
  if (first != std::string_view::npos && text[first] == '{' && zero != std::string_view::npos) {
    return "byte " + std::to_string(zero + 1) + ": expected a report, found a zero byte";
  }
  if (first != std::string_view::npos && text[first] == '{') return {};
  return "byte " + std::to_string(std::min(first, text.size()) + 1) +
         ": expected a report, which begins with '{'";
}

// Returns the problem after `count` more bytes; count is -1 with errno, or 0 at the end.
std::string problem_of(const std::string& text, ssize_t count, const Wanted& wanted, bool is_pipe) {
  if (count < 0) return reason_of_errno();
  if (text.size() > wanted.most_bytes) return too_large(wanted);
  if (count == 0 && text.empty() && is_pipe) {
    return "byte 1: expected " + std::string(wanted.noun) +
           ", but this is a pipe to which nobody writes";
  }
  if (count == 0 || text.size() <= kChunk) return wanted.wrong_beginning(text);
  return {};
}

}  // namespace

std::string ends_early_at(std::uint64_t byte) {
  return "ends early at byte " + std::to_string(byte) + ": cut off";
}

Wanted wanted_report() {
  return {.noun = "a report", .most_bytes = kMostOfReport, .wrong_beginning = not_an_object};
}

bool is_own_file(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

InputFile read_file(int descriptor, const Wanted& wanted) {
  InputFile result;
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  const bool is_pipe = known && S_ISFIFO(status.st_mode);
  result.is_regular = known && S_ISREG(status.st_mode);
  result.is_own = is_own_file(descriptor);
  const std::size_t bytes = result.is_regular ? static_cast<std::size_t>(status.st_size) : 0;
  for (ssize_t count = 1; count > 0 && result.problem.empty();) {
    count = append_chunk(descriptor, result.text);
    result.problem = problem_of(result.text, count, wanted, is_pipe);
    if (!result.problem.empty()) break;
    if (bytes > wanted.most_bytes) result.problem = too_large(wanted);
    if (bytes > result.text.capacity()) result.text.reserve(bytes + kChunk);
  }
  return result;
}

InputFile read_file(const std::string& path, const Wanted& wanted) {
  const Descriptor file(path, O_NONBLOCK);  // a FIFO may have no writer
  if (file.number() < 0) return {.text = {}, .problem = reason_of_errno()};
  return read_file(file.number(), wanted);
}

std::string beginning_of(const std::string& path, std::size_t most_bytes) {
  const Descriptor file(path, O_NONBLOCK | O_NOCTTY);
  return beginning_of(file.number(), most_bytes);
}

std::string beginning_of(int descriptor, std::size_t most_bytes) {
  struct stat status {};
  std::string text;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return text;
  while (text.size() < most_bytes && append_chunk(descriptor, text) > 0) {
  }
  text.resize(std::min(text.size(), most_bytes));
  return text;
}

std::string end_of(const std::string& path, std::string_view mark) {
  const Descriptor file(path, O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  const auto whole = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (whole > kMostOfReport) return "";  // a live file has 60 GiB, nearly all of it holes
  std::string text;
  for (std::size_t bytes = kChunk;; bytes *= 4) {
    text.clear();
    lseek(file.number(), static_cast<off_t>(whole - std::min(whole, bytes)), SEEK_SET);
    while (append_chunk(file.number(), text) > 0) {
    }
    const std::size_t found = text.rfind(mark);
    if (found != text.npos) return text.substr(found);
    if (bytes >= whole) return "";
  }
}

}  // namespace vramscope
