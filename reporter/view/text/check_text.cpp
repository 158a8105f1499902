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
  return sentence(printable(text + (!has_bytes   ? ""
                                    : has_others ? " (peaks, leaks and sums are requested bytes)"
                                                 : " (requested bytes)"),
                            page),
                  page);
}

std::string out_of_memory_text(const OutOfMemory& out, const Page& page) {
  const std::string what = printable(out.process.words, page) + " ran out of memory in " +
                           counted(out.calls, "call") + ":";
  return followed_by(what, "vramscope oom " + shell_path(out.file, page), page) + "\n";
}

// "rank 0 (1), rank 1 (2) and 6 more"; all of them in a pipe.
std::string names_text(const std::vector<std::string>& names, const Page& page) {
  const std::size_t shown = rows_shown(names.size(), page.cuts ? 3 : 0);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return shown == names.size() ? text
                               : text + " and " + std::to_string(names.size() - shown) + " more";
}

// What failed alike stands once. Of a file of one process the head names it, of others each check.
struct Failures {
  std::vector<std::string> files;  // with their processes, where they are of one
  std::vector<std::string> processes;
  std::string text;
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

// The names of processes that fail a check in the same way stand before it.
std::string checks_text(const Checked& one, const Page& page, std::size_t most) {
  struct Row {
    std::string what;
    std::string sites;
    std::vector<std::string> who;
  };
  std::vector<Row> rows;
  for (const Check* const check : failed_checks(one)) {
    const std::string what = failure_text(*check);
    const std::string sites = sites_text(*check, page, most);
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.what == what && row.sites == sites;
    });
    if (same == rows.end()) {
      rows.push_back({what, sites, {check->process.words}});
    } else {
      same->who.push_back(check->process.words);
    }
  }
  std::string text;
  for (const Row& row : rows) {
    const std::string names = one.processes > 1 ? names_text(row.who, page) + ": " : "";
    text += "\n" + sentence(printable(names + row.what, page), page) + row.sites;
  }
  return text;
}

std::vector<Failures> failures_of(const std::vector<Checked>& all, const Page& page,
                                  std::size_t most) {
  std::vector<Failures> rows;
  for (const Checked& one : all) {
    const std::vector<const Check*> failed = failed_checks(one);
    if (failed.empty()) continue;
    const std::string text = checks_text(one, page, most);
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const Failures& row) { return row.text == text; });
    const bool is_of_one = one.processes == 1;
    Failures& row = is_of_one && same != rows.end()
                        ? *same
                        : rows.emplace_back(Failures{
                              .files = {}, .processes = {}, .text = text, .worst = failed.front()});
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
std::string failed_heading(const Failures& row, const Page& page) {
  if (row.files.size() > 1) {
    return sentence("failed alike: " + printable(names_text(row.processes, page), page),
                    Colour::bold, page);
  }
  const std::string who =
      row.processes.empty() ? "" : " " + printable(row.processes.front(), page) + ",";
  const std::string text = followed_by("failed:" + who, printable(row.files.front(), page), page);
  return coloured(text, Colour::bold, page) + "\n";
}

std::string deaths_text(const std::vector<Checked>& all, const Page& page) {
  std::vector<std::string> deaths;
  for (const Checked& one : all) {
    for (const DeadProcess& dead : one.deaths) deaths.push_back(dead.words);
  }
  if (deaths.empty()) return "";
  return sentence(printable(names_text(deaths, page), page) + ".", page);
}

// Reports that are not the last word, the first few of them, and what judges them all the same.
std::string unfinished_text(const std::vector<Checked>& all, const Page& page) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  std::size_t count = 0;
  for (const Checked& one : all) {
    for (const Unfinished& later : one.unfinished) {
      if (++count <= kNamed) text += sentence(printable(later.why, page), page);
    }
  }
  if (count == 0) return "";
  if (count > kNamed) {
    text += "And " + counted(count - kNamed, "other") + " alike.\n";
  }
  return text + sentence("--interim accepts such reports", page);
}

// What is no failure, and worth knowing.
std::string remarks_text(const std::vector<Checked>& all, const Page& page) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  std::uint64_t suppressed = 0;
  std::uint64_t cached = 0;
  std::size_t out_of_memory = 0;
  for (const Checked& one : all) {
    if (!one.together.empty()) text += sentence(printable(one.together, page), page);
    suppressed += one.suppressed;
    cached += one.cached;
  }
  if (cached != 0) {
    text += sentence("never freed, but not counted, because caches of frameworks hold it: " +
                         amount_text(cached) + " requested",
                     page);
  }
  if (suppressed != 0) {
    text +=
        sentence("never freed, but suppressed: " + amount_text(suppressed) + " requested", page);
  }
  text += deaths_text(all, page);
  for (const Checked& one : all) {
    for (const OutOfMemory& out : one.out_of_memory) {
      if (++out_of_memory <= kNamed) text += out_of_memory_text(out, page);
    }
  }
  if (out_of_memory <= kNamed) return text;
  return text + "So did " + count_text(out_of_memory - kNamed) + " more.\n";
}

}  // namespace

std::string check_text(const std::vector<Checked>& all, const Page& page, std::size_t most,
                       bool typed) {
  const std::string unfinished = unfinished_text(all, page);
  if (no_check_failed(all)) {
    return remarks_text(all, page) + unfinished + verdict_text(all, page);
  }
  const bool has_verdict = processes_in(all) > 1 || unread_in(all) != 0 || !unfinished.empty();
  std::string text = unfinished + (has_verdict ? verdict_text(all, page) + "\n" : "");
  std::string next;
  constexpr std::size_t kInFull = 2;  // of more failures the largest site says enough
  if (!typed && failed_in(all) > kInFull) most = std::min<std::size_t>(most, 1);
  for (const Failures& row : failures_of(all, page, most)) {
    text += failed_heading(row, page) + row.text + "\n";
    if (!next.empty()) continue;
    const auto worst = std::find_if(all.begin(), all.end(), [&](const Checked& one) {
      return one.file == row.files.front() && !no_check_failed({one});
    });
    next = worst->next;
  }
  const std::string remarks = remarks_text(all, page);
  text += remarks + (remarks.empty() ? "" : "\n");
  const std::size_t verb = next.find(' ');
  next.insert(verb + 1, filters_for(next.substr(0, verb), page));
  return text + "Next: vramscope " + printable(next, page) + "\n";
}

}  // namespace vramscope
