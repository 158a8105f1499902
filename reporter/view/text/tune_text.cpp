// The table of settings that were tried, and the lines to set.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/tune_text.h"

#include <algorithm>
#include <cmath>

#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRoomForSettings = 28;  // the other columns leave it at least: for any option
constexpr double kPermille = 1000;

// "9.7 %", "-3.2 %".
std::string share_text(double share) {
  constexpr double kWhole = 1'000'000;
  const auto part = static_cast<std::uint64_t>(std::llround(std::abs(share) * kWhole));
  const bool is_negative = share < 0 && part != 0;
  return (is_negative ? "-" : "") + percent_text(part, static_cast<std::uint64_t>(kWhole));
}

std::int64_t permille(double share) { return std::llround(share * kPermille); }

// An advice with the answer that it belongs to.
struct AdviceLine {
  const TuneAdvice* advice = nullptr;
  const TuneAnswer* answer = nullptr;
  bool of_pytorch = false;

  [[nodiscard]] bool keeps() const { return !advice->row; }
  [[nodiscard]] const TuneRow& from() const { return answer->rows[advice->from]; }
  [[nodiscard]] const TuneRow& to() const {
    return answer->rows[advice->row.value_or(advice->from)];
  }
  [[nodiscard]] const TuneFigures& before() const { return from().traces[advice->worst]; }
  [[nodiscard]] const TuneFigures& after() const { return to().traces[advice->worst]; }
  [[nodiscard]] std::optional<std::string> set() const {
    if (keeps()) return std::nullopt;
    if (of_pytorch) return "PYTORCH_ALLOC_CONF=" + to().row().alloc_conf;
    const bool changes_mode = from().row().mode != Mode::cache;
    return (changes_mode ? "--mode cache " : "") + typed_settings(to().row());
  }
};

Columns<AdviceLine> advice_columns() {
  using Line = AdviceLine;
  const auto of = [](auto which, auto member) {
    return [=](const Line& line) { return (line.*which)().*member; };
  };
  const auto share = [](std::optional<double> TuneAdvice::*member) {
    return [=](const Line& line) {
      const std::optional<double>& value = line.advice->*member;
      return value ? std::optional(permille(*value)) : std::nullopt;
    };
  };
  return {
      {"set", "options of `vramscope run`, or the variable of PyTorch; `null`: keep the settings",
       &Line::set},
      {"instead_of", "the settings that it is compared with",
       [](const Line& line) { return settings_text(line.from().row()); }},
      {"before_reserved_bytes", "peak with these, of the trace in which it is worth least",
       of(&Line::before, &TuneFigures::peak_reserved_bytes)},
      {"after_reserved_bytes", "peak with what is to be set",
       of(&Line::after, &TuneFigures::peak_reserved_bytes)},
      {"before_driver_calls", "with these", of(&Line::before, &TuneFigures::driver_calls)},
      {"after_driver_calls", "with what is to be set",
       of(&Line::after, &TuneFigures::driver_calls)},
      {"before_driver_ns", "time that the calls would take",
       of(&Line::before, &TuneFigures::driver_ns)},
      {"after_driver_ns", "the same with what is to be set",
       of(&Line::after, &TuneFigures::driver_ns)},
      {"saved_permille", "of the reserved peak",
       [](const Line& line) { return permille(line.advice->saved); }, InUnit("1/1000")},
      {"saved_permille_if_smaller",
       "the same if all requests above 1 MiB were 5 % smaller; `null`: one would be refused",
       share(&TuneAdvice::if_smaller), InUnit("1/1000")},
      {"saved_permille_if_larger", "the same if they were 5 % larger",
       share(&TuneAdvice::if_larger), InUnit("1/1000")}};
}

Columns<TuneFigures> figures_columns() {
  using Row = TuneFigures;
  return {
      {"peak_reserved_bytes", "most that the driver handed out of one GPU",
       &Row::peak_reserved_bytes},
      {"driver_calls", "calls of the driver for device and pinned memory", &Row::driver_calls},
      {"driver_ns", "time that they would take", &Row::driver_ns},
      {"refusals", "requests refused in the recording that are refused here too", &Row::refusals},
      {"fits", "no request is refused that the recording served", &Row::fits}};
}

std::string marked_tried(const TuneRow& row) {
  return marked_settings_text(row.row()) + (row.is_asked ? ", as typed" : "");
}

// PyTorch's versions that have what is set.
std::string versions_text(const std::string& conf) {
  std::string text;
  if (conf.find("large_segment_size_mb") != conf.npos) {
    return "PyTorch has large_segment_size_mb from 2.11 on; earlier versions refuse it.";
  }
  if (conf.find("expandable_segments") != conf.npos) {
    text = "PyTorch has expandable_segments from 2.1 on. ";
  }
  return text + "Before 2.11, set PYTORCH_CUDA_ALLOC_CONF, which every version reads.";
}

