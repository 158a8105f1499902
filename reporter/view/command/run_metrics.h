// RunMetrics serves the metrics of one run from a process beside the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "reporter/view/system/listening_socket.h"

namespace vramscope {

class RunMetrics {
 public:
  // address: checked by not_an_address(); "": nobody is served. note: the path of a NoteFile. Call
  // this before this process has threads.
  RunMetrics(const std::string& address, const std::string& note);
  // Ends the server.
  ~RunMetrics();
  RunMetrics(const RunMetrics&) = delete;
  RunMetrics& operator=(const RunMetrics&) = delete;

  // Returns "" or why nobody can be served, in one line.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Returns "http://127.0.0.1:9847/metrics", or "" if nobody is served.
  [[nodiscard]] std::string url() const;

 private:
  std::unique_ptr<ListeningSocket> socket_;
  std::string problem_;
  pid_t server_ = -1;
};

}  // namespace vramscope
