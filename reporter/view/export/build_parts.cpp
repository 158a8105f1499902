// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/build_parts.h"

#include <algorithm>

#include "reporter/view/page/page.h"
#include "reporter/view/system/http_server.h"

namespace vramscope {

std::string_view why_no_page() noexcept {
  return has_page() ? "" : "at build time, npm was missing or could not fetch its packages";
}

std::string_view why_no_sqlite() noexcept {
#ifdef VRAMSCOPE_HAS_SQLITE
  return "";
#else
  return "at build time, libsqlite3-dev was missing or disabled";
#endif
}

std::string_view why_no_parquet() noexcept {
#ifdef VRAMSCOPE_HAS_PARQUET
  return "";
#else
  return "at build time, Arrow's Parquet library (pyarrow) was missing or disabled";
#endif
}

std::string_view why_no_protobuf() noexcept {
#ifdef VRAMSCOPE_HAS_PROTOBUF
  return "";
#else
  return "at build time, libprotobuf-dev and protobuf-compiler were missing or disabled";
#endif
}

std::vector<BuildPart> build_parts() {
  std::vector<BuildPart> parts = {
      {"the HTML page", "vramscope html", why_no_page()},
      {"SQLite", "vramscope export --format sqlite", why_no_sqlite()},
      {"Parquet", "vramscope export --format parquet", why_no_parquet()},
      {"protobuf", "vramscope export --format pprof and perfetto", why_no_protobuf()},
      {"ncurses", "vramscope live on a terminal", why_no_curses()},
      {"libevent", "vramscope serve, run --metrics", why_no_server()},
  };
  std::stable_partition(parts.begin(), parts.end(),
                        [](const BuildPart& part) { return part.why_not.empty(); });
  return parts;
}

std::string build_parts_text() {
  std::string text;
  for (const BuildPart& part : build_parts()) {
    text.append(text.empty() ? "" : "\n").append(part.why_not.empty() ? "with " : "without ");
    text.append(part.name).append(" (").append(part.gives).append(")");
    if (!part.why_not.empty()) text.append(": ").append(part.why_not);
  }
  return text;
}

}  // namespace vramscope