std::string gain_text(const AdviceLine& line) {
  const TuneFigures& before = line.before();
  const TuneFigures& after = line.after();
  const std::string takes = duration_text(after.driver_ns);
  const bool is_same = takes == duration_text(before.driver_ns);
  return "It reserves " + amount_text(after.peak_reserved_bytes) + " instead of " +
         amount_text(before.peak_reserved_bytes) + " with " + settings_text(line.from().row()) +
         " (" + share_text(line.advice->saved) + " less). The driver is called " +
         counted(after.driver_calls, "time") + " instead of " +
         count_text(static_cast<std::int64_t>(before.driver_calls)) + ", which takes " +
         (is_same ? "as long, " + takes
                  : takes + " instead of " + duration_text(before.driver_ns)) +
         ".";
}

// What reserved bytes do not tell of a change of the policy.
std::string policy_text(const AdviceLine& line) {
  const bool is_left =
      line.from().row().policy == Policy::native_safe && line.to().row().policy == Policy::pytorch;
  if (!is_left || line.of_pytorch) return "";
  return "Of what native-safe reserves, idle memory goes back before a request is refused; pytorch "
         "may refuse a request earlier. vramscope fit says how much memory each needs.";
}

// How sure it is.
std::string sure_text(const AdviceLine& line, std::size_t runs) {
  const TuneAdvice& advice = *line.advice;
  std::string text =
      runs == 1 ? "This rests on one run."
                : "This rests on that one of " + counted(runs, "run") + " in which it saves least.";
  if (!advice.if_smaller || !advice.if_larger) {
    return text + " With requests 5 % larger or smaller, one is refused.";
  }
  const double least = std::min(*advice.if_smaller, *advice.if_larger);
  text += " With requests 5 % smaller it would save " + share_text(*advice.if_smaller) +
          ", with 5 % larger ones " + share_text(*advice.if_larger);
  return text + (least < kLeastWorth ? ": do not count on it in other runs." : ".");
}

void add_keep(Document& text, const AdviceLine& line, const std::string& who) {
  text.gap();
  text.sentence("For " + who + ", keep the settings (" + settings_text(line.from().row()) +
                "): nothing that was tried saves enough for what it costs.");
}

// What to set, and what that changes. also: the same for another, {}: none.
void add_advice(Document& text, const AdviceLine& line, const std::optional<AdviceLine>& also,
                std::size_t runs) {
  const std::string who = line.of_pytorch ? "PyTorch" : "Vramscope";
  const std::string whose = also ? "Vramscope or PyTorch" : who;
  if (line.keeps()) return add_keep(text, line, whose);
  text.gap();
  text.sentence("For " + whose + ", set");
  text.line("  " + *line.set());
  if (also) text.line("  " + *also->set());
  text.paragraph(gain_text(line));
  if (also || line.of_pytorch) text.paragraph(versions_text(line.to().row().alloc_conf));
  text.paragraph(policy_text(line));
  text.paragraph(sure_text(line, runs));
}

void add_advices(Document& text, const TuneAnswer& answer, std::size_t runs) {
  const AdviceLine ours{&answer.ours, &answer, false};
  if (!answer.pytorch) {
    add_advice(text, ours, {}, runs);
    text.gap();
    return text.sentence(
        "Of PyTorch's own settings nothing can be said: its cache asked for these segments, and "
        "the trace does not have its tensors. Record with --preset pytorch, or give a memory "
        "snapshot with history.");
  }
  const AdviceLine theirs{&*answer.pytorch, &answer, true};
  const bool is_same =
      ours.advice->from == theirs.advice->from && ours.advice->row == theirs.advice->row;
  add_advice(text, ours, is_same ? std::optional(theirs) : std::nullopt, runs);
  if (!is_same) add_advice(text, theirs, {}, runs);
}

std::string head_text(const Tuned& tuned) {
  std::uint64_t requests = 0;
  for (const TrialSteps& trace : tuned.traces) requests += trace.requests;
  const std::string of =
      tuned.files.size() == 1 ? tuned.files.front() : counted(tuned.files.size(), "trace");
  return counted(requests, "allocation") + " of " + of + ", replayed under " +
         counted(tuned.answer.rows.size(), "setting");
}

std::string rule_text(const Tuned& tuned) {
  const std::string of_runs = tuned.traces.size() == 1
                                  ? ""
                                  : " A row has the figures of the run in which it is worth least.";
  return "RESERVED: at its peak. WORTH: SAVED, less 5 % for each doubling of IN CALLS (of what is "
         "above a thousandth of the run), and 1 % for each option. The setting that is worth most "
         "is proposed, from 2 % and 4 MiB on. Shown are the settings that reserve least at what "
         "they cost." +
         of_runs;
}

}  // namespace

