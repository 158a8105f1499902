// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/scale_text.h"

#include <algorithm>
#include <cmath>

namespace vramscope {
namespace {

constexpr std::string_view kGrowths[] = {"constant", "linear", "quadratic"};
constexpr const char* kRest = "contexts, rounding, free parts of segments";

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::max(0.0, bytes)); }

std::string model_text(const ScaleRow& row) {
  const ScaleModel& model = row.model;
  switch (model.growth) {
    case ScaleGrowth::constant:
      return "constant";
    case ScaleGrowth::linear:
      return (model.linear < 0 ? "-" : "") + amount_text(whole(std::abs(model.linear))) + " each";
    case ScaleGrowth::quadratic:
      return "quadratic";
  }
  return "";
}

Columns<ScaledRun> run_columns_of_scale(const std::string& what) {
  using Row = ScaledRun;
  return {{"batch", "the number that was typed", &Row::batch, Titled(in_capitals(what))},
          {"least_bytes",
           "smallest amount of memory of each GPU with which it completes, as `fit` finds it",
           &Row::least_bytes, Titled("LEAST")}};
}

Columns<ScalePrediction> prediction_columns(const std::string& what) {
  using Row = ScalePrediction;
  return {{"batch", "that was typed", &Row::batch, Titled(in_capitals(what))},
          {"peak_requested_bytes", "most that the program would ask for of one GPU",
           &Row::requested_bytes, Titled("REQUESTED")},
          {"least_bytes", "smallest amount of GPU memory with which it would complete",
           &Row::least_bytes, Titled("LEAST")}};
}

Columns<ScaledGpu> scaled_gpu_columns(const std::string& what) {
  using Row = ScaledGpu;
  const auto batch = std::function<std::string(const Row&)>([](const Row& row) {
    return row.batch ? count_text(static_cast<std::int64_t>(*row.batch)) : std::string("any");
  });
  return {
      {"name", "of the GPU", [](const Row& row) { return row.gpu.name; }},
      {"memory_bytes", "that its driver reports", [](const Row& row) { return row.gpu.bytes; },
       Titled("MEMORY")},
      {"batch", "largest that fits, 0: none; `null`: any up to 1,024 times the largest that ran",
       &Row::batch, Titled(in_capitals(what)), batch},
      {{"GPU"}, [](const Row& row) { return row.gpu.name; }}};
}

std::string sure_of_scale(const Scaled& scaled) {
  const ScaleAnswer& answer = scaled.answer;
  std::string text =
      "This is an extrapolation: a program may do otherwise at another " + scaled.what + ". ";
  if (!answer.check) {
    return text + "Two runs cannot be checked against each other; a third one would.";
  }
  constexpr double kWhole = 1'000'000;
  const auto off = static_cast<std::uint64_t>(std::abs(*answer.check) * kWhole);
  return text + "The other runs predict the smallest amount of GPU memory for the largest one " +
         percent_text(off, static_cast<std::uint64_t>(kWhole)) +
         (*answer.check < 0 ? " too low." : " too high.");
}

// A curve with a term for each run goes through all of them.
std::string off_by_text(const ScaleRow& row) {
  const std::size_t terms = static_cast<std::size_t>(row.model.growth) + 1;
  return row.bytes.size() <= terms ? "-" : amount_text(whole(row.model.residual));
}

std::string head_of_scale(const Scaled& scaled) {
  std::vector<std::string> batches;
  for (const ScaledRun& run : scaled.answer.runs) {
    batches.push_back(count_text(static_cast<std::int64_t>(run.batch)));
  }
  return "Memory at the peak of " + counted(scaled.files.size(), "run") + ", by " + scaled.what +
         " (" + enumerated(batches) + ")";
}

}  // namespace

