// vramscope live: what a running program has, on a screen that is drawn anew.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <thread>

#include "reporter/report/report.h"
#include "reporter/view/command/live_process.h"
#include "reporter/view/command/live_session.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/system/running.h"
#include "reporter/view/text/live_fields.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> words;
  std::string interval;
  std::size_t count = 0;
  bool once = false;
  Listing listing;
};

constexpr double kLeastSeconds = 0.05;
constexpr double kMostSeconds = 86400;

double seconds_in(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool is_whole = end != text.c_str() && *end == '\0';
  return is_whole && seconds >= kLeastSeconds && seconds <= kMostSeconds ? seconds : 0;
}

std::string no_interval(const std::string& given) {
  return seconds_in(given) != 0 ? "" : "'" + given + "' is no number of seconds from 0.05 to 86400";
}

Clock::duration interval_of(const Arguments& arguments, double usual) {
  const double seconds = arguments.interval.empty() ? usual : seconds_in(arguments.interval);
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string name_of(const RunningProcess& process) {
  const LiveReading reading =
      process.live_file.empty() ? LiveReading{} : LiveReader(process.live_file).read();
  const std::string program = reading.report ? program_of(reading.report->process) : "";
  return std::to_string(process.pid) + (program.empty() ? "" : " (" + program + ")");
}

// Several programs run: a person chooses, nobody else can.
std::optional<RunningProcess> choose_of(const std::vector<RunningProcess>& running) {
  std::string names;
  for (const RunningProcess& one : running) names += (names.empty() ? "" : ", ") + name_of(one);
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    say("several programs run: " + harmless(names) + "; name one: vramscope live PID");
    return std::nullopt;
  }
  for (std::size_t i = 0; i < running.size(); ++i) {
    std::cout << "  " << i + 1 << "  " << harmless(name_of(running[i])) << "\n";
  }
  std::cout << "Which one? " << std::flush;
  std::string typed;
  std::cin >> typed;
  const std::size_t number = not_a_count(typed).empty() ? std::stoul(typed) : 0;
  if (number >= 1 && number <= running.size()) return running[number - 1];
  say("'" + typed + "' is no number from 1 to " + std::to_string(running.size()));
  return std::nullopt;
}

std::optional<RunningProcess> chosen_process(const std::vector<std::string>& words) {
  if (words.size() > 1) {
    say("live shows one process");
    return std::nullopt;
  }
  const std::vector<RunningProcess> running = running_processes();
  if (!words.empty()) return live_process_named(words.front(), running);
  if (running.size() == 1) return running.front();
  if (!running.empty()) return choose_of(running);
  say("no program of this user is recorded now; vramscope run starts one");
  return std::nullopt;
}

int print_once(LiveSession& session, const Listing& listing, const Page& page) {
  constexpr std::size_t kUsualRows = 20;
  constexpr std::size_t kAllLines = 1'000'000;
  const std::size_t rows = listing.typed_most.value_or(kUsualRows);
  session.view().is_printed = true;
  session.view().most_rows = rows == 0 ? kAllLines : rows;
  const Screen screen = session.screen({.lines = kAllLines, .columns = page.width}, page);
  return publish(listing, text_of(screen, page));
}

int print_json(LiveSession& session, const Listing& listing) {
  const std::size_t most = listing.typed_most.value_or(0);
  const LiveDocument document = live_document(session.reading(), session.names(), most);
  return publish(listing, json_of(document, live_fields()));
}

// Lines until the program has ended, or as many readings as were asked for.
int print_lines(LiveSession& session, const Arguments& arguments) {
  const RowChoice choice = arguments.listing.rows();
  choice.refuse_unless({names_of(live_line_columns())});
  const bool to_file = !arguments.listing.output.empty();
  std::string text;
  CsvText csv(text);
  const bool goes_on = !arguments.interval.empty();
  const std::size_t most = goes_on ? arguments.count : 1;
  Clock::time_point next = Clock::now();
  for (std::size_t i = 0;; ++i) {
    const std::vector<LiveLine> lines =
        chosen_rows(live_lines(session.reading()), live_line_columns(), choice);
    add_rows(csv, lines, live_line_columns());
    if (!to_file) {
      if (const int status = publish({}, text); status != kFine) return status;
      text.clear();
    }
    if (session.reading().has_ended || i + 1 == most) break;
    next += interval_of(arguments, 1);
    std::this_thread::sleep_until(next);
    static_cast<void>(session.read());
  }
  return to_file ? publish(arguments.listing, text) : int{kFine};
}

