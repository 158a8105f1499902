// Tells of allocations that failed because memory ran out.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/oom_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/report/unmeasured.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/refused_requests.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/text/oom_rows.h"
#include "reporter/view/text/own_time.h"
#include "reporter/view/text/refusals_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kHundredth = 100;  // of a device: less is not worth a row of its own

// "in 90 blocks (requested 290 MiB)"; where rounding takes a tenth or more, how much that is.
std::string blocks_text(const OomEvent& event) {
  constexpr std::uint64_t kTenth = 10;
  const std::uint64_t rounding =
      event.allocated_bytes - std::min(event.allocated_bytes, event.requested_bytes);
  std::string text = "in " + counted(event.allocation_count, "block") + " (requested " +
                     amount_text(event.requested_bytes);
  if (rounding != 0 && rounding >= event.allocated_bytes / kTenth) {
    text += ", " + amount_text(rounding) + " more by rounding";
  }
  return text + ")";
}

std::string pools_row(const OomEvent& event) {
  const std::uint64_t pending = std::min(event.pool_pending_bytes, pools_then(event));
  std::string text = "kept by the driver's pools beyond live memory";
  if (pending == 0) return text;
  text += pending == pools_then(event) ? ": its" : "; of " + amount_text(pending) + " the";
  return text + " streams had not come to the free";
}

// "64.0 MiB stream_ordered, 30.0 MiB array": of what kinds it is, as far as owners tell.
std::string direct_text(const OomEvent& event) {
  std::map<Kind, std::uint64_t> kinds;
  std::uint64_t known = 0;
  std::uint64_t managed = 0;
  for (const OomOwner& owner : event.owners) {
    if (owner.kind == Kind::managed) managed += owner.live_bytes;
    const bool counts = takes_device_memory(owner.kind) && owner.kind != Kind::device &&
                        owner.kind != Kind::managed;
    if (!counts || owner.live_bytes == 0) continue;
    kinds[owner.kind] += owner.live_bytes;
    known += owner.live_bytes;
  }
  // Of managed memory what lies on the device counts, and that is of the rest.
  const std::uint64_t rest = event.direct_bytes - std::min(known, event.direct_bytes);
  if (const std::uint64_t there = std::min(managed, rest); there != 0 && !event.by_limit) {
    kinds[Kind::managed] = there;
    known += there;
  }
  const std::string begins = "from the driver itself";
  if (kinds.empty() || known > event.direct_bytes) {
    return begins + ": arrays, stream-ordered memory and the like";
  }
  std::string text;
  for (const auto& [kind, bytes] : kinds) {
    text += (text.empty() ? ": " : ", ") + amount_text(bytes) + " " + kind_text(kind);
  }
  return begins + text + (known < event.direct_bytes ? " and others" : "");
}

// What used the device, or the limit, as far as that is known. `when`: "AT THE REFUSAL".
void add_device(Document& text, const Report& report, const OomEvent& event,
                const std::string& when) {
  using enum Table::Align;
  const std::uint64_t limit = refusing_limit(report, event);
  Table table(
      {{"BYTES", right},
       {"SHARE", right},
       {(limit == 0 ? "THE DEVICE " : "THE LIMIT OF " + amount_text(limit) + " ") + when, left}});
  table.place_last(Table::Last::wrapped);
  const std::uint64_t whole = limit == 0 ? event.total_bytes : limit;
  const auto add = [&](std::uint64_t bytes, const std::string& what) {
    if (bytes != 0) table.add({amount_text(bytes), percent_text(bytes, whole), what});
  };
  if (limit != 0) add(free_under_limit(limit, event), "free under the limit");
  add(event.allocated_bytes, blocks_text(event));
  add(event.pending_bytes, "freed, but perhaps in use yet");
  add(event.split_free_bytes, "free in pieces beside blocks in use, the largest piece " +
                                  amount_text(event.largest_free_bytes));
  add(event.idle_bytes, "in idle segments");
  add(event.direct_bytes, is_observed(report)
                              ? "in allocations of the program, served by the driver"
                              : direct_text(event));
  if (event.rounding_bytes >= whole / kHundredth) {
    add(event.rounding_bytes,
        "rounding: the driver gives whole pages of 2 MiB, which small allocations share");
  }
  const bool is_told = are_contexts_measured(report, event.device);
  if (is_told || limit != 0) {
    const char* const counted = is_told ? "" : ", as counted against the limit";
    add(event.context_bytes, std::string("contexts of this process") + counted);
    add(event.module_bytes, std::string("code of this process") + counted);
  }
  if (limit != 0) {
    const std::uint64_t then = limit - free_under_limit(limit, event);
    const std::uint64_t later = counted_when_looked(event);
    add(then - std::min(then, later), "released before Vramscope counted memory, a moment later");
    text.table(std::move(table));
    if (later > then) {
      text.paragraph("a moment later, when Vramscope counted memory, " + amount_text(later - then) +
                     " more was held than at the refusal");
    }
    return text.paragraph("the GPU itself has " + amount_text(event.free_bytes) +
                          " free; the limit does not allow its use");
  }
  add(pools_then(event), pools_row(event));
  add(before_then(event), kFromBefore);
  add(others_then(event) + (is_told ? 0 : own_outside(event)),
      is_told || event.before_bytes ? "others: other processes, unrecorded memory"
                                    : std::string(kContextsAndOthers));
  add(event.free_bytes, "free according to the driver: the most that it could have served");
  text.table(std::move(table));
}

