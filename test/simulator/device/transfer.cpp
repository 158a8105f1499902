// Checks a box against the memory table, then moves its bytes on the stream's own thread.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/transfer.h"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "test/simulator/device/virtual_memory.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr unsigned kRead = CU_MEM_ACCESS_FLAGS_PROT_READ;
constexpr unsigned kWrite = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

using Life = std::shared_ptr<std::atomic<bool>>;  // true: it is over

struct Endpoint {
  CUresult result = CUDA_SUCCESS;
  std::byte* bytes = nullptr;
  Life life = nullptr;  // of memory that a free may take away under the work; null: of other memory
  bool pageable = false;
  bool host_visible = false;  // the program can see the bytes without a further copy
};

// Lives of memory, by buffer id, that work is on its way to: each tells whether it has ended.
// Threads: any.
class Awaited {
 public:
  Life await(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<std::atomic<bool>>& known = lives_[id];
    if (auto life = known.lock()) return life;
    const Life life(new std::atomic<bool>(false), [this, id](std::atomic<bool>* over) {
      delete over;
      forget(id);
    });
    known = life;
    return life;
  }
  void end(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = lives_.find(id);
    if (found == lives_.end()) return;
    if (const Life life = found->second.lock()) *life = true;
  }

 private:
  void forget(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = lives_.find(id);
    if (found != lives_.end() && found->second.expired()) lives_.erase(found);
  }

  std::recursive_mutex mutex_;  // end() may let the last one go
  std::map<std::uint64_t, std::weak_ptr<std::atomic<bool>>> lives_;
};

Awaited& awaited() {
  static Awaited& all = *new Awaited;
  return all;
}

bool empty(const Box& box) { return box.width == 0 || box.height == 0 || box.depth == 0; }

// Bytes from the first to the last of the box.
std::uint64_t span(const Box& box, const Side& side) {
  return (box.depth - 1) * side.slice + (box.height - 1) * side.pitch + box.width;
}

// Virtual memory may be mapped piece by piece, and only what the current device may do is allowed.
std::optional<Allocation> find(Address start, std::uint64_t bytes, unsigned access) {
  const auto first = driver().memory.find(start);
  if (!first || first->origin != Origin::mapped) return driver().memory.find(start, bytes);
  const int device = current_context()->device;
  if (!virtual_memory().allows(start, bytes, device, access)) return std::nullopt;
  return first;
}

Endpoint locate(const Box& box, const Side& side, Claim claim, unsigned access, Purpose purpose) {
  const Endpoint kWrong{.result = CUDA_ERROR_INVALID_VALUE};
  const std::uint64_t bytes = span(box, side);
  if (claim == Claim::array) return {.bytes = driver().bytes_at(side.start, bytes)};
  if (side.start == 0 || (box.height > 1 && side.pitch < box.width)) return kWrong;
  const auto known = find(side.start, bytes, access);
  const bool on_device = driver().is_device_address(side.start);
  if (!known && purpose == Purpose::node && is_graph_memory(side.start, bytes)) {
    if (claim == Claim::host) return kWrong;
    return {.bytes = driver().bytes_at(side.start, bytes)};
  }
  if (!known && (on_device || claim == Claim::device)) return kWrong;
  if (!known && driver().memory.find(side.start)) return kWrong;  // beyond the end of pinned memory
  if (claim == Claim::host && on_device && known->kind != Kind::managed) return kWrong;
  const bool may_go = purpose == Purpose::now && known && known->origin == Origin::allocated &&
                      (known->kind == Kind::device || known->kind == Kind::pinned);
  return {.bytes = driver().bytes_at(side.start, bytes),
          .life = may_go ? awaited().await(known->buffer_id) : nullptr,
          .pageable = !known,
          .host_visible = !on_device || known->kind == Kind::managed};
}

bool is_there(const Endpoint& end) { return end.life == nullptr || !*end.life; }

// Work with memory that was freed meanwhile is a fault, as an H200 with driver 580 has it for
// pinned memory.
template <class Move>
void unless_gone(int device, const Endpoint& to, const Endpoint& from, Move move) {
  const std::shared_lock nothing_goes(bytes_mutex());
  if (is_there(to) && is_there(from)) return move();
  driver().device(device)->accounts.set_sticky(CUDA_ERROR_LAUNCH_FAILED);
}

