// Memory of variables is the device's, or, of managed ones, managed memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/module_variables.h"

#include <cstring>

#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

bool is_there(const ModuleVariables::Place& place) {
  const auto found = driver().memory.find(place.address);
  return place.address != 0 && found && found->buffer_id == place.buffer_id;
}

void write_initial(const Variable& variable, Address address) {
  const std::size_t bytes = variable.initial.size();
  if (bytes == 0) return;
  const std::shared_lock moves_bytes(bytes_mutex());
  std::memcpy(driver().bytes_at(address, bytes), variable.initial.data(), bytes);
}

}  // namespace

CUresult ModuleVariables::place(const Variable& variable, CUcontext context, Place& place) {
  const Grant grant = variable.is_managed
                          ? driver().take_managed_memory(context, variable.bytes,
                                                         CU_MEM_ATTACH_GLOBAL, Origin::variable)
                          : driver().take_device_memory(context, variable.bytes, Origin::variable);
  if (!grant.status.ok()) return result_of(grant.status);
  const auto added = driver().memory.find(grant.address);
  place = {grant.address, variable.bytes, added ? added->buffer_id : 0};
  write_initial(variable, grant.address);
  return CUDA_SUCCESS;
}

CUresult ModuleVariables::place_all(CUcontext context) {
  for (const auto& [name, variable] : declared_) {
    if (variable.bytes == 0) continue;
    if (const CUresult no = place(variable, context, placed_[name]); no != CUDA_SUCCESS) return no;
  }
  return CUDA_SUCCESS;
}

CUresult ModuleVariables::find(const std::string& name, CUcontext context, Place& found) {
  const auto declared = declared_.find(name);
  if (declared == declared_.end()) return CUDA_ERROR_NOT_FOUND;
  Place& placed = placed_[name];
  if (!is_there(placed)) {
    const CUresult no = place(declared->second, context, placed);
    if (no != CUDA_SUCCESS) return no;
  }
  found = placed;
  return CUDA_SUCCESS;
}

void ModuleVariables::end() {
  for (const auto& [name, place] : placed_) {
    const auto same = [&](const Allocation& a) { return a.buffer_id == place.buffer_id; };
    if (const auto taken = driver().memory.take(place.address, same)) driver().give_back(*taken);
  }
  placed_.clear();
}

}  // namespace vramscope::simulator
