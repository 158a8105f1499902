// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/phase_text.h"

#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

constexpr std::string_view kTrends[] = {"constant", "grows", "varies"};

std::string course_text(const std::string& what, const PhaseCourse& course) {
  switch (course.trend) {
    case PhaseTrend::constant:
      if (course.warm_up == 0) return what + " peaks at the same in each repetition.";
      return what + " peaks at the same from repetition " +
             count_text(static_cast<std::int64_t>(course.warm_up + 1)) + " on, after warming up.";
    case PhaseTrend::grows:
      return what + " grows by " + amount_text(course.growth_bytes) + " with each repetition.";
    case PhaseTrend::varies:
      return what + " differs from repetition to repetition, and does not grow steadily.";
  }
  return "";
}

// Where the trace does not show each of them.
std::string lacking_text(const FollowedPhase& followed) {
  const TrialPhase& phase = followed.phase;
  const std::uint64_t found = followed.answer.repetitions;
  if (phase.marks <= found) return "";
  const std::string times = count_text(static_cast<std::int64_t>(phase.marks));
  if (phase.is_mark) {
    return "The mark was set " + times + " times. The trace has the times of " +
           count_text(static_cast<std::int64_t>(found)) +
           ": of the first ones, and of evenly spread later ones, whose rows last until the next "
           "known mark.";
  }
  return "The range was entered " + times + " times, and is seen to begin " +
         counted(found, "time") +
         ": the others made no allocation, or followed without one between. A mark "
         "(vramscope.mark()) shows each.";
}

std::string of_phase_text(const FollowedPhase& followed) {
  const std::string what = followed.phase.is_mark ? "mark" : "range";
  return "Memory of " + followed.file + " by repetition of the " + what + " '" +
         followed.phase.name + "': " + counted(followed.answer.repetitions, "repetition") + ", " +
         marked_settings_text(followed.row);
}

}  // namespace

Columns<PhaseRow> phase_columns() {
  using Row = PhaseRow;
  const auto of_peaks = [](auto member) { return within(&Row::peaks)(member); };
  return {{"repetition", "its number, from 1", &Row::number, Titled("REPETITION")},
          {"begin_ns", "when it begins, after time 0; it ends with the next", &Row::begin_ns,
           Titled("BEGINS", 1)},
          {"peak_requested_bytes", "most that the program asked for of one GPU in it",
           of_peaks(&TrialPeaks::requested_bytes), Titled("REQUESTED")},
          {"peak_reserved_bytes", "most that the driver handed out of one GPU in it",
           of_peaks(&TrialPeaks::reserved_bytes), Titled("RESERVED")},
          {"least_bytes",
           "smallest amount of memory of each GPU with which everything until its end completes; "
           "`null`: none",
           &Row::least_bytes, Titled("LEAST")}};
}

Document phase_text(const FollowedPhase& followed, const Page& page, const RowChoice& choice) {
  const Columns<PhaseRow> columns = phase_columns();
  std::vector<PhaseRow> rows = followed.answer.rows;
  arrange(rows, columns, choice);
  Document text;
  text.title(of_phase_text(followed));
  text.gap();
  text.table(table_of(columns, rows, page, choice.most), and_more(rows, choice.most, "repetition"));
  text.gap();
  text.paragraph(
      "REQUESTED, RESERVED: at their peaks within the repetition. LEAST: the "
      "smallest amount of GPU memory with which everything until the end of the repetition "
      "completes.");
  text.paragraph(course_text("Requested memory", followed.answer.requested));
  text.paragraph(course_text("Reserved memory", followed.answer.reserved));
  if (followed.answer.requested.trend == PhaseTrend::grows) {
    text.line("  To see which call sites keep it:",
              "vramscope leaks " + shell_path(followed.file, page));
  }
  if (!followed.answer.fits) {
    text.paragraph(
        "With the memory of the recording's GPU a request would be refused: the peaks are those of "
        "a GPU with unlimited memory.");
  }
  if (followed.answer.repetitions > followed.answer.rows.size()) {
    text.paragraph("Rows are evenly spread over the known repetitions.");
  }
  text.paragraph(lacking_text(followed));
  text.paragraph(gaps_text("The replay of this trace cannot be exact: ", followed.trace.gaps));
  return text;
}

Columns<FollowedPhase> phase_fields(const RowChoice& choice) {
  using All = FollowedPhase;
  const auto of_course = [](auto which, auto member) {
    return [=](const All& all) { return (all.answer.*which).*member; };
  };
  const auto course = [&](const std::string& name, PhaseCourse PhaseAnswer::*which) {
    return Columns<All>{
        {name + "_trend",
         "of its peaks: `constant` within 1 % from some repetition on, `grows`, or `varies`",
         of_course(which, &PhaseCourse::trend), OneOf(kTrends)},
        {name + "_warm_up", "repetitions before it is constant",
         of_course(which, &PhaseCourse::warm_up)},
        {name + "_growth_bytes", "where it grows: with each repetition of the second half",
         of_course(which, &PhaseCourse::growth_bytes)}};
  };
  Columns<All> columns = {
      {"file", "path of the trace", &All::file},
      {"phase", "name of the range or mark", [](const All& all) { return all.phase.name; }},
      {"mark", "it is a mark", [](const All& all) { return all.phase.is_mark; }},
      {"times", "how often the mark was set or the range entered; 0: not known",
       [](const All& all) { return all.phase.marks; }},
      {"repetitions", "that the trace shows",
       [](const All& all) { return all.answer.repetitions; }},
      {"fits",
       "no request is refused that the recording served; else the peaks are of a GPU with "
       "unlimited memory",
       [](const All& all) { return all.answer.fits; }},
      {"context_assumed", "the trace does not say what contexts took: one of an H200 is assumed",
       &All::is_context_assumed}};
  append(columns, settings_columns<All>([](const All& all) -> const TrialRow& { return all.row; }));
  append(columns, course("requested", &PhaseAnswer::requested));
  append(columns, course("reserved", &PhaseAnswer::reserved));
  columns.push_back(
      {"rows", "repetitions, at most 24, evenly spread", phase_columns(),
       [choice](const All& all) { return chosen_rows(all.answer.rows, phase_columns(), choice); }});
  return columns;
}

}  // namespace vramscope
