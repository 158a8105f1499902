// Life of the simulated driver: initialisation, fork, shutdown, and who may call when.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "interpose/settings/private_variables.h"
#include "test/simulator/device/shared_use.h"
#include "test/simulator/device/window.h"

namespace vramscope::simulator {

namespace {

enum class Life : std::uint8_t { before, running, forked, ended };

std::atomic<Life> life{Life::before};
Driver* the_driver = nullptr;  // set once, before `life` says so
std::mutex start_mutex;

void on_exit() { life = Life::ended; }

void in_child() { life = Life::forked; }

Configuration read_configuration() {
  const char* text = secure_getenv(kSimulatorVariable);
  Parsed parsed = parse_configuration(text == nullptr ? "" : text);
  for (const std::string& line : parsed.complaints) {
    std::fprintf(stderr, "vramscope: %s\n", line.c_str());
  }
  return parsed.configuration;
}

SharedUse* join(const std::string& name) {
  if (name.empty()) return nullptr;
  auto use = std::make_unique<SharedUse>(name);
  if (use->ok()) return use.release();
  std::fprintf(stderr, "vramscope: simulated device: cannot share '%s'; used alone\n",
               name.c_str());
  return nullptr;
}

// Null when the devices are this process's own. Never destroyed.
SharedUse* the_use() {
  static SharedUse* const use = join(configuration().shared);
  return use;
}

Neighbours* neighbours_on(int ordinal) {
  SharedUse* const use = the_use();
  return use != nullptr ? new SharedDevice(*use, ordinal) : nullptr;
}

DeviceModel model_of(int ordinal, const Configuration& configuration, const ShadowMemory& shadow) {
  return {.capacity = configuration.capacity,
          .reuse_addresses = true,
          .footprint = configuration.footprint,
          .device_base = shadow.base(),
          .neighbours = neighbours_on(ordinal)};
}

// As CUPTI's documentation says of the variable: the driver loads the library when it starts, and
// calls this function of it. A library that cannot be loaded is passed over.
void load_injection() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, "InitializeInjection");
  if (function != nullptr) reinterpret_cast<int (*)()>(function)();
}

CUresult start() {
  auto made = std::make_unique<Driver>(configuration());
  for (const auto& device : made->devices) {
    if (device->shadow.ok()) continue;
    std::fprintf(stderr, "vramscope: simulated device: no room for %llu bytes of addresses\n",
                 static_cast<unsigned long long>(addresses_for(configuration().capacity)));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  the_driver = made.release();
  // The unwinder that is linked into this library must have run before it can clean up in a thread
  // that is cancelled in it (allocator/base/leaving.h).
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
  pthread_atfork(nullptr, nullptr, in_child);
  std::atexit(on_exit);
  load_injection();
  life = Life::running;
  return CUDA_SUCCESS;
}

CUresult health(CUcontext context) {
  if (context != nullptr) return check_device_of(context);
  for (const auto& device : driver().devices) {
    if (const Status status = device->accounts.health(); !status.ok()) return result_of(status);
  }
  return CUDA_SUCCESS;
}

}  // namespace

Device::Device(int ordinal, const Configuration& configuration)
    : ordinal(ordinal),
      shadow(addresses_for(configuration.capacity)),
      accounts(model_of(ordinal, configuration, shadow)),
      graphs(accounts, configuration.capacity),
      primary(ordinal, true, 0, 0),
      default_pool(std::make_shared<CUmemPoolHandle_st>(ordinal, true)),
      current_pool(default_pool.get()) {
  primary.alive = false;
  accounts.fail_call(configuration.fail_alloc);
  if (configuration.sticky_code != 0) {
    accounts.set_sticky_after(configuration.sticky_after, configuration.sticky_code);
  }
}

const SharedUse* shared_use() { return the_use(); }

void Device::take_what_was_let_go() {
  if (const std::uint64_t bytes = left.let_go(); bytes != 0) accounts.keep_less(bytes);
}

