// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/control.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/kept_errno.h"
#include "interpose/base/clock.h"
#include "interpose/base/guard.h"
#include "interpose/settings/startup.h"
#include "reporter/report/files/file_name.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

using State = LiveControl::State;

constexpr std::size_t kMostOfName = 64;  // bytes of the program's name that the socket's has

constinit std::atomic<ControlServer*> server_of_process{nullptr};

std::string base_of_socket() {
  const std::string program = base_name(process_facts().executable);
  return program.substr(0, kMostOfName) + "." + std::to_string(getpid()) +
         std::string(kControlSuffix);
}

}  // namespace

Control::Control(Profiler& profiler, LiveMemory& live, SteeredReports reports) noexcept
    : live_(live),
      steering_(profiler, reports),
      server_(
          {.begin = [](void* self,
                       std::string_view line) { return static_cast<Control*>(self)->answer(line); },
           .context = this}) {}

std::atomic<std::uint32_t>* Control::bell() noexcept {
  return live_.is_live() ? &live_.header()->control.bell : nullptr;
}

void Control::tell(State state, int problem) noexcept {
  LiveControl& control = live_.header()->control;
  control.problem.store(static_cast<std::uint32_t>(problem), std::memory_order_relaxed);
  control.state.store(state, std::memory_order_release);
}

void Control::begin(bool is_on) noexcept {
  is_on_ = is_on;
  if (!live_.is_live()) return;
  server_of_process.store(&server_, std::memory_order_release);
  if (!is_on) tell(State::off, 0);
}

void Control::attend(bool has_helper) noexcept {
  if (live_.is_live() && is_on_ && has_helper) tell(State::closed, 0);
}

void Control::look() noexcept {
  if (!live_.is_live() || !is_on_) return;
  LiveControl& control = live_.header()->control;
  const std::uint32_t asked = control.asked.load(std::memory_order_acquire);
  if (asked == control.answered.load(std::memory_order_relaxed)) return;
  const bool is_ending = is_withdrawn_.load(std::memory_order_acquire);
  if (!is_ending && (!is_open_ || !server_.is_open())) {
    const CallGuard guard(CallGuard::Ends::without_waiting);
    int problem = ENOMEM;
    try {
      problem = server_.open(startup().runtime_folder, base_of_socket());
      if (server_.path().size() >= control.path.size()) problem = ENAMETOOLONG;
    } catch (const std::exception&) {  // no memory
    }
    is_open_ = problem == 0;
    if (!is_open_) server_.close();
    if (is_open_) server_.path().copy(control.path.data(), control.path.size() - 1);
    if (is_open_) control.path[server_.path().size()] = '\0';
    socket_inode_.store(server_.inode(), std::memory_order_relaxed);
    tell(is_open_ ? State::open : State::failed, problem);
    if (is_withdrawn_.load(std::memory_order_acquire)) server_.close();  // meanwhile
  }
  control.answered.store(asked, std::memory_order_release);
}

void Control::converse(std::uint64_t limit_ns, std::atomic<bool>& writing) noexcept {
  const CallGuard guard(CallGuard::Ends::without_waiting);
  writing_ = &writing;
  is_open_ = server_.serve(limit_ns);
  if (!is_open_) tell(State::closed, 0);
}

// A copy of the path is used, because the helper may be at work on its own.
void Control::withdraw() noexcept {
  const KeptErrno kept;
  if (!live_.is_live() || !is_on_) return;
  is_withdrawn_.store(true, std::memory_order_release);
  LiveControl& control = live_.header()->control;
  State open = State::open;
  if (!control.state.compare_exchange_strong(open, State::closed)) return;
  std::array<char, sizeof control.path> path = control.path;
  path.back() = '\0';
  struct stat found {};
  const bool is_ours = lstat(path.data(), &found) == 0 && S_ISSOCK(found.st_mode) &&
                       found.st_ino == socket_inode_.load(std::memory_order_relaxed);
  if (is_ours) unlink(path.data());
}

void Control::leave_in_child() noexcept {
  ControlServer* const server = server_of_process.load(std::memory_order_acquire);
  if (server != nullptr) server->close_in_child();
}

std::unique_ptr<ControlAnswer> Control::answer(std::string_view line) {
  const auto read = read_request(line);
  if (const auto* const problem = std::get_if<std::string>(&read)) {
    return std::make_unique<ControlText>(failure_line(*problem));
  }
  // A thread that ends the program may hold a lock that it will not give back. Nothing is done for
  // clients once the last report is written.
  if (EndingThread::holder() != 0 || is_withdrawn_.load(std::memory_order_acquire)) {
    return std::make_unique<ControlText>(failure_line("the program is ending"));
  }
  return steering_.begin(std::get<ControlRequest>(read), *writing_);
}

}  // namespace vramscope
