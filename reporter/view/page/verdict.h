// verdict() says in a few sentences what a report comes to: what held most, whose it was, whether
// anything leaks, ran out or is fragmented.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/page/page_of.h"

namespace vramscope {

// Sentences without hostile characters; the most important first. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> verdict(const PageOf& of, const NameFrame& name);

}  // namespace vramscope
