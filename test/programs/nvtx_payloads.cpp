// Ranges and marks that carry data, as NCCL has them: begun by NVTX's core and ended by its
// extension for payloads, the other way round, nested, in domains and across threads.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>

#include <thread>

#include "test/programs/driver.h"
#include "test/programs/nvtx_event.h"

namespace {

// Static, as NCCL's: the number is the program's.
constexpr std::uint64_t kSchema = (1 << 24) + 7;  // where static numbers begin, and some

std::uint64_t register_schema(nvtxDomainHandle_t domain) {
  static const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", nullptr, 0, 0, nullptr, nullptr}};
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.name = "sizes";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 1;
  schema.payloadStaticSize = sizeof(std::uint64_t);
  schema.schemaId = kSchema;
  return nvtxPayloadSchemaRegister(domain, &schema);
}

}  // namespace

int main() {
  start();
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  const nvtxEventAttributes_t init = event(nvtxDomainRegisterStringA(domain, "init"));
  (void)register_schema(domain);  // without a tool it has no number
  const std::uint64_t bytes = 4096;
  const nvtxPayloadData_t data = {kSchema, sizeof bytes, &bytes};

  nvtxDomainRangePushEx(domain, &init);
  (void)allocate(1 * kMiB);
  nvtxRangePopPayload(domain, &data, 1);
  (void)allocate(2 * kMiB);

  nvtxRangePushPayload(domain, &data, 1);
  (void)allocate(3 * kMiB);
  nvtxDomainRangePop(domain);

  nvtxRangePushA("step");
  nvtxDomainRangePushEx(domain, &init);
  nvtxRangePushPayload(domain, &data, 1);
  (void)allocate(4 * kMiB);
  nvtxRangePopPayload(domain, &data, 1);
  (void)allocate(5 * kMiB);
  nvtxRangePopPayload(domain, &data, 1);
  (void)allocate(6 * kMiB);
  nvtxRangePop();

  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent(&context));
  const nvtxRangeId_t epoch = nvtxRangeStartPayload(domain, &data, 1);
  std::thread([&] {
    MUST(cuCtxSetCurrent(context));
    (void)allocate(7 * kMiB);
    nvtxRangeEndPayload(domain, epoch, &data, 1);
  }).join();
  (void)allocate(8 * kMiB);
  nvtxMarkPayload(domain, &data, 1);
  std::puts("done");
}
#else
#include <cstdio>
int main() { std::puts("no payloads in these headers of NVTX"); }
#endif
