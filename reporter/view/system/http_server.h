// HttpServer answers clients that get pages by HTTP, by libevent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace vramscope {

// Returns "", or why this build has no server.
[[nodiscard]] std::string_view why_no_server() noexcept;

struct HttpRequest {
  std::string path;    // "/metrics", without the query
  std::string query;   // behind the question mark, as it was sent; "": none
  std::string accept;  // the header; "": none
  std::string host;    // for which name or address it was asked, without the port; "": none
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  // All clients that get it share it, so that those who do not read take no memory.
  std::shared_ptr<const std::string> body;
};

struct HttpService {
  // Answers GET and HEAD. What it throws is answered with 500.
  std::function<HttpAnswer(const HttpRequest&)> answer = {};
  // Called each `interval`. What it throws is ignored.
  std::function<void()> look = {};
  std::chrono::milliseconds interval{1000};
};

// At most kMostClients are connected; the system keeps others waiting. A client has kPatience to
// send its request, of at most 8 KiB and a body of 4 KiB, and to read its answer.
inline constexpr std::size_t kMostClients = 256;
inline constexpr std::chrono::seconds kPatience{10};

// Serves until `stop` can be read; -1: for ever. listening: the number of a ListeningSocket.
// Returns "", or why it cannot serve. Takes no thread of its own and handles no signal, but
// SIGPIPE has to be ignored. Threads: one, the only one of the process.
[[nodiscard]] std::string serve_http(int listening, const HttpService& service, int stop);

}  // namespace vramscope
