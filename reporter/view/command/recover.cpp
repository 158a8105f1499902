// vramscope recover: makes the reports that processes could not write because they were killed.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "reporter/view/command/live_report.h"
#include "reporter/view/command/symbols_wish.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/left_overs.h"
#include "reporter/view/system/note_file.h"
#include "reporter/view/system/report_request.h"
#include "reporter/view/system/stale_sockets.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> words;
  AskFirst how;
  bool discards = false;
  SymbolsWish symbols;
};

// What was done.
struct Tally {
  std::vector<Recovery> reports;
  std::size_t found = 0;
  std::size_t alive = 0;
  bool failed = false;
};

// Of one that is ours, and that no report can be made of where it was to go.
constexpr const char* kOtherWays =
    "; recover -o FILE writes it elsewhere, recover --discard throws it away";

void complain(Tally& tally, const std::string& problem) {
  say(problem);
  tally.failed = true;
}

// What the user named himself.
void add(Tally& tally, const Recovery& one) {
  using Result = Recovery::Result;
  if (one.result == Result::empty || one.result == Result::finished) return;
  ++tally.found;
  const bool is_ours = one.result == Recovery::Result::failed;
  if (!one.problem.empty()) return complain(tally, one.problem + (is_ours ? kOtherWays : ""));
  tally.reports.push_back(one);
}

// Nobody named what is in a folder: those that still run are left alone, and so is what is none of
// ours. What cannot be recovered fails none of the others.
void recover_folder(Tally& tally, const std::string& folder, const AskFirst& how) {
  using Result = Recovery::Result;
  for (const std::string& file : live_files_in(folder)) {
    const Recovery one = recover_file(file, {.output = how.output});
    if (one.result == Result::alive) ++tally.alive;
    if (one.result == Result::foreign) say("left alone: '" + file + "': " + one.reason);
    if (one.result == Result::failed) say(one.problem + kOtherWays);
    if (one.result != Result::recovered) continue;
    add(tally, one);
    if (!one.stays.empty()) say("'" + file + "' stays: " + one.stays);
  }
}

void recover_usual_folders(Tally& tally, const AskFirst& how) {
  for (const std::string& folder : usual_live_folders()) recover_folder(tally, folder, how);
}

std::string quoted(const std::vector<std::string>& places) {
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "'" : ", '") + place + "'";
  return text.empty() ? "any folder" : text;
}

// A process that runs without a live file can be asked all the same.
void recover_process_of(Tally& tally, pid_t pid, const AskFirst& how) {
  const std::size_t before = tally.found;
  for (const std::string& folder : usual_live_folders()) {
    for (const std::string& file : live_files_in(folder)) {
      const LiveFileOwner owner = owner_of_live_file(file);
      if (owner.pid == pid && owner.is_near) add(tally, report_of_live_file(file, how, say));
    }
  }
  if (tally.found != before) return;
  const std::string none = "no live file of process " + std::to_string(pid);
  if (kill(pid, 0) != 0 && errno == ESRCH) {
    return complain(tally, "nothing to recover: process " + std::to_string(pid) +
                               " does not run, and no live file of it is in " +
                               quoted(usual_live_folders()));
  }
  if (how.wait_seconds == 0) return complain(tally, none + " is in the usual folders");
  const ReportReply reply = request_report({.pid = pid, .wait_seconds = how.wait_seconds}, say);
  if (reply.report.empty()) return complain(tally, none + "; " + reply.problem);
  tally.reports.push_back(
      {.result = Recovery::Result::recovered, .pid = pid, .report = reply.report});
  ++tally.found;
}

void recover_word(Tally& tally, const std::string& word, const AskFirst& how) {
  struct stat found {};
  const bool is_there = lstat(word.c_str(), &found) == 0;
  const int error = errno;
  if (is_there && S_ISDIR(found.st_mode)) return recover_folder(tally, word, how);
  if (is_there) return add(tally, report_of_live_file(word, how, say));
  if (not_a_count(word).empty()) {
    return recover_process_of(tally, static_cast<pid_t>(std::stol(word)), how);
  }
  complain(tally, "cannot recover '" + word + "': " + std::strerror(error));
}

std::string running(const Tally& tally) {
  if (tally.alive == 0) return "";
  return "; " + counted(tally.alive, "live file") + " of running processes";
}

std::string searched(const std::vector<std::string>& words) {
  const std::vector<std::string>& places = words.empty() ? usual_live_folders() : words;
  return places.empty() ? "there is no folder of live files"
                        : "no dead process left a live file in " + quoted(places);
}

// What `report` is to be given: a few files, else the folder where all of them are, else the last.
std::string next_words(const std::vector<std::string>& paths) {
  constexpr std::size_t kFew = 3;
  const auto folder_of = [](const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);
  };
  const std::string folder = folder_of(paths.front());
  const bool is_one = std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return folder_of(path) == folder;
  });
  if (paths.size() > kFew) return shell_word(is_one && !folder.empty() ? folder : paths.back());
  std::string words;
  for (const std::string& path : paths) words += (words.empty() ? "" : " ") + shell_word(path);
  return words;
}