void add_shares(Document& text, const Report& report, const OomEvent& event, const NameFrame& name,
                const Page& page, const RowChoice& choice) {
  if (event.shares.empty()) return;
  Columns<OomShare> columns = oom_share_columns(report, name);
  columns.push_back({{"MEMORY", Table::Align::left, 1}, [&](const OomShare& share) {
                       return memory_name(report, share.kind, event.device);
                     }});
  add_listing(text,
              site_listing(report, name, columns, chosen_rows(event.shares, columns, choice),
                           &OomShare::site, "LIVE AT THE REFUSAL", page),
              page);
  text.paragraph(sizes_text(report, event));
}

void add_pins(Document& text, const Report& report, const OomEvent& event, const NameFrame& name,
              const Page& page, const RowChoice& choice) {
  if (event.pins.empty()) return;
  const Columns<OomPin> columns = oom_pin_columns(report, name);
  add_listing(
      text,
      site_listing(report, name,
                   picked(columns, {"FREE", "LARGEST", "SEGMENTS", "BLOCKS", "IN USE"}),
                   chosen_rows(event.pins, columns, choice), &OomPin::site, "HELD BY", page),
      page);
  text.paragraph(
      "BLOCKS and IN USE count all blocks of these segments, also of other call sites, rounded up");
}

std::string owners_line(const OomEvent& event) {
  std::string line;
  for (const OomOwner& owner : event.owners) {
    if (owner.live_bytes == 0) continue;
    line += (line.empty() ? "owners: " : ", ") + owner.owner + " " + amount_text(owner.live_bytes);
    if (owner.kind != Kind::device) line += " " + kind_text(owner.kind);
    if (owner.kind == Kind::managed && event.by_limit) line += " (the limit does not count it)";
  }
  return line;
}

// Where the driver refused what it had free, sums of what is free say nothing.
std::string estimate_line(const Report& report, const OomEvent& event) {
  const bool is_known = event.has_details && event.total_bytes != 0;
  if (!is_known || event.by_limit || is_observed(report)) return "";
  if (event.bytes != 0 && event.free_bytes >= event.bytes) return "";
  const std::uint64_t native = native_free_then(report, event);
  if (native <= event.free_bytes) return "";  // the cache withheld nothing
  return "without a cache up to " + amount_text(native) +
         " would have been free (estimate); the number of pieces is not known";
}

// The answer, where most of what was held is a leak.
std::string leak_line(const Report& report, const OomEvent& event, const Leaks& leaks) {
  const LeakThen leak = leak_then(report, leaks, event);
  if (leak.bytes == 0) return "";
  const std::string what = amount_text(leak.bytes) + " of the live memory, in " +
                           counted(leak.count, "block") + " from " +
                           counted(leak.places, "call site") + ", was ";
  if (is_final(report) && leak.is_growth) return what + "never freed: a leak";
  return what + (leak.is_growth ? "allocated throughout the run" : "held") +
         ", none of it freed: a leak, unless the program needs all of it";
}

