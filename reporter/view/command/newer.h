// newer_than() looks beside a report that was named for one of its family that was written later.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// One that was written later than the report at `than`.
struct NewerReport {
  std::string path;
  std::string than;
  bool is_same_process = false;  // else another run wanted the same name
  std::size_t others = 0;        // that are newer, too
};

// A family are the reports in one folder whose names were made of one: r.json is that of the last
// word on a process, r.1.json, r.2.json that process wrote before, r.json~1 another process wanted
// to have r.json. Of the same process the last one is meant, else the last of all; none when it is
// among `given`. Reads the beginnings of such files alone. May throw bad_alloc.
[[nodiscard]] std::optional<NewerReport> newer_than(const std::string& path,
                                                    const std::vector<std::string>& given);

// "'r.1.json' is not the last report of its process: that is 'r.json'".
[[nodiscard]] std::string newer_text(const NewerReport& newer);

// A line for each of the `words` that is a report and has a newer one, which none of `paths` is.
// Who names folders or patterns has them all.
void tell_newer(const std::vector<std::string>& words, const std::vector<std::string>& paths,
                const std::function<void(std::string_view)>& tell);

}  // namespace vramscope
