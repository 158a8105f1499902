// open_trial() reads what a word of the command line names into the steps of a replay.
// show_trials() shows what a verb makes of each of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/command/trial_options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/trial/trial_steps.h"

namespace vramscope {

// What becomes of a trace that has not all of a run: its file is damaged or ends within a chunk, or
// it frees memory whose allocation it does not have. A trace that ends with a whole chunk, as of a
// killed program, has all until then.
enum class Incomplete : bool { refused, played };

using TellWhy = std::function<void(const std::string&)>;

// A trace of ours, or another tool's file of a run. Tells in one line why there is none. phase:
// null, or what is to be found of the phase with its name.
[[nodiscard]] std::optional<TrialSteps> open_trial(const std::string& path, Incomplete incomplete,
                                                   TrialPhase* phase = nullptr,
                                                   const TellWhy& tell = say);

struct TrialArguments {
  std::vector<std::string> files;
  TrialOptions trial;
  Listing listing;
  bool partial = false;

  [[nodiscard]] Incomplete incomplete() const {
    return partial ? Incomplete::played : Incomplete::refused;
  }
};
// FILE and --partial.
void add_trial_files(Command& command, TrialArguments& arguments);

// The output of one trace after another: text, JSON or rows. Threads: one.
class ShownTrials {
 public:
  explicit ShownTrials(const Listing& listing)
      : listing_(listing), choice_(listing.rows()), page_(page_of(listing)) {
    json_.array();
  }
  ShownTrials(const ShownTrials&) = delete;
  ShownTrials& operator=(const ShownTrials&) = delete;

  // text: makes the document of a shown trace, and is called for text alone.
  template <class Shown, class Row, class Text>
  void add(const Shown& shown, const Columns<Shown>& fields, std::vector<Row> rows,
           const Columns<Row>& columns, const Text& text) {
    if (listing_.json) {
      add_value(json_, shown, fields);
    } else if (listing_.csv) {
      add_rows(csv_, chosen_rows(std::move(rows), columns, choice_), columns);
    } else {
      text_ += (text_.empty() ? "" : "\n") + render(text(shown, page_, choice_), page_);
    }
  }
  [[nodiscard]] const RowChoice& choice() const { return choice_; }
  // Gives the exit code.
  [[nodiscard]] int publish();

 private:
  const Listing& listing_;
  const RowChoice choice_;
  const Page page_;
  std::string text_;  // or rows
  CsvText csv_{text_};
  JsonText json_;
};

// Adds one trace to what is shown. Returns why it cannot, or "".
using ShowTrial =
    std::function<std::string(const std::string& file, TrialSteps& trace, ShownTrials& shown)>;

// Shows every file of the arguments. columns: names that --sort takes. Gives the exit code.
[[nodiscard]] int show_trials(TrialArguments& given, const std::vector<std::string>& columns,
                              const ShowTrial& show);

}  // namespace vramscope
