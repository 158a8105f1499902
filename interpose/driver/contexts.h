// Contexts maps the driver's contexts to places of the allocator. The driver may reuse a handle
// after a reset, so each generation of a handle, from creation to end, has an entry of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/base/fault.h"
#include "allocator/base/place.h"
#include "interpose/base/futex.h"
#include "interpose/loader/real.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Pinned memory with other flags is another place, whose number holds the flags beside the
// context's number.
inline constexpr unsigned kHostFlagBits = 3;
inline constexpr unsigned kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
static_assert(kHostFlags == (1U << kHostFlagBits) - 1);

// Returns the place of memory of `kind` in a context. For pinned memory: without flags.
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
// Returns the number of a place's context, without flags.
[[nodiscard]] constexpr std::uint32_t context_of(Place place) {
  return place.kind == Kind::pinned ? place.context >> kHostFlagBits : place.context;
}

// This class knows whether a context lives, because the driver cannot be asked: for a destroyed
// current context it answers cuCtxGetDevice, and it crashes when that context is pushed or popped
// (seen on driver 580). So an ended handle lives again only after the driver has given it out anew.
// Threads: any.
class Contexts {
 public:
  struct Current {
    // The driver's code; INVALID_CONTEXT if no context is current, CONTEXT_IS_DESTROYED if the
    // current one has ended.
    CUresult code = CUDA_SUCCESS;
    Place place;                   // kind device; set on success
    bool first_of_device = false;  // this is the first question about the device
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
  // Returns a driver's error code if the current context has ended; CUDA_SUCCESS if there is none.
  [[nodiscard]] CUresult check_current() noexcept;

  // Returns the handle of a place's context; null if the context has ended.
  [[nodiscard]] CUcontext handle(Place place) const noexcept;

  // A context lives until everybody who attached to it has detached. is_attached: whether somebody
  // besides its creator holds it. detached: whether somebody else still held it.
  void attached(CUcontext context) noexcept;
  [[nodiscard]] bool is_attached(CUcontext context) noexcept;
  [[nodiscard]] bool detached(CUcontext context) noexcept;
  void forget_attachments(CUcontext context) noexcept;

  // `view`, made from the green context `green`, shares memory with `primary` and has its place.
  void add_view(const void* green, CUcontext view, CUcontext primary) noexcept;
  void remove_views(const void* green) noexcept;
  // Returns the generation of the context whose views are made from `green`; `unseen` if there are
  // none.
  [[nodiscard]] std::uint32_t view_owner(const void* green) const noexcept;

  // Note that the program created a context, or retained one that may exist already. From now on
  // its work counts.
  void created(CUcontext context, CUdevice device) noexcept;
  void retained(CUcontext context, CUdevice device) noexcept;
  // Notes that the current context may use the memory of `peer`'s device, or of any device if the
  // peer was never seen. This is never withdrawn: waiting for too many contexts is slow, waiting
  // for too few is wrong.
  void enabled_peer(CUcontext peer) noexcept;

  // Distinguishes contexts that had the same handle one after the other.
  using Generation = std::uint32_t;
  static constexpr Generation unseen = ~Generation{0};

  // Keeps the program from ending a context while our code uses its handle: the driver may crash on
  // an ended one (test/simulator/OPEN.md). The constructor waits for a running call that may end
  // the context. A thread has one use at a time and holds no lock during it.
  class Use {
   public:
    // gives_up: a running end counts as done. As it waits for nobody, a thread with a use may take
    // such a second one.
    enum class AtEnd : bool { waits, gives_up };
    Use(Contexts& contexts, Generation generation, AtEnd at_end = AtEnd::waits) noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] CUcontext context() const noexcept {
      return context_;
    }  // null: the context has ended

   private:
    [[nodiscard]] bool begin(AtEnd at_end) noexcept;

    Contexts& contexts_;
    const Generation generation_;
    const bool held_;
    CUcontext context_ = nullptr;
  };

  // Surrounds a driver call that may end a context. No use begins meanwhile. are_waited_for: waits
  // until all uses have ended. go_on: the call leaves the context to others that hold it.
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

