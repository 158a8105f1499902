// MetricsServer answers what collectors of metrics and of profiles ask of recorded programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "reporter/view/export/served_metrics.h"
#include "reporter/view/system/http_server.h"
#include "reporter/view/system/listening_socket.h"
#include "reporter/view/system/watched_programs.h"

namespace vramscope {

inline constexpr std::size_t kUsualSites = 10;
inline constexpr unsigned kUsualKeepSeconds = 60;

// Threads: one, the only one of the process. Functions may throw bad_alloc.
class MetricsServer {
 public:
  struct Wish {
    WatchedPrograms::Find find;                    // who is recorded
    std::size_t most_sites = kUsualSites;          // of each program
    std::chrono::seconds keep{kUsualKeepSeconds};  // last values of a program that ended
  };
  explicit MetricsServer(Wish wish);

  // Serves until `stop` can be read; -1: for ever. Returns "", or why it cannot serve.
  [[nodiscard]] std::string serve(const ListeningSocket& socket, int stop);

 private:
  using Clock = WatchedPrograms::Clock;
  using Text = std::shared_ptr<const std::string>;

  [[nodiscard]] HttpAnswer answer(const HttpRequest& request);
  [[nodiscard]] HttpAnswer metrics(const HttpRequest& request);
  [[nodiscard]] HttpAnswer profile(const HttpRequest& request);
  void refresh();
  [[nodiscard]] LiveRowNames& names_of(const Report& report);

  Wish wish_;
  WatchedPrograms watched_;
  // By what the program is made of: one that was built anew has other names.
  std::map<std::string, std::unique_ptr<LiveRowNames>> names_;
  std::map<MetricsFormat, Text> texts_;  // until the programs are read again
  Clock::time_point next_reading_{};
  bool is_for_this_machine_ = true;
};

// Checks "[ADDRESS:]PORT": returns "", or why it is none.
[[nodiscard]] std::string not_an_address(const std::string& given);

}  // namespace vramscope
