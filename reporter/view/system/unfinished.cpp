// Removes what is unfinished in a handler of signals.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/unfinished.h"

#include <unistd.h>

#include <utility>

namespace vramscope {
namespace {

std::atomic<UnfinishedFile*> newest{nullptr};

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

// Its own disposition is the default again.
extern "C" void remove_and_end(int signal) {
  UnfinishedFile::remove_all();
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

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)), older_(newest.load()) {
  newest.store(this);
  for (const int signal : kEnding) handle(signal, remove_and_end, SIG_DFL);
}

UnfinishedFile::~UnfinishedFile() {
  std::atomic<UnfinishedFile*>* to_this = &newest;
  while (to_this->load() != this) to_this = &to_this->load()->older_;
  to_this->store(older_.load());
  if (newest.load() != nullptr) return;
  for (const int signal : kEnding) handle(signal, SIG_DFL, remove_and_end);
}

void UnfinishedFile::remove_all() noexcept {
  for (const UnfinishedFile* one = newest.load(); one != nullptr; one = one->older_.load()) {
    unlink(one->path_.c_str());
  }
}

HeldEnd::HeldEnd() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : kEnding) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, &before_);
}

HeldEnd::~HeldEnd() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace vramscope
