// ExitWatcher notes when processes of a run end, which one that is killed cannot tell itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace vramscope {

// When the processes ended that had the live files, in nanoseconds since 1970 (UTC): never earlier
// than they did.
using EndTimes = std::map<std::string, std::uint64_t>;

// Watches the processes whose live files are noted, in a thread of its own that takes no signals.
// Of one that ends before it is seen, or whose number means something else here, no end is known.
class ExitWatcher {
 public:
  // `note`: the path of a NoteFile that is there already. Where the system has no means nothing is
  // watched.
  explicit ExitWatcher(const std::string& note);
  ~ExitWatcher();
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;

  // Ends the thread, having noted all who have ended by now. Only once.
  [[nodiscard]] EndTimes stop();

 private:
  void end_thread();

  EndTimes ends_;
  int stop_ = -1;  // readable once the thread is to end
  std::thread thread_;
};

}  // namespace vramscope
