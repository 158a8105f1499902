// Reads, draws, and acts on keys.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/live_session.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "reporter/report/gpus.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/system/report_request.h"

namespace vramscope {

using Prompt = LiveView::Prompt;

LiveSession::LiveSession(const std::string& live_file)
    : reader_(live_file), names_(names_from_symbols()) {}

bool LiveSession::read() {
  if (reading_.has_ended) {
    note_end();
    return true;
  }
  LiveReading next = reader_.read();
  if (view_.is_paused && reading_.report && !next.has_ended) return true;
  if (next.report) {
    reading_ = std::move(next);
    label_gpus(*reading_.report);
    choose_frames(*reading_.report, {});
    history_.add(*reading_.report);
  } else if (!reading_.report) {
    reading_.problem = next.problem;
    return false;
  } else {
    reading_.has_ended = next.has_ended;
    reading_.is_reported = next.is_reported;
    if (!next.has_ended) view_.message = "cannot be read now: " + next.problem;
  }
  if (reading_.has_ended) note_end();
  return true;
}

// `run` makes the report of a program that was killed.
void LiveSession::note_end() {
  const std::string& path = reading_.next_report;
  if (!path.empty() && access(path.c_str(), F_OK) == 0) reading_.is_reported = true;
}

Screen LiveSession::screen(const ScreenSize& size, const Page& page) {
  return live_screen(state(), view_, size, page);
}

bool LiveSession::act(const LiveKey& key, std::size_t rows) {
  using Kind = LiveKey::Kind;
  if (key.kind == Kind::none || key.kind == Kind::resize) return true;
  view_.message.clear();
  if (view_.prompt != Prompt::none) {
    type(key);
    return true;
  }
  const std::size_t all = shown_rows(state(), view_).size();
  const std::size_t last = all == 0 ? 0 : all - 1;
  const std::size_t page = std::max<std::size_t>(rows, 1);
  switch (key.kind) {
    case Kind::letter:
      return act_on_letter(key.letter);
    case Kind::up:
      view_.top -= std::min<std::size_t>(view_.top, 1);
      break;
    case Kind::down:
      view_.top = std::min(view_.top + 1, last);
      break;
    case Kind::page_up:
      view_.top -= std::min(view_.top, page);
      break;
    case Kind::page_down:
      view_.top = std::min(view_.top + page, last);
      break;
    case Kind::home:
      view_.top = 0;
      break;
    case Kind::end:
      view_.top = last;
      break;
    case Kind::escape:
      view_.shows_help = false;
      break;
    default:
      break;
  }
  return true;
}

bool LiveSession::act_on_letter(char letter) {
  constexpr auto kGroups = static_cast<int>(kLiveGroupNames.size());
  constexpr auto kSorts = static_cast<int>(kLiveSortNames.size());
  const auto choose_group = [this](int group) {
    view_.group = static_cast<LiveGroup>(group % kGroups);
    view_.top = 0;
  };
  if (letter >= '1' && letter < '1' + kGroups) choose_group(letter - '1');
  switch (letter) {
    case 'q':
      return false;
    case 'g':
    case '\t':
      choose_group(static_cast<int>(view_.group) + 1);
      break;
    case 's':
      view_.sort = static_cast<LiveSort>((static_cast<int>(view_.sort) + 1) % kSorts);
      view_.top = 0;
      break;
    case 'm':
      mark_.set(*reading_.report, reading_.report->process.report_time_ns);
      break;
    case 'M':
      mark_ = {};
      break;
    case ' ':
      view_.is_paused = !view_.is_paused;
      break;
    case '?':
      view_.shows_help = !view_.shows_help;
      break;
    case '/':
      view_.prompt = Prompt::filter;
      view_.typed = view_.filter;
      break;
    case 'f':
      view_.prompt = Prompt::search;
      view_.typed.clear();
      break;
    case 'n':
      find_next();
      break;
    case 'r':
      write_report();
      break;
    default:
      break;
  }
  return true;
}

void LiveSession::type(const LiveKey& key) {
  constexpr std::size_t kMost = 200;  // bytes
  using Kind = LiveKey::Kind;
  std::string& typed = view_.typed;
  if (key.kind == Kind::escape) view_.prompt = Prompt::none;
  if (key.kind == Kind::enter) end_prompt();
  if (key.kind == Kind::letter && typed.size() < kMost) typed += key.letter;
  if (key.kind != Kind::erase || typed.empty()) return;
  // The bytes of a letter after its first begin with binary 10.
  std::size_t left = typed.size() - 1;
  while (left > 0 && (typed[left] & 0xC0) == 0x80) --left;
  typed.resize(left);
}

void LiveSession::end_prompt() {
  if (std::exchange(view_.prompt, Prompt::none) == Prompt::filter) {
    view_.filter = view_.typed;
    view_.top = 0;
    return;
  }
  view_.search = view_.typed;
  find_next();
}

void LiveSession::find_next() {
  if (view_.search.empty()) return;
  const std::size_t rows = shown_rows(state(), view_).size();
  const std::size_t found = found_row(state(), view_, view_.top);
  if (found < rows) {
    view_.top = found;
  } else {
    view_.message = "no row contains '" + view_.search + "'";
  }
}

void LiveSession::write_report() {
  constexpr unsigned kWaitSeconds = 5;
  if (reading_.has_ended) {
    view_.message = "the program has ended";
    return;
  }
  const auto pid = static_cast<pid_t>(reading_.report->process.pid);
  const ReportReply reply =
      request_report({.pid = pid, .wait_seconds = kWaitSeconds}, [](std::string_view) {});
  view_.message = reply.report.empty() ? reply.problem : "report in " + reply.report;
}

}  // namespace vramscope
