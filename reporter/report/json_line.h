// members_of_line() reads a small JSON object, such as a line of the control socket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vramscope {

// A member of the object. Null, a fraction, a negative number, a list or an object has no value
// here.
struct JsonMember {
  std::string name;
  std::variant<std::monostate, bool, std::uint64_t, std::string> value;
};

// Returns the members; nothing if the text is not one JSON object. May throw bad_alloc. It is
// defined in json.cpp, which has the JSON library.
[[nodiscard]] std::optional<std::vector<JsonMember>> members_of_line(std::string_view text);

}  // namespace vramscope
