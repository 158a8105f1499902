// Control lets other processes of the user steer this one (vramscope ctl): the helper thread makes
// a socket when one of them rings, and answers requests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "allocator/base/live_memory.h"
#include "interpose/driver/profiler.h"
#include "interpose/life/control_server.h"
#include "interpose/life/steering.h"

namespace vramscope {

// There is one for each process, never destroyed. It makes no CUDA call. Threads: the helper,
// unless a line says otherwise.
class Control {
 public:
  // Works without a live file, too; then nobody can ring.
  Control(Profiler& profiler, LiveMemory& live, SteeredReports reports) noexcept;

  // Says in the live file whether others may ring. Call it before the helper starts; `has_helper`
  // afterwards. Threads: that of the start.
  void begin(bool is_on) noexcept;
  void attend(bool has_helper) noexcept;
  // Returns the word that others raise to wake the helper; null without a live file.
  [[nodiscard]] std::atomic<std::uint32_t>* bell() noexcept;

  // Makes a socket if somebody has asked for one since.
  void look() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  // Serves those who are connected for about `limit_ns`. writing: as for write_report.
  void converse(std::uint64_t limit_ns, std::atomic<bool>& writing) noexcept;

  // Removes the socket's name, because the process ends or executes another program. Threads: any.
  void withdraw() noexcept;
  // Lets others ring again, because the exec failed. Threads: any.
  void return_after_exec() noexcept { is_withdrawn_.store(false, std::memory_order_release); }
  // In a forked child: closes the sockets of the parent.
  static void leave_in_child() noexcept;

 private:
  [[nodiscard]] std::unique_ptr<ControlAnswer> answer(std::string_view line);
  void tell(LiveControl::State state, int problem) noexcept;

  LiveMemory& live_;
  Steering steering_;
  ControlServer server_;
  std::atomic<std::uint64_t> socket_inode_{0};  // of the socket's file
  std::atomic<bool> is_withdrawn_{false};
  bool is_open_ = false;
  bool is_on_ = false;
  std::atomic<bool>* writing_ = nullptr;  // within converse()
};

}  // namespace vramscope
