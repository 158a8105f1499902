// The tables of capacities and of GPUs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/fit_text.h"

#include <algorithm>
#include <optional>

#include "reporter/report/memory_name.h"
#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kSettingsRoom = 24;  // the other columns leave it at least

// The most of all devices.
std::uint64_t most_of(const FitRow& row, std::uint64_t TrialDevice::*member) {
  std::uint64_t most = 0;
  for (const TrialDevice& device : row.result.devices) most = std::max(most, device.*member);
  return most;
}

// The exact number, as --sim-memory takes it.
std::string least_text(const FitRow& row) {
  if (!row.least_bytes) return "-";
  return count_text(static_cast<std::int64_t>(*row.least_bytes / kMiB)) + " MiB";
}

auto most_column(std::uint64_t TrialDevice::*member) {
  return [member](const FitRow& row) { return most_of(row, member); };
}

// One GPU with the answer that it belongs to.
struct GpuLine {
  const GpuFit* fit = nullptr;
  const FitAnswer* answer = nullptr;

  [[nodiscard]] std::optional<std::uint64_t> spare_bytes() const {
    if (!fit->row) return std::nullopt;
    return fit->gpu.bytes - answer->rows[*fit->row].least_bytes.value_or(0);
  }
  [[nodiscard]] std::optional<std::uint64_t> missing_bytes() const {
    return fit->row ? std::nullopt : std::optional(fit->missing_bytes);
  }
  [[nodiscard]] std::optional<std::string> settings() const {
    if (!fit->row) return std::nullopt;
    return settings_text(answer->rows[*fit->row].row);
  }
};

std::string fits_word(const GpuLine& line) {
  if (!line.fit->row) return "no";
  const TrialRow& row = line.answer->rows[*line.fit->row].row;
  return *line.fit->row == 0 ? "yes" : "with " + settings_text(row);
}

Columns<GpuLine> gpu_columns() {
  using Line = GpuLine;
  return {{"name", "of the GPU", [](const Line& line) { return line.fit->gpu.name; }},
          {"memory_bytes", "that its driver reports",
           [](const Line& line) { return line.fit->gpu.bytes; }, Titled("MEMORY")},
          {"fits", "the run completes, as a replay with that memory showed",
           [](const Line& line) { return line.fit->row.has_value(); }},
          {"settings", "the first of `rows` with which it does; `null`: none", &Line::settings},
          {"spare_bytes", "more than these need; `null`: it does not fit", &Line::spare_bytes,
           Titled("SPARE")},
          {"missing_bytes", "less than any of `rows` needs; `null`: it fits", &Line::missing_bytes,
           Titled("MISSING")},
          {{"GPU"}, [](const Line& line) { return line.fit->gpu.name; }},
          {{"FITS"}, fits_word}};
}

std::vector<GpuLine> gpu_lines(const FitAnswer& answer) {
  std::vector<GpuLine> lines;
  for (const GpuFit& fit : answer.gpus) lines.push_back({&fit, &answer});
  return lines;
}

std::string others_text(const Fitted& fitted) {
  const FitAnswer& answer = fitted.answer;
  if (answer.is_context_assumed) {
    return "The trace does not say what contexts took: " + amount_text(answer.unrecorded_bytes) +
           " of each GPU are taken for one, as on an H200.";
  }
  return "LEAST includes up to " + amount_text(answer.unrecorded_bytes) +
         " for contexts, code and other processes, as in the recording.";
}

bool is_refused(const TrialStep& step) {
  return step.what == TrialStep::What::refused || step.what == TrialStep::What::refused_by_driver;
}

std::uint64_t refused_requests(const TrialSteps& trace) {
  return static_cast<std::uint64_t>(std::ranges::count_if(trace.steps, is_refused));
}

// A run that was refused memory is no whole run: nobody knows what it would have done with it.
std::string refused_text(const TrialSteps& trace) {
  const auto first = std::ranges::find_if(trace.steps, is_refused);
  if (first == trace.steps.end()) return "";
  const std::uint64_t count = refused_requests(trace);
  return "The recording was refused " + counted(count, "request") +
         (count == 1 ? " for " : ", the first one for ") + amount_text(first->bytes) + " at " +
         duration_text(first->at_ns) +
         ". LEAST is for what it was served: a run that is refused nothing may need more.";
}

}  // namespace

