// Numbers threads and reads their names.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/thread_table.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "allocator/base/kept_errno.h"

namespace vramscope {

namespace {

constexpr std::size_t kNameBytes = 16;  // TASK_COMM_LEN

// Returns "" if that thread has ended.
std::string name_of(std::int64_t id) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/task/%lld/comm", static_cast<long long>(id));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[kNameBytes + 1];
  ssize_t length = read(file, text, sizeof text);
  close(file);
  if (length > 0 && text[length - 1] == '\n') --length;
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

constinit thread_local ThreadTable::Slot ThreadTable::slot{nullptr, 0};

ThreadTable::ThreadTable() {  // no thread has number 0
  threads_.emplace_back();
  changed_.push_back(++changes_);
}

std::uint32_t ThreadTable::enter() noexcept {
  const KeptErrno kept;
  char name[kNameBytes + 1] = {};
  prctl(PR_GET_NAME, name);
  slot = {this, kOtherValue};
  const SystemLock guard(lock_);
  if (threads_.size() <= kMax) {
    try {
      changed_.reserve(threads_.size() + 1);
      threads_.push_back({static_cast<std::int64_t>(syscall(SYS_gettid)), name});
      changed_.push_back(++changes_);
      slot.number = static_cast<std::uint32_t>(threads_.size() - 1);
    } catch (...) {  // no memory for a name: the thread counts as one of the others
    }
  }
  return slot.number;
}

void ThreadTable::note_name() {
  if (slot.table != this || slot.number == kOtherValue) return;
  char name[kNameBytes + 1] = {};
  if (prctl(PR_GET_NAME, name) != 0) return;
  const SystemLock guard(lock_);
  ThreadFact& self = threads_[slot.number];
  if (self.name == name) return;
  self.name = name;  // the name is short enough to need no memory
  changed_[slot.number] = ++changes_;
}

Numbered<ThreadFact> ThreadTable::changed_since(std::uint64_t& changes) const {
  const SystemLock guard(lock_);
  return rows_changed_since(changes, changes_, threads_, changed_);
}

std::vector<ThreadFact> ThreadTable::facts() const {
  std::vector<ThreadFact> facts;
  {
    const SystemLock guard(lock_);
    facts = threads_;
  }
  for (ThreadFact& thread : facts) {
    if (thread.id == 0) continue;
    if (std::string now = name_of(thread.id); !now.empty()) thread.name = std::move(now);
  }
  return facts;
}

}  // namespace vramscope
