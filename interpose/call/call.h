// A call is one driver function that the program called and we intercepted: it guards its thread,
// keeps the time, and becomes one Event.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <optional>
#include <type_traits>

#include "allocator/caching_allocator.h"
#include "allocator/ground/machine.h"
#include "interpose/driver/profiler.h"
#include "interpose/ground/clock.h"
#include "reporter/ground/event.h"

namespace vramscope {

// The address in a row's column: a device or host pointer, or 0 for none.
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
  // effect, kind: the row's, which a wrapper knows without looking. frame: of the function that the
  // program called.
  Call(Function function, Effect effect, Kind kind, const void* frame) noexcept;
  ~Call() noexcept(false);  // a thread that leaves goes on from it (ground/leaving.h)
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // False before cuInit, in a forked child and in a call made from inside another of ours: the call
  // goes straight to the real function and leaves no trace.
  [[nodiscard]] bool active() const noexcept { return profiler_ != nullptr; }
  [[nodiscard]] Profiler& profiler() const noexcept { return *profiler_; }

  // For a free that is not active: its answer when it is of memory of ours and was made during
  // another call on this thread. It is freed as that call ends.
  [[nodiscard]] static std::optional<CUresult> defer_free(Function function,
                                                          Address address) noexcept;

  // The row's.
  [[nodiscard]] Kind kind() const noexcept { return event_.place.kind; }
  // Where memory of the row's kind is now: in the current context. False when there is none.
  [[nodiscard]] bool find_place(Place& place) const noexcept;
  // The tag of the calling stack for memory at `place`. Takes the stack: call it before any lock.
  [[nodiscard]] Tag tag(Place place, std::size_t bytes) noexcept;
  // The stream that the call takes, if it takes one.
  void set_stream(CUstream stream) noexcept { stream_ = stream; }
  // The same as a request for device memory: dedicated, if the caller may export it.
  [[nodiscard]] Request request(Place place, std::size_t bytes) noexcept;

  // Where memory of `kind` is: in the current context, or nowhere in particular. The driver is not
  // asked again in a call for which find_place() has found it.
  [[nodiscard]] Place place_of(Kind kind) const noexcept;

  // For bodies that say themselves what came and went. adopt() takes the stack; without bytes
  // nothing is recorded.
  void adopt(Place where, Address address, std::size_t bytes) noexcept;
  // What the event tells of the memory, without recording that it is there: the tag.
  Tag describe(Place where, Address address, std::size_t bytes) noexcept;
  // Recorded memory that starts at this address of the kind's space; found.direct: there is some.
  [[nodiscard]] Found find(Kind kind, Address address) noexcept;
  // The end of what find() found, after the driver agreed. A failed call has changed no counter,
  // and memory that another thread got at the same address in between stays. Where it ended it in
  // the name of `release`, that tells of it.
  void forget(const Found& found, const Releases::Underway* release = nullptr) noexcept;
  // The same for what was at the event's address before the call.
  void forget(const Releases::Underway& release) noexcept;
  void count_unrecorded() noexcept { profiler_->recorder().count_unrecorded(); }
  // Room that the allocator keeps for what the real function gives.
  void keep(Promise promise) noexcept { promise_ = promise; }

  // The bytes that the call asks for, for when it is refused; then, that a limit of ours refused
  // it.
  void plan(std::uint64_t bytes) noexcept { event_.bytes = bytes; }
  // counted_bytes: against the limit, at that instant.
  void note_refused_by_limit(std::uint64_t counted_bytes) noexcept {
    by_limit_ = true;
    counted_bytes_ = counted_bytes;
  }

  // What our allocator decided becomes part of the event.
  void note(const Outcome& outcome) noexcept;

  // The calls of real functions are not noexcept: before cuInit, where there is no profiler, a
  // thread may leave through them. The row's effect, done by the real function and recorded.
  // `memory` gives {address, bytes} and is asked once it is valid: after a success, for a release
  // before the call.
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

  // The real function, whatever the row's effect: the body says itself what came and went.
  template <class RealFunction>
  CUresult pass(RealFunction real_function) {
    return timed(real_function);
  }

  // Ends the call: the event goes to the recorder.
  CUresult finish(CUresult code) noexcept;

 private:
  void note_gone(const Outcome& gone) noexcept;
  void renew_sample(std::uint64_t end_ns) noexcept;
  // Memory ran out: whose stack it was, before the event is recorded, and what there is to say of
  // it, after that.
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

  // Reading the clock costs as much as what came before the first call of the driver did: that
  // counts as the driver's.
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
  // Where the driver was called from.
  [[nodiscard]] Address caller() const noexcept {
    return static_cast<const Frame*>(frame_)->code();
  }
  // The tag of the stack, which is taken as far as it is needed, and whether the memory is to be
  // dedicated. On the stack of ours: these take much of it.
  [[nodiscard]] Tag tag_of(const Origin& asked, Stack& stack) noexcept;
  [[gnu::noinline]] Tag take_tag(const Origin& asked) noexcept;
  [[gnu::noinline]] void take_stack(const Origin& asked, const KnownTag& known,
                                    Request& request) noexcept;
  const void* frame_;
  std::optional<CUstream> stream_;
  mutable std::optional<Place> here_;  // of device memory in the current context, once it is known
  Promise promise_;
  bool by_limit_ = false;
  std::uint64_t counted_bytes_ = 0;
  std::uint64_t answered_ns_ = 0;  // when the driver did last; what we note after that is not the
                                   // function's time. 0: it was not called
  int* const errno_place_;         // the thread's: the C library is asked once
  int errno_;
};

}  // namespace vramscope
