// verdict() summarises a report in a few sentences: what held most memory, who owned it, and
// whether memory leaks, ran out or is fragmented.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/page/page_of.h"

namespace vramscope {

// Returns sentences without hostile characters, the most important one first. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> verdict(const PageOf& of, const NameFrame& name);

}  // namespace vramscope
