// Removes what is unfinished in a handler of signals.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/unfinished.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

namespace vramscope {
namespace {

std::atomic<const char*> unfinished{nullptr};

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

// Its own disposition is the default again.
extern "C" void remove_and_end(int signal) {
  if (const char* const path = unfinished.load()) unlink(path);
  raise(signal);
}

void handle(int signal, void (*handler)(int), void (*instead_of)(int)) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0) return;
  if (now.sa_handler != instead_of) return;
  struct sigaction wanted {};
  wanted.sa_handler = handler;
  wanted.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &wanted, nullptr);
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  unfinished.store(path_.c_str());
  for (const int signal : kEnding) handle(signal, remove_and_end, SIG_DFL);
}

UnfinishedFile::~UnfinishedFile() {
  const char* own = path_.c_str();
  if (!unfinished.compare_exchange_strong(own, nullptr)) return;
  for (const int signal : kEnding) handle(signal, SIG_DFL, remove_and_end);
}

}  // namespace vramscope
