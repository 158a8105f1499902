// The driver's contexts, as places of the allocator. A handle's value can come back after a reset,
// so each generation of a handle, from creation to end, has an entry of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/ground/capability.h"
#include "allocator/ground/fault.h"
#include "allocator/ground/place.h"
#include "interpose/ground/futex.h"
#include "interpose/loader/real.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Pinned memory of other flags is another place: its number holds them beside the context's.
inline constexpr unsigned kHostFlagBits = 3;
inline constexpr unsigned kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
static_assert(kHostFlags == (1U << kHostFlagBits) - 1);

// Where memory of `kind` is that belongs to a context. Pinned memory: without flags.
[[nodiscard]] constexpr Place in_context(Kind kind, std::uint16_t device, std::uint32_t context) {
  return {.kind = kind,
          .device = has_device(kind) ? device : std::uint16_t{0},
          .context = kind == Kind::pinned ? context << kHostFlagBits : context};
}
// `flags`: within kHostFlags.
[[nodiscard]] constexpr Place with_host_flags(Place pinned, unsigned flags) {
  pinned.context = (pinned.context & ~std::uint32_t{kHostFlags}) | flags;
  return pinned;
}
[[nodiscard]] constexpr unsigned host_flags(Place pinned) { return pinned.context & kHostFlags; }
// The number of a place's context alone.
[[nodiscard]] constexpr std::uint32_t context_of(Place place) {
  return place.kind == Kind::pinned ? place.context >> kHostFlagBits : place.context;
}

// Whether a context lives is known here, not asked: where a destroyed one is current the driver
// answers cuCtxGetDevice, and crashes when that context is pushed or popped (seen on a driver 580;
// what it refuses there is refused too late). So a handle that ended lives again only when the
// driver has given it out anew. Threads: any.
class Contexts {
 public:
  struct Current {
    // The driver's own; INVALID_CONTEXT when no context is current, CONTEXT_IS_DESTROYED when it
    // has ended.
    CUresult code = CUDA_SUCCESS;
    Place place;                   // kind device; set on success
    bool first_of_device = false;  // nobody asked about this device before
  };
  // The calling thread's current context.
  [[nodiscard]] Current current() noexcept {
    CUcontext context = nullptr;
    if (const CUresult code = real().cuCtxGetCurrent.first(&context); code != CUDA_SUCCESS) {
      return {.code = code, .place = {}};
    }
    const std::uint32_t changes = changes_.load(std::memory_order_acquire);
    const bool is_same = remembered_.context == context || fault(Fault::stale_place);
    if (is_same && remembered_.changes == changes) [[likely]]
      return {.code = CUDA_SUCCESS, .place = remembered_.place};
    return look_at(context, changes);
  }
  // Only whether it has ended, as a code of the driver's; fine where there is none.
  [[nodiscard]] CUresult check_current() noexcept;

  // Handle of the context of a place, null once the context has ended.
  [[nodiscard]] CUcontext handle(Place place) const noexcept;

  // A context lives until everybody who attached to it has detached too. is_attached: does somebody
  // hold it besides its creator? detached: did somebody else still hold it?
  void attached(CUcontext context) noexcept;
  [[nodiscard]] bool is_attached(CUcontext context) noexcept;
  [[nodiscard]] bool detached(CUcontext context) noexcept;
  void forget_attachments(CUcontext context) noexcept;

  // `view`, made from the green context `green`, shares its memory with `primary`: it is that
  // place.
  void add_view(const void* green, CUcontext view, CUcontext primary) noexcept;
  void remove_views(const void* green) noexcept;
  // The life of the context whose views are made from `green`; unseen: there are none.
  [[nodiscard]] std::uint32_t view_owner(const void* green) const noexcept;

  // The program created a context, or retained one that may be there already: from now on its work
  // counts.
  void created(CUcontext context, CUdevice device) noexcept;
  void retained(CUcontext context, CUdevice device) noexcept;
  // The current context may use the memory of `peer`'s device; of a peer that was never seen, of
  // any device. It is never taken back: what waits for too many contexts is slow, what waits for
  // too few is wrong.
  void enabled_peer(CUcontext peer) noexcept;