// Of one place, all of them freed: not by chance.
constexpr std::uint64_t kManyAllocations = 16;

// Where most of what was held was no leak, as the report of the refusal may have taken it for.
std::string freed_later_line(const Report& report, const OomEvent& event, const Leaks& leaks) {
  if (!is_final(report) || leak_then(report, leaks, event).bytes != 0) return "";
  OomShare freed;
  std::uint64_t places = 0;
  std::uint64_t held = 0;
  for (const OomShare& share : event.shares) {
    held += share.live_bytes;
    const auto site = static_cast<std::size_t>(share.site);
    const bool is_many =
        share.site >= 0 && site < report.sites.size() && share.live_count >= kManyAllocations;
    if (!is_many || report.sites[site].totals.live_count != 0) continue;
    freed.live_bytes += share.live_bytes;
    freed.live_count += share.live_count;
    ++places;
  }
  if (freed.live_bytes <= held / 2) return "";
  return amount_text(freed.live_bytes) + " of the live memory, in " +
         counted(freed.live_count, "block") + " from " + counted(places, "call site") +
         ", was freed later";
}

// The request of an event that was only counted, amid what was there when `before` was looked at;
// what was free is known of the event itself, where the driver refused it.
OomEvent as_of(const OomEvent& before, const OomEvent& event) {
  OomEvent asked = before;
  asked.bytes = event.bytes;
  asked.kind = event.kind;
  asked.site = event.site;
  asked.by_limit = event.by_limit;
  if (event.by_limit || event.total_bytes == 0) return asked;
  const std::uint64_t withheld =
      asked.native_free_bytes - std::min(asked.native_free_bytes, asked.free_bytes);
  asked.free_bytes = event.free_bytes;
  asked.native_free_bytes = event.free_bytes + withheld;
  return asked;
}

void add_hint(Document& text, const std::string& title, const std::string& hint) {
  if (!hint.empty()) text.paragraph(title + ": " + hint);
}

// Of an event that was only counted: the driver's word, and what stood in the way the last time
// that it was looked at.
void add_counted_event(Document& text, const Report& report, const OomEvent& event,
                       const Leaks& leaks) {
  const OomEvent* const before = looked_at_before(report, event);
  const bool is_first = before == &report.oom.events.front();
  const std::string which =
      before == nullptr ? "" : "the " + ordinal_text(before->number) + " refusal";
  text.paragraph("no details: memory ran out too often" +
                 (before == nullptr ? ""
                  : is_first        ? "; " + which + " has details"
                                    : "; the last with details is " + which + ", after " +
                                   duration_text(before->time_ns)));
  if (refusing_limit(report, event) == 0) add_device(text, report, event, "AT THE REFUSAL");
  if (before == nullptr) return add_hint(text, "hint", hint_for(report, event, leaks));
  if (is_first) return;
  add_device(text, report, *before, "AT THE " + ordinal_text(before->number));
  add_hint(text, "hint, as of " + which, hint_for(report, as_of(*before, event), leaks));
}

void add_asker(Document& text, const Report& report, const OomEvent& event, const NameFrame& name,
               const Page& page) {
  if (page.stacks != Stacks::in_full || event.site < 0)
    return text.paragraph("by " + where_text(report, event.site, name, page));
  const Site& site = report.sites[static_cast<std::size_t>(event.site)];
  text.paragraph("by");
  text.drawing(whole_stack_text(call_site(report, site, name, kAllFrames), page, 6));
}

// "the 2nd is the same request", of a refusal that PyTorch or CuPy did not take for an answer.
std::string again_line(const Report& report, const OomEvent& event) {
  for (const OomEvent& next : report.oom.events) {
    const auto repeated = repeated_request(report, next);
    const bool is_its = repeated && repeated->number == event.number &&
                        own_refusal(report, next).process == own_refusal(report, event).process;
    if (!is_its) continue;
    return "the " + ordinal_text(next.number) + " is the same request: " + repeated->owner +
           " asked again, once it had emptied its cache";
  }
  return "";
}

// "... was served 12.3 ms later, at retry (a.cpp:9) < main": whether the program got it after all.
std::string outcome_line(const Report& report, const OomEvent& event, const NameFrame& name,
                         const Page& page) {
  const std::string later = served_later(event);
  if (!later.empty()) {
    const std::string at = event.served_site == event.site
                               ? "the same call site"
                               : where_text(report, event.served_site, name, page);
    return later + ", at " + at;
  }
  if (!event.is_watched || !is_final(report)) return "";
  return "no later allocation of this size succeeded";
}

