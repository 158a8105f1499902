// Lists the suppressions that were used, and those that were not.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/suppressed_text.h"

#include <algorithm>

#include "reporter/view/analysis/leaks/framework_caches.h"

namespace vramscope {
namespace {

std::string source_of(const Suppression& row) {
  return row.source + ":" + std::to_string(row.line);
}

std::string unused_text(const Leaks& leaks, const Suppressions& suppressions) {
  std::string line;
  for (const Suppression* row : unused_suppressions(leaks, suppressions)) {
    line += (line.empty() ? "Suppressions that left nothing out: " : ", ") + row->pattern + " (" +
            source_of(*row) + ")";
  }
  return line;
}

}  // namespace

std::vector<const Suppression*> unused_suppressions(const Leaks& leaks,
                                                    const Suppressions& suppressions) {
  std::vector<const Suppression*> unused;
  for (std::size_t i = 0; i < suppressions.rows().size(); ++i) {
    const Suppression& row = suppressions.rows()[i];
    const auto is_it = [i](const UsedSuppression& used) { return used.row == i; };
    if (!row.is_usual && std::none_of(leaks.suppressed.begin(), leaks.suppressed.end(), is_it)) {
      unused.push_back(&row);
    }
  }
  return unused;
}

std::string suppressed_clause(const Leaks& leaks) {
  std::vector<std::string> parts;
  for (const HeldByCache& held : leaks.caches) {
    parts.push_back(bytes_text(held.bytes) + " held by " +
                    std::string(framework_caches()[held.row].name));
  }
  if (!leaks.suppressed.empty()) {
    parts.push_back(bytes_text(suppressed_bytes(leaks)) + " that suppressions hide");
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? " " : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

Document caches_text(const Leaks& leaks) {
  Document text;
  for (const HeldByCache& held : leaks.caches) {
    const FrameworkCache& cache = framework_caches()[held.row];
    text.paragraph("Held by " + std::string(cache.name) + " (not a leak of the program): " +
                   bytes_text(held.bytes) + " in " + counted(held.count, "allocation") +
                   (cache.inside.empty() ? "" : "; to see its contents: ") +
                   std::string(cache.inside));
  }
  return text;
}

Document suppressed_text(const Leaks& leaks, const Suppressions& suppressions, const Page& page) {
  using enum Table::Align;
  Document text;
  Table table({{"COUNT", right}, {"BYTES", right}, {"PATTERN", left}});
  for (const UsedSuppression& used : leaks.suppressed) {
    const Suppression& row = suppressions.rows()[used.row];
    table.add({count_text(used.count), bytes_text(used.bytes),
               printable(row.pattern + "  (" + source_of(row) + ")", page)});
  }
  if (!table.empty()) text.title("Suppressions used");
  text.table(std::move(table));
  Document unused;
  unused.sentence(unused_text(leaks, suppressions));
  text.is_empty() ? text.append(unused) : text.append_apart(unused);
  return text;
}

}  // namespace vramscope
