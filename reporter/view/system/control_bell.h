// ControlBell makes the helper thread of a program open its control socket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "reporter/report/live/live_image.h"
#include "reporter/view/system/running.h"

namespace vramscope {

// Threads: one.
class ControlBell {
 public:
  explicit ControlBell(const RunningProcess& process);
  ~ControlBell();
  ControlBell(const ControlBell&) = delete;
  ControlBell& operator=(const ControlBell&) = delete;

  // Returns why nobody can ring; "": one can.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Rings, and waits until the socket is there. Returns why it is not, or "".
  [[nodiscard]] std::string ring();
  // Returns the path of the socket, after ring().
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct State;
  [[nodiscard]] bool read(State& state) const;
  void raise(std::size_t word) const;
  [[nodiscard]] std::string why_no_socket(const State& state);

  const RunningProcess process_;
  OpenLiveFile file_;
  std::string problem_;
  std::string path_;
  std::byte* header_ = nullptr;  // mapped; only the kernel touches it, since the file may shrink
};

}  // namespace vramscope
