// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/output_folder.h"

#include <exception>
#include <string>

#include "interpose/settings/startup.h"
#include "reporter/report/files/folders.h"

namespace vramscope {

void make_output_folder() noexcept {
  const Options& options = startup().options;
  if (options.output_folder.empty()) return;
  try {
    const ProcessFacts process = process_facts();
    make_folders_of(path_of(options.output, process, 1));
    if (!options.trace.empty()) make_folders_of(path_of(options.trace, process, 1));
  } catch (const std::exception&) {  // then there is no memory for a report either
  }
}

}  // namespace vramscope
