// Words and tables for the parts of a peak.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/peak_use_text.h"

#include <algorithm>
#include <set>

#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

using enum Table::Align;

// A framework's cache, which alone knows how much of it is idle.
const FrameworkCache* cutting_cache(const PeakUseRow& row) {
  if (row.part != PeakPart::held_by_pool) return nullptr;
  const FrameworkCache* const cache = framework_cache(row.owner);
  return cache != nullptr && cache->cuts_blocks ? cache : nullptr;
}

std::string words_of(const PeakUseRow& row) {
  switch (row.part) {
    case PeakPart::memory:
      return row.owner;
    case PeakPart::held_by_pool:
      return row.owner + (cutting_cache(row) != nullptr ? ", live or idle" : "");
    case PeakPart::reserved:
      return "rounding, free space beside live blocks, and idle memory in Vramscope's cache";
    case PeakPart::pages:
      return "rounding to the driver's pages";
    case PeakPart::pools:
      return "memory that the driver's pools keep beyond live memory";
    case PeakPart::driver:
      return "contexts and code of this process" + std::string(row.bytes ? ", as last seen" : "");
    case PeakPart::before:
      return kFromBefore;
    case PeakPart::others:
      return row.has_contexts ? std::string(kContextsAndOthers)
                              : "other processes and unexplained memory";
  }
  return "";
}

std::string amount_or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? amount_text(*bytes) : "not known";
}

// The allocator's counters bound what was reserved then.
std::string row_bytes_text(const PeakUseRow& row) {
  const bool is_bound = row.part == PeakPart::reserved && row.bytes;
  return (is_bound ? "at most " : "") + amount_or_unknown(row.bytes);
}

// What stands in the end, where the peak does not tell it.
std::string end_text(const PeakUseRow& row) {
  return row.bytes || !row.end_bytes ? "" : amount_text(*row.end_bytes);
}

std::string known_text(const PeakUse& use) {
  return bounds_text({.lower = use.bytes - use.most_reserved, .upper = use.bytes}) +
         (use.is_all ? "" : " (known parts)");
}

// "64.1 MiB to 66.0 MiB, plus the live part of the 6.82 GiB in PyTorch's cache, plus the process's
// contexts and code (not known)".
std::string needed_amount(const PeakUse& use) {
  std::vector<std::string> parts;
  if (use.needed_most != 0)
    parts.push_back(interval_text({.lower = use.needed_least, .upper = use.needed_most}));
  for (const PeakUseRow& row : use.rows) {
    if (cutting_cache(row) == nullptr) continue;
    parts.push_back("the live part of " +
                    (row.bytes ? "the " + amount_text(*row.bytes) + " in " : "") + row.owner);
  }
  for (const PeakUseRow& row : use.rows) {
    if (row.part != PeakPart::before || !row.end_bytes) continue;
    parts.push_back("what it held before Vramscope was attached (" + amount_text(*row.end_bytes) +
                    " when last seen)");
  }
  if (use.lacks_contexts) parts.emplace_back("the process's contexts and code (not known)");
  if (use.lacks_pages) parts.emplace_back("the driver's rounding to pages (not known)");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", plus ") + part;
  return text;
}

constexpr const char* kNeeded =
    "not counting idle memory in Vramscope's cache and the driver's pools, the process needs";

std::string needed_line(const PeakUse& use) {
  return std::string(kNeeded) + " " + needed_amount(use);
}

std::string title_of(const PeakUse& use) {
  return use.gpu + " at its peak" + (use.is_all ? ", as nvidia-smi counts: " : ": ");
}

// The same of two runs; of one and the same report as one line.
void add_needed(Document& text, const std::string& before, const std::string& after, bool is_one) {
  const std::string needed(kNeeded);
  if (is_one) return text.paragraph(needed + " " + after + ", as before");
  text.paragraph(needed + ":");
  text.deeper("before: " + before);
  text.deeper("after:  " + after);
}

