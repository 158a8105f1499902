// Managed memory: what is advised can be asked for.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = 8 * kPage;

class DriverManaged : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(CALL(cuMemAllocManaged)(&memory_, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  }

  CUresult advise(std::size_t from, std::size_t bytes, CUmem_advise advice,
                  CUdevice device = 0) const {
    return CALL(cuMemAdvise)(memory_ + from, bytes, advice, device);
  }
  int ask(CUmem_range_attribute name, std::size_t from = 0, std::size_t bytes = kBytes) const {
    int answer = -77;
    EXPECT_EQ(CALL(cuMemRangeGetAttribute)(&answer, sizeof answer, name, memory_ + from, bytes),
              CUDA_SUCCESS);
    return answer;
  }

  CUdeviceptr memory_ = 0;
};

TEST_F(DriverManaged, KnowsNothingAtFirst) {
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY), CU_DEVICE_INVALID);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_INVALID);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_INVALID);
}

TEST_F(DriverManaged, AnswersForRangesOfPages) {
  EXPECT_EQ(advise(kPage, kPage + 1, CU_MEM_ADVISE_SET_READ_MOSTLY), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, kPage, 2 * kPage), 1);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, kPage, 2 * kPage + 1), 0);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, kPage + 1), 0);
  EXPECT_EQ(advise(0, kBytes, CU_MEM_ADVISE_UNSET_READ_MOSTLY), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, kPage, 1), 0);
}

TEST_F(DriverManaged, KeepsPreferredLocationsAndPrefetches) {
  const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  const auto prefetch = CALL(cuMemPrefetchAsync);

  EXPECT_EQ(advise(0, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(prefetch(memory_, kBytes, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
  EXPECT_EQ(CALL(cuMemPrefetchAsync_v2)(memory_, kPage, node, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_INVALID);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, 0, kPage),
            CU_MEM_LOCATION_TYPE_HOST_NUMA);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, kPage, kPage), 0);
}

TEST_F(DriverManaged, ListsWhoAccesses) {
  int devices[3] = {7, 7, 7};
  EXPECT_EQ(advise(0, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, 0), CUDA_SUCCESS);
  EXPECT_EQ(advise(0, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemRangeGetAttribute)(devices, sizeof devices,
                                         CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory_, kBytes),
            CUDA_SUCCESS);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], CU_DEVICE_INVALID);
  EXPECT_EQ(devices[2], CU_DEVICE_INVALID);

  // cuda-python test_cuda_mem_range_attr: devices, the host, then nobody.
  EXPECT_EQ(CALL(cuMemRangeGetAttribute)(devices, sizeof devices,
                                         CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory_, kPage),
            CUDA_SUCCESS);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], CU_DEVICE_CPU);
  EXPECT_EQ(devices[2], CU_DEVICE_INVALID);
}

TEST_F(DriverManaged, ForgetsAdviceWithTheMemory) {
  advise(0, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY);
  CALL(cuMemFree_v2)(memory_);
  const CUdeviceptr before = memory_;

  ASSERT_EQ(CALL(cuMemAllocManaged)(&memory_, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);

  EXPECT_EQ(memory_, before);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
}

TEST_F(DriverManaged, ChecksArguments) {
  const CUdeviceptr plain = allocate(kBytes);
  const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};
  int answer = 0;
  const auto prefetch = CALL(cuMemPrefetchAsync);
  const auto prefetch_v2 = CALL(cuMemPrefetchAsync_v2);
  const auto ask_of = [&](CUdeviceptr pointer, std::size_t size, std::size_t bytes) {
    return CALL(cuMemRangeGetAttribute)(&answer, size, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, pointer,
                                        bytes);
  };

  EXPECT_EQ(advise(0, 0, CU_MEM_ADVISE_SET_READ_MOSTLY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(0, kBytes + 1, CU_MEM_ADVISE_SET_READ_MOSTLY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(0, kBytes, static_cast<CUmem_advise>(7)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(0, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(advise(0, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 99), CUDA_SUCCESS);  // ignored
  EXPECT_EQ(CALL(cuMemAdvise)(plain, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch(plain, kBytes, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch(memory_, 0, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch(memory_, kBytes, 99, nullptr), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(prefetch_v2(memory_, kBytes, nowhere, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch_v2(memory_, kBytes, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 1, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask_of(plain, 4, kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask_of(memory_, 8, kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask_of(memory_, 4, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverManaged, AnswersSeveralQuestionsAtOnce) {
  int first = 7, second[2] = {7, 7};
  void* answers[] = {&first, second};
  std::size_t sizes[] = {sizeof first, sizeof second};
  CUmem_range_attribute names[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                   CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  const auto code = CALL(cuMemRangeGetAttributes);
  advise(0, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, 0);

  EXPECT_EQ(code(answers, sizes, names, 2, memory_, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(code(answers, sizes, names, 0, memory_, kBytes), CUDA_ERROR_INVALID_VALUE);

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second[0], 0);
  EXPECT_EQ(second[1], CU_DEVICE_INVALID);
}

TEST_F(DriverManaged, AttachesWholeAllocationsToStreams) {
  const CUstream own = stream();
  const auto attach = CALL(cuStreamAttachMemAsync);

  EXPECT_EQ(attach(own, memory_, 0, CU_MEM_ATTACH_SINGLE), CUDA_SUCCESS);
  EXPECT_EQ(attach(nullptr, memory_, kBytes, CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
  EXPECT_EQ(attach(nullptr, memory_, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(own, memory_, kPage, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(own, memory_ + kPage, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(own, memory_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(own, memory_, 0, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST),
            CUDA_ERROR_INVALID_VALUE);
}

// docs.cupy.dev, malloc_managed; programming guide, unified memory: device memory is
// oversubscribed.
TEST_F(DriverManaged, DoesNotRunOutWithTheDevice) {
  std::size_t free = 0, after = 0;
  CUdeviceptr managed = 0;
  CALL(cuMemGetInfo_v2)(&free, nullptr);
  const CUdeviceptr rest = allocate(free / (2 << 20) * (2 << 20));

  EXPECT_EQ(CALL(cuMemAllocManaged)(&managed, 100, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFree_v2)(rest), CUDA_SUCCESS);
  CALL(cuMemGetInfo_v2)(&after, nullptr);

  EXPECT_EQ(after, free);
}

}  // namespace
}  // namespace vramscope::simulator