template <class Row>
void each_row(const Box& box, Row row) {
  for (std::uint64_t z = 0; z < box.depth; ++z) {
    for (std::uint64_t y = 0; y < box.height; ++y) row(y, z);
  }
}

void move(const Copy& copy, std::byte* to, const std::byte* from) {
  each_row(copy.box, [&](std::uint64_t y, std::uint64_t z) {
    std::memmove(to + z * copy.to.slice + y * copy.to.pitch,
                 from + z * copy.from.slice + y * copy.from.pitch, copy.box.width);
  });
}

void fill_row(std::byte* to, const Fill& fill) {
  if (fill.element == 1) {
    std::memset(to, static_cast<int>(fill.value & 0xff), fill.box.width);
    return;
  }
  for (std::uint64_t at = 0; at < fill.box.width; at += fill.element) {
    std::memcpy(to + at, &fill.value, fill.element);  // little endian: the low bytes come first
  }
}

// How a call with this box on this stream is to be checked.
Purpose purpose_on(CUstream handle) {
  const auto stream = resolve(handle);
  return stream && capture_of(*stream) ? Purpose::node : Purpose::now;
}

CUresult run(CUstream handle, Wait wait, Plan planned, const CUgraphNodeParams& node) {
  if (planned.result != CUDA_SUCCESS) return planned.result;
  if (wait != Wait::as_needed) {
    if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  }
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  Point reached;
  const CUresult result = submit(*stream, std::move(planned.work), &reached, &node);
  if (result != CUDA_SUCCESS) return result;
  if (wait == Wait::always || planned.pageable ||
      (wait == Wait::for_host && planned.host_visible)) {
    reached.wait();
  }
  return CUDA_SUCCESS;
}

}  // namespace

void end_life(const Allocation& memory) { awaited().end(memory.buffer_id); }

std::shared_mutex& bytes_mutex() {
  static std::shared_mutex& mutex = *new std::shared_mutex;
  return mutex;
}

Plan plan(const Copy& copy, Purpose purpose) {
  if (empty(copy.box)) return {};
  const Endpoint to = locate(copy.box, copy.to, copy.to_claim, kWrite, purpose);
  const Endpoint from = locate(copy.box, copy.from, copy.from_claim, kRead, purpose);
  if (to.result != CUDA_SUCCESS) return {.result = to.result};
  if (from.result != CUDA_SUCCESS) return {.result = from.result};
  const int device = current_context()->device;
  return {.work = [=] { unless_gone(device, to, from, [&] { move(copy, to.bytes, from.bytes); }); },
          .pageable = to.pageable || from.pageable,
          .host_visible = to.host_visible || from.host_visible};
}

Plan plan(const Fill& fill, Purpose purpose) {
  if (empty(fill.box)) return {};
  if (fill.to.start % fill.element != 0) return {.result = CUDA_ERROR_INVALID_VALUE};
  const Endpoint to = locate(fill.box, fill.to, Claim::device, kWrite, purpose);
  if (to.result != CUDA_SUCCESS) return {.result = to.result};
  const int device = current_context()->device;
  const auto work = [=] {
    unless_gone(device, to, {}, [&] {
      each_row(fill.box, [&](std::uint64_t y, std::uint64_t) {
        fill_row(to.bytes + y * fill.to.pitch, fill);
      });
    });
  };
  return {.work = work, .host_visible = to.host_visible};
}

CUresult transfer(const Copy& copy, CUstream stream, Wait wait) {
  if (empty(copy.box)) return CUDA_SUCCESS;
  return run(stream, wait, plan(copy, purpose_on(stream)), node_of(copy));
}

CUresult transfer(const Fill& fill, CUstream stream, Wait wait) {
  if (empty(fill.box)) return CUDA_SUCCESS;
  return run(stream, wait, plan(fill, purpose_on(stream)), node_of(fill));
}

}  // namespace vramscope::simulator