Columns<ScaleRow> scale_columns(const std::string& what) {
  using Row = ScaleRow;
  const auto of_model = [](double ScaleModel::*member) {
    return [=](const Row& row) { return std::llround(row.model.*member); };
  };
  return {
      {"rest", "what LEAST has beyond the sites: contexts, rounding, free parts", &Row::is_rest},
      {"kind", "of memory", [](const Row& row) { return row.site.kind; }},
      {"bytes", "at the peak, by run, the smallest first", &Row::bytes, InUnit("bytes")},
      {"growth", "of them with the number", [](const Row& row) { return row.model.growth; },
       OneOf(kGrowths)},
      {"constant_bytes", "of the model", of_model(&ScaleModel::constant)},
      {"linear_bytes", "with each one more", of_model(&ScaleModel::linear)},
      {"quadratic_bytes", "with the square", of_model(&ScaleModel::quadratic)},
      {"residual_bytes", "the most that the model is off at a run",
       of_model(&ScaleModel::residual)},
      {"frames", "call stack, innermost first",
       [](const Row& row) { return CellStack(row.site.frames); }},
      {{"AT LARGEST", Table::Align::right},
       [](const Row& row) { return amount_text(row.bytes.back()); }},
      {{"BY " + in_capitals(what), Table::Align::right}, model_text},
      {{"OFF BY", Table::Align::right, 1}, off_by_text},
      {{"WHERE"}, [](const Row& row) {
         if (row.is_rest) return std::string(kRest);
         return row.site.where.empty() ? std::string("unknown") : row.site.where;
       }}};
}

Document scale_text(const Scaled& scaled, const Page& page, const RowChoice& choice) {
  const Columns<ScaleRow> columns = scale_columns(scaled.what);
  std::vector<ScaleRow> rows = scaled.answer.rows;
  arrange(rows, columns, choice);
  Table table = table_of(columns, rows, page, choice.most);
  table.place_last(Table::Last::wrapped);
  Document text;
  text.title(head_of_scale(scaled));
  text.gap();
  text.table(std::move(table), and_more(rows, choice.most, "call site"));
  text.gap();
  text.table(table_of(run_columns_of_scale(scaled.what), scaled.answer.runs, page));
  if (!scaled.answer.predictions.empty()) {
    text.gap();
    text.sentence("Predicted");
    text.table(table_of(prediction_columns(scaled.what), scaled.answer.predictions, page));
  }
  text.gap();
  text.sentence("The largest " + scaled.what + " that fits, as predicted");
  text.table(table_of(scaled_gpu_columns(scaled.what), scaled.answer.gpus, page));
  text.gap();
  text.paragraph("BY " + in_capitals(scaled.what) +
                 ": what each one more adds, or how it grows. OFF BY: the most that this is off at "
                 "a run (-: too few runs to tell). LEAST: the smallest amount of GPU memory with "
                 "which the run completes, "
                 "under the recording's settings.");
  text.paragraph(sure_of_scale(scaled));
  return text;
}

Columns<Scaled> scale_fields(const RowChoice& choice) {
  using All = Scaled;
  const auto of_answer = [](auto member) {
    return [member](const All& all) { return all.answer.*member; };
  };
  return {
      {"files", "paths of the traces, as they were typed",
       [](const All& all) { return CellStack(all.files); }},
      {"name", "of the number by which they differ", &All::what},
      {"check_permille",
       "how far the other runs' prediction of the largest one's `least_bytes` is off; `null`: "
       "two runs cannot be checked",
       [](const All& all) {
         const auto& check = all.answer.check;
         return check ? std::optional(std::llround(*check * 1000)) : std::nullopt;
       },
       InUnit("1/1000")},
      {"runs", "the smallest number first", run_columns_of_scale(""),
       of_answer(&ScaleAnswer::runs)},
      {"predictions", "of `--at`", prediction_columns(""), of_answer(&ScaleAnswer::predictions)},
      {"gpus", "common GPU models, the smallest first", scaled_gpu_columns(""),
       of_answer(&ScaleAnswer::gpus)},
      {"rows", "call sites, the largest first, and the rest", scale_columns(),
       [choice](const All& all) { return chosen_rows(all.answer.rows, scale_columns(), choice); }}};
}

}  // namespace vramscope
