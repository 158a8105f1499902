// Whole call stacks as texts: every frame with its types, path and line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/view/listing/site_listing.h"

namespace vramscope {
namespace {

// As much of the text as `room` columns hold.
std::string_view beginning(std::string_view text, std::size_t room) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view behind = rest;
    (void)take_code_point(behind);
    if (columns(text.substr(0, text.size() - behind.size())) > room) break;
    rest = behind;
  }
  return text.substr(0, text.size() - rest.size());
}

// Behind which byte of the name a line of `room` columns may end; 0: nowhere.
std::size_t end_of_part(std::string_view name, std::size_t room) {
  const std::string_view line = beginning(name, room);
  const std::size_t argument = line.find_last_of(" <(");
  if (argument != std::string_view::npos && argument > room / 3) return argument + 1;
  const std::size_t scope = line.rfind("::");
  const bool has_scope = scope != std::string_view::npos && scope != 0;
  return has_scope && scope + 2 < line.size() ? scope + 2 : line.size();
}

// A name over several lines, broken where its parts meet.
std::string broken(std::string_view name, const Page& page, std::size_t indent) {
  constexpr std::size_t kFurther = 4;
  std::string result(indent, ' ');
  for (std::size_t room = page.width - std::min(page.width, indent); page.cuts;) {
    const std::size_t end = columns(name) <= room ? 0 : end_of_part(name, room);
    if (end == 0) break;
    const std::string_view line = name.substr(0, end);
    result.append(line.substr(0, line.find_last_not_of(' ') + 1)).append("\n");
    result.append(indent + kFurther, ' ');
    name.remove_prefix(end);
    room = page.width - std::min(page.width, indent + kFurther);
  }
  return result.append(name) + "\n";
}

std::string where_it_lies(const Caller& caller, const Page& page, std::size_t indent) {
  const std::string margin(indent, ' ');
  const bool is_replaced = caller.path == kReplaced;
  const std::string path =
      caller.path.empty() || is_replaced ? "" : "at " + printable(caller.path, page);
  const std::string module = caller.module.empty()
                                 ? ""
                                 : "in " + printable(caller.module, page) +
                                       (is_replaced ? " (replaced since the run)" : "");
  if (path.empty() && module.empty()) return "";
  const std::string both = path + (path.empty() || module.empty() ? "" : " ") + module;
  const bool fits = !page.cuts || indent + columns(both) <= page.width;
  return margin + (fits || path.empty() || module.empty() ? both : path + "\n" + margin + module) +
         "\n";
}

}  // namespace

std::string whole_stack_text(const CallSite& site, const Page& page, std::size_t indent) {
  if (site.callers.empty()) return std::string(indent, ' ') + "no stack was taken\n";
  std::string result;
  for (const Caller& caller : site.callers) {
    const std::string& name = full_name(caller);
    const std::string mark = caller.is_inlined ? " (inlined)" : "";
    result += broken(printable(name, page) + mark, page, indent);
    result += where_it_lies(caller, page, indent + 2);
    if (!caller.line.empty()) {
      result += fitted(std::string(indent + 2, ' ') + "| " + printable(caller.line, page), page);
      result += "\n";
    }
  }
  return result;
}

}  // namespace vramscope
