// Lives of the handles of contexts.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/contexts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "interpose/loader/real.h"
#include "test/interpose/made_pools.h"

namespace vramscope {

namespace {

// The thread's current contexts. The device is told of one that was destroyed, too.
thread_local std::vector<CUcontext> stack;
thread_local int pushes = 0;

CUresult get_current(CUcontext* context) {
  *context = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}

CUresult get_device(CUdevice* device) {
  *device = 0;
  return stack.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUcontext ended_unseen = nullptr;

CUresult get_version(CUcontext context, unsigned* version) {
  *version = 3020;
  return context == ended_unseen ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult push(CUcontext context) {
  stack.push_back(context);
  ++pushes;
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* context) {
  *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

}  // namespace

// All of a driver that is asked here.
constinit std::atomic<const Real*> known_driver{nullptr};
constinit const Real no_driver{.cuCtxGetApiVersion = get_version,
                               .cuCtxGetCurrent = get_current,
                               .cuCtxGetDevice = get_device,
                               .cuCtxPushCurrent_v2 = push,
                               .cuCtxPopCurrent_v2 = pop,
                               .cuDeviceGetDefaultMemPool = default_pool,
                               .cuMemPoolGetAttribute = attribute_of_pool};

namespace {

class ContextsTest : public testing::Test {
 protected:
  std::vector<std::uint32_t> end(Contexts::Generation life) {
    std::vector<std::uint32_t> places;
    contexts_->ended(context_, life, [&](Place place) { places.push_back(place.context); });
    return places;
  }
  [[nodiscard]] Place place() {
    Place found;
    EXPECT_TRUE(contexts_->find(context_, found));
    return found;
  }

  const CUcontext context_ = handle<CUcontext>(0x10);
  const std::unique_ptr<Contexts> contexts_ = std::make_unique<Contexts>();
};

TEST_F(ContextsTest, ALifeEndsOnce) {
  contexts_->created(context_, 1);
  const Contexts::Generation life = contexts_->generation_of(context_);
  EXPECT_EQ(place().device, 1);

  EXPECT_EQ(end(life), std::vector<std::uint32_t>{life});

  Place none;
  EXPECT_FALSE(contexts_->find(context_, none));
  EXPECT_EQ(contexts_->generation_of(context_), Contexts::unseen);
  EXPECT_TRUE(end(Contexts::unseen).empty());
}

TEST_F(ContextsTest, AHandleThatCameBackBeforeItsEndWasToldIsAnotherPlace) {
  contexts_->created(context_, 0);
  const Contexts::Generation first = contexts_->generation_of(context_);

  contexts_->created(context_, 0);  // by another thread
  const Place second = place();

  EXPECT_NE(second.context, first);
  EXPECT_EQ(end(first), std::vector<std::uint32_t>{first});
  EXPECT_EQ(place(), second);
}

TEST_F(ContextsTest, WhatIsRetainedAgainStaysThatLife) {
  contexts_->retained(context_, 0);
  const Place first = place();

  contexts_->retained(context_, 0);

  EXPECT_EQ(place(), first);
}

TEST_F(ContextsTest, AUseWaitsForTheCallThatMayEndItsContext) {
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);
  auto ending =
      std::make_unique<Contexts::Ending>(*contexts_, life, Contexts::Ending::Uses::are_waited_for);
  std::future<CUcontext> used =
      std::async(std::launch::async, [&] { return Contexts::Use(*contexts_, life).context(); });
  EXPECT_EQ(used.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);

  end(life);
  ending.reset();

  EXPECT_EQ(used.get(), nullptr);
}

TEST_F(ContextsTest, ACallThatFailedToEndAContextLeavesItToItsUsers) {
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);

  { const Contexts::Ending failed(*contexts_, life, Contexts::Ending::Uses::are_waited_for); }

  EXPECT_EQ(Contexts::Use(*contexts_, life).context(), context_);
}

TEST_F(ContextsTest, AnEndWaitsForUsesUnlessTheHandleStaysGood) {
  using Uses = Contexts::Ending::Uses;
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);
  auto use = std::make_unique<Contexts::Use>(*contexts_, life);

  { const Contexts::Ending of_primary(*contexts_, life, Uses::go_on); }
  std::future<void> ended = std::async(std::launch::async, [&] {
    const Contexts::Ending waits(*contexts_, life, Uses::are_waited_for);
  });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  use.reset();

  ended.get();
}

// The driver answers cuCtxGetDevice where a destroyed context is current (seen on a driver 580).
class CurrentContextTest : public ContextsTest {
 protected:
  void SetUp() override {
    stack = {handle<CUcontext>(0x99)};
    static_cast<void>(contexts_->current());  // the thread remembers none of another test's
    stack = {context_};
    pushes = 0;
  }
  void TearDown() override { stack.clear(); }

  void end_current() { end(contexts_->begin_end(context_)); }

