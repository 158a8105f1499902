// Chooses the reader by the first bytes, and makes a trace of what was read.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/imports.h"

#include <algorithm>
#include <memory>
#include <new>

#include "reporter/record/trace/trace.h"
#include "reporter/report/files/input_file.h"
#include "reporter/view/import/gzip.h"
#include "reporter/view/import/json_pickle.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfImport = std::size_t{4} << 30;

// A snapshot of text and numbers becomes a twentieth of its size: what becomes smaller still, and
// large when it is unpacked, is no snapshot.
constexpr std::size_t kMostUnpackedAtLeast = std::size_t{64} << 20;
constexpr std::size_t kMostTimes = 256;
constexpr std::size_t kHead = 256;         // of a file: RMM's titles
constexpr std::size_t kPackedHead = 4096;  // what they take at most when packed

// Protocol 2 begins with the dictionary, or the list of segments; later ones with a frame, or with
// these where they are short.
bool is_pickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
         (head[2] == '}' || head[2] == ']' || head[2] == '\x95');
}

bool is_rmm_log(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.find("Action,Pointer,Size") != line.npos;
}

bool is_snapshot(std::string_view head) { return is_pickle(head) || is_json_snapshot(head); }

std::string wrong_beginning(std::string_view head) {
  if (is_gzip(head) || is_snapshot(head) || is_rmm_log(head)) return "";
  return "byte 0: expected a pickle, a snapshot as JSON or RMM's log";
}

// What the file begins with, unpacked.
std::string head_of(const std::string& path) {
  const std::string head = beginning_of(path, kPackedHead);
  return is_gzip(head) ? beginning_of_gzip(head, kHead) : head.substr(0, kHead);
}

// What is wrong with it, or "".
std::string unpack(std::string& text) {
  const std::size_t most =
      std::min(kMostOfImport, std::max(kMostUnpackedAtLeast, text.size() * kMostTimes));
  const std::string_view packed = text;
  const std::string problem = wrong_beginning(beginning_of_gzip(packed, kHead));
  if (!problem.empty()) return problem + ", unpacked";
  Unpacked unpacked = unpack_gzip(packed, most);
  text = std::move(unpacked.text);
  return unpacked.problem;
}

class TextSink final : public ChunkSink {
 public:
  explicit TextSink(std::string& text) : text_(text) {}
  bool write(std::span<const std::byte> head, std::span<const std::byte> bytes) noexcept override {
    try {
      for (const auto part : {head, bytes}) {
        text_.append(reinterpret_cast<const char*>(part.data()), part.size());
      }
      return true;
    } catch (const std::bad_alloc&) {
      return is_whole_ = false;
    }
  }
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  std::string& text_;
  bool is_whole_ = true;
};

TraceEvent trace_event(const ImportedEvent& from, std::uint64_t serial) {
  using enum ImportedEvent::What;
  TraceEvent one;
  one.thread = from.thread;
  Event& event = one.event;
  const bool is_free = from.what == went;
  one.what = from.what == came ? trace::What::came
             : is_free         ? trace::What::went
                               : trace::What::call;
  event.effect = is_free ? Effect::release : Effect::allocate;
  event.function = is_free ? 1 : 0;
  event.served = Served::hit;
  event.failed = from.what == refused;
  event.change = from.what == came ? MemoryChange::came
                 : is_free         ? MemoryChange::went
                                   : MemoryChange::none;
  event.place = from.place;
  event.tag = from.tag;
  event.address = from.address;
  event.bytes = from.bytes;
  event.start_ns = from.time_ns;
  event.serial = from.what == refused ? 0 : serial;
  return one;
}

}  // namespace

bool is_import(const std::string& path) {
  const std::string head = head_of(path);
  return is_snapshot(head) || is_rmm_log(head);
}

bool is_memory_snapshot(const std::string& path) { return is_snapshot(head_of(path)); }

std::variant<ImportedRun, FileError> read_import(const std::string& path) noexcept {
  try {
    InputFile file = read_file(path, {.noun = "a memory snapshot or a log",
                                      .most_bytes = kMostOfImport,
                                      .wrong_beginning = wrong_beginning});
    ImportedRun run;
    run.path = path;
    std::string problem = file.problem;
    if (problem.empty() && is_gzip(file.text)) problem = unpack(file.text);
    if (problem.empty() && is_json_snapshot(file.text)) {
      file.text = pickle_of_json(file.text);
      if (file.text.empty()) problem = "expected JSON to its end, with texts of at most 1 MiB";
    }
    if (problem.empty()) {
      problem =
          is_pickle(file.text) ? read_torch_snapshot(file.text, run) : read_rmm_log(file.text, run);
      if (problem.empty()) return run;
    }
    return FileError{"cannot read '" + path + "': " + problem};
  } catch (const std::bad_alloc&) {
    return FileError{};
  }
}

std::string trace_of_import(const ImportedRun& run) {
  const auto head = trace_head();
  std::string bytes(reinterpret_cast<const char*>(head.data()), head.size());
  auto sink = std::make_unique<TextSink>(bytes);
  const TextSink& written = *sink;
  Trace trace(std::move(sink), {});
  const std::uint64_t begin = run.events.empty() ? 0 : run.events.front().time_ns;
  trace.begin({.executable = run.path,
               .mode = "imported",
               .tool_version = VRAMSCOPE_VERSION,
               .wall_ns = run.has_dates ? begin : 0,
               .clock_ns = begin},
              {"alloc", "free"});
  trace.write_names(run.names, trace.known());
  TraceLane* lane = nullptr;
  std::uint64_t serial = 0;
  for (const ImportedEvent& event : run.events) {
    if (event.what != ImportedEvent::What::refused) ++serial;
    trace.add(lane, trace_event(event, serial));
  }
  trace.write_events();
  static_cast<void>(trace.write_mark());
  if (!written.is_whole()) throw std::bad_alloc();
  return bytes;
}

}  // namespace vramscope
