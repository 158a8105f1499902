// Puts a thread's name and where it began together.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/thread_text.h"

namespace vramscope {

std::string text_of_thread(const ThreadNames& names, const std::string& thread, const Page& page) {
  const std::string where = names.told(thread);
  if (where.empty()) return printable(thread, page);
  return printable(thread, page) + (page.unicode ? " \u00b7 " : " - ") + printable(where, page);
}

}  // namespace vramscope
