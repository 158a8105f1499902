// Checks as text.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/check_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/text/change_text.h"

namespace vramscope {
namespace {

std::string number_text(const Check& check, std::uint64_t number) {
  return check.is_count ? count_text(number) : amount_text(number);
}

// How much worse than it may be; below 0: it passes. Numbers of calls are not compared with bytes.
std::int64_t excess(const Check& check) {
  return static_cast<std::int64_t>(check.value - check.limit);
}
bool is_worse(const Check& a, const Check& b) {
  if (a.is_count != b.is_count) return b.is_count;
  return excess(a) > excess(b);
}

// The same, but to the byte where the value would read as what it is compared with.
std::string compared_text(const Check& check, std::uint64_t number) {
  const bool reads_alike =
      !check.is_count && !check.passed() &&
      (amount_text(check.value) == amount_text(check.limit) ||
       (check.baseline && amount_text(check.value) == amount_text(*check.baseline)));
  return reads_alike ? count_text(number) + " B" : number_text(check, number);
}

// "used on GPU 0, contexts and code not measured: at least 6.89 GiB: it is not known whether this
// exceeds the limit of 30.0 GiB".
std::string least_text(const Check& check) {
  const std::string limit = compared_text(check, check.limit);
  return check.what + ": at least " + compared_text(check, check.value) + ": " +
         (check.value > check.limit
              ? "at least " + number_text(check, check.value - check.limit) + " above the limit of "
              : "it is not known whether this exceeds the limit of ") +
         limit;
}

// "peak of GPU 0: 183 MiB requested, 83.0 MiB above the limit of 100 MiB".
std::string amounts_text(const Check& check) {
  if (check.is_least) return least_text(check);
  std::string value =
      check.what + (check.at_least ? ": at most " : ": ") + compared_text(check, check.value);
  if (!check.is_count && check.is_requested) value += " requested";
  if (!check.baseline) {
    const std::string above = number_text(check, check.value - check.limit) +
                              " above the limit of " + compared_text(check, check.limit);
    if (!check.at_least) return value + ", " + above;
    value += ", at least " + amount_text(*check.at_least);
    value += *check.at_least > check.limit
                 ? ": at least " + number_text(check, *check.at_least - check.limit) +
                       " above the limit of " + compared_text(check, check.limit)
                 : ": it is not known whether this exceeds the limit of " +
                       compared_text(check, check.limit);
    return value + (check.is_exact_by_trace
                        ? "; a trace beside the report would give the exact value (run --trace)"
                        : "");
  }
  if (check.at_least && *check.at_least <= check.limit) {
    return value + ", at least " + amount_text(*check.at_least) +
           ": it is not known whether this exceeds the baseline's " +
           compared_text(check, *check.baseline) + "; " + compared_text(check, check.limit) +
           " would pass";
  }
  const std::uint64_t grown = check.value - *check.baseline;
  const std::string share =
      *check.baseline == 0 ? "" : " (" + percent_text(grown, *check.baseline) + ")";
  return value + ", " + number_text(check, grown) + share + " above the baseline's " +
         compared_text(check, *check.baseline) + "; " + compared_text(check, check.limit) +
         " would pass";
}

// "; parts: GPU 0 physical 5.44 GiB (was 0 B), GPU 0 64.1 MiB (was 6.89 GiB)", of a sum of kinds.
std::string kinds_text(const Check& check) {
  std::string text;
  for (const CheckedKind& kind : check.kinds) {
    text += (text.empty() ? "; parts: " : ", ") + kind.memory + " " + amount_text(kind.value) +
            " (was " + amount_text(kind.baseline) + ")";
  }
  return text;
}

// What a process that was killed held is no leak for sure.
std::string failure_text(const Check& check) {
  return amounts_text(check) + kinds_text(check) +
         (check.died.empty() ? "" : "; " + check.died + ", so this is what was live at that time");
}

std::string sites_text(const Check& check, const Page& page, std::size_t most) {
  Table table({{check.baseline   ? "GREW"
                : check.is_count ? "COUNT"
                                 : "BYTES",
                Table::Align::right},
               {"WHERE", Table::Align::left}});
  const std::size_t shown = rows_shown(check.sites.size(), most);
  std::vector<SharedCallers> stacks;
  std::vector<SharedCallers> beside;
  for (std::size_t i = 0; i < check.sites.size(); ++i) {
    const CheckedSite& site = check.sites[i];
    (i < shown ? stacks : beside).push_back(site.callers);
    if (i >= shown) continue;
    table.add({check.baseline ? change_text(site.amount)
                              : number_text(check, static_cast<std::uint64_t>(site.amount))});
  }
  if (table.empty()) return "";
  table.fill_last(page, [&](std::size_t room) { return stack_texts(stacks, room, beside); });
  std::string text = table.text(page);
  if (shown < check.sites.size()) {
    text += "  and " + counted(check.sites.size() - shown, "more row") + "\n";
  }
  if (!check.adds_kinds) return text;
  return text + paragraph("each kind counts at its own peak, not at the combined peak", page);
}

// Of each thing that was judged the row with the highest value; where any fails of those that do.
std::vector<const Check*> highest_of(const std::vector<Checked>& all) {
  const bool passed = no_check_failed(all);
  std::vector<const Check*> highest;
  for (const Checked& one : all) {
    for (const Check& check : one.checks) {
      if (check.passed() != passed) continue;
      const auto same = std::find_if(highest.begin(), highest.end(), [&](const Check* known) {
        return known->what == check.what && (known->limit == check.limit || check.baseline);
      });
      if (same == highest.end()) {
        highest.push_back(&check);
      } else if (excess(**same) < excess(check)) {
        *same = &check;
      }
    }
  }
  return highest;
}

std::size_t processes_in(const std::vector<Checked>& all) {
  std::size_t count = 0;
  for (const Checked& one : all) {
    const bool is_by_process = std::any_of(one.checks.begin(), one.checks.end(),
                                           [](const Check& row) { return !row.baseline; });
    if (is_by_process) count += one.processes;
  }
  return count;
}

// How many of them failed, of those that are counted by processes_in().
std::size_t failed_in(const std::vector<Checked>& all) {
  std::set<std::pair<std::string, std::string>> failed;  // by file and process
  for (const Checked& one : all) {
    for (const Check& check : one.checks) {
      const bool is_of_one = check.process.pid != 0 || one.processes == 1;
      if (!check.passed() && !check.baseline && is_of_one)
        failed.emplace(one.file, check.process.words);
    }
  }
  return failed.size();
}

// "passed: peak of GPU 0 183 MiB of 10.0 GiB, never freed 0 B of 32.0 KiB (requested bytes)"; of
// several "passed in each of 8 processes, at most: peak of GPU 0 183 MiB (limit 10.0 GiB) in rank 3
// (4711), ...", or "failed in 2 of 8 processes; the highest: ...", of what failed alone.
std::string verdict_text(const std::vector<Checked>& all, const Page& page) {
  const std::size_t most = page.cuts ? 6 : 0;
  const std::size_t processes = processes_in(all);
  const bool are_several =
      processes > 1 ||
      std::any_of(all.begin(), all.end(), [](const Checked& one) { return one.processes > 1; });
  const std::size_t failed = failed_in(all);
  const bool passed = no_check_failed(all);
  std::string text = passed ? "passed" : "failed";
  if (const std::size_t early = unfinished_in(all); early != 0) text = early_verdict(early, passed);
  if (const std::size_t unread = unread_in(all); unread != 0) {
    text = "not all judged, " + counted(unread, "report") + " could not be read; the rest " + text;
  }
  if (processes > 1) {
    const std::string number = count_text(processes);
    text += passed ? " in each of " + number + " processes, at most"
            : failed == 0
                ? " for all " + number + " processes together; the highest"
                : " in " + count_text(failed) + " of " + number + " processes; the highest";
  }
  const std::vector<const Check*> rows = highest_of(all);
  bool has_bytes = false;
  bool has_others = false;
  const std::size_t shown = rows_shown(rows.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const Check& check = *rows[i];
    text += (i == 0 ? ": " : ", ") + check.what +
            (check.is_least   ? " at least "
             : check.at_least ? " at most "
                              : " ") +
            number_text(check, check.value) + " (limit " + number_text(check, check.limit) + ")";
    if (are_several) text += " in " + check.process.words;
    has_bytes = has_bytes || (!check.is_count && check.is_requested);
    has_others = has_others || !check.is_requested;
  }
  if (rows.size() > shown) text += ", ...";
  return text + (!has_bytes   ? ""
                 : has_others ? " (peaks, leaks and sums are requested bytes)"
                              : " (requested bytes)");
}

// "rank 0 (1), rank 1 (2) and 6 more"; all of them in a pipe.
std::string names_text(const std::vector<std::string>& names, const Page& page) {
  const std::size_t shown = rows_shown(names.size(), page.cuts ? 3 : 0);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return shown == names.size() ? text
                               : text + " and " + std::to_string(names.size() - shown) + " more";
}

// A check that failed, with the names of the processes that fail it in the same way.
struct FailedCheck {
  std::string what;
  std::string sites;  // lines of a table
  bool operator==(const FailedCheck&) const = default;
};

// What failed alike stands once. Of a file of one process the head names it, of others each check.
struct Failures {
  std::vector<std::string> files;  // with their processes, where they are of one
  std::vector<std::string> processes;
  std::vector<FailedCheck> checks;
  const Check* worst = nullptr;
};

std::vector<const Check*> failed_checks(const Checked& one) {
  std::vector<const Check*> failed;
  for (const Check& check : one.checks) {
    if (!check.passed()) failed.push_back(&check);
  }
  std::stable_sort(failed.begin(), failed.end(),
                   [](const Check* a, const Check* b) { return is_worse(*a, *b); });
  return failed;
}

std::vector<FailedCheck> failures_in(const Checked& one, const Page& page, std::size_t most) {
  std::vector<FailedCheck> rows;
  std::vector<std::vector<std::string>> who;  // of each
  for (const Check* const check : failed_checks(one)) {
    const FailedCheck failed{failure_text(*check), sites_text(*check, page, most)};
    const auto same = std::find(rows.begin(), rows.end(), failed);
    const auto row = static_cast<std::size_t>(same - rows.begin());
    if (same == rows.end()) {
      rows.push_back(failed);
      who.emplace_back();
    }
    who[row].push_back(check->process.words);
  }
  for (std::size_t i = 0; i < rows.size() && one.processes > 1; ++i) {
    rows[i].what = names_text(who[i], page) + ": " + rows[i].what;
  }
  return rows;
}

std::vector<Failures> failures_of(const std::vector<Checked>& all, const Page& page,
                                  std::size_t most) {
  std::vector<Failures> rows;
  for (const Checked& one : all) {
    const std::vector<const Check*> failed = failed_checks(one);
    if (failed.empty()) continue;
    const std::vector<FailedCheck> checks = failures_in(one, page, most);
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const Failures& row) { return row.checks == checks; });
    const bool is_of_one = one.processes == 1;
    Failures& row =
        is_of_one && same != rows.end()
            ? *same
            : rows.emplace_back(Failures{
                  .files = {}, .processes = {}, .checks = checks, .worst = failed.front()});
    row.files.push_back(one.file);
    if (is_of_one) row.processes.push_back(failed.front()->process.words);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Failures& a, const Failures& b) {
    return is_worse(*a.worst, *b.worst);
  });
  return rows;
}

