// libevent reads requests and writes answers in one thread, so that no client waits for another.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/http_server.h"

#ifdef VRAMSCOPE_HAS_LIBEVENT

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <exception>
#include <new>
#include <vector>

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostHeaderBytes = 8192;
constexpr std::size_t kMostBodyBytes = 4096;
constexpr std::chrono::milliseconds kSweep{250};

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Base = std::unique_ptr<event_base, Freed<event_base_free>>;
using Http = std::unique_ptr<evhttp, Freed<evhttp_free>>;
using Event = std::unique_ptr<event, Freed<event_free>>;

timeval timeval_of(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

std::string_view header(evhttp_request* request, const char* name) {
  const char* const found = evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return found == nullptr ? std::string_view() : found;
}

std::string text_or_none(const char* text) { return text == nullptr ? "" : text; }

// Ends a connection: evhttp sees the end, and closes the socket. What the client has not read is
// forgotten, which the system would keep otherwise.
void drop(int socket) {
  const linger nothing{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &nothing, sizeof nothing);
  shutdown(socket, SHUT_RDWR);
}

// The clients that are connected. libevent has no time limit for a whole request, only for each
// part of it: who sends a byte now and then would stay for ever.
class Clients {
 public:
  // Where there is no descriptor left for a client, the next sweep tries again: libevent would try
  // all the time.
  Clients(event_base* base, evconnlistener* listener) : base_(base), listener_(listener) {
    evconnlistener_set_error_cb(
        listener, [](evconnlistener* refused, void*) { evconnlistener_disable(refused); });
  }
  ~Clients() {
    for (const Client& client : clients_) bufferevent_decref(client.connection);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  // Without BEV_OPT_CLOSE_ON_FREE evhttp closes the socket itself, and the reference that is kept
  // here only tells that it did.
  bufferevent* add() {
    bufferevent* const connection = bufferevent_socket_new(base_, -1, 0);
    if (connection == nullptr) return nullptr;
    bufferevent_incref(connection);
    clients_.push_back({connection, Clock::now() + kPatience});
    if (clients_.size() >= kMostClients) evconnlistener_disable(listener_);
    return connection;
  }

  // Forgets those that evhttp has freed, and drops those who take too long.
  void sweep() {
    const Clock::time_point now = Clock::now();
    std::erase_if(clients_, [&](const Client& client) {
      bufferevent_data_cb read = nullptr;
      bufferevent_event_cb event = nullptr;
      bufferevent_getcb(client.connection, &read, nullptr, &event, nullptr);
      if (read == nullptr && event == nullptr) {
        bufferevent_decref(client.connection);
        return true;
      }
      if (now >= client.deadline) drop(bufferevent_getfd(client.connection));
      return false;
    });
    if (clients_.size() < kMostClients) evconnlistener_enable(listener_);
  }

 private:
  struct Client {
    bufferevent* connection;
    Clock::time_point deadline;
  };
  event_base* base_;
  evconnlistener* listener_;
  std::vector<Client> clients_;
};

HttpAnswer text_answer(int status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

HttpAnswer answer_to(evhttp_request* request, const HttpService& service) {
  const evhttp_cmd_type command = evhttp_request_get_command(request);
  if (command != EVHTTP_REQ_GET && command != EVHTTP_REQ_HEAD) {
    return text_answer(405, "only GET and HEAD are answered\n");
  }
  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  if (uri == nullptr) return text_answer(400, "the address in the request is none\n");
  try {
    return service.answer({.path = text_or_none(evhttp_uri_get_path(uri)),
                           .query = text_or_none(evhttp_uri_get_query(uri)),
                           .accept = std::string(header(request, "Accept")),
                           .host = text_or_none(evhttp_request_get_host(request))});
  } catch (const std::bad_alloc&) {
    return text_answer(500, "out of memory\n");
  } catch (const std::exception& error) {
    return text_answer(500, std::string(error.what()) + "\n");
  }
}

using Body = std::shared_ptr<const std::string>;

void release_body(const void*, std::size_t, void* body) { delete static_cast<Body*>(body); }

void send(evhttp_request* request, const HttpAnswer& answer) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", answer.type.c_str());
  evhttp_add_header(headers, "Connection", "close");
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  const std::string bytes = std::to_string(answer.body->size());
  evhttp_add_header(headers, "Content-Length", bytes.c_str());
  if (answer.status == 405) evhttp_add_header(headers, "Allow", "GET, HEAD");
  if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
    evbuffer_add_reference(evhttp_request_get_output_buffer(request), answer.body->data(),
                           answer.body->size(), release_body, new Body(answer.body));
  }
  evhttp_send_reply(request, answer.status, nullptr, nullptr);
}

void set_limits(evhttp* http) {
  constexpr unsigned kAll = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                            EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
                            EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;
  evhttp_set_allowed_methods(http, kAll);  // others than GET and HEAD get 405, not libevent's 501
  evhttp_set_max_headers_size(http, kMostHeaderBytes);
  evhttp_set_max_body_size(http, kMostBodyBytes);
  // Clients drops those who take too long; who is forgotten there is not forgotten here.
  evhttp_set_timeout(http, static_cast<int>(2 * kPatience.count()));
}

struct Server {
  const HttpService& service;
  Base base = Base(event_base_new());
  std::unique_ptr<Clients> clients = {};
};

Event every(Server& server, std::chrono::milliseconds time, event_callback_fn act) {
  Event timer(event_new(server.base.get(), -1, EV_PERSIST, act, &server));
  const timeval interval = timeval_of(time);
  if (timer) event_add(timer.get(), &interval);
  return timer;
}

void look(evutil_socket_t, short, void* server) {
  const HttpService& service = static_cast<Server*>(server)->service;
  try {
    if (service.look) service.look();
  } catch (const std::exception&) {  // no memory now: the next look may have some
  }
}

void sweep(evutil_socket_t, short, void* server) { static_cast<Server*>(server)->clients->sweep(); }

}  // namespace