void add_event(Document& text, const Report& report, const OomEvent& event, const Leaks& leaks,
               const NameFrame& name, const Page& page, const RowChoice& choice) {
  text.heading(memory_name(report, event.kind, event.device) + ": " + asked_text(event) +
               " refused, the " + which_refusal(report, event));
  std::string who = own_time_text(report, own_time_ns(report, event), event.time_ns);
  if (!event.function.empty()) who += ", in " + event.function;
  if (event.thread != "unknown" && !event.thread.empty()) {
    who += ", by thread " + text_of_thread(ThreadNames(report, name), event.thread, page);
  }
  if (!event.range.empty()) who += ", in " + event.range;
  text.paragraph(who);
  add_asker(text, report, event, name, page);
  text.paragraph(outcome_line(report, event, name, page));
  text.paragraph(again_line(report, event));
  if (!event.has_details && trigger_of(report) != Trigger::imported)
    return add_counted_event(text, report, event, leaks);
  add_device(text, report, event, "AT THE REFUSAL");
  text.paragraph(leak_line(report, event, leaks));
  text.paragraph(freed_later_line(report, event, leaks));
  text.paragraph(estimate_line(report, event));
  text.paragraph(owners_line(event));
  add_shares(text, report, event, name, page, choice);
  add_pins(text, report, event, name, page, choice);
  add_hint(text, "hint", hint_for(report, event, leaks));
}

// Whether the last refusal is of another request than the first.
bool is_told_apart(const Report& report) {
  const std::vector<OomEvent>& events = report.oom.events;
  return events.size() > 1 && std::any_of(events.begin() + 1, events.end(), [&](const auto& event) {
           return !repeated_request(report, event);
         });
}

}  // namespace

std::string served_later(const OomEvent& event) {
  if (event.served_ns < 0) return "";
  const auto served_ns = static_cast<std::uint64_t>(event.served_ns);
  return "a request of this size was served " +
         duration_text(served_ns - std::min(served_ns, event.time_ns)) + " later";
}

Document oom_text(const Report& report, const Leaks& leaks, const NameFrame& name, const Page& page,
                  const RowChoice& choice) {
  Document text;
  if (report.oom.count == 0) {
    text.sentence(capitalised(never_ran_out(report)) + ".");
    return text;
  }
  const std::vector<OomEvent>& events = report.oom.events;
  if (events.empty() && report.chosen) {
    text.line("Nothing that passes was refused; of all, " +
              counted(report.oom.count, "allocation") +
              (report.oom.count == 1 ? " was." : " were."));
  }
  const bool shows_all = choice.most == 0;
  for (const OomEvent& event : events) {
    const bool is_shown = shows_all || &event == &events.front() ||
                          (&event == &events.back() && is_told_apart(report));
    if (!is_shown) continue;
    if (!text.is_empty()) text.gap();
    add_event(text, report, event, leaks, name, page, choice);
  }
  if (shows_all) {
    text.paragraph(further_refusals(report));
  } else {
    add_refused_too(text, report, name, page);
  }
  add_never_served(text, report, name, page, choice.most);
  text.paragraph(replaced_text(report, name, page));
  return text;
}

std::string oom_line(const Report& report, const NameFrame& name) {
  if (report.oom.events.empty()) return "";
  const OomEvent& last = report.oom.events.back();
  const std::string later = served_later(last).empty() ? "" : "; " + served_later(last);
  std::string line = asked_text(last) + " of " + memory_name(report, last.kind, last.device) +
                     " refused to " +
                     where_text(report, last.site, name, Page{.unicode = true}, kFramesShown);
  if (const std::uint64_t limit = refusing_limit(report, last); limit != 0) {
    return line + ", " +
           (knows_free_under_limit(last)
                ? amount_text(free_under_limit(limit, last)) + " free under the limit"
                : "by the limit of " + amount_text(limit)) +
           later;
  }
  if (last.total_bytes != 0) line += ", " + amount_text(last.free_bytes) + " free";
  return line + later;
}

}  // namespace vramscope
