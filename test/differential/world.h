// What the program of a sequence has, as it knows it: memory, streams, contexts, graphs.
// SPDX-License-Identifier: Apache-2.0
//
// Everything here follows from the sequence and the driver's codes, so it is the same with and
// without us. It keeps a sequence within what CUDA defines, whichever lines are taken out of it:
// work that would race waits first, and a line whose things are not there is skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "test/differential/doors.h"

namespace vramscope::differential {

inline constexpr int kNone = -1;
inline constexpr int kEnded = -2;         // a stream that ended: no other is in order with its work
inline constexpr std::size_t kSites = 8;  // functions that allocations are made from

// As reports call them; `none`: memory that reports do not list.
enum class MemoryKind : std::uint8_t {
  device,
  managed,
  stream_ordered,
  pinned,
  registered,
  mapping,
  address_range,
  physical,
  array,
  imported,
  graph,
  none
};
inline constexpr std::size_t kMemoryKinds = static_cast<std::size_t>(MemoryKind::none);
[[nodiscard]] const char* name_of(MemoryKind kind);

// Where work runs: a stream of a context, as the thread means it that submits.
struct Queue {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  int thread = kNone;  // of a per-thread default stream
  friend bool operator==(const Queue&, const Queue&) = default;
};

// Bytes are written and looked at in two spots of a memory: its head and its tail.
enum class Spot : std::uint8_t { head, tail };
inline constexpr std::size_t kSpotBytes = 1024;

struct Memory {
  MemoryKind kind = MemoryKind::none;
  std::uint64_t address = 0;  // of its last life when it is not live
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;  // of physical memory and arrays
  bool live = false;
  std::uint64_t life = 0;  // counts up with each allocation
  int device = 0;          // 0 for memory of the host
  int context = kNone;
  int site = kNone;
  std::array<bool, 2> written{};  // by spot
  std::vector<Queue> pending;     // where work with it may not have finished
  int pool = kNone;
  int backing = kNone;     // of a mapping: its physical memory
  int references = 0;      // of physical memory: handles that the program did not release
  bool accessible = true;  // for copies and sets
  bool direct = false;     // got from the driver in every mode: not ours to keep back
  int shelf = kNone;       // where other processes find it, or found it
  int node = kNone;        // of a graph, whose launch left it behind: that counts, not this
};

// What an allocation node of a graph stands for. It may count from a launch to a trim, and while a
// launch has left it behind: graphs share memory, and only the driver knows which.
struct GraphNode {
  Memory memory;            // its form; `pending`: the free of what the last launch left behind
  Memory* named = nullptr;  // what a launch leaves behind; null: the graph frees it
  bool held = false;
  bool left = false;
};

struct Context {
  CUcontext handle = nullptr;
  bool alive = false;
  bool primary = false;
  int device = 0;
  int attached = 0;
  unsigned peers = 0;            // devices whose memory it may use, a bit each, beside its own
  bool freed_in_flight = false;  // some of its memory was, while another context worked with it
};

// A life of a memory that a graph names, and the spots that its nodes write.
struct GraphUse {
  Memory* memory;
  std::uint64_t life;
  std::array<bool, 2> writes{};
};

struct Stream {
  CUstream handle = nullptr;
  int context = kNone;
  bool alive = false;
  bool capturing = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  int thread = 0;              // that began the capture
  std::vector<GraphUse> uses;  // by the capture that is open
  std::vector<int> nodes;
};

struct Graph {
  CUgraph handle = nullptr;
  CUgraphExec executable = nullptr;
  bool alive = false;
  int context = kNone;
  std::vector<GraphUse> uses;
  std::vector<int> nodes;
};

struct Pool {
  CUmemoryPool handle = nullptr;
  bool alive = false;
  int device = 0;
};
struct Event {
  CUevent handle = nullptr;
  bool alive = false;
  int context = kNone;
  Queue recorded;
};

// Threads: the one whose turn it is; lines that run together touch different slots, and `sums`.
struct World {
  std::map<std::string, Memory> memories;  // "a3", "h0", ...: all made before the first call
  std::array<Context, 8> contexts;
  std::array<Stream, 24> streams;
  std::array<Graph, 8> graphs;
  std::array<Graph, 8> executables;
  std::array<Pool, 4> pools;
  std::array<Event, 8> events;
  std::deque<GraphNode> nodes;
  std::array<CUmodule, 4> modules{};
  bool profiled = false;
  bool initialised = false;
  bool has_handler = false;   // of its own for the signal that asks for reports
  std::string mode;           // ours; empty: none
  std::string folder;         // for reports
  bool asks_once = false;     // a request that is refused is not made again
  bool together = false;      // several lines run at the moment
  bool records = false;       // captures of theirs are among them
  int broken_device = kNone;  // answers an error from now on

