// Verbs that write memory and look at it: sets, copies, sums of bytes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

struct Range {
  std::uint64_t address;
  std::uint64_t bytes;
};

Spot spot_of(const Memory& memory, const std::string& word) {
  const bool has_tail = memory.bytes >= 2 * kSpotBytes;
  return word == "tail" && has_tail ? Spot::tail : Spot::head;
}

Range range_of(const Memory& memory, Spot spot) {
  const std::uint64_t bytes = std::min<std::uint64_t>(memory.bytes, kSpotBytes);
  return {spot == Spot::head ? memory.address : memory.address + memory.bytes - bytes, bytes};
}

bool is_on_host(const Memory& memory) {
  return memory.kind == MemoryKind::pinned || memory.kind == MemoryKind::registered;
}

bool& written(Memory& memory, Spot spot) { return memory.written[static_cast<std::size_t>(spot)]; }

bool has_bytes(Turn& turn, const Memory& memory) {
  const bool none = memory.kind == MemoryKind::physical || memory.kind == MemoryKind::array ||
                    memory.kind == MemoryKind::address_range;
  const bool is_there = memory.live && memory.bytes != 0 && memory.accessible;
  if (is_there && !none && !has_lost_its_bytes(memory)) return true;
  turn.skip("no bytes");
  return false;
}

Queue queue_of(const Turn& turn, CUstream stream) {
  const bool per_thread = turn.way() == Way::dlsym_thread || turn.way() == Way::proc_thread;
  return {.context = current_context(),
          .stream = stream,
          .thread = stream == nullptr && per_thread ? turn.thread() : kNone};
}

struct Submission {
  CUstream stream = nullptr;
  Stream* known = nullptr;  // null: a default stream
  Queue queue;
};

// The stream that a word names: "s3", or "-" for the default stream.
bool read_stream(Turn& turn, std::size_t at, Submission& to) {
  if (turn.word(at) != "-") {
    to.known = &turn.world.streams[turn.index(at)];
    if (!to.known->alive) {
      turn.skip("no stream");
      return false;
    }
    to.stream = to.known->handle;
  }
  to.queue = queue_of(turn, to.stream);
  if (to.known != nullptr) {
    to.queue.context = turn.world.contexts[static_cast<std::size_t>(to.known->context)].handle;
  }
  return true;
}

bool is_captured(const Submission& to) { return to.known != nullptr && to.known->capturing; }

// A node with the memory was captured, which writes the spot, or none.
void note_node(const Submission& to, Memory& memory, const Spot* spot) {
  GraphUse use{.memory = &memory, .life = memory.life};
  if (spot != nullptr) use.writes[static_cast<std::size_t>(*spot)] = true;
  to.known->uses.push_back(use);
}

// set a3 head|tail VALUE STREAM|now
void set(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!has_bytes(turn, memory)) return;
  const Spot spot = spot_of(memory, turn.word(1));
  const Range range = range_of(memory, spot);
  const auto value = static_cast<unsigned char>(turn.number(2));
  const bool now = turn.word(3) == "now";
  if (now && is_on_host(memory)) {
    if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
    std::memset(reinterpret_cast<void*>(range.address), value, range.bytes);
    written(memory, spot) = true;
    return turn.say("by the host");
  }
  Submission to;
  if (now) {
    to.queue = queue_of(turn, nullptr);
  } else if (!read_stream(turn, 3, to)) {
    return;
  }
  if (!may_use(turn.world, to.queue.context, memory)) return turn.skip("another device's");
  if (!is_captured(to) && !settle(turn.world, memory, &to.queue)) return turn.skip("busy");
  const CUresult code =
      now ? CU(cuMemsetD8_v2, turn.way(), range.address, value, range.bytes)
          : CU(cuMemsetD8Async, turn.way(), range.address, value, range.bytes, to.stream);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  if (is_captured(to)) return note_node(to, memory, &spot);
  written(memory, spot) = true;
  note_work(turn.world, memory, to.queue);
}

// copy a3 head|tail h1 head|tail STREAM|now: to, from
void copy(Turn& turn) {
  Memory& to_memory = turn.memory(0);
  Memory& from_memory = turn.memory(2);
  if (&to_memory == &from_memory) return turn.skip("itself");
  if (!has_bytes(turn, to_memory) || !has_bytes(turn, from_memory)) return;
  const Spot to_spot = spot_of(to_memory, turn.word(1));
  const Spot from_spot = spot_of(from_memory, turn.word(3));
  if (!written(from_memory, from_spot)) return turn.skip("nothing written");
  Range to_range = range_of(to_memory, to_spot);
  const Range from_range = range_of(from_memory, from_spot);
  const bool is_whole = from_range.bytes >= to_range.bytes;
  if (!is_whole && !written(to_memory, to_spot)) return turn.skip("too few bytes");
  const std::uint64_t bytes = std::min(to_range.bytes, from_range.bytes);
  const bool now = turn.word(4) == "now";
  Submission to;
  if (now) {
    to.queue = queue_of(turn, nullptr);
  } else if (!read_stream(turn, 4, to)) {
    return;
  }
  const bool allowed = may_use(turn.world, to.queue.context, to_memory) &&
                       may_use(turn.world, to.queue.context, from_memory);
  if (!allowed) return turn.skip("another device's");
  const bool captured = is_captured(to);
  const bool ready = captured || (settle(turn.world, to_memory, now ? nullptr : &to.queue) &&
                                  settle(turn.world, from_memory, now ? nullptr : &to.queue));
  if (!ready) return turn.skip("busy");
  const CUresult code =
      now ? CU(cuMemcpy, turn.way(), to_range.address, from_range.address, bytes)
          : CU(cuMemcpyAsync, turn.way(), to_range.address, from_range.address, bytes, to.stream);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  if (captured) {
    note_node(to, from_memory, nullptr);
    return note_node(to, to_memory, &to_spot);
  }
  written(to_memory, to_spot) = true;
  note_work(turn.world, to_memory, to.queue);
  note_work(turn.world, from_memory, to.queue);
}

std::uint64_t sum_of(const std::vector<unsigned char>& bytes) {
  std::uint64_t sum = 14695981039346656037U;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211U;
  return sum % 1'000'000'007U;
}

// check a3 head|tail: what the bytes add up to once all work with them is done
void check(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!has_bytes(turn, memory)) return;
  const Spot spot = spot_of(memory, turn.word(1));
  if (!written(memory, spot)) return turn.skip("nothing written");
  if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
  const Range range = range_of(memory, spot);
  std::vector<unsigned char> bytes(range.bytes);
  if (is_on_host(memory)) {
    std::memcpy(bytes.data(), reinterpret_cast<void*>(range.address), range.bytes);
  } else {
    const CUresult code = CU(cuMemcpy, turn.way(), reinterpret_cast<CUdeviceptr>(bytes.data()),
                             range.address, range.bytes);
    turn.code(code);
    if (code != CUDA_SUCCESS) return;
  }
  const bool is_one_byte =
      std::all_of(bytes.begin(), bytes.end(), [&](unsigned char b) { return b == bytes[0]; });
  turn.say(is_one_byte ? "bytes" : "sum", is_one_byte ? bytes[0] : sum_of(bytes));
}

}  // namespace

void add_copy_verbs(Verbs& verbs) {
  verbs["set"] = set;
  verbs["copy"] = copy;
  verbs["check"] = check;
}

}  // namespace vramscope::differential