Driver::Driver(const Configuration& settings) : configuration(settings) {
  for (int ordinal = 0; ordinal < settings.devices; ++ordinal) {
    devices.push_back(std::make_unique<Device>(ordinal, settings));
    contexts.insert(&devices.back()->primary);
    pools.add(devices.back()->default_pool);
  }
}

Device* Driver::device(CUdevice ordinal) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)].get();
}

Device* Driver::device_at(Address address) {
  for (const auto& device : devices) {
    if (device->shadow.contains(address) || device->graphs.contains(address)) return device.get();
  }
  return nullptr;
}

bool Driver::is_device_address(Address address) {
  return device_at(address) != nullptr || windows().find(address) != nullptr;
}

std::byte* Driver::bytes_at(Address start, std::uint64_t bytes) {
  if (Device* device = device_at(start)) {
    return device->graphs.contains(start) ? device->graphs.bytes_at(start, bytes)
                                          : device->shadow.bytes_at(start, bytes);
  }
  if (const auto window = windows().find(start)) return window->bytes_at(start);
  return reinterpret_cast<std::byte*>(start);
}

// Host and managed memory every context may use.
void Driver::wait_for_users(const Allocation& memory) {
  wait_in_each([&](CUcontext context) {
    if (context == memory.context) return true;
    if (context->device == memory.device) return false;
    return memory.kind != Kind::device || has_peer_on(context, memory.device);
  });
}

int& cancel_state_of_program() {
  static thread_local int state = PTHREAD_CANCEL_DISABLE;
  return state;
}

// Not asynchronously: it holds a lock.
void wait_for(const Point& point) {
  int before = 0;
  int type = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  const bool is_guarded = before == PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(is_guarded ? cancel_state_of_program() : before, &before);
  point.wait_cancellably();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_setcanceltype(type, &type);
  if (!is_guarded) pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
}

Grant grant_in(CUcontext context, std::uint64_t bytes) {
  driver().device_of(context).take_what_was_let_go();
  return driver().device_of(context).accounts.allocate(Memory::device, bytes,
                                                       owner_of_chunks(context));
}

Granules::Owner owner_of_chunks(CUcontext context) {
  const bool has_own = driver().configuration.footprint.chunks_of == ChunksOf::context;
  return has_own ? context->id + 1 : kDeviceItself;
}

const Configuration& configuration() {
  static const Configuration once = read_configuration();
  return once;
}

CUresult check_device_of(const Allocation& memory) {
  const auto device = static_cast<std::size_t>(memory.device);
  return result_of(driver().devices[device]->accounts.health());
}

CUresult check_device_of(CUcontext context) {
  return result_of(driver().device_of(context).accounts.health());
}

Driver& driver() { return *the_driver; }

CUresult admit(Needs needs) {
  if (needs == Needs::nothing) return CUDA_SUCCESS;
  switch (life.load()) {
    case Life::before:
    case Life::forked:
      return CUDA_ERROR_NOT_INITIALIZED;
    case Life::ended:
      return CUDA_ERROR_DEINITIALIZED;
    case Life::running:
      break;
  }
  if (needs == Needs::life) return CUDA_SUCCESS;
  CUcontext context = current_context();
  const bool asks_context = needs != Needs::driver;
  if (asks_context && refuse_in_ended_context() != CUDA_SUCCESS)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (const CUresult sick = health(context); sick != CUDA_SUCCESS) return sick;
  return asks_context && context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

Flavour& default_stream_flavour() {
  thread_local Flavour flavour = Flavour::legacy;
  return flavour;
}

namespace body {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Life now = life;
  if (now == Life::running) return CUDA_SUCCESS;
  if (now == Life::forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (now == Life::ended) return CUDA_ERROR_DEINITIALIZED;
  const std::lock_guard lock(start_mutex);
  return life == Life::running ? CUDA_SUCCESS : start();
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = configuration().driver_version;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