  [[nodiscard]] Memory& memory(const std::string& name) { return memories.at(name); }
  [[nodiscard]] GraphNode& node(int number) { return nodes[static_cast<std::size_t>(number)]; }
  // Those of graphs' nodes, too.
  template <class Visit>
  void for_each_memory(Visit visit) {
    for (auto& [name, memory] : memories) visit(memory);
    for (GraphNode& node : nodes) visit(node.memory);
  }
  [[nodiscard]] int find_context(CUcontext handle) const;
  [[nodiscard]] int find_stream(CUstream handle) const;
  [[nodiscard]] bool is_capturing() const;
  // A capture that makes calls fail which may be unsafe.
  [[nodiscard]] bool is_capturing_strictly() const;
  [[nodiscard]] int graph_count() const;
  void note_graph() { held_lives = lives; }
  // A graph ended, or several: with the last one goes what was kept back.
  void note_graph_end() {
    if (graph_count() == 0) held.clear();
  }
  // What lives at the address, or null.
  [[nodiscard]] const Memory* at(std::uint64_t address) const;
  [[nodiscard]] std::string relation(std::uint64_t address) const;  // "a3+512", "h1", "unknown"

  // What the program knows of how much it has; for reports.
  struct Sum {
    std::int64_t live = 0;
    std::int64_t peak = 0;
    std::uint64_t made = 0;   // allocations that succeeded
    std::uint64_t count = 0;  // of them, those that live
  };
  struct SiteBytes {
    std::int64_t live = 0;
    std::int64_t of_graphs = 0;  // of these, memory of graphs
  };
  std::mutex mutex;                                     // guards what follows
  std::array<std::array<Sum, kMemoryKinds>, 4> sums{};  // by device and kind
  std::array<SiteBytes, kSites> by_site{};
  std::uint64_t held_bytes = 0;  // freed while a capture or a graph was there
  struct Held {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    int context = kNone;
  };
  std::vector<Held> held;                 // those that a graph may name
  std::uint64_t freed_beside_graphs = 0;  // blocks, until free memory is asked without any
  bool runs_out = false;  // memory did, or may have unseen: then nothing is kept back for graphs
  std::uint64_t lives = 0;
  std::uint64_t held_lives = 0;  // those that began before the last graph may be named by it

  // A memory begins or ends; callers hold the mutex.
  void count_at_site(const Memory& memory, std::int64_t bytes);
  void count_begin(const Memory& memory);
  void count_end(const Memory& memory);
  void note_peaks();  // once no other thread is at work
  void begin(Memory& memory, MemoryKind kind, std::uint64_t address, std::uint64_t bytes,
             int device, int context, int site);
  void end(Memory& memory);
  void end_context(int context);
  // An executable that has the nodes was launched, or a trim came; a launch left one behind.
  void hold(const std::vector<int>& of, bool held);
  void leave_behind(int node, const Queue& queue);

 private:
  template <class Change>
  void change(GraphNode& node, Change what);  // callers hold the mutex
};

// Live mappings of one physical memory: work with one of them is work with each.
[[nodiscard]] inline bool has_same_bytes(const Memory& mapping, const Memory& other) {
  return other.live && other.kind == MemoryKind::mapping && other.backing == mapping.backing;
}
// README, "Modes": a free waits for peers of the memory's device, so nobody else of another device
// may work with it.
[[nodiscard]] bool may_use(const World& world, CUcontext context, const Memory& memory);
// Work with the memory was submitted, outside of captures.
void note_work(World& world, Memory& memory, const Queue& queue);
// Waits for the work that may not have finished in another queue than `queue`. False: it may not
// be waited for now (a capture), so nothing must touch the memory.
[[nodiscard]] bool settle(World& world, Memory& memory, const Queue* queue);
// The same before a free, which waits for the memory's own context and for other devices: work of
// other contexts of its device must be over.
[[nodiscard]] bool settle_for_free(World& world, Memory& memory);
// The same for everything that ends with a context: what other contexts do with it must be over.
[[nodiscard]] bool settle_context(World& world, int context);
void finished(World& world, const Queue& queue);
void finished_context(World& world, CUcontext context);
void finished_all(World& world);
// Where other processes find memory: before the first of them begins.
void make_shelves();
// Other processes may look at what was given to them: true when no work with it is left.
[[nodiscard]] bool settle_shared(World& world);
// A memory that was given to other processes has ended (calls_sharing.cpp). `kept_back`: a graph
// may use it, so with us it can be opened for longer.
void note_end_of_shared(const Memory& memory, bool kept_back);

}  // namespace vramscope::differential
