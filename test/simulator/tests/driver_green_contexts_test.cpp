// Green contexts, through the driver face. The tests' device has 16 multiprocessors of compute
// capability 9.0, of which a part has a multiple of 8.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverGreenContexts : public DriverTest {
 protected:
  static CUdevResource whole() {
    CUdevResource resource = {};
    EXPECT_EQ(CALL(cuDeviceGetDevResource)(0, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    return resource;
  }
  static CUgreenCtx make(CUdevResource part) {
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    EXPECT_EQ(CALL(cuDevResourceGenerateDesc)(&description, &part, 1), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM),
              CUDA_SUCCESS);
    return green;
  }
  static CUcontext view_of(CUgreenCtx green) {
    CUcontext view = nullptr;
    EXPECT_EQ(CALL(cuCtxFromGreenCtx)(&view, green), CUDA_SUCCESS);
    return view;
  }
};

TEST_F(DriverGreenContexts, PartsOfTheDeviceHaveMultiplesOfTheirGrain) {
  const CUdevResource all = whole();
  CUdevResource parts[4], rest = {};
  unsigned groups = 0;
  const auto split = CALL(cuDevSmResourceSplitByCount);

  EXPECT_EQ(all.sm.smCount, 16u);
  EXPECT_EQ(split(nullptr, &groups, &all, nullptr, 0, 3), CUDA_SUCCESS);
  EXPECT_EQ(groups, 2u);
  groups = 1;
  ASSERT_EQ(split(parts, &groups, &all, &rest, 0, 3), CUDA_SUCCESS);
  EXPECT_EQ(groups, 1u);
  EXPECT_EQ(parts[0].sm.smCount, 8u);
  EXPECT_EQ(rest.sm.smCount, 8u);
  groups = 4;
  ASSERT_EQ(split(parts, &groups, &all, &rest, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 5),
            CUDA_SUCCESS);
  EXPECT_EQ(groups, 2u);
  EXPECT_EQ(parts[1].sm.smCount, 6u);
  EXPECT_EQ(rest.sm.smCount, 4u);
}

TEST_F(DriverGreenContexts, WhatCannotBeSplitOrJoinedIsRefused) {
  const CUdevResource all = whole();
  CUdevResource parts[2], others[2], mine = {};
  unsigned groups = 2;
  CUdevResourceDesc description = nullptr;
  const auto split = CALL(cuDevSmResourceSplitByCount);
  ASSERT_EQ(split(parts, &groups, &all, nullptr, 0, 8), CUDA_SUCCESS);
  ASSERT_EQ(split(others, &groups, &all, nullptr, 0, 8), CUDA_SUCCESS);
  CUdevResource joined[] = {parts[0], parts[1]}, mixed[] = {parts[0], others[1]};

  EXPECT_EQ(split(others, &groups, &parts[0], nullptr, 0, 8),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(split(others, &groups, &all, nullptr, 0, 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split(others, &groups, &mine, nullptr, 0, 8), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  EXPECT_EQ(CALL(cuDevResourceGenerateDesc)(&description, joined, 2), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuDevResourceGenerateDesc)(&description, mixed, 2),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(DriverGreenContexts, AreCurrentUnderTheirOwnHandleAndUseThePrimaryContextsMemory) {
  unsigned groups = 1;
  CUdevResource all = whole(), part = {}, of_view = {};
  CUcontext current = nullptr, of_pointer = nullptr;
  CALL(cuDevSmResourceSplitByCount)(&part, &groups, &all, nullptr, 0, 8);
  const CUgreenCtx green = make(part);
  const CUcontext view = view_of(green);
  const std::size_t before = free_bytes();

  ASSERT_EQ(CALL(cuCtxSetCurrent)(view), CUDA_SUCCESS);
  const CUdeviceptr block = allocate(4 * kMiB);
  CALL(cuCtxGetCurrent)(&current);
  CALL(cuPointerGetAttribute)(&of_pointer, CU_POINTER_ATTRIBUTE_CONTEXT, block);

  EXPECT_NE(view, context_);
  EXPECT_EQ(current, view);
  EXPECT_EQ(of_pointer, context_);
  EXPECT_EQ(CALL(cuCtxGetDevResource)(view, &of_view, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  EXPECT_EQ(of_view.sm.smCount, 8u);
  EXPECT_EQ(CALL(cuCtxDestroy_v2)(view), CUDA_ERROR_INVALID_CONTEXT);
  CALL(cuCtxSetCurrent)(context_);
  EXPECT_EQ(before - free_bytes(), 4 * kMiB);
  EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 4 * kMiB);
  EXPECT_EQ(CALL(cuMemFree_v2)(block), CUDA_SUCCESS);
}

TEST_F(DriverGreenContexts, HaveStreamsOfTheirOwnAndEndWithThem) {
  const CUgreenCtx green = make(whole());
  const CUcontext view = view_of(green);
  CUstream stream = nullptr;
  CUgreenCtx of_stream = nullptr;
  CUcontext no_other = context_;
  const auto create = CALL(cuGreenCtxStreamCreate);

  EXPECT_EQ(create(&stream, green, 0, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(create(&stream, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamGetGreenCtx)(stream, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, green);
  EXPECT_EQ(CALL(cuStreamGetCtx_v2)(stream, &no_other, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(no_other, nullptr);
  EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CALL(cuCtxSynchronize_v2)(view), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(CALL(cuStreamGetGreenCtx)(nullptr, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, nullptr);
}

}  // namespace
}  // namespace vramscope::simulator
