// Keeps the program's pthread_cancel away while code of ours runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace vramscope {

// From its making to the end of its scope. A cancellation unwinds the thread from the first call
// that is a cancellation point (open, read, write): through a noexcept function of ours it would
// end the program. Costs 10 ns, so it stands around such calls only.
class Uncancelled {
 public:
  Uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() {
    int disabled = 0;
    pthread_setcancelstate(before_, &disabled);
  }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace vramscope