// How a user can see which memory of a framework's cache is idle.
Document inside_text(const std::vector<PeakUse>& uses) {
  std::set<std::string> told;
  Document text;
  for (const PeakUse& use : uses) {
    for (const PeakUseRow& row : use.rows) {
      const FrameworkCache* const cache = cutting_cache(row);
      if (cache == nullptr || !told.insert(row.owner).second) continue;
      text.paragraph("only " + row.owner + " knows how much of its memory is idle" +
                     (cache->inside.empty() ? "" : "; to see its contents: ") +
                     std::string(cache->inside));
    }
  }
  return text;
}

// Contexts and code that were not measured are in the row of the others.
bool is_in_others(const PeakUseRow& row) { return row.part == PeakPart::driver && !row.bytes; }

std::vector<PeakUseRow> rows_told(const PeakUse& use) {
  std::vector<PeakUseRow> rows = use.rows;
  std::erase_if(rows, is_in_others);
  return rows;
}

Table table_of(const PeakUse& use, const Page& page) {
  Columns<PeakUseRow> columns = picked(peak_use_columns(), {"BYTES", "LAST SEEN", "PART"});
  const auto share = [&use](const PeakUseRow& row) {
    return row.bytes ? percent_text(*row.bytes, use.bytes) : "";
  };
  if (use.is_all && use.most_reserved == 0)
    columns.insert(columns.begin() + 1, {{"SHARE", right}, share});
  Table table = table_of(columns, rows_told(use), page, 0);
  table.place_last(Table::Last::wrapped);
  return table;
}

const PeakUse* use_of(const std::vector<PeakUse>& uses, std::uint16_t device) {
  const auto found = std::find_if(uses.begin(), uses.end(),
                                  [&](const PeakUse& use) { return use.device == device; });
  return found == uses.end() ? nullptr : &*found;
}

std::string change_text(const PeakUsePair& pair) {
  if (pair.is_of_one_report) return bytes_text(0);
  const bool are_known = (!pair.before || pair.before->bytes) && (!pair.after || pair.after->bytes);
  if (!are_known || pair.row.part == PeakPart::reserved) return "";  // upper bounds have no change
  const auto bytes = [](const std::optional<PeakUseRow>& row) {
    return static_cast<std::int64_t>(row ? *row->bytes : 0);
  };
  const std::int64_t change = bytes(pair.after) - bytes(pair.before);
  return (change > 0 ? "+" : "") + bytes_text(change);
}

// For readers: a row of contexts that neither side tells is left out.
std::vector<PeakUsePair> pairs_told(const PeakUse& before, const PeakUse& after) {
  std::vector<PeakUsePair> pairs = pairs_of(before, after);
  std::erase_if(pairs, [](const PeakUsePair& pair) {
    return (!pair.before || is_in_others(*pair.before)) &&
           (!pair.after || is_in_others(*pair.after));
  });
  return pairs;
}

std::string side_text(const std::optional<PeakUseRow>& row) {
  return row ? row_bytes_text(*row) : "-";
}

}  // namespace

Columns<PeakUseRow> peak_use_columns() {
  using Row = PeakUseRow;
  return {
      {"part",
       "`requested`: live requested bytes, by owner; `framework_cache`: bytes held by a "
       "framework's cache, idle or not; `reserved`: upper bound of what Vramscope's cache holds "
       "beyond requests (rounding, free beside live blocks, idle); `driver_pages`: rounding to the "
       "driver's pages; `pools`: kept by the driver's pools beyond live memory; `contexts`: "
       "contexts and code of the process; `from_before`: what an attached process held before; "
       "`others`: other processes and the rest",
       &Row::part, OneOf(kPeakPartNames)},
      {"owner", "program or library whose code requested it, or the name of the cache; else empty",
       &Row::owner},
      {"bytes", "bytes at the peak; for `reserved` an upper bound; `null`: not known", &Row::bytes,
       Titled("BYTES"), row_bytes_text},
      {"end_bytes",
       "bytes when the driver was last asked, for parts that no call requests; `null`: not known, "
       "or the part is requested",
       &Row::end_bytes, Titled("LAST SEEN", 1), end_text},
      {{"PART"}, [](const Row& row) { return words_of(row); }}};
}

