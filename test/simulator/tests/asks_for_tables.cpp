// Built as libcublas.so.99: a library of NVIDIA's that carries a runtime of its own asks the driver
// for one of its private tables. The test that loads it gives it the question, as it has no other
// way to the driver that is tested.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/vendor.h"

using Question = decltype(&::cuGetExportTable);

namespace {

// Kept out of registers, so that the call is one and no jump: the driver looks at who called.
volatile int last_result;

}  // namespace

extern "C" [[gnu::visibility("default")]] int ask_for_a_table(Question question) {
  const void* table = nullptr;
  const CUuuid uuid = {};
  last_result = question(&table, &uuid);
  return last_result;
}
