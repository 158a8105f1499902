// Keeps what the program has.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/world.h"

#include <algorithm>

namespace vramscope::differential {

const char* name_of(MemoryKind kind) {
  constexpr const char* kNames[] = {"device",     "managed",  "stream_ordered", "pinned",
                                    "registered", "mapping",  "address_range",  "physical",
                                    "array",      "imported", "graph",          "none"};
  return kNames[static_cast<std::size_t>(kind)];
}

int World::find_context(CUcontext handle) const {
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    if (contexts[i].alive && contexts[i].handle == handle) return static_cast<int>(i);
  }
  return kNone;
}

int World::find_stream(CUstream handle) const {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].alive && streams[i].handle == handle) return static_cast<int>(i);
  }
  return kNone;
}

bool World::is_capturing() const {
  return std::any_of(streams.begin(), streams.end(),
                     [](const Stream& s) { return s.alive && s.capturing; });
}

bool World::is_capturing_strictly() const {
  return std::any_of(streams.begin(), streams.end(), [](const Stream& s) {
    return s.alive && s.capturing && s.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  });
}

int World::graph_count() const {
  const auto alive = [](const Graph& g) { return g.alive; };
  return static_cast<int>(std::count_if(graphs.begin(), graphs.end(), alive) +
                          std::count_if(executables.begin(), executables.end(), alive));
}

const Memory* World::at(std::uint64_t address) const {
  for (const auto& [name, memory] : memories) {
    const bool has_address =
        memory.kind != MemoryKind::physical && memory.kind != MemoryKind::array;
    if (memory.live && has_address && address - memory.address < memory.bytes) return &memory;
  }
  return nullptr;
}

std::string World::relation(std::uint64_t address) const {
  const Memory* const memory = at(address);
  if (memory == nullptr) return address == 0 ? "null" : "unknown";
  for (const auto& [name, known] : memories) {
    if (&known != memory) continue;
    return address == known.address ? name : name + "+" + std::to_string(address - known.address);
  }
  return "unknown";
}

void World::count_at_site(const Memory& memory, std::int64_t bytes) {
  if (memory.site == kNone) return;
  SiteBytes& site = by_site[static_cast<std::size_t>(memory.site)];
  site.live += bytes;
  if (memory.kind == MemoryKind::graph) site.of_graphs += bytes;
}

void World::count_begin(const Memory& memory) {
  if (memory.kind == MemoryKind::none) return;
  const auto bytes = static_cast<std::int64_t>(memory.bytes);
  Sum& sum = sums[static_cast<std::size_t>(memory.device)][static_cast<std::size_t>(memory.kind)];
  sum.live += bytes;
  // What threads free and allocate at the same time may have been there at the same time, or not.
  if (!together) sum.peak = std::max(sum.peak, sum.live);
  ++sum.made;
  ++sum.count;
  count_at_site(memory, bytes);
}

void World::note_peaks() {
  for (auto& device : sums) {
    for (Sum& sum : device) sum.peak = std::max(sum.peak, sum.live);
  }
}

void World::count_end(const Memory& memory) {
  if (memory.kind == MemoryKind::none) return;
  const auto bytes = static_cast<std::int64_t>(memory.bytes);
  Sum& sum = sums[static_cast<std::size_t>(memory.device)][static_cast<std::size_t>(memory.kind)];
  sum.live -= bytes;
  --sum.count;
  count_at_site(memory, -bytes);
}

void World::begin(Memory& memory, MemoryKind kind, std::uint64_t address, std::uint64_t bytes,
                  int device, int context, int site) {
  const std::lock_guard lock(mutex);
  memory = Memory{};
  memory.kind = kind;
  memory.address = address;
  memory.bytes = bytes;
  memory.live = true;
  memory.life = ++lives;
  memory.device = device;
  memory.context = context;
  memory.site = site;
  count_begin(memory);
}

void World::end(Memory& memory) {
  const std::lock_guard lock(mutex);
  if (!memory.live) return;
  memory.live = false;
  memory.written = {};
  if (!memory.pending.empty() && memory.context != kNone) {
    contexts[static_cast<std::size_t>(memory.context)].freed_in_flight = true;
  }
  memory.pending.clear();
  if (memory.node != kNone) {
    change(node(memory.node), [](GraphNode& one) { one.left = false; });
  }
  const bool may_be_kept = is_capturing() || graph_count() > 0 || records;
  if (memory.shelf != kNone) note_end_of_shared(memory, may_be_kept);
  count_end(memory);
  if (memory.kind == MemoryKind::device && may_be_kept) ++freed_beside_graphs;
  const bool is_named = !memory.direct && memory.life <= held_lives && graph_count() > 0;
  if (memory.kind == MemoryKind::device && is_named) {
    held.push_back({memory.address, memory.bytes, memory.context});
  }
  const bool may_be_held = memory.kind == MemoryKind::device || memory.kind == MemoryKind::pinned;
  if (may_be_held && !memory.direct && may_be_kept) held_bytes += memory.bytes;
}

template <class Change>
void World::change(GraphNode& node, Change what) {
  const bool before = node.held || node.left;
  what(node);
  const bool after = node.held || node.left;
  if (!before && after) count_begin(node.memory);
  if (before && !after) count_end(node.memory);
}

void World::hold(const std::vector<int>& of, bool held) {
  const std::lock_guard lock(mutex);
  for (const int number : of) {
    change(node(number), [held](GraphNode& one) { one.held = held; });
  }
}

