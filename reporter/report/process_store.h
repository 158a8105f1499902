// ProcessStore keeps the processes of a merged report as packed bytes. If these are many, it puts
// them aside in a scratch file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reporter/report/files/scratch_file.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {

// Gives each index of a site in a process a new value.
void renumber_sites(MergedProcess& process,
                    const std::function<std::int64_t(std::size_t site)>& number_of);

// Threads: one. All functions may throw bad_alloc, and system_error if the scratch file fails.
class ProcessStore : public ProcessList {
 public:
  // most_bytes: the memory for packed processes.
  explicit ProcessStore(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
  ProcessStore(const ProcessStore&) = delete;
  ProcessStore& operator=(const ProcessStore&) = delete;

  void add(const MergedProcess& process);

  // Of each process only what says who it is, its devices and its times. The devices may get other
  // numbers before finish(); each process's rows then follow them by ordinals.
  [[nodiscard]] std::vector<MergedProcess>& brief() { return brief_; }

  // Sorts the processes. sites: the new number of each site. Call it once.
  void finish(const std::vector<std::uint32_t>& sites);

  // The functions from here on may be called after finish().
  [[nodiscard]] std::size_t size() const override { return brief_.size(); }
  [[nodiscard]] MergedProcess at(std::size_t index) const override;

 private:
  struct Row {  // where a process is: its place among `packed_`, or in the file
    std::uint64_t at, bytes;
  };

  void put_aside();

  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::vector<MergedProcess> brief_;
  std::vector<Row> rows_;            // in the order of `brief_`
  std::vector<std::string> packed_;  // empty once there is a file
  std::unique_ptr<ScratchFile> file_;
  std::vector<std::uint32_t> sites_;
};

}  // namespace vramscope
