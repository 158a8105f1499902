// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/repointing.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "interpose/loader/loader.h"
#include "interpose/loader/lookup.h"
#include "interpose/loader/mapped_object.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

using Word = std::uintptr_t;

struct Change {
  Word from = 0;
  Word to = 0;
};

// Each address that changes, sorted.
class Changes {
 public:
  void add(Word from, Word to) { all_.push_back({from, to}); }

  // Functions at one address have the same parameters, and the first name counts.
  void sort() {
    std::stable_sort(all_.begin(), all_.end(), [](Change a, Change b) { return a.from < b.from; });
  }

  // Returns what the word becomes; 0: it stays.
  [[nodiscard]] Word find(Word word) const {
    if (all_.empty() || word < all_.front().from || word > all_.back().from) return 0;
    const auto at = std::lower_bound(all_.begin(), all_.end(), word,
                                     [](Change one, Word value) { return one.from < value; });
    return at->from == word ? at->to : 0;
  }

 private:
  std::vector<Change> all_;
};

enum class Towards : bool { wrappers, driver };

Changes changes(Towards what) {
  Changes all;
  const Real& driver = real();
  const auto add = [&](Function function, Word theirs) {
    const Word ours = reinterpret_cast<Word>(wrapper_of(row(function)));
    if (theirs != 0) what == Towards::wrappers ? all.add(theirs, ours) : all.add(ours, theirs);
  };
#define DRIVER_FUNCTION(symbol, ...) \
  add(Function::symbol, reinterpret_cast<Word>(driver.symbol.pointer()));
#include "interpose/table/functions.def"
  all.sort();
  return all;
}

// A word of a page that may be read only.
class Page {
 public:
  Page(Word address, bool is_written) : is_written_(is_written) {
    const auto size = static_cast<Word>(sysconf(_SC_PAGESIZE));
    begin_ = address / size * size;
    bytes_ = (address + sizeof(Word) > begin_ + size ? 2 : 1) * size;
    open_ = is_written || mprotect(place(), bytes_, PROT_READ | PROT_WRITE) == 0;
  }
  ~Page() {
    if (open_ && !is_written_) mprotect(place(), bytes_, PROT_READ);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  [[nodiscard]] bool is_open() const { return open_; }

 private:
  [[nodiscard]] void* place() const { return reinterpret_cast<void*>(begin_); }
  Word begin_ = 0;
  std::size_t bytes_ = 0;
  bool is_written_, open_ = false;
};

bool replace(Word* place, Word from, Word to, bool is_written) {
  const Page page(reinterpret_cast<Word>(place), is_written);
  return page.is_open() &&
         __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

std::size_t change_words(Word begin, Word end, bool is_written, const Changes& changes) {
  std::size_t count = 0;
  begin = (begin + sizeof(Word) - 1) / sizeof(Word) * sizeof(Word);
  for (Word at = begin; at + sizeof(Word) <= end; at += sizeof(Word)) {
    Word* const place = reinterpret_cast<Word*>(at);
    const Word found = __atomic_load_n(place, __ATOMIC_RELAXED);
    const Word becomes = changes.find(found);
    if (becomes != 0 && replace(place, found, becomes, is_written)) ++count;
  }
  return count;
}

// The driver's libraries call each other by pointers of their own, and the loader is not a program.
bool is_left_alone(const char* path) {
  const std::string_view all = path;
  const std::string_view file = all.substr(all.rfind('/') == all.npos ? 0 : all.rfind('/') + 1);
  const auto begins = [&](std::string_view with) { return file.starts_with(with); };
  return begins("libcuda.so") || begins("libnvidia-") || begins("libcudadebugger.so") ||
         begins("ld-linux") || begins("libvramscope.so") || begins("linux-vdso");
}

struct Search {
  const Changes& changes;
  const std::vector<Mapping>& mappings;
  Repointed done;
  bool failed = false;
};

// The part of a mapping that an object's data takes. Data that the loader has closed after it
// filled it in (RELRO) belongs to it.
void change_data(const dl_phdr_info& info, Search& search) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const Word begin = info.dlpi_addr + header.p_vaddr;
    const Word end = begin + header.p_memsz;
    for (const Mapping& mapping : search.mappings) {
      if (!mapping.is_read || mapping.end <= begin || mapping.begin >= end) continue;
      search.done.pointers +=
          change_words(std::max(begin, mapping.begin), std::min(end, mapping.end),
                       mapping.is_written, search.changes);
    }
  }
}

// The loader adds the base to the value, and the sum may wrap around.
void change_exports(const MappedObject& driver, Search& search) {
  if (driver.dynamic == nullptr) return;
  for (const ElfW(Sym) & symbol : symbols_in(tables_of(driver))) {
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const Word becomes = search.changes.find(driver.base + symbol.st_value);
    if (becomes == 0) continue;
    auto* const place = const_cast<Word*>(&symbol.st_value);
    if (replace(place, *place, becomes - driver.base, false)) ++search.done.exports;
  }
}

// Called for every object under the loader's lock, so nothing is unmapped meanwhile. Must not
// throw.
int change_object(dl_phdr_info* info, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  try {
    const MappedObject object = described(*info);
    if (object.contains(reinterpret_cast<Word>(real().cuInit.pointer()))) {
      change_exports(object, search);
    } else if (!is_left_alone(info->dlpi_name)) {
      change_data(*info, search);
    }
  } catch (const std::exception&) {
    search.failed = true;
  }
  return search.failed ? 1 : 0;
}

Repointed change(Towards what) {
  const Changes all = changes(what);
  const std::vector<Mapping> mapped = mappings();
  Search search{.changes = all, .mappings = mapped, .done = {}};
  dl_iterate_phdr(change_object, &search);
  if (search.failed) throw std::bad_alloc();
  return search.done;
}

}  // namespace

Repointed point_to_wrappers() { return change(Towards::wrappers); }
Repointed point_to_driver() { return change(Towards::driver); }

}  // namespace vramscope
