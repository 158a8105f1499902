// A call is one driver function that the program called and we intercepted. It guards its thread,
// measures the time, and becomes one Event.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <optional>
#include <type_traits>

#include "allocator/base/machine.h"
#include "allocator/caching_allocator.h"
#include "interpose/base/clock.h"
#include "interpose/driver/profiler.h"
#include "reporter/base/event.h"

namespace vramscope {

// Converts the address in a row's column, a device or host pointer. 0: none.
template <class T>
[[nodiscard]] Address to_address(T address) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(address);
  } else {
    return static_cast<Address>(address);
  }
}

// Threads: one, the calling thread. Keeps errno as the real call left it.
class Call {
 public:
  // effect, kind: those of the row, which a wrapper knows at compile time. frame: the frame of the
  // function that the program called.
  Call(Function function, Effect effect, Kind kind, const void* frame) noexcept;
  ~Call() noexcept(false);  // a thread that is ending continues here (base/leaving.h)
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // False before cuInit, in a forked child, and in a call made inside another call of ours. Then
  // the call goes straight to the real function and is not recorded.
  [[nodiscard]] bool active() const noexcept { return profiler_ != nullptr; }
  [[nodiscard]] Profiler& profiler() const noexcept { return *profiler_; }

  // For a free that is not active: returns its answer if it frees memory of ours during another
  // call on this thread. The memory is freed when that call ends.
  [[nodiscard]] static std::optional<CUresult> defer_free(Function function,
                                                          Address address) noexcept;

  // The kind of the row.
  [[nodiscard]] Kind kind() const noexcept { return event_.place.kind; }
  // Sets the place of memory of the row's kind in the current context. Returns false if there is no
  // context.
  [[nodiscard]] bool find_place(Place& place) const noexcept;
  // Returns the tag of the calling stack for memory at `place`. Captures the stack, so call it
  // before taking any lock.
  [[nodiscard]] Tag tag(Place place, std::size_t bytes) noexcept;
  // Sets the stream argument of the call.
  void set_stream(CUstream stream) noexcept { stream_ = stream; }
  // The same as a request for device memory. It is dedicated if the caller may export it.
  [[nodiscard]] Request request(Place place, std::size_t bytes) noexcept;

  // Returns the place of memory of `kind`: in the current context, or without one. Does not ask the
  // driver if find_place() has found the place in this call.
  [[nodiscard]] Place place_of(Kind kind) const noexcept;

  // For bodies that report themselves what was allocated and freed. adopt() captures the stack;
  // with 0 bytes it records nothing.
  void adopt(Place where, Address address, std::size_t bytes) noexcept;
  // Describes memory in the event without recording it as allocated. Returns the tag.
  Tag describe(Place where, Address address, std::size_t bytes) noexcept;
  // Finds recorded memory that begins at this address of the kind's space. found.direct: there is
  // some.
  [[nodiscard]] Found find(Kind kind, Address address) noexcept;
  // Ends the memory that find() found, after the driver has freed it. Memory that another thread
  // got at the same address meanwhile stays. If that thread's call ended this memory already,
  // `release` holds its record.
  void forget(const Found& found, const Releases::Underway* release = nullptr) noexcept;
  // The same for the memory at the event's address before the call.
  void forget(const Releases::Underway& release) noexcept;
  void count_unrecorded() noexcept { profiler_->recorder().count_unrecorded(); }
  // Keeps a promise: the capacity that is reserved for what the real function allocates.
  void keep(Promise promise) noexcept { promise_ = promise; }

  // Sets the requested bytes, which the event shows if the call is refused.
  void plan(std::uint64_t bytes) noexcept { event_.bytes = bytes; }
  // Notes that a limit of ours refused the call. counted_bytes: the bytes that counted against the
  // limit then.
  void note_refused_by_limit(std::uint64_t counted_bytes) noexcept {
    by_limit_ = true;
    counted_bytes_ = counted_bytes;
  }

  // Enters the allocator's outcome in the event.
  void note(const Outcome& outcome) noexcept;

