// Driver is the state of the simulated driver, with what every entry point may need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "test/simulator/device/arrays.h"
#include "test/simulator/device/configuration.h"
#include "test/simulator/device/graph_memory.h"
#include "test/simulator/device/left_memory.h"
#include "test/simulator/device/memory_table.h"
#include "test/simulator/device/pools.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/simulated_device.h"
#include "test/simulator/device/streams.h"
#include "test/simulator/device/vendor.h"

// NVIDIA's opaque handle types, with definitions. A context is never deleted, so its handle stays
// different from later ones.
struct CUctx_st {
  CUctx_st(int device, bool primary, unsigned flags, std::uint64_t id)
      : device(device), primary(primary), id(id), flags(flags) {}

  const int device;
  const bool primary;
  const std::uint64_t id;
  CUctx_st* base = nullptr;  // of a green context's view: the primary context, whose memory it uses
  std::atomic<unsigned> flags;
  std::atomic<bool> alive{true};
  std::atomic<bool> ending{false};     // by a call that waits for its work
  std::atomic<std::uint64_t> kept{0};  // bytes that the driver keeps for the context and its code
  unsigned retains = 0;  // retains of a primary context, else attachments; guarded by Driver::mutex
  vramscope::simulator::StreamSet streams;
};

namespace vramscope::simulator {

class SharedUse;

struct Device {
  Device(int ordinal, const Configuration& configuration);
  // Frees the memory that importers have closed.
  void take_what_was_let_go();

  const int ordinal;
  ShadowMemory shadow;
  SimulatedDevice accounts;
  LeftMemory left;
  GraphMemory graphs;
  CUctx_st primary;
  std::shared_ptr<CUmemPoolHandle_st> default_pool;
  CUmemoryPool current_pool;
};

// Waits as an entry point does: the thread can be cancelled meanwhile.
void wait_for(const Point& point);

// Threads: any. Is made by the first cuInit and never destroyed.
struct Driver {
  explicit Driver(const Configuration& configuration);

  [[nodiscard]] Device* device(CUdevice ordinal);
  [[nodiscard]] Device& device_of(CUcontext context) { return *devices[context->device]; }
  // Returns the device whose reservation contains this address, or null for an ordinary host
  // address.
  [[nodiscard]] Device* device_at(Address address);
  // Returns whether the address lies in a device, a reservation or an import, where the host cannot
  // access it.
  [[nodiscard]] bool is_device_address(Address address);
  // Returns where the bytes at a device or host address are.
  [[nodiscard]] std::byte* bytes_at(Address start, std::uint64_t bytes);
  // Waits for everything that was submitted in any live context.
  void wait_for_all_work() {
    wait_in_each([](CUcontext) { return true; });
  }
  // Waits for what a free of the memory waits for: its own context, and contexts of other devices
  // that may use it, but not other contexts of its device (an H200 with driver 580).
  void wait_for_users(const Allocation& memory);
  // Takes device memory of the context, which enters the table.
  [[nodiscard]] Grant take_device_memory(CUcontext context, std::uint64_t bytes,
                                         Origin origin = Origin::allocated);
  [[nodiscard]] Grant take_managed_memory(CUcontext context, std::uint64_t bytes, unsigned flags,
                                          Origin origin = Origin::allocated);
  // Gives back memory that has already left the table.
  void give_back(const Allocation& allocation);

  template <class Chosen>
  void wait_in_each(Chosen chosen) {
    std::vector<Point> tails;
    {
      const std::lock_guard lock(mutex);
      for (CUcontext context : contexts) {
        if (!chosen(context)) continue;
        for (Point& tail : context->streams.all_tails()) tails.push_back(std::move(tail));
      }
    }
    for (const Point& tail : tails) wait_for(tail);
  }

  const Configuration configuration;
  std::vector<std::unique_ptr<Device>> devices;
  MemoryTable memory;
  Handles<CUmemPoolHandle_st> pools;
  std::mutex mutex;              // guards contexts and the primaries' retains
  std::set<CUcontext> contexts;  // all that ever existed, primaries included
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<std::uint64_t> launches{0};
};

inline constexpr int kGreatestPriority = -5;  // of streams; the least is 0

// Makes a context that a green context is: with a handle of its own, and all else of the primary
// context.
[[nodiscard]] CUcontext view_of(CUcontext primary);
// keep_for(): the driver keeps this many bytes for the context, until it ends or needs less.
// Returns false if there is no room.
[[nodiscard]] bool keep_for(CUcontext context, std::uint64_t bytes);
void keep_less_for(CUcontext context, std::uint64_t bytes);
// Maps pages of the host for pinned or managed memory of the context. Returns null if there are
// none, or the device, whose memory they are if it is integrated, has no room for them.
[[nodiscard]] void* host_pages(CUcontext context, std::uint64_t bytes);
// Returns what so many bytes of such pages take of the device: nothing, unless it is integrated.
[[nodiscard]] std::uint64_t taken_by_host_pages(std::uint64_t bytes);
// Returns the owner of the chunks in which the context's small allocations lie.
[[nodiscard]] Granules::Owner owner_of_chunks(CUcontext context);
// Takes memory of the context's device, for this context.
[[nodiscard]] Grant grant_in(CUcontext context, std::uint64_t bytes);

// life: the driver must run, whatever sticky error it has.
enum class Needs : std::uint8_t { nothing, life, driver, context };
enum class Flavour : std::uint8_t { legacy, per_thread };

const Configuration& configuration();  // read once, from VRAMSCOPE_SIM
Driver& driver();                      // only after a successful cuInit
// Returns the processes that share the devices; null if this process has its own. Valid only after
// cuInit.
const SharedUse* shared_use();

// Returns what stops a call before it looks at its arguments: not initialised, forked, shut down, a
// sticky error, no context.
[[nodiscard]] CUresult admit(Needs needs);
// The meaning of the default stream in the entry point that this thread is in.
Flavour& default_stream_flavour();
// Whether the program lets a thread in a guarded entry point be cancelled.
int& cancel_state_of_program();

[[nodiscard]] CUcontext current_context();
// Returns what stops a call that needs no context: a context that has ended is current.
[[nodiscard]] CUresult refuse_in_ended_context();
// Returns what stops the use of a context that a program names.
[[nodiscard]] CUresult check_context(CUcontext context);
// Returns the error that the memory's device returns from now on, if any.
[[nodiscard]] CUresult check_device_of(const Allocation& memory);
[[nodiscard]] CUresult check_device_of(CUcontext context);  // a wait checks what it waited for
// Returns whether the context may use memory of a device that is not its own.
[[nodiscard]] bool has_peer_on(CUcontext context, int device);
// Ends the peer accesses that a context enabled, or that others enabled to it.
void end_peers_of(CUcontext context);
[[nodiscard]] inline CUresult result_of(const Status& status) {
  return static_cast<CUresult>(status.code);
}

// The bodies of the entry points, under their exact exported names. They use the header's types, so
// a disagreement with NVIDIA's header does not link.
namespace body {
#define DRIVER(symbol, asked, since, needs) decltype(::symbol) symbol;
#define STREAMED(symbol, asked, since, suffix, needs) decltype(::symbol) symbol;
#include "test/simulator/driver/functions.def"
#undef DRIVER
#undef STREAMED
}  // namespace body

}  // namespace vramscope::simulator
