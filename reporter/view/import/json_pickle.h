// pickle_of_json() writes the same values as a pickle, so that a memory snapshot of PyTorch that
// somebody kept as JSON is read by the code that reads the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

// Whether a text begins like such a snapshot: an object whose first member is one of its.
[[nodiscard]] bool is_json_snapshot(std::string_view head);

// "" if the text is no JSON, has texts above 1 MiB or is nested more than 64 deep. May throw
// bad_alloc.
[[nodiscard]] std::string pickle_of_json(std::string& text);

}  // namespace vramscope