// A terminal that cannot place text gets one screen below the other.
int print_again_and_again(LiveSession& session, const Arguments& arguments, const Page& page) {
  while (true) {
    const int status = print_once(session, arguments.listing, page);
    if (status != kFine || session.reading().has_ended) return status;
    std::this_thread::sleep_for(interval_of(arguments, 2));
    static_cast<void>(session.read());
    static_cast<void>(publish(arguments.listing, "\n"));
  }
}

// A reading takes a part of the time at most, so that large programs are not read all the time.
int show(LiveSession& session, const Arguments& arguments, const Page& page) {
  constexpr int kShare = 4;
  {
    LiveTerminal terminal(page);
    if (!terminal.problem().empty()) return refuse(terminal.problem());
    const Clock::duration interval = interval_of(arguments, 0.5);
    Clock::time_point next = Clock::now() + interval;
    while (true) {
      const ScreenSize size = terminal.size();
      terminal.paint(session.screen(size, page));
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
      const LiveKey key = terminal.next_key(static_cast<int>(std::max<std::int64_t>(left, 1)));
      if (!session.act(key, size.lines / 2)) break;
      if (Clock::now() < next) continue;
      const Clock::time_point begun = Clock::now();
      static_cast<void>(session.read());
      next = std::max(begun + interval, begun + (Clock::now() - begun) * kShare);
    }
  }
  const LiveReading& reading = session.reading();
  if (!reading.has_ended) return kFine;
  return publish({}, "Next: vramscope " + next_of_ended(reading, page) + "\n");
}

bool is_dumb() {
  const char* const name = std::getenv("TERM");
  return name == nullptr || std::strcmp(name, "dumb") == 0;
}

int live(Arguments& arguments) {
  settle_rows(arguments.listing);
  const std::optional<RunningProcess> process = chosen_process(arguments.words);
  if (!process) return kBadInput;
  if (process->live_file.empty()) {
    return refuse(no_live_file_of(*process));
  }
  LiveSession session(process->live_file);
  if (!session.read()) {
    return refuse("cannot read '" + process->live_file + "': " + session.reading().problem);
  }
  const Page page = page_of(arguments.listing);
  if (arguments.listing.json) return print_json(session, arguments.listing);
  if (arguments.listing.csv) return print_lines(session, arguments);
  const bool is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (arguments.once || !is_terminal || !arguments.listing.output.empty()) {
    return print_once(session, arguments.listing, page);
  }
  return is_dumb() ? print_again_and_again(session, arguments, page)
                   : show(session, arguments, page);
}

}  // namespace

Verb add_live(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("live", "Watch the memory of a running program");
  command.words("PID", arguments->words, "A process of vramscope list; default: the only one");
  command.flag("--once", arguments->once, "Print one screen and exit");
  command.option("--interval", &arguments->interval,
                 "Read every SECONDS; with --csv, repeat until the program ends",
                 {.value_name = "SECONDS", .why_not = no_interval});
  command.option("--count", &arguments->count, "End after N readings; 0: when the program ends",
                 {.value_name = "N", .why_not = not_a_count, .needs = "--interval"});
  add_listing_options(command, arguments->listing);
  command.exclude("--once", "--json");
  command.exclude("--once", "--csv");
  command.footer(
      "live reads the program's live file alone: it sends no signal and does not stop the program. "
      "Only the key r asks the program for a report. Press ? for all keys.\n"
      "Examples:\n"
      "  vramscope live 4711\n"
      "  vramscope live --once 4711\n"
      "  vramscope live --csv --interval 1 4711 > memory.csv");
  return {.command = &command, .act = [arguments] { return live(*arguments); }};
}

}  // namespace vramscope
