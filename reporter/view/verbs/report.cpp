// vramscope report: what a report says, on one screen.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/text/frames.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/reports_text.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
  StackChoice stacks;
  Listing listing{.json = false, .most = kReportSites, .output = ""};
};

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// "": none, which is said.
std::string table_of(const std::string& folder, const Page& page) {
  ReportList list(page);
  for (const std::string& file : report_files({folder}, say)) {
    const auto read = read_report(file);
    if (const auto* report = std::get_if<Report>(&read)) {
      list.add(*report, fs::path(file).lexically_relative(folder).string());
    }
  }
  return list.empty() ? "" : list.text(folder);
}

int show(Arguments& arguments) {
  const Page page = page_of(arguments.listing);
  const NameFrame name = names_from_symbols();
  JsonText json;
  std::string text;
  json.array();
  for (std::string& file : arguments.files) {
    if (is_folder(file) && !arguments.listing.json) {
      const std::string table = table_of(file, page);
      if (table.empty()) return kBadInput;
      text += (text.empty() ? "" : "\n") + table;
      continue;
    }
    std::optional<Report> report = open_report(file);
    if (!report) return kBadInput;
    choose_frames(*report, arguments.stacks);
    if (arguments.listing.json) {
      report_json(json, *report, file, name, arguments.listing.most);
    } else {
      text += (text.empty() ? "" : "\n") +
              report_text(*report, file, name, page, arguments.listing.most);
    }
  }
  json.end();
  return publish(arguments.listing, arguments.listing.json ? json.text() : text);
}

}  // namespace

Verb add_report(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("report", "Show what a report says, on one screen");
  command.positional("FILE", &arguments->files, "Reports, or folders of them");
  add_listing_options(command, arguments->listing);
  add_view_options(command, arguments->stacks);
  command.footer(
      "Examples:\n"
      "  vramscope report vramscope.train.4711.json\n"
      "  vramscope report .                                   all of this folder, a line each\n"
      "  vramscope report -n 30 vramscope.train.4711.json     the 30 largest sites\n"
      "  vramscope report --json vramscope.train.4711.json | jq '.[0].peak[0]'");
  return {.command = &command, .act = [arguments] { return show(*arguments); }};
}

}  // namespace vramscope
