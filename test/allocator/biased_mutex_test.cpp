// The lock that is biased to one thread, where something comes between: signals, forks, filters of
// system calls, ends of threads and of processes.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/biased_mutex.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "allocator/base/capability.h"

namespace vramscope::test {
namespace {

constexpr std::uint32_t kStreak = 4;
using Lock = ScopedLock<BiasedMutex>;

void settle(BiasedMutex& mutex) {
  for (std::uint32_t i = 0; i <= 64 * kStreak; ++i) const Lock lock(mutex);
}

// Exit status of a child that ran `work`; 128 + N when signal N ended it.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Threads that all count under the lock. True: nothing is lost.
bool counts_right(BiasedMutex& mutex, int threads) {
  constexpr int kSections = 20000;
  int counted = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int k = 0; k < kSections; ++k) {
        const Lock lock(mutex);
        ++counted;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  return counted == threads * kSections;
}

struct Turns {
  BiasedMutex& mutex;
  const int count;
  std::atomic<int> number{0};
  std::atomic<int> done{0};

  // Waits for its turn, and lives until the last one had its own.
  static void* live(void* turns) {
    auto& [mutex, count, number, done] = *static_cast<Turns*>(turns);
    const int own = number++;
    while (done != own) std::this_thread::yield();
    settle(mutex);
    ++done;
    while (done != count) std::this_thread::yield();
    return nullptr;
  }
};

// So many threads, all alive, have the lock for themselves one after the other.
void take_turns(BiasedMutex& mutex, int count, std::size_t stack_bytes) {
  Turns turns{mutex, count};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  std::vector<pthread_t> threads(static_cast<std::size_t>(count));
  for (pthread_t& thread : threads) pthread_create(&thread, &attributes, Turns::live, &turns);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// From now on the system call fails so in this thread and those that it starts.
bool refuse_membarrier(std::uint32_t code) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = 4, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class BiasedMutexTest : public testing::Test {
 protected:
  void SetUp() override { BiasedMutex::prepare(); }

  BiasedMutex mutex_{kStreak};
};

TEST_F(BiasedMutexTest, IsWithdrawnWhenAnotherThreadComes) {
  settle(mutex_);

  std::thread([&] { const Lock lock(mutex_); }).join();

  EXPECT_EQ(mutex_.withdrawals(), 1U);
}

TEST_F(BiasedMutexTest, NamesWhoseSectionIsOpen) {
  const std::uint32_t before = mutex_.holder();
  mutex_.lock();
  const std::uint32_t unbiased = mutex_.holder();
  mutex_.unlock();
  settle(mutex_);
  mutex_.lock();
  const std::uint32_t biased = mutex_.holder();
  mutex_.unlock();

  EXPECT_EQ(before, 0U);
  EXPECT_EQ(unbiased, this_holder());
  EXPECT_EQ(biased, this_holder());
  EXPECT_EQ(mutex_.holder(), 0U);
}

// The next report is made from memory that a process left behind.
TEST_F(BiasedMutexTest, NamesWhoseSectionWasOpenWhenTheProcessDied) {
  void* const shared =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const left = new (shared) BiasedMutex(kStreak);

  const int status = in_child([&] {
    settle(*left);
    left->lock();
    return raise(SIGKILL);
  });

  EXPECT_EQ(status, 128 + SIGKILL);
  EXPECT_EQ(left->holder(), this_holder());  // the child's only thread had this one's place
  munmap(shared, 4096);
}

TEST_F(BiasedMutexTest, LetsNoHandlerIntoASectionOfItsOwnThread) {
  static BiasedMutex* mutex;
  static std::atomic<bool> is_inside;
  static std::atomic<int> intruded, entered;
  mutex = &mutex_, is_inside = false, intruded = 0, entered = 0;
  struct sigaction action {};
  action.sa_handler = [](int) {
    if (!mutex->try_lock()) return;
    ++(is_inside ? intruded : entered);
    mutex->unlock();
  };
  struct sigaction before {};
  sigaction(SIGUSR2, &action, &before);

  const pthread_t self = pthread_self();
  std::atomic<bool> is_over{false};
  std::thread sender([&] {
    while (!is_over) pthread_kill(self, SIGUSR2), std::this_thread::yield();
  });
  for (int i = 0; i < 300000 || entered == 0; ++i) {
    const Lock lock(mutex_);
    is_inside = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_inside = false;
  }
  is_over = true;
  sender.join();
  sigaction(SIGUSR2, &before, nullptr);

  EXPECT_EQ(intruded, 0);
  EXPECT_GT(entered, 0);
}

TEST_F(BiasedMutexTest, GivesUpTheLockOfTheThreadThatEndsTheProcess) {
  settle(mutex_);
  mutex_.lock();
  int lost = 0;

  {
    const EndingThread ending(true, false);
    for (int i = 0; i < 2; ++i) {  // one withdraws the bias, the other finds none
      std::thread([&] {
        const GivesUpLostLocks gives_up;
        try {
          const Lock lock(mutex_);
        } catch (const LockLost&) {
          ++lost;
        }
      }).join();
    }
  }
  mutex_.unlock();

  EXPECT_EQ(lost, 2);
  EXPECT_TRUE(counts_right(mutex_, 2));
}

TEST_F(BiasedMutexTest, HasABiasForNewThreadsWhenOldOnesHaveEnded) {
  take_turns(mutex_, 7, 1 << 20);
  take_turns(mutex_, 7, 2 << 20);  // on stacks that the others had not: other holders

  EXPECT_EQ(mutex_.withdrawals(), 13U);
}

// One more than there are seats: the last one locks without a bias.
TEST_F(BiasedMutexTest, HasNoBiasForOneOfManyLivingThreads) {
  take_turns(mutex_, 8, 1 << 20);

  EXPECT_EQ(mutex_.withdrawals(), 7U);
  EXPECT_TRUE(counts_right(mutex_, 3));
}

TEST_F(BiasedMutexTest, IsRightInAForkedChild) {
  std::thread([&] { settle(mutex_); }).join();  // who has the bias is not in the child

  const int status = in_child([&] { return counts_right(mutex_, 3) ? 0 : 1; });

  EXPECT_EQ(status, 0);
}

TEST_F(BiasedMutexTest, IsRightInAChildOfTheThreadThatHasTheBias) {
  settle(mutex_);

  const int status = in_child([&] { return counts_right(mutex_, 3) ? 0 : 1; });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(mutex_.withdrawals(), 0U);
}

TEST_F(BiasedMutexTest, HasNoBiasWhereTheKernelRefuses) {
  const int status = in_child([&] {
    if (!refuse_membarrier(ENOSYS)) return 77;
    BiasedMutex::prepare();
    settle(mutex_);
    return counts_right(mutex_, 3) && mutex_.withdrawals() == 0 ? 0 : 1;
  });

  if (status == 77) GTEST_SKIP() << "no filter of system calls can be installed";
  EXPECT_EQ(status, 0);
}

TEST_F(BiasedMutexTest, IsRightWhereAFilterComesLater) {
  for (const std::uint32_t code : {EPERM, ENOSYS}) {
    const int status = in_child([&] {
      settle(mutex_);
      if (!refuse_membarrier(code)) return 77;
      errno = 0;
      const bool is_right = counts_right(mutex_, 3);
      return is_right && mutex_.withdrawals() == 1 ? 0 : 1;
    });

    if (status == 77) GTEST_SKIP() << "no filter of system calls can be installed";
    EXPECT_EQ(status, 0) << code;
  }
}

}  // namespace
}  // namespace vramscope::test