  // Whether there was never more than one context.
  [[nodiscard]] bool is_sole() const noexcept {
    return count_.load(std::memory_order_acquire) <= 1;
  }
  // Calls visit(handle, generation) for each living context, besides the place's own, for which a
  // free of memory of the place waits: contexts of other devices with access to its device, or, for
  // host memory, all contexts of other devices. The driver's free does not wait for other contexts
  // of the same device (H200, driver 580; test program second_context). Work in ended contexts is
  // over.
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
  // Calls visit(handle, generation) for each living context of a device.
  template <class F>
  void each_on(std::uint16_t device, F visit) const noexcept {
    for (std::uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
      const CUcontext context = entries_[i].context.load(std::memory_order_acquire);
      if (context != nullptr && entries_[i].device == device) visit(context, i);
    }
  }
  // Returns the devices of living contexts that can access memory of a device, one bit each.
  [[nodiscard]] std::uint64_t devices_reaching(std::uint16_t device) const noexcept;
  // Whether a free of memory of the place needs to wait only in the place's own context.
  [[nodiscard]] bool is_alone(Place place) const noexcept;
  // Sets the device place of a living context. Returns false if the context was never seen.
  [[nodiscard]] bool find(CUcontext context, Place& place) noexcept;

  [[nodiscard]] Generation generation_of(CUcontext context) noexcept;
  // Returns the generation before a call that may end the context. A context that was never seen
  // counts as ended from then on, unless not_ended() says that it lives.
  [[nodiscard]] Generation begin_end(CUcontext context) noexcept;
  void not_ended(CUcontext context) noexcept;
  // Whether the next release may be the last of a primary context, because no known retain keeps
  // it.
  [[nodiscard]] bool may_be_last_release(CUcontext primary) const noexcept;
  void released(CUcontext primary) noexcept;
  // Whether the generation lives and has this handle, which is not null.
  [[nodiscard]] bool is(Generation generation, CUcontext context) const noexcept {
    return entries_[generation].context.load(std::memory_order_acquire) == context;
  }
  // Notes that the generation ended, and calls end(place) for its place. From now on, or already,
  // its handle may belong to a new context.
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

  // Returns the context whose memory a view of a green context shares; else the context itself.
  [[nodiscard]] CUcontext memory_owner(CUcontext context) noexcept;

 private:
  // The calling thread's last answer, valid until a context ends.
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
    std::atomic<std::uint32_t> held{
        0};  // number of uses, plus kOneEnding for each call that may end it
    std::atomic<std::uint32_t> retains{0};  // known retains of a primary context
  };
  [[nodiscard]] static constexpr std::uint64_t bit_of(CUdevice device) {
    return std::uint64_t{1} << device;
  }
  static constexpr std::uint32_t kMaxContexts =
      4096;  // generations, not handles; far above real use

  [[nodiscard]] Generation find_or_add(CUcontext context, CUdevice device) noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  // Notes the current context. Returns `unseen` if it has ended, kMaxContexts if the table is full.
  [[nodiscard]] Generation see(CUcontext current, CUdevice device) noexcept;
  // Finds a living generation; for null, an ended one.
  [[nodiscard]] Generation find_generation(CUcontext context) const noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] CUcontext owner_of(CUcontext context) const noexcept VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] bool is_ended(CUcontext context) const noexcept VRAMSCOPE_REQUIRES(mutex_);
  void mark_ended(CUcontext context) noexcept VRAMSCOPE_REQUIRES(mutex_);
  // Notes that the driver gave the handle out.
  void mark_living(CUcontext context) noexcept VRAMSCOPE_REQUIRES(mutex_);

  static constexpr std::uint32_t kOneEnding = 1U << 16;  // no process has as many threads

  struct View {
    const void* green = nullptr;
    CUcontext view = nullptr;
    CUcontext primary = nullptr;
  };

  mutable SystemMutex mutex_;  // for writers; readers use the atomic entries
  std::vector<CUcontext> attachments_
      VRAMSCOPE_GUARDED_BY(mutex_);  // one entry for each attachment
  std::vector<View> views_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::vector<CUcontext> ended_ VRAMSCOPE_GUARDED_BY(mutex_);  // sorted; not given out since
  std::array<Entry, kMaxContexts> entries_{};
  std::atomic<std::uint32_t> count_{0};
  WaitableCounter turns_;                  // raised when a waiter in Use or Ending may continue
  std::atomic<std::uint32_t> changes_{1};  // rises when a remembered answer may be wrong
  std::atomic<std::uint64_t> devices_seen_{0};  // bit i: device i
};

// Makes a context current for one scope if it is not already. Our code changes a thread's current
// context in no other way. Nobody can end that context, or the previous one, meanwhile. If one of
// them has ended, nothing is pushed and code() is CONTEXT_IS_DESTROYED. Threads: one, like a use.
class ContextScope {
 public:
  ContextScope(Contexts& contexts, Contexts::Generation generation) noexcept;
  // For a context that the driver gave to this thread in the current call, which no other thread
  // knows.
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