  const CUcontext other_ = handle<CUcontext>(0x20);
};

TEST_F(CurrentContextTest, OneThatEndedIsNotSeenAgain) {
  contexts_->created(context_, 0);
  EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);

  end_current();

  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(contexts_->check_current(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  Place none;
  EXPECT_FALSE(contexts_->find(context_, none));
}

TEST_F(CurrentContextTest, OneThatEndedBeforeItWasSeenIsNotSeen) {
  end_current();

  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(CurrentContextTest, OneThatEndedBehindOurBackIsAskedAbout) {
  ended_unseen = context_;

  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(contexts_->check_current(), CUDA_ERROR_CONTEXT_IS_DESTROYED);

  ended_unseen = nullptr;
  EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);
}

TEST_F(CurrentContextTest, OneWhoseEndRunsIsNotSeenUnlessThatFails) {
  ASSERT_EQ(contexts_->begin_end(context_), Contexts::unseen);
  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);

  contexts_->not_ended(context_);

  EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);
}

TEST_F(CurrentContextTest, AHandleThatIsGivenOutAgainLives) {
  using Begin = void (*)(Contexts&, CUcontext);
  constexpr Begin kBegins[] = {
      [](Contexts& contexts, CUcontext context) { contexts.created(context, 0); },
      [](Contexts& contexts, CUcontext context) { contexts.retained(context, 0); },
      [](Contexts& contexts, CUcontext context) { contexts.attached(context); },
  };
  for (const Begin begin : kBegins) {
    contexts_->created(context_, 0);
    end_current();
    ASSERT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);

    begin(*contexts_, context_);

    EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);
  }
}

TEST_F(CurrentContextTest, AnEndThatIsToldAfterTheHandleCameBackLeavesItAlive) {
  const Contexts::Generation before = contexts_->begin_end(context_);
  contexts_->created(context_, 0);  // by another thread

  end(before);

  EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);
}

TEST_F(CurrentContextTest, AViewEndsWithItsGreenContextAndWithWhatItShows) {
  const int green = 0;
  contexts_->created(other_, 0);
  contexts_->add_view(&green, context_, other_);
  EXPECT_EQ(contexts_->current().code, CUDA_SUCCESS);
  EXPECT_EQ(contexts_->view_owner(&green), contexts_->generation_of(other_));

  contexts_->remove_views(&green);
  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(contexts_->view_owner(&green), Contexts::unseen);

  contexts_->add_view(&green, context_, other_);
  contexts_->ended(other_, contexts_->begin_end(other_), [](Place) {});
  EXPECT_EQ(contexts_->current().code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(CurrentContextTest, IsLeftAndFoundAgain) {
  contexts_->created(other_, 0);
  {
    const ContextScope scope(*contexts_, contexts_->generation_of(other_));
    EXPECT_EQ(scope.code(), CUDA_SUCCESS);
    EXPECT_EQ(stack, (std::vector<CUcontext>{context_, other_}));
  }
  EXPECT_EQ(stack, std::vector<CUcontext>{context_});
}

TEST_F(CurrentContextTest, NothingIsPushedThatEndedNorOverWhatEnded) {
  contexts_->created(other_, 0);
  contexts_->created(context_, 0);
  const Contexts::Generation other = contexts_->generation_of(other_);
  const Contexts::Generation current = contexts_->generation_of(context_);

  end(current);
  const ContextScope over_ended(*contexts_, other);
  stack = {other_};
  const ContextScope ended(*contexts_, current);

  EXPECT_EQ(over_ended.code(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(ended.code(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(pushes, 0);
}

TEST_F(CurrentContextTest, NothingIsPushedOverWhatIsBeingEnded) {
  contexts_->created(other_, 0);
  contexts_->created(context_, 0);
  const Contexts::Ending ending(*contexts_, contexts_->generation_of(context_),
                                Contexts::Ending::Uses::are_waited_for);

  const ContextScope scope(*contexts_, contexts_->generation_of(other_));

  EXPECT_EQ(scope.code(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(pushes, 0);
}

TEST_F(CurrentContextTest, IsNotEndedBeforeItIsFoundAgain) {
  contexts_->created(other_, 0);
  contexts_->created(context_, 0);
  auto scope = std::make_unique<ContextScope>(*contexts_, contexts_->generation_of(other_));
  std::future<void> ended = std::async(std::launch::async, [&] {
    const Contexts::Ending waits(*contexts_, contexts_->generation_of(context_),
                                 Contexts::Ending::Uses::are_waited_for);
  });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  scope.reset();

  ended.get();
}

TEST_F(ContextsTest, ReleasesThatLeaveARetainAreNotTheLast) {
  contexts_->retained(context_, 0);
  contexts_->retained(context_, 0);

  EXPECT_FALSE(contexts_->may_be_last_release(context_));
  contexts_->released(context_);
  EXPECT_TRUE(contexts_->may_be_last_release(context_));
  EXPECT_TRUE(contexts_->may_be_last_release(handle<CUcontext>(0x30))) << "never seen";
}

}  // namespace
}  // namespace vramscope