  // Tells contexts apart that had the same handle, one after the other.
  using Generation = std::uint32_t;
  static constexpr Generation unseen = ~Generation{0};

  // Keeps the driver from ending a context while something of ours uses its handle: the driver may
  // crash on one that has ended (test/simulator/OPEN.md). While a call that may end it runs, the
  // constructor waits for that call. One at a time a thread; nothing locked meanwhile.
  class Use {
   public:
    // gives_up: an end that runs now counts as one that has happened. So may a thread that has a
    // use already have another: it waits for nobody.
    enum class AtEnd : bool { waits, gives_up };
    Use(Contexts& contexts, Generation generation, AtEnd at_end = AtEnd::waits) noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] CUcontext context() const noexcept { return context_; }  // null: it has ended

   private:
    [[nodiscard]] bool begin(AtEnd at_end) noexcept;

    Contexts& contexts_;
    const Generation generation_;
    const bool held_;
    CUcontext context_ = nullptr;
  };

  // For the driver's call that may end a context: no use begins meanwhile, and with
  // `are_waited_for` none goes on. go_on: the call leaves the context to others that hold it.
  class Ending {
   public:
    enum class Uses : bool { go_on, are_waited_for };
    // `generation` may be `unseen`.
    Ending(Contexts& contexts, Generation generation, Uses uses) noexcept;
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    Contexts& contexts_;
    const Generation generation_;
  };

  // Whether there was ever but one.
  [[nodiscard]] bool is_sole() const noexcept {
    return count_.load(std::memory_order_acquire) <= 1;
  }
  // Calls visit(handle, generation) for each living context for which a free of memory of the place
  // waits besides the place's own: those of other devices that enabled access to its device, for
  // host memory all of other devices. Not other contexts of its own device: the driver's free waits
  // for none (an H200 with driver 580; test program second_context). What ran in contexts that
  // ended is over.
  template <class F>
  void each_beside(Place place, F visit) const noexcept {
    const std::uint16_t device = entries_[context_of(place)].device;
    const std::uint64_t bit = place.kind != Kind::pinned ? bit_of(device) : ~std::uint64_t{0};
    for (std::uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
      const CUcontext context = entries_[i].context.load(std::memory_order_acquire);
      if (context == nullptr || entries_[i].device == device) continue;
      if ((entries_[i].reached.load(std::memory_order_acquire) & bit) != 0) visit(context, i);
    }
  }
  // The same for each living context of a device.
  template <class F>
  void each_on(std::uint16_t device, F visit) const noexcept {
    for (std::uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
      const CUcontext context = entries_[i].context.load(std::memory_order_acquire);
      if (context != nullptr && entries_[i].device == device) visit(context, i);
    }
  }
  // The devices of living contexts that can reach memory of a device: a bit each.
  [[nodiscard]] std::uint64_t devices_reaching(std::uint16_t device) const noexcept;
  // Whether a wait in its own context is all that a free of memory of the place waits for.
  [[nodiscard]] bool is_alone(Place place) const noexcept;
  // The device place of a living context. False: never seen.
  [[nodiscard]] bool find(CUcontext context, Place& place) noexcept;

  [[nodiscard]] Generation generation_of(CUcontext context) noexcept;
  // The same before a call that may end the context. One that was never seen counts as ended from
  // then on, unless not_ended() says that the call has left it.
  [[nodiscard]] Generation begin_end(CUcontext context) noexcept;
  void not_ended(CUcontext context) noexcept;
  // The release that follows may be the last of a primary context: no retain that was seen, and not
  // released since, keeps it.
  [[nodiscard]] bool may_be_last_release(CUcontext primary) const noexcept;
  void released(CUcontext primary) noexcept;
  // Whether that generation lives and has this handle, which is not null.
  [[nodiscard]] bool is(Generation generation, CUcontext context) const noexcept {
    return entries_[generation].context.load(std::memory_order_acquire) == context;
  }
  // That generation ended: calls end(place) for the place that it was. Its handle means something
  // new from now on, and may mean it already.
  template <class F>
  void ended(CUcontext context, Generation generation, F end) noexcept {
    const SystemLock lock(mutex_);
    if (generation != unseen) {
      Entry& entry = entries_[generation];
      const CUcontext now = entry.context.load(std::memory_order_relaxed);
      if (now != context && now != nullptr) return;
      entry.context.store(nullptr, std::memory_order_release);
      end(Place{Kind::device, entry.device, generation});
    }
    if (find_generation(context) == unseen) mark_ended(context);
    changes_.fetch_add(1, std::memory_order_release);
  }

  // Of a context that was made from a green one the context whose memory it shares; else itself.
  [[nodiscard]] CUcontext memory_owner(CUcontext context) noexcept;

 private:
  // The calling thread's last answer: valid while no context has ended since.
  struct Remembered {
    CUcontext context = nullptr;
    std::uint32_t changes = 0;  // 0: there was none
    Place place;
  };
  static __attribute__((tls_model("initial-exec"))) constinit thread_local Remembered remembered_;
  [[gnu::cold, gnu::noinline]] Current look_at(CUcontext context, std::uint32_t changes) noexcept;

  struct Entry {
    std::atomic<CUcontext> context{nullptr};
    std::uint16_t device = 0;
    std::atomic<std::uint64_t> reached{0};  // bit i: memory of device i
    std::atomic<std::uint32_t> held{0};     // uses, and kOneEnding for each call that may end it
    std::atomic<std::uint32_t> retains{0};  // of a primary context, as far as they were seen
  };
  [[nodiscard]] static constexpr std::uint64_t bit_of(CUdevice device) {
    return std::uint64_t{1} << device;
  }
  static constexpr std::uint32_t kMaxContexts =
      4096;  // generations, not handles; far above real use

  [[nodiscard]] Generation find_or_add(CUcontext context, CUdevice device) noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  // What is current is seen; unseen: it has ended, kMaxContexts: there is no room.
  [[nodiscard]] Generation see(CUcontext current, CUdevice device) noexcept;
  // Null: an ended one.
  [[nodiscard]] Generation find_generation(CUcontext context) const noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] CUcontext owner_of(CUcontext context) const noexcept VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] bool is_ended(CUcontext context) const noexcept VRAMSCOPE_REQUIRES(mutex_);
  void mark_ended(CUcontext context) noexcept VRAMSCOPE_REQUIRES(mutex_);
  // The driver gave the handle out.
  void mark_living(CUcontext context) noexcept VRAMSCOPE_REQUIRES(mutex_);

  static constexpr std::uint32_t kOneEnding = 1U << 16;  // no process has as many threads

  struct View {
    const void* green = nullptr;
    CUcontext view = nullptr;
    CUcontext primary = nullptr;
  };

  mutable SystemMutex mutex_;  // of those who write; the entries are atomic for those who read
  std::vector<CUcontext> attachments_ VRAMSCOPE_GUARDED_BY(mutex_);  // one entry an attachment
  std::vector<View> views_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::vector<CUcontext> ended_ VRAMSCOPE_GUARDED_BY(mutex_);  // and not given out since; sorted
  std::array<Entry, kMaxContexts> entries_{};
  std::atomic<std::uint32_t> count_{0};
  WaitableCounter turns_;  // raised when somebody who waits in Use or Ending may go on
  std::atomic<std::uint32_t> changes_{
      1};  // rises when an answer that a thread remembers may be wrong
  std::atomic<std::uint64_t> devices_seen_{0};  // bit i: device i
};

// Makes a context current for one scope, when it is not already: the only way of ours to change a
// thread's current context. Nobody can end that context meanwhile, nor the one that is current
// before and after, to which the driver goes back; where one of them has ended nothing is pushed,
// and code() is CONTEXT_IS_DESTROYED. Threads: one; as a use is.
class ContextScope {
 public:
  ContextScope(Contexts& contexts, Contexts::Generation generation) noexcept;
  // A context that the driver gave to this thread in the call that runs: no other thread knows of
  // it.
  ContextScope(Contexts& contexts, CUcontext just_given) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  [[nodiscard]] CUresult code() const { return code_; }

 private:
  [[nodiscard]] CUresult enter(CUcontext context) noexcept;

  Contexts& contexts_;
  std::optional<Contexts::Use> entered_;
  std::optional<Contexts::Use> beneath_;
  bool pushed_ = false;
  CUresult code_ = CUDA_SUCCESS;
};

}  // namespace vramscope