Document peak_uses_text(const std::vector<PeakUse>& uses, const Page& page) {
  Document text;
  for (const PeakUse& use : uses) {
    const std::string title = title_of(use) + known_text(use);
    text.paragraph(title + "; " + needed_line(use), kWhereBrief);
    Document whole;
    whole.gap();
    whole.title(title);
    whole.drawing(table_of(use, page).text(page));
    if (use.most_reserved != 0) {
      whole.paragraph(
          "Requested and reserved bytes may have peaked at different times, so the bytes reserved "
          "beyond requests are an upper bound");
    }
    if (&use == &uses.back()) whole.append(inside_text(uses));
    whole.paragraph(needed_line(use));
    text.append(whole, kWhereAllIs);
  }
  return text;
}

std::vector<std::string> peak_use_sentences(const std::vector<PeakUse>& uses) {
  std::vector<std::string> sentences;
  for (const PeakUse& use : uses) {
    std::string parts;
    for (const PeakUseRow& row : rows_told(use)) {
      parts += (parts.empty() ? "" : "; ") + harmless(words_of(row)) + " " + row_bytes_text(row);
    }
    sentences.push_back(title_of(use) + known_text(use) + ". " + capitalised(parts) + ".");
    sentences.push_back(capitalised(needed_line(use)) + ".");
  }
  return sentences;
}

std::vector<PeakUsePair> pairs_of(const PeakUse& before, const PeakUse& after) {
  std::vector<PeakUsePair> pairs;
  const auto pair_for = [&](const PeakUseRow& row) -> PeakUsePair& {
    for (PeakUsePair& pair : pairs) {
      if (pair.row.part == row.part && pair.row.owner == row.owner) return pair;
    }
    return pairs.emplace_back(PeakUsePair{.row = row, .before = {}, .after = {}});
  };
  for (const PeakUseRow& row : before.rows) pair_for(row).before = row;
  for (const PeakUseRow& row : after.rows) {
    PeakUsePair& pair = pair_for(row);
    pair.after = row;
    pair.row.has_contexts = pair.row.has_contexts || row.has_contexts;
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const PeakUsePair& a, const PeakUsePair& b) {
    const auto place = [](const PeakUsePair& pair) {
      return std::max(pair.row.part, PeakPart::held_by_pool);  // those two as they come
    };
    return place(a) < place(b);
  });
  return pairs;
}

Columns<PeakUsePair> peak_use_pair_columns() {
  using Row = PeakUsePair;
  const auto bytes = [](std::optional<PeakUseRow> Row::*side) {
    return [side](const Row& row) { return (row.*side) ? (row.*side)->bytes : std::nullopt; };
  };
  return {{"part", "as in `device_use` of `peak`", [](const Row& row) { return row.row.part; },
           OneOf(kPeakPartNames)},
          {"owner", "likewise", [](const Row& row) { return row.row.owner; }},
          {{"CHANGE", right}, change_text},
          {"before_bytes",
           "bytes in BEFORE; for `reserved` an upper bound; `null`: absent or not known",
           bytes(&Row::before)},
          {"after_bytes", "the same in AFTER", bytes(&Row::after)},
          {{"BEFORE", right}, [](const Row& row) { return side_text(row.before); }},
          {{"AFTER", right}, [](const Row& row) { return side_text(row.after); }},
          {{"PART"}, [](const Row& row) { return words_of(row.row); }}};
}

Document peak_uses_text(const std::vector<PeakUse>& before, const std::vector<PeakUse>& after,
                        Sides sides, const Page& page) {
  const bool is_one = sides == Sides::one_report;
  const auto both = [&](const std::string& one, const std::string& other) {
    return is_one ? other + ", as before" : one + " -> " + other;
  };
  Document text;
  for (const PeakUse& use : after) {
    const PeakUse* const other = use_of(before, use.device);
    if (other == nullptr) continue;
    std::vector<PeakUsePair> pairs = pairs_told(*other, use);
    for (PeakUsePair& pair : pairs) pair.is_of_one_report = is_one;
    Table table = table_of(picked(peak_use_pair_columns(), {"CHANGE", "BEFORE", "AFTER", "PART"}),
                           pairs, page, 0);
    table.place_last(Table::Last::wrapped);
    text.gap();
    text.title(title_of(use) + both(known_text(*other), known_text(use)));
    text.table(std::move(table));
    add_needed(text, needed_amount(*other), needed_amount(use), is_one);
  }
  return text;
}

}  // namespace vramscope