  // Calls the real function and records the row's effect. `memory` returns {address, bytes}, and is
  // called when that is valid: after a success, or, for a release, before the call. Not noexcept:
  // before cuInit, without a profiler, an ending thread may be unwound through it.
  template <class RealFunction, class Memory>
  CUresult direct(RealFunction real_function, Memory memory) {
    switch (event_.effect) {
      case Effect::allocate:
      case Effect::pin:
        return direct_allocation(real_function, memory);
      case Effect::release:
      case Effect::unpin:
        return direct_release(real_function, memory);
      default:
        return timed(real_function);
    }
  }

  // Calls the real function without recording the row's effect, which the body reports itself.
  template <class RealFunction>
  CUresult pass(RealFunction real_function) {
    return timed(real_function);
  }

  // Ends the call: the event goes to the recorder.
  CUresult finish(CUresult code) noexcept;

 private:
  void note_gone(const Outcome& gone) noexcept;
  void renew_sample(std::uint64_t end_ns) noexcept;
  // For out of memory: name_refused() captures the stack before the event is recorded, and
  // tell_refused() reports the refusal after that.
  void name_refused() noexcept;
  void tell_refused() noexcept;
  void tell_served() noexcept;
  [[nodiscard]] bool find_place(Kind kind, Place& place) const noexcept;
  template <class RealFunction>
  CUresult timed(RealFunction real_function) {
    return timed(real_function, now_ns());
  }
  template <class RealFunction>
  CUresult timed(RealFunction real_function, std::uint64_t start) {
    *errno_place_ = errno_;
    const CUresult code = real_function();
    errno_ = *errno_place_;
    answered_ns_ = now_ns();
    event_.driver_ns += answered_ns_ > start ? answered_ns_ - start : 0;
    return code;
  }

  // Reading the clock costs as much as our work before the first driver call, so that work counts
  // as the driver's time.
  [[nodiscard]] std::uint64_t start_of_driver() const noexcept {
    return event_.driver_ns == 0 && promise_.bytes == 0 ? event_.start_ns : now_ns();
  }

  template <class RealFunction, class MemoryOf>
  CUresult direct_allocation(RealFunction real_function, MemoryOf memory_of) {
    const CUresult code = timed(real_function, start_of_driver());
    if (code == CUDA_SUCCESS) {
      const auto [address, bytes] = memory_of();
      if (address != 0) adopt(place_of(event_.place.kind), address, bytes);
    }
    return code;
  }

  template <class RealFunction, class MemoryOf>
  CUresult direct_release(RealFunction real_function, MemoryOf memory_of) {
    event_.address = memory_of().first;
    const Releases::Underway release(profiler_->releases(),
                                     {.kind = event_.place.kind,
                                      .address = event_.address,
                                      .newest = profiler_->allocator().newest(),
                                      .start_ns = event_.start_ns});
    const CUresult code = timed(real_function, start_of_driver());
    if (code == CUDA_SUCCESS && event_.address != 0) forget(release);
    return code;
  }

  Profiler* profiler_;
  Event event_;
  [[nodiscard]] Origin origin(Place place, std::size_t bytes) const noexcept;
  // The address from which the driver was called.
  [[nodiscard]] Address caller() const noexcept {
    return static_cast<const Frame*>(frame_)->code();
  }
  // Find the tag of the stack, captured as far as needed, and whether the memory must be dedicated.
  // They need much stack, so they run on an own stack.
  [[nodiscard]] Tag tag_of(const Origin& asked, Stack& stack) noexcept;
  [[gnu::noinline]] Tag take_tag(const Origin& asked) noexcept;
  [[gnu::noinline]] void take_stack(const Origin& asked, const KnownTag& known,
                                    Request& request) noexcept;
  const void* frame_;
  std::optional<CUstream> stream_;
  mutable std::optional<Place> here_;  // of device memory in the current context, if known
  Promise promise_;
  bool by_limit_ = false;
  std::uint64_t counted_bytes_ = 0;
  std::uint64_t answered_ns_ = 0;  // when the driver did last; what we note after that is not the
                                   // function's time. 0: it was not called
  int* const errno_place_;         // the thread's errno, whose address is asked once
  int errno_;
};

}  // namespace vramscope
