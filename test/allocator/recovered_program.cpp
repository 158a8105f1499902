// SPDX-License-Identifier: Apache-2.0
#include "test/allocator/recovered_program.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>

#include "allocator/base/call_time.h"
#include "allocator/base/publish.h"
#include "allocator/base/size_policy.h"

namespace vramscope::test {
namespace {

constexpr Tag kTags = 40;
constexpr std::uint64_t kCapacity = 192 * kMiB;

// A tag belongs to one kind.
Tag tag_of(Kind kind, std::uint64_t number) {
  return static_cast<Tag>(1 + static_cast<std::uint64_t>(kind) + number % 2 * kKinds);
}

bool is_ours(Kind kind) { return kind == Kind::device || kind == Kind::pinned; }

}  // namespace

RecordedProgram::RecordedProgram(ProgramLog& log, LiveMemory& memory, Limits limits,
                                 std::uint64_t seed)
    : log_(log),
      device_({.capacity = kCapacity}),
      backend_(device_),
      allocator_(backend_, limits, &memory),
      random_(seed) {
  constexpr Tag kGroups = kKinds;
  for (Tag tag = 1; tag < kTags; ++tag) allocator_.join(tag, {tag, kTags + (tag - 1) % kGroups});
}

std::uint64_t RecordedProgram::random_bytes() {
  const std::uint64_t most[] = {4096, 4096, 64 * kKiB, kMiB, 4 * kMiB, 24 * kMiB};
  return 1 + below(most[below(std::size(most))]);
}

void RecordedProgram::step() {
  call_time_ns += 1000 + below(1'000'000);
  call();
  log_.completed.store(log_.completed.load() + 1);
}

void RecordedProgram::call() {
  if (below(16) == 0) return other_call();
  const auto slot = static_cast<std::uint32_t>(below(ProgramLog::kSlots));
  log_.slot.store(slot);
  if (log_.held[slot].address == 0) {
    take(slot);
  } else {
    give_up(slot);
  }
}

void RecordedProgram::take(std::uint32_t slot) {
  constexpr Kind kDirect[] = {Kind::managed, Kind::stream_ordered, Kind::registered, Kind::array};
  const std::uint64_t bytes = random_bytes();
  const std::uint64_t sort = below(10);
  Place where{.kind = Kind::device, .device = 0, .context = static_cast<std::uint32_t>(below(2))};
  if (sort == 7) where = {.kind = Kind::pinned, .device = 0, .context = 0};
  if (sort > 7) where = {.kind = kDirect[below(std::size(kDirect))], .device = 0, .context = 0};
  const Tag tag = below(8) == 0 ? Tag{0} : tag_of(where.kind, random_());
  log_.bytes.store(bytes);
  Outcome out;
  if (sort > 7) {
    next_direct_ += std::uint64_t{1} << 30;
    out = allocator_.adopt(where, next_direct_, bytes, tag);
  } else {
    out = allocator_.allocate({.where = where, .bytes = bytes, .tag = tag, .dedicated = sort == 6});
  }
  if (!out.status.ok()) return;
  ProgramLog::Held& held = log_.held[slot];
  held = {.address = 0, .bytes = bytes, .size = out.rounded, .tag = tag, .where = where};
  publish(held.address, out.address);
}

void RecordedProgram::give_up(std::uint32_t slot) {
  ProgramLog::Held& held = log_.held[slot];
  log_.bytes.store(0);
  const auto when = below(8) == 0 ? CachingAllocator::Wait::later : CachingAllocator::Wait::now;
  const Outcome out = is_ours(held.where.kind) ? allocator_.free(held.address, when)
                                               : allocator_.forget(held.where.kind, held.address);
  if (out.status.ok()) publish(held.address, 0);
}

void RecordedProgram::other_call() {
  if (below(10) == 0) return end_place();
  log_.slot.store(ProgramLog::kOtherCall);
  switch (below(7)) {
    case 0:
      return allocator_.trim();
    case 1:
      return static_cast<void>(allocator_.trim_pinned());
    case 2:
      return backend_.set_may_wait(below(2) == 0);
    case 3:
      return allocator_.hold_blocks();
    case 4:
      return allocator_.let_go();
    case 5:
      return static_cast<void>(allocator_.note_export(log_.held[below(8)].address));
    default:
      backend_.set_may_wait(true);
      return allocator_.reset_peaks();
  }
}

void RecordedProgram::end_place() {
  log_.slot.store(ProgramLog::kEndsPlace);
  static_cast<void>(allocator_.forget_place(ProgramLog::kEnding));
  for (ProgramLog::Held& held : log_.held) {
    if (held.where == ProgramLog::kEnding) publish(held.address, 0);
  }
}

void RecordedProgram::write_snapshot() {
  call_time_ns = 0;
  const std::string text = text_of(allocator_.snapshot());
  std::memcpy(log_.text.data(), text.c_str(), std::min(text.size() + 1, log_.text.size()));
}

DyingProcess::DyingProcess(Limits limits) : limits_(limits), file_(mkstemp(path_.data())) {
  log_ = static_cast<ProgramLog*>(
      mmap(nullptr, sizeof(ProgramLog), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

DyingProcess::~DyingProcess() {
  munmap(log_, sizeof(ProgramLog));
  close(file_);
  unlink(path_.c_str());
}

pid_t DyingProcess::start(std::uint64_t seed,
                          const std::function<void(RecordedProgram&)>& program) {
  if (ftruncate(file_, 0) != 0) return -1;
  new (log_) ProgramLog;
  const pid_t child = fork();
  if (child != 0) return child;
  LiveMemory memory;
  if (memory.begin(file_, path_.c_str()) != 0) _exit(1);
  RecordedProgram recorded(*log_, memory, limits_, seed);
  program(recorded);
  _exit(0);
}

void DyingProcess::end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, __WALL);
}

std::string DyingProcess::judge(LiveImage& image) const {
  const LiveHeader* const header = image.refresh();
  if (header == nullptr) return log_->completed.load() == 0 ? "" : "the file has no allocator";
  try {
    const Snapshot found = recover_memory(*header);
    std::string wrong = disagreement(found);
    return wrong.empty() ? difference(found, *log_) : wrong;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string DyingProcess::kill_after(std::uint64_t seed, std::uint64_t ns) {
  const pid_t child = start(seed, [](RecordedProgram& program) {
    for (;;) program.step();
  });
  const timespec wait{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  nanosleep(&wait, nullptr);
  end(child);
  LiveImage image(file_);
  return judge(image);
}

bool DyingProcess::log_has_changed() {
  const std::string_view now(reinterpret_cast<const char*>(log_), offsetof(ProgramLog, text));
  const bool differs = now != seen_log_;
  if (differs) seen_log_ = now;
  return differs;
}

// A process that stands still after an instruction leaves what one would that is killed there.
std::string DyingProcess::step_call(pid_t child, LiveImage& image, int& status) {
  const std::uint64_t before = log_->completed.load();
  while (WIFSTOPPED(status) && log_->completed.load() == before) {
    ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    waitpid(child, &status, __WALL);
    ++instructions_;
    // The verdict depends on the file and the log alone.
    const bool is_other = image.has_changed();
    if (!log_has_changed() && !is_other) continue;
    const std::string wrong = judge(image);
    if (!wrong.empty()) return wrong + ", call " + std::to_string(before);
  }
  return {};
}

std::string DyingProcess::step(std::uint64_t seed, std::uint64_t calls, std::uint64_t between) {
  const pid_t child = start(seed, [=](RecordedProgram& program) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(0);
    for (std::uint64_t i = 1; i <= calls * between; ++i) {
      if (i % between == 0) raise(SIGSTOP);
      program.step();
    }
  });
  LiveImage image(file_);
  int status = 0;
  waitpid(child, &status, __WALL);
  std::string wrong;
  while (WIFSTOPPED(status) && wrong.empty()) {
    wrong = step_call(child, image, status);
    if (!wrong.empty()) break;
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    waitpid(child, &status, __WALL);
  }
  if (WIFSTOPPED(status)) end(child);
  return wrong.empty() && WIFSIGNALED(status) ? "it was killed" : wrong;
}

}  // namespace vramscope::test