// "failed: rank 3 (4711), ranks/vramscope.train.4711.json"; of several processes the file alone, of
// several files the processes.
void add_failures(Document& text, const Failures& row, const Page& page) {
  if (row.files.size() > 1) {
    text.title("failed alike: " + names_text(row.processes, page));
  } else {
    const std::string who = row.processes.empty() ? "" : " " + row.processes.front() + ",";
    text.line("failed:" + who, row.files.front(), Colour::bold);
  }
  for (const FailedCheck& check : row.checks) {
    text.gap();
    text.sentence(check.what);
    text.drawing(check.sites);
  }
  text.gap();
}

// Reports that are not the last word, the first few of them, and what judges them all the same.
Document unfinished_text(const std::vector<Checked>& all) {
  constexpr std::size_t kNamed = 3;
  Document text;
  std::size_t count = 0;
  for (const Checked& one : all) {
    for (const Unfinished& later : one.unfinished) {
      if (++count <= kNamed) text.sentence(later.why);
    }
  }
  if (count == 0) return text;
  if (count > kNamed) text.line("And " + counted(count - kNamed, "other") + " alike.");
  text.sentence("--interim accepts such reports");
  return text;
}

void add_out_of_memory(Document& text, const std::vector<Checked>& all, const Page& page) {
  constexpr std::size_t kNamed = 3;
  std::size_t count = 0;
  for (const Checked& one : all) {
    for (const OutOfMemory& out : one.out_of_memory) {
      if (++count > kNamed) continue;
      text.line(out.process.words + " ran out of memory in " + counted(out.calls, "call") + ":",
                "vramscope oom " + shell_path(out.file, page));
    }
  }
  if (count > kNamed) text.line("So did " + count_text(count - kNamed) + " more.");
}