std::string_view why_no_server() noexcept { return ""; }

std::string serve_http(int listening, const HttpService& service, int stop) {
  event_set_log_callback([](int, const char*) {});
  Server server{service};
  Http http(server.base ? evhttp_new(server.base.get()) : nullptr);
  const int own = fcntl(listening, F_DUPFD_CLOEXEC, 0);  // evhttp closes it
  evhttp_bound_socket* const bound =
      http && own >= 0 ? evhttp_accept_socket_with_handle(http.get(), own) : nullptr;
  if (bound == nullptr) return "cannot serve: there is not enough memory";
  server.clients =
      std::make_unique<Clients>(server.base.get(), evhttp_bound_socket_get_listener(bound));
  set_limits(http.get());
  evhttp_set_bevcb(
      http.get(), [](event_base*, void* clients) { return static_cast<Clients*>(clients)->add(); },
      server.clients.get());
  evhttp_set_gencb(
      http.get(),
      [](evhttp_request* request, void* argument) {
        send(request, answer_to(request, *static_cast<const HttpService*>(argument)));
      },
      const_cast<HttpService*>(&service));
  const Event looking = every(server, service.interval, look);
  const Event sweeping = every(server, kSweep, sweep);
  Event stopping;
  if (stop >= 0) {
    stopping.reset(event_new(
        server.base.get(), stop, EV_READ,
        [](evutil_socket_t, short, void* base) {
          event_base_loopbreak(static_cast<event_base*>(base));
        },
        server.base.get()));
    event_add(stopping.get(), nullptr);
  }
  event_base_dispatch(server.base.get());
  return "";
}

}  // namespace vramscope

#else

namespace vramscope {

std::string_view why_no_server() noexcept {
  return "at build time, libevent-dev was missing or disabled";
}

std::string serve_http(int, const HttpService&, int) {
  return "this build has no server: " + std::string(why_no_server());
}

}  // namespace vramscope

#endif