Columns<FitRow> fit_columns() {
  using Row = FitRow;
  const auto of_refusal = [](auto member) {
    return [member](const Row& row) {
      return row.refusal ? std::optional((*row.refusal).*member) : std::nullopt;
    };
  };
  Columns<Row> columns =
      settings_columns<Row>([](const Row& row) -> const TrialRow& { return row.row; });
  append(columns,
         {{"least_bytes",
           "smallest amount of memory of each GPU with which the run completes, in steps of 2 MiB; "
           "`null`: none",
           &Row::least_bytes, Titled("LEAST"), std::function<std::string(const Row&)>(least_text)},
          {"peak_reserved_bytes", "most that the driver then handed out of one GPU",
           most_column(&TrialDevice::peak_reserved_bytes), Titled("RESERVED", 1)},
          {"peak_requested_bytes", "most that the program asked for of one GPU",
           most_column(&TrialDevice::peak_requested_bytes), Titled("REQUESTED", 2)},
          {"refused_bytes",
           "of the first request that is refused with 2 MiB less; `null`: there is no room for the "
           "requests themselves",
           of_refusal(&TrialRefusal::bytes)},
          {"refused_ns", "when that is, after time 0", of_refusal(&TrialRefusal::at_ns)},
          {{"SETTINGS"}, [](const Row& row) { return marked_settings_text(row.row); }}});
  return columns;
}

std::vector<std::string> fits_words(const FitAnswer& answer) {
  std::vector<std::string> words;
  for (const GpuFit& fit : answer.gpus) words.push_back(fits_word({&fit, &answer}));
  return words;
}

std::vector<std::string> fit_remarks(const Fitted& fitted) {
  return {refused_text(fitted.trace),
          "With 2 MiB less than LEAST, a request is refused. " + others_text(fitted),
          gaps_text("The replay of this trace cannot be exact: ", fitted.trace.gaps)};
}

Document fit_text(const Fitted& fitted, const Page& page, const RowChoice& choice) {
  const Columns<FitRow> columns = fit_columns();
  std::vector<FitRow> rows = fitted.answer.rows;
  arrange(rows, columns, choice);
  Table table = table_of(columns, rows, page, choice.most);
  table.keep_room(kSettingsRoom);
  table.place_last(Table::Last::wrapped);
  Table gpus = table_of(picked(gpu_columns(), {"MEMORY", "SPARE", "MISSING", "GPU", "FITS"}),
                        gpu_lines(fitted.answer), page);
  gpus.keep_room(kSettingsRoom);
  gpus.place_last(Table::Last::wrapped);
  Document text;
  text.title(counted(fitted.trace.requests, "allocation") + " of " + fitted.file +
             ": the smallest amount of GPU memory with which the run completes");
  const std::vector<std::string> remarks = fit_remarks(fitted);
  text.paragraph(remarks.front());
  text.gap();
  text.table(std::move(table), and_more(rows, choice.most, "setting"));
  text.gap();
  text.table(std::move(gpus));
  text.gap();
  for (std::size_t i = 1; i < remarks.size(); ++i) text.paragraph(remarks[i]);
  return text;
}

Columns<Fitted> fit_fields(const RowChoice& choice) {
  using All = Fitted;
  const auto of_answer = [](auto member) {
    return [member](const All& all) { return all.answer.*member; };
  };
  return {
      {"file", "path of the trace", &All::file},
      {"allocations", "in it", [](const All& all) { return all.trace.requests; }},
      {"unrecorded_bytes", "most that contexts, code and other processes took of one GPU",
       of_answer(&FitAnswer::unrecorded_bytes)},
      {"refused_requests",
       "requests that the recording was refused: `least_bytes` is without these, and without what "
       "the program would have done with them",
       [](const All& all) { return refused_requests(all.trace); }},
      {"context_assumed", "the trace does not say so: a context of an H200 is assumed",
       of_answer(&FitAnswer::is_context_assumed)},
      {"rows", "settings in the order of the text", fit_columns(),
       [choice](const All& all) { return chosen_rows(all.answer.rows, fit_columns(), choice); }},
      {"gpus", "common GPU models, the smallest first", gpu_columns(),
       [](const All& all) { return gpu_lines(all.answer); }}};
}

}  // namespace vramscope