// What is no failure, and worth knowing.
Document remarks_text(const std::vector<Checked>& all, const Page& page) {
  Document text;
  std::uint64_t suppressed = 0;
  std::uint64_t cached = 0;
  std::vector<std::string> deaths;
  for (const Checked& one : all) {
    text.sentence(one.together);
    suppressed += one.suppressed;
    cached += one.cached;
    for (const DeadProcess& dead : one.deaths) deaths.push_back(dead.words);
  }
  if (cached != 0) {
    text.sentence("never freed, but not counted, because caches of frameworks hold it: " +
                  amount_text(cached) + " requested");
  }
  if (suppressed != 0) {
    text.sentence("never freed, but suppressed: " + amount_text(suppressed) + " requested");
  }
  if (!deaths.empty()) text.sentence(names_text(deaths, page) + ".");
  add_out_of_memory(text, all, page);
  return text;
}

// Of the report that holds what failed first.
std::string next_of(const std::vector<Checked>& all, const Failures& first, const Page& page) {
  std::string next = std::find_if(all.begin(), all.end(), [&](const Checked& one) {
                       return one.file == first.files.front() && !no_check_failed({one});
                     })->next;
  const std::size_t verb = next.find(' ');
  return next.insert(verb + 1, filters_for(next.substr(0, verb), page));
}

}  // namespace

Document check_text(const std::vector<Checked>& all, const Page& page, std::size_t most,
                    bool typed) {
  Document text;
  const Document unfinished = unfinished_text(all);
  if (no_check_failed(all)) {
    text.append(remarks_text(all, page));
    text.append(unfinished);
    text.sentence(verdict_text(all, page));
    return text;
  }
  text.append(unfinished);
  if (processes_in(all) > 1 || unread_in(all) != 0 || !unfinished.is_empty()) {
    text.sentence(verdict_text(all, page));
    text.gap();
  }
  constexpr std::size_t kInFull = 2;  // of more failures the largest site says enough
  if (!typed && failed_in(all) > kInFull) most = std::min<std::size_t>(most, 1);
  const std::vector<Failures> failures = failures_of(all, page, most);
  for (const Failures& row : failures) add_failures(text, row, page);
  const Document remarks = remarks_text(all, page);
  text.append(remarks);
  if (!remarks.is_empty()) text.gap();
  text.line("Next: vramscope " + next_of(all, failures.front(), page));
  return text;
}

}  // namespace vramscope