void World::leave_behind(int number, const Queue& queue) {
  GraphNode& left = node(number);
  if (left.named == nullptr) return;
  Memory& memory = *left.named;
  begin(memory, MemoryKind::none, left.memory.address, left.memory.bytes, left.memory.device, kNone,
        kNone);
  memory.node = number;
  memory.written[static_cast<std::size_t>(Spot::head)] = true;
  memory.pending.push_back(queue);
  const std::lock_guard lock(mutex);
  change(left, [](GraphNode& one) { one.left = true; });
}

void World::end_context(int context) {
  for (auto& [name, memory] : memories) {
    const bool survives =
        memory.kind == MemoryKind::stream_ordered || memory.kind == MemoryKind::physical ||
        memory.kind == MemoryKind::mapping || memory.kind == MemoryKind::address_range;
    if (memory.live && memory.context == context && !survives) {
      memory.direct = true;  // nobody keeps it back: it is gone
      end(memory);
    }
  }
  for (Stream& stream : streams) {
    if (stream.context == context) stream.alive = stream.capturing = false;
  }
  for (Event& event : events) {
    if (event.context == context) event.alive = false;
  }
  for (Graph& executable : executables) {
    if (!executable.alive || executable.context != context) continue;
    executable.alive = false;
  }
  Context& ended = contexts[static_cast<std::size_t>(context)];
  finished_context(*this, ended.handle);
  std::erase_if(held, [&](const Held& one) { return one.context == context; });
  note_graph_end();
  ended.alive = false;
}

namespace {

CUresult wait_for(const Queue& queue) {
  CUcontext popped = nullptr;
  if (CU(cuCtxPushCurrent_v2, Way::linked, queue.context) != CUDA_SUCCESS) return CUDA_SUCCESS;
  const CUresult code = queue.stream != nullptr ? CU(cuStreamSynchronize, Way::linked, queue.stream)
                                                : CU(cuCtxSynchronize, Way::linked);
  CU(cuCtxPopCurrent_v2, Way::linked, &popped);
  return code;
}

}  // namespace

namespace {

bool is_current_ended(const World& world) {
  CUcontext current = nullptr;
  CU(cuCtxGetCurrent, Way::linked, &current);
  return current != nullptr && world.find_context(current) == kNone;
}

}  // namespace

bool may_use(const World& world, CUcontext context, const Memory& memory) {
  const int number = world.find_context(context);
  if (memory.kind != MemoryKind::device || number == kNone) return true;
  const Context& user = world.contexts[static_cast<std::size_t>(number)];
  return user.device == memory.device || (user.peers >> memory.device & 1U) != 0;
}

void note_work(World& world, Memory& memory, const Queue& queue) {
  const auto note = [&](Memory& one) {
    std::erase(one.pending, queue);
    one.pending.push_back(queue);
  };
  if (memory.kind != MemoryKind::mapping) return note(memory);
  for (auto& [name, other] : world.memories) {
    if (has_same_bytes(memory, other)) note(other);
  }
}

namespace {

bool settle_one(World& world, Memory& memory, const Queue& queue) {
  if (world.is_capturing()) return false;
  if (world.find_context(queue.context) != kNone) {
    if (is_current_ended(world)) return false;  // a pop must not come back to it
    if (wait_for(queue) != CUDA_SUCCESS) return false;
  }
  std::erase(memory.pending, queue);
  if (queue.stream == nullptr) {
    finished_context(world, queue.context);
  } else {
    finished(world, queue);
  }
  return true;
}

bool is_waited_for(const World& world, const Memory& memory, const Queue& queue) {
  const int user = world.find_context(queue.context);
  if (user == kNone || user == memory.context) return true;
  const bool on_host = memory.kind == MemoryKind::pinned || memory.kind == MemoryKind::managed;
  const int home = on_host && memory.context != kNone
                       ? world.contexts[static_cast<std::size_t>(memory.context)].device
                       : memory.device;
  return world.contexts[static_cast<std::size_t>(user)].device != home;
}

}  // namespace

bool settle(World& world, Memory& memory, const Queue* queue) {
  while (!memory.pending.empty()) {
    const Queue first = memory.pending.front();
    if (queue != nullptr && first == *queue && memory.pending.size() == 1) return true;
    if (!settle_one(world, memory, first)) return false;
  }
  return true;
}

bool settle_for_free(World& world, Memory& memory) {
  const std::vector<Queue> pending = memory.pending;
  return std::ranges::all_of(pending, [&](const Queue& queue) {
    return is_waited_for(world, memory, queue) || settle_one(world, memory, queue);
  });
}

bool settle_context(World& world, int context) {
  if (context == kNone) return true;
  // README, "Modes": at-reuse has not waited for that work, and a capture forbids it.
  if (world.contexts[static_cast<std::size_t>(context)].freed_in_flight && world.is_capturing()) {
    return false;
  }
  for (auto& [name, memory] : world.memories) {
    const bool ends = memory.live && memory.context == context;
    if (ends && !settle(world, memory, nullptr)) return false;
  }
  return true;
}

bool settle_shared(World& world) {
  for (auto& [name, memory] : world.memories) {
    if (memory.live && memory.shelf != kNone && !settle(world, memory, nullptr)) return false;
  }
  return true;
}

namespace {

template <class Is>
void finished_where(World& world, Is is) {
  if (world.together) return;  // the others keep what they know
  world.for_each_memory([&](Memory& memory) { std::erase_if(memory.pending, is); });
}

}  // namespace

void finished(World& world, const Queue& queue) {
  finished_where(world, [&](const Queue& one) { return one == queue; });
}

void finished_context(World& world, CUcontext context) {
  finished_where(world, [&](const Queue& one) { return one.context == context; });
}

void finished_all(World& world) {
  finished_where(world, [](const Queue&) { return true; });
}

}  // namespace vramscope::differential