// For a person a table and the next command; for programs the paths, a line each.
std::string list_of(const std::vector<Recovery>& reports) {
  std::string lines;
  std::vector<std::string> paths;
  const Page page = page_of({});
  Table table({{"PROGRAM"}, {"PID", Table::Align::right}, {"REPORT"}});
  for (const Recovery& one : reports) {
    lines += one.report + "\n";
    paths.push_back(one.report);
    table.add({printable(one.program, page), one.pid == 0 ? "" : std::to_string(one.pid),
               printable(one.report, page)});
  }
  if (isatty(STDOUT_FILENO) == 0) return lines;
  return table.text(page) + "\nNext: vramscope report " + next_words(paths) + "\n";
}

std::string content_text(const Discarded& one) {
  if (one.pid == 0) return "only begun";
  const std::string process = std::to_string(one.pid);
  const std::string takes = "; the file takes " + amount_text(one.file_bytes);
  if (one.program.empty()) {
    return "of process " + process + "; what it holds cannot be read: " + one.unreadable + takes;
  }
  return "of " + one.program + " (" + process + "), which held " + amount_text(one.live_bytes) +
         takes;
}

void discard(Tally& tally, const std::string& file, bool is_named) {
  using Result = Recovery::Result;
  const Discarded one = discard_file(file, [&](const Discarded& found) {
    say("discarding '" + file + "': " + content_text(found));
  });
  if (one.result == Result::recovered) ++tally.found;
  if (one.reason.empty()) return;
  if (is_named) return complain(tally, "cannot discard '" + file + "': " + one.reason);
  if (one.result == Result::alive) ++tally.alive;
  if (one.result != Result::alive) say("left alone: '" + file + "': " + one.reason);
}

void discard_word(Tally& tally, const std::string& word) {
  struct stat found {};
  const bool is_there = lstat(word.c_str(), &found) == 0;
  if (is_there && !S_ISDIR(found.st_mode)) return discard(tally, word, true);
  if (is_there) {
    for (const std::string& file : live_files_in(word)) discard(tally, file, false);
    return;
  }
  const bool is_pid = not_a_count(word).empty();
  for (const std::string& folder : usual_live_folders()) {
    for (const std::string& file : live_files_in(folder)) {
      const LiveFileOwner owner = owner_of_live_file(file);
      if (is_pid && owner.is_near && std::to_string(owner.pid) == word) discard(tally, file, true);
    }
  }
}

int discard_all(const Arguments& arguments) {
  Tally tally;
  const bool is_all = arguments.words.empty();
  for (const std::string& word : is_all ? usual_live_folders() : arguments.words) {
    discard_word(tally, word);
  }
  if (tally.found == 0 && !tally.failed) {
    complain(tally, "nothing to discard: " + searched(arguments.words) + running(tally));
  }
  return tally.failed ? kBadInput : kFine;
}

int recover(const Arguments& arguments) {
  remove_stale_sockets();
  remove_notes_of_dead_runs();
  if (arguments.discards) return discard_all(arguments);
  Tally tally;
  if (arguments.words.empty()) recover_usual_folders(tally, arguments.how);
  for (const std::string& word : arguments.words) recover_word(tally, word, arguments.how);
  if (tally.found == 0 && !tally.failed) {
    complain(tally, "nothing to recover: " + searched(arguments.words) + running(tally));
  }
  std::vector<std::string> paths;
  for (const Recovery& one : tally.reports) paths.push_back(one.report);
  const std::string unnamed = add_symbols(paths, arguments.symbols);
  if (!unnamed.empty()) say(unnamed.substr(std::string_view("; ").size()));
  const int status = tally.reports.empty() ? kFine : publish({}, list_of(tally.reports));
  return tally.failed ? kBadInput : status;
}

}  // namespace

Verb add_recover(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("recover", "Write the reports of programs that were killed");
  command.words("WHAT", arguments->words,
                "Live files, folders or process numbers; default: the usual folders");
  command.option(
      "--wait", &arguments->how.wait_seconds,
      "Wait SECONDS for a running process to write its report; 0: copy its record at once",
      {.value_name = "SECONDS", .why_not = not_a_count, .shows_default = true});
  command.option("-o,--output", &arguments->how.output,
                 "Write the report to FILE or into FOLDER, without overwriting",
                 {.value_name = "FILE|FOLDER"});
  command.flag("--discard", arguments->discards,
               "Delete dead processes' live files, and say what they hold");
  command.exclude("--discard", "--output");
  add_symbols_option(command, arguments->symbols);
  command.footer(
      "Each report gets the name given by --output when the program was started, in the folder "
      "where it was started, or in the current folder if that one is gone. recover removes a live "
      "file only if the file is proved to be Vramscope's and its process is proved to be dead. It "
      "leaves everything else alone.\nOn a terminal, recover prints a table and the next command; "
      "elsewhere it prints the paths of the reports.\nA live file is sparse: ls shows 60 GB, but "
      "du shows that it takes a few MiB. Copy it with tools that keep holes (tar --sparse, rsync "
      "--sparse).\nrecover also removes the small files that killed runs left in the folder for "
      "temporary files.\nExamples:\n  vramscope recover                        all killed programs "
      "of this user\n  vramscope report \"$(vramscope recover 4711)\"");
  return {.command = &command,
          .act = [arguments] { return recover(*arguments); },
          .judges_output = true};  // a name that is taken gets another ending
}

}  // namespace vramscope
