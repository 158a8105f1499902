// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/loader_call.h"

#ifndef __x86_64__

namespace vramscope {
Loading load_into(pid_t, const std::string&, unsigned) { return Loading::no_machine; }
}  // namespace vramscope

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "reporter/report/files/descriptor.h"
#include "reporter/view/system/thread_stack.h"
#include "reporter/view/system/tracee.h"

namespace vramscope {
namespace {

using Clock = Tracee::Clock;

constexpr auto kLookAgain = std::chrono::milliseconds(20);
constexpr std::uint64_t kRedZone = 128;          // below the stack pointer: in use (System V ABI)
constexpr std::uint64_t kRoom = 64 << 10;        // that dlopen may need below that
constexpr std::uint64_t kDirectionFlag = 0x400;  // clear at calls

// What a waiting system call returns when the kernel is to begin it again (linux/errno.h).
constexpr std::int64_t kRestart = -512, kRestartAlways = -513, kRestartNoHandler = -514,
                       kRestartBlock = -516;
// System calls that wait, and that the kernel begins again after a stop. epoll_wait is not: it ends
// with EINTR.
constexpr std::array kWaiting = {SYS_futex, SYS_poll,  SYS_nanosleep,      SYS_clock_nanosleep,
                                 SYS_read,  SYS_wait4, SYS_restart_syscall};
constexpr std::uint64_t kSyscallBytes = 2;  // of the instruction

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct MapLine {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string rights, device, inode;
};

std::vector<MapLine> map_lines(const std::string& process) {
  std::vector<MapLine> lines;
  std::istringstream text(text_of("/proc/" + process + "/maps"));
  for (std::string line; std::getline(text, line);) {
    MapLine one;
    char dash = 0;
    std::istringstream words(line);
    words >> std::hex >> one.begin >> dash >> one.end >> one.rights >> one.offset >> one.device >>
        one.inode;
    if (words) lines.push_back(std::move(one));
  }
  return lines;
}

const MapLine* line_at(const std::vector<MapLine>& lines, std::uint64_t address) {
  const auto found = std::ranges::find_if(
      lines, [=](const MapLine& line) { return address >= line.begin && address < line.end; });
  return found == lines.end() ? nullptr : &*found;
}

// The end of a signal handler: mov $15, %rax; syscall.
std::uint64_t find_return(std::uint64_t base, std::span<const MapLine> lines, const MapLine& code) {
  constexpr std::array<unsigned char, 9> kReturn = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  for (const MapLine& line : lines) {
    const bool is_code = line.rights.starts_with("r-x");
    if (!is_code || line.device != code.device || line.inode != code.inode) continue;
    const auto* const begin = reinterpret_cast<const unsigned char*>(line.begin);
    const auto* const end = reinterpret_cast<const unsigned char*>(line.end);
    const auto* const found = std::search(begin, end, kReturn.begin(), kReturn.end());
    if (found != end) return reinterpret_cast<std::uint64_t>(found) - base;
  }
  return 0;
}

// Functions of the C library in the process. Both processes must have mapped the same file.
struct Functions {
  std::uint64_t open = 0;
  std::uint64_t end_of_handler = 0;  // from where a handler returns to what it interrupted
};

std::optional<Functions> functions_in(const std::string& process) {
  Dl_info home{};
  const auto own = reinterpret_cast<std::uint64_t>(&dlopen);
  if (dladdr(reinterpret_cast<const void*>(own), &home) == 0) return std::nullopt;
  const auto base = reinterpret_cast<std::uint64_t>(home.dli_fbase);
  const std::vector<MapLine> ours = map_lines("self");
  const MapLine* const code = line_at(ours, own);
  if (code == nullptr) return std::nullopt;
  const std::uint64_t end = find_return(base, ours, *code);
  for (const MapLine& line : map_lines(process)) {
    if (line.offset != 0 || line.inode != code->inode || line.device != code->device) continue;
    if (end == 0) break;
    return Functions{.open = line.begin + (own - base), .end_of_handler = line.begin + end};
  }
  return std::nullopt;
}

bool waits(const std::string& process, pid_t thread) {
  const std::string text =
      text_of("/proc/" + process + "/task/" + std::to_string(thread) + "/syscall");
  long number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::ranges::count(kWaiting, number) != 0;
}

bool is_interrupted(const ThreadState& state) {
  const auto result = static_cast<std::int64_t>(state.registers.rax);
  const bool is_restarted = result == kRestart || result == kRestartAlways ||
                            result == kRestartNoHandler || result == kRestartBlock;
  return static_cast<std::int64_t>(state.registers.orig_rax) >= 0 && is_restarted;
}

// Returns the state in which the thread begins its system call again, with all its time.
ThreadState from_beginning(ThreadState state) {
  user_regs_struct& now = state.registers;
  now.rax = now.orig_rax;
  now.rip -= kSyscallBytes;
  now.orig_rax = ~0ULL;
  return state;
}

// The same as the kernel would let it: with the time that was left.
ThreadState waiting_again(const ThreadState& state) {
  ThreadState again = from_beginning(state);
  const bool has_block = static_cast<std::int64_t>(state.registers.rax) == kRestartBlock;
  if (has_block) again.registers.rax = SYS_restart_syscall;
  return again;
}

// The part of the kernel's description of the floating point registers that says how much there is
// (asm/sigcontext.h). It lies where XSAVE leaves room for it.
struct ExtendedSize {
  std::uint32_t magic = 0x46505853;
  std::uint32_t with_end = 0;
  std::uint64_t features = 0;
  std::uint32_t bytes = 0;
};
constexpr std::size_t kExtendedSizeAt = 464;
constexpr std::uint32_t kExtendedEnd = 0x46505845;  // behind them

// What the stack of a thread holds in a signal handler, which has `dlopen` as its body: the return
// address, the state to return to, the floating point registers and the path.
struct HandlerFrame {
  std::uint64_t at = 0;    // of the return address, which is its first word
  std::uint64_t path = 0;  // address
  std::vector<std::byte> bytes;
};

greg_t segments_of(const user_regs_struct& from) {
  return static_cast<greg_t>(from.cs | from.gs << 16 | from.fs << 32 | from.ss << 48);
}

ucontext_t context_of(const ThreadState& state, std::uint64_t extended_at) {
  constexpr unsigned long kHasExtended = 1, kHasSegment = 2, kKeepsSegment = 4;
  constexpr int kNoStack = 0x7f;  // refused by the kernel, so the alternate stack stays what it is
  const user_regs_struct& from = state.registers;
  ucontext_t context{};
  context.uc_flags = kHasExtended | kHasSegment | kKeepsSegment;
  context.uc_stack.ss_flags = kNoStack;
  const unsigned long long values[] = {
      from.r8,  from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rdi,
      from.rsi, from.rbp, from.rbx, from.rdx, from.rax, from.rcx, from.rsp, from.rip, from.eflags};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    context.uc_mcontext.gregs[i] = static_cast<greg_t>(values[i]);
  }
  context.uc_mcontext.gregs[REG_CSGSFS] = segments_of(from);
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(extended_at);
  std::memcpy(&context.uc_sigmask, &state.blocked, sizeof state.blocked);
  return context;
}

std::vector<std::byte> with_size(std::vector<std::byte> extended) {
  ExtendedSize size{.bytes = static_cast<std::uint32_t>(extended.size())};
  size.with_end = size.bytes + sizeof kExtendedEnd;
  std::memcpy(&size.features, extended.data() + kExtendedSizeAt, sizeof size.features);
  std::memcpy(extended.data() + kExtendedSizeAt, &size, sizeof size);
  const auto* const end = reinterpret_cast<const std::byte*>(&kExtendedEnd);
  extended.insert(extended.end(), end, end + sizeof kExtendedEnd);
  return extended;
}

HandlerFrame frame_below(const ThreadState& again, const std::string& path,
                         std::uint64_t returns_to) {
  constexpr std::uint64_t kVectors = 64;  // alignment of the floating point registers
  const std::vector<std::byte> extended = with_size(again.extended);
  const std::uint64_t top = (again.registers.rsp - kRedZone) / kVectors * kVectors;
  HandlerFrame frame;
  frame.path = (top - path.size() - 1) / kVectors * kVectors;
  const std::uint64_t extended_at = (frame.path - extended.size()) / kVectors * kVectors;
  // Calls leave the stack pointer 8 bytes below a multiple of 16.
  frame.at = (extended_at - sizeof(ucontext_t) - sizeof(siginfo_t)) / 16 * 16 - sizeof returns_to;
  frame.bytes.resize(top - frame.at);
  const ucontext_t context = context_of(again, extended_at);
  const auto put = [&](std::uint64_t at, const void* from, std::size_t bytes) {
    std::memcpy(frame.bytes.data() + (at - frame.at), from, bytes);
  };
  put(frame.at, &returns_to, sizeof returns_to);
  put(frame.at + sizeof returns_to, &context, sizeof context);
  put(extended_at, extended.data(), extended.size());
  put(frame.path, path.c_str(), path.size() + 1);
  return frame;
}

bool has_room(const std::string& process, std::uint64_t stack) {
  for (const MapLine& line : map_lines(process)) {
    if (stack < line.begin || stack >= line.end) continue;
    return line.rights.starts_with("rw") && stack - line.begin >= kRoom;
  }
  return false;
}

bool write_to(const std::string& process, std::uint64_t at, std::span<const std::byte> bytes) {
  const Descriptor memory("/proc/" + process + "/mem", O_WRONLY);
  return memory.number() >= 0 &&
         pwrite(memory.number(), bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
             static_cast<ssize_t>(bytes.size());
}

ThreadState in_loader(const ThreadState& again, const HandlerFrame& frame, std::uint64_t function) {
  ThreadState state = again;
  user_regs_struct& now = state.registers;
  now.rip = function;
  now.rdi = frame.path;
  now.rsi = RTLD_NOW;
  now.rsp = frame.at;
  now.rax = 0;
  now.eflags &= ~kDirectionFlag;
  state.blocked = ~0ULL;  // no handler of the program runs meanwhile
  return state;
}

// While these arrive, the thread must get back what it had.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutInterrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  sigset_t before_{};
};

struct Wish {
  pid_t pid = 0;
  std::string process;  // the number
  std::string path;
  Functions functions;
  std::chrono::seconds limit;
};

// Nothing: this thread is at no place for it.
std::optional<Loading> load_by(const Wish& wish, pid_t thread) {
  const WithoutInterrupts whole;
  Tracee tracee(thread);
  switch (tracee.stop()) {
    case 0:
      break;
    case EPERM:
      return Loading::forbidden;
    case EAGAIN:
      return Loading::stopped;
    default:
      return std::nullopt;
  }
  ThreadState before;
  if (!tracee.read(before) || !is_interrupted(before)) return std::nullopt;
  if (!may_call_loader(wish.pid, thread)) return std::nullopt;
  const ThreadState again = waiting_again(before);
  // A return from a handler, which happens if this process is killed, ends what was left.
  const HandlerFrame frame =
      frame_below(from_beginning(before), wish.path, wish.functions.end_of_handler);
  if (!has_room(wish.process, frame.at)) return std::nullopt;
  if (!write_to(wish.process, frame.at, frame.bytes)) return std::nullopt;
  if (!tracee.write(in_loader(again, frame, wish.functions.open))) return std::nullopt;
  const std::uint64_t stack = frame.at + sizeof(std::uint64_t);
  switch (tracee.run_until_call(SYS_rt_sigreturn, stack, Clock::now() + wish.limit)) {
    case Tracee::Run::at_call:
      break;
    case Tracee::Run::late:
      return Loading::unfinished;
    case Tracee::Run::ended:
      return Loading::ended;
  }
  return tracee.write(again) ? Loading::done : Loading::ended;
}

std::vector<pid_t> threads_of(const std::string& process) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + process + "/task", error)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  std::ranges::sort(threads);
  return threads;
}

}  // namespace

Loading load_into(pid_t pid, const std::string& path, unsigned seconds) {
  Wish wish{.pid = pid,
            .process = std::to_string(pid),
            .path = path,
            .functions = {},
            .limit = std::chrono::seconds(seconds)};
  const std::optional<Functions> functions = functions_in(wish.process);
  if (!functions) return Loading::other_libc;
  wish.functions = *functions;
  const auto until = Clock::now() + wish.limit;
  do {
    const std::vector<pid_t> threads = threads_of(wish.process);
    if (threads.empty()) return Loading::ended;
    for (const pid_t thread : threads) {
      if (!waits(wish.process, thread)) continue;
      if (const std::optional<Loading> result = load_by(wish, thread)) return *result;
    }
    std::this_thread::sleep_for(kLookAgain);
  } while (Clock::now() < until);
  return Loading::no_place;
}

}  // namespace vramscope

#endif
