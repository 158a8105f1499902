// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/json_pickle.h"

#include <bit>
#include <cstdint>

#include "reporter/report/json_events.h"
#include "reporter/view/import/pickle.h"

namespace vramscope {
namespace {

constexpr int kDeepest = 64;

// Writes what the parser finds, with instructions of protocol 2. Threads: one.
class PickleBytes {
 public:
  bool null() { return put('N'); }
  bool boolean(bool value) { return put(value ? '\x88' : '\x89'); }
  bool number_integer(std::int64_t value) {
    put_long(static_cast<std::uint64_t>(value), sizeof value);
    return true;
  }
  // A ninth byte keeps the largest ones above 0.
  bool number_unsigned(std::uint64_t value) {
    put_long(value, sizeof value + 1);
    return true;
  }
  bool number_float(double value, const std::string&) {
    put('G');
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int byte = 7; byte >= 0; --byte) put(static_cast<char>(bits >> (8 * byte)));
    return true;
  }
  bool string(std::string_view text) {
    if (text.size() > Pickle::kLongestText) return false;
    put('X');
    for (int byte = 0; byte < 4; ++byte) put(static_cast<char>(text.size() >> (8 * byte)));
    bytes_ += text;
    return true;
  }
  bool key(std::string_view name) { return string(name); }
  bool start_object(std::size_t) { return begin('}'); }
  bool end_object() { return end('u'); }
  bool start_array(std::size_t) { return begin(']'); }
  bool end_array() { return end('e'); }

  [[nodiscard]] std::string take() && {
    put('.');
    return std::move(bytes_);
  }

 private:
  bool put(char byte) {
    bytes_ += byte;
    return true;
  }
  void put_long(std::uint64_t value, std::size_t bytes) {
    put('\x8a');
    put(static_cast<char>(bytes));
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      put(byte < sizeof value ? static_cast<char>(value >> (8 * byte)) : '\0');
    }
  }
  // The container, and a mark behind which its values are.
  bool begin(char container) {
    bytes_ += container;
    bytes_ += '(';
    return ++depth_ <= kDeepest;
  }
  bool end(char adds) {
    --depth_;
    return put(adds);
  }

  std::string bytes_ = "\x80\x02";
  int depth_ = 0;
};

std::string_view without_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

}  // namespace

bool is_json_snapshot(std::string_view head) {
  head = without_space(head);
  if (!head.starts_with('{')) return false;
  head = without_space(head.substr(1));
  for (const std::string_view member :
       {"\"segments\"", "\"device_traces\"", "\"host_segments\"", "\"host_traces\"",
        "\"allocator_settings\"", "\"external_annotations\""}) {
    if (head.starts_with(member)) return true;
  }
  return false;
}

std::string pickle_of_json(std::string& text) {
  PassedText passed(text, true);
  PickleBytes bytes;
  return parsed_quickly(text, passed, bytes) ? std::move(bytes).take() : "";
}

}  // namespace vramscope