std::vector<TuneRow> shown_rows(const TuneAnswer& answer) {
  std::vector<TuneRow> rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const TuneRow& row = answer.rows[i];
    const bool is_used =
        i == answer.ours.from || i == answer.ours.row ||
        (answer.pytorch && (i == answer.pytorch->from || i == answer.pytorch->row));
    if (is_used || row.is_asked || row.is_on_edge) rows.push_back(row);
  }
  return rows;
}

Columns<TuneRow> tune_columns(const CallCosts& costs) {
  using Row = TuneRow;
  const auto of_figures = [](auto member) {
    return [=](const Row& row) { return row.figures().*member; };
  };
  const auto share = [](double Row::*member) {
    return std::function<std::string(const Row&)>(
        [=](const Row& row) { return row.row().is_recorded ? "-" : share_text(row.*member); });
  };
  const std::string in_calls =
      costs.from == CallCosts::From::h200 ? "IN CALLS: what they would take on an H200." : "";
  Columns<Row> columns =
      settings_columns<Row>([](const Row& row) -> const TrialRow& { return row.row(); });
  append(columns,
         {{"asked", "somebody typed it", &Row::is_asked},
          {"on_edge", "none reserves less without more time in calls", &Row::is_on_edge},
          {"peak_reserved_bytes",
           "most that the driver gave of one GPU, in the trace in which the setting is worth least",
           of_figures(&TuneFigures::peak_reserved_bytes), Titled("RESERVED")},
          {"saved_bytes", "less than with the recording's settings there", &Row::saved_bytes,
           Titled("SAVED"), share(&Row::saved)},
          {"driver_calls", "calls of the driver for device and pinned memory there",
           of_figures(&TuneFigures::driver_calls), Titled("CALLS", 2)},
          {"driver_ns", "time that they would take", of_figures(&TuneFigures::driver_ns),
           Titled("IN CALLS", 1), Legend(in_calls)},
          {"worth_bytes",
           "`saved_bytes`, less 5 % of the recording's peak for each doubling of the time in calls "
           "and 1 % for each option",
           &Row::worth_bytes, Titled("WORTH"), share(&Row::worth)},
          {"fits", "no request is refused that the recordings served", &Row::fits,
           Titled("FITS", 3), std::function<std::string(const Row&)>([](const Row& row) {
             return row.fits() ? "yes" : "no";
           })},
          {"traces", "for each of `files`", figures_columns(), &Row::traces},
          {{"SETTINGS"}, marked_tried}});
  return columns;
}

Document tune_text(const Tuned& tuned, const Page& page, const RowChoice& choice) {
  const Columns<TuneRow> columns = tune_columns(tuned.costs);
  std::vector<TuneRow> rows = shown_rows(tuned.answer);
  arrange(rows, columns, choice);
  Table table = table_of(columns, rows, page, choice.most);
  table.keep_room(kRoomForSettings);
  table.place_last(Table::Last::wrapped);
  Document text;
  const std::string legend = legend_of(columns, table.titles(page));
  text.title(head_text(tuned));
  text.gap();
  text.table(std::move(table), and_more(rows, choice.most, "setting"));
  text.gap();
  text.paragraph(rule_text(tuned) + legend);
  add_advices(text, tuned.answer, tuned.traces.size());
  for (std::size_t i = 0; i < tuned.traces.size(); ++i) {
    const std::string begin = "The replay of " + tuned.files[i] + " cannot be exact: ";
    text.paragraph(gaps_text(begin, tuned.traces[i].gaps));
  }
  return text;
}

Columns<Tuned> tune_fields(const RowChoice& choice) {
  using All = Tuned;
  const auto advice = [](bool of_pytorch) {
    return [=](const All& all) {
      std::vector<AdviceLine> lines;
      if (!of_pytorch) lines.push_back({&all.answer.ours, &all.answer, false});
      if (of_pytorch && all.answer.pytorch) {
        lines.push_back({&*all.answer.pytorch, &all.answer, true});
      }
      return lines;
    };
  };
  return {{"files", "paths of the traces", [](const All& all) { return CellStack(all.files); }},
          {"vramscope", "what to set for Vramscope, one", advice_columns(), advice(false)},
          {"pytorch",
           "what to set for PyTorch, one; none where the requests are segments of PyTorch's cache",
           advice_columns(), advice(true)},
          {"rows", "all settings that were tried, the recording's first, then by reserved peak",
           tune_columns(), [choice](const All& all) {
             return chosen_rows(all.answer.rows, tune_columns(), choice);
           }}};
}

}  // namespace vramscope
