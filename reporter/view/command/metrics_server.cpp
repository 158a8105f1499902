// However many clients ask, programs are read once a second at most, and for a fifth of the time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/metrics_server.h"

#include <charconv>
#include <optional>
#include <utility>

#include "reporter/report/gpus.h"
#include "reporter/report/merge.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/export/build_parts.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kProfilePath = "/debug/pprof/memory";
constexpr const char* kIndex =
    "vramscope serves:\n"
    "  /metrics              OpenMetrics, or Prometheus's text format, of all recorded programs\n"
    "  /debug/pprof/memory   their memory as a profile of pprof; ?pid=N chooses a program\n";

HttpAnswer text_answer(int status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

// The number behind "pid=" in a query. Nothing: it is none. 0: no program is chosen.
std::optional<std::int64_t> pid_in(std::string_view query) {
  constexpr std::string_view kName = "pid=";
  std::int64_t pid = 0;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (!part.starts_with(kName)) continue;
    const std::string_view value = part.substr(kName.size());
    const auto read = std::from_chars(value.data(), value.data() + value.size(), pid);
    if (read.ec != std::errc{} || read.ptr != value.data() + value.size() || pid <= 0) return {};
  }
  return pid;
}

// A program of the same path whose modules are others has other names.
std::string made_of(const Report& report) {
  std::string text = report.process.executable;
  for (const ModuleFact& module : report.modules) text.append("\n").append(module.build_id);
  return text;
}

// A page from elsewhere in a browser on this machine may give its own name our address, and could
// read what is served then (DNS rebinding). Numbers and "localhost" are nobody's own name.
bool is_number(const std::string& host) {
  return host.empty() || server_address(host + ":0") || server_address("[" + host + "]:0");
}

// Call sites are those of Python where it has some, as in listings.
void prepare(Report& report) {
  label_gpus(report);
  choose_frames(report, {});
}

}  // namespace

std::string not_an_address(const std::string& given) {
  return server_address(given) ? ""
                               : "'" + given +
                                     "' is no [ADDRESS:]PORT such as 9847, 0.0.0.0:9847 or "
                                     "[::1]:9847 (port at most 65535)";
}

MetricsServer::MetricsServer(Wish wish)
    : wish_(std::move(wish)), watched_(wish_.find, prepare, wish_.keep) {}

LiveRowNames& MetricsServer::names_of(const Report& report) {
  constexpr std::size_t kMost = 32;  // programs that are made of other modules
  const std::string key = made_of(report);
  const auto found = names_.find(key);
  if (found != names_.end()) return *found->second;
  if (names_.size() >= kMost) names_.clear();
  return *names_.emplace(key, std::make_unique<LiveRowNames>(names_from_symbols())).first->second;
}

void MetricsServer::refresh() {
  constexpr int kShare = 5;
  const Clock::time_point begun = Clock::now();
  if (begun < next_reading_) return;
  watched_.read();
  texts_.clear();
  const Clock::duration taken = Clock::now() - begun;
  next_reading_ = begun + std::max<Clock::duration>(std::chrono::seconds(1), taken * kShare);
}

HttpAnswer MetricsServer::metrics(const HttpRequest& request) {
  const bool is_open = request.accept.find("application/openmetrics-text") != std::string::npos;
  const MetricsFormat format = is_open ? MetricsFormat::openmetrics : MetricsFormat::prometheus;
  refresh();
  Text& text = texts_[format];
  if (!text) {
    const auto names = [this](const Report& report) -> LiveRowNames& { return names_of(report); };
    text = std::make_shared<const std::string>(
        served_metrics(watched_, names, {.format = format, .most_sites = wish_.most_sites}));
  }
  return {.type = is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8",
          .body = text};
}

HttpAnswer MetricsServer::profile(const HttpRequest& request) {
  if (!why_no_protobuf().empty()) {
    return text_answer(501,
                       "this build is without protobuf: " + std::string(why_no_protobuf()) + "\n");
  }
  const std::optional<std::int64_t> pid = pid_in(request.query);
  if (!pid) return text_answer(400, "pid in '" + request.query + "' is no process number\n");
  refresh();
  Merger merger;
  std::size_t count = 0;
  std::optional<Report> only;
  for (const WatchedProgram* one : watched_.programs()) {
    const bool is_wanted = *pid != 0 ? one->process.pid == *pid : !one->end;
    if (!is_wanted || !one->report) continue;
    if (++count == 1) {
      only = *one->report;
      continue;
    }
    if (count == 2) merger.add(std::move(*only));
    merger.add(Report(*one->report));
  }
  if (count == 0) {
    return text_answer(404, (*pid == 0 ? "no program is recorded now"
                                       : "no program " + std::to_string(*pid) + " is recorded") +
                                std::string(", or its live file cannot be read\n"));
  }
  const Exported exported(count == 1 ? std::move(*only) : merger.finish(), Cost::leaked, {},
                          names_from_symbols());
  return {.type = "application/octet-stream",
          .body = std::make_shared<const std::string>(pprof_profile(exported))};
}

HttpAnswer MetricsServer::answer(const HttpRequest& request) {
  if (is_for_this_machine_ && !is_number(request.host)) {
    return text_answer(403,
                       "'" + harmless(request.host) +
                           "' is not asked here: use 127.0.0.1, localhost or another --listen\n");
  }
  if (request.path == kMetricsPath) return metrics(request);
  if (request.path == kProfilePath) return profile(request);
  if (request.path == "/") return text_answer(200, kIndex);
  return text_answer(404, std::string("nothing is there; ") + kIndex);
}

std::string MetricsServer::serve(const ListeningSocket& socket, int stop) {
  is_for_this_machine_ = is_loopback(socket.address());
  const HttpService service{
      .answer = [this](const HttpRequest& request) { return answer(request); },
      .look = [this] { watched_.look(LookFor::in_folders); }};
  return serve_http(socket.number(), service, stop);
}

}  // namespace vramscope
