// Gives libunwind the registers and the memory of a stack one by one, and notes what it asks for.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/recorded_walk.h"

#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "reporter/record/stack/own_text.h"
#include "reporter/record/stack/proven_memory.h"

namespace vramscope::recorded_walk {

namespace {

// A frame farther from the door than this is on no stack that we know how to read.
constexpr std::uintptr_t kLargestStack = std::uintptr_t{1} << 30;

struct Unwinder {
  unw_addr_space_t space = nullptr;
  decltype(&unw_init_remote) begin = nullptr;
  decltype(&unw_step) step = nullptr;
  decltype(&unw_get_reg) get_register = nullptr;
  int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                      void*) = nullptr;
  TextRange own;
};
// Set once, before any walk.
constinit Unwinder unwinder;

// One object as far as unwinding it goes.
struct Object {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;  // its .eh_frame_hdr; 0: none
};

struct Walk {
  const Door& door;
  Walked& walked;
  std::array<Object, 16> objects{};
  std::size_t object_count = 0;
  bool is_foreign = false;  // it asked for what is not ours to tell

  [[nodiscard]] bool is_in_object(std::uintptr_t address) const {
    return std::any_of(
        objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(object_count),
        [address](const Object& o) { return address >= o.begin && address < o.end; });
  }
};

Walk& walk_of(void* argument) { return *static_cast<Walk*>(argument); }

int refuse(Walk& walk, int error) {
  walk.is_foreign = true;
  return -error;
}

struct Search {
  std::uintptr_t code;
  Object found;
};

// Under the loader's lock: looks, and nothing else.
int look_into(dl_phdr_info* info, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  Object object{.begin = ~std::uintptr_t{0}};
  bool is_there = false;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) object.table = begin;
    if (header.p_type != PT_LOAD) continue;
    object.begin = std::min(object.begin, begin);
    object.end = std::max(object.end, begin + header.p_memsz);
    is_there |= search.code >= begin && search.code < begin + header.p_memsz;
  }
  if (is_there) search.found = object;
  return is_there ? 1 : 0;
}

// The binary search table of .eh_frame_hdr (Linux Standard Base, Core, section 10.6.2), in the
// encodings that every linker writes.
struct [[gnu::packed]] TableHeader {
  std::uint8_t version;
  std::uint8_t pointer_encoding;
  std::uint8_t count_encoding;
  std::uint8_t entry_encoding;
  std::int32_t pointer;
  std::uint32_t count;

  [[nodiscard]] bool is_known() const {
    constexpr std::uint8_t kPcRelative4 = 0x1b, kUnsigned4 = 0x03, kTableRelative4 = 0x3b;
    return version == 1 && pointer_encoding == kPcRelative4 && count_encoding == kUnsigned4 &&
           entry_encoding == kTableRelative4;
  }
};

int find_procedure(unw_addr_space_t space, unw_word_t code, unw_proc_info_t* procedure, int needed,
                   void* argument) {
  Walk& walk = walk_of(argument);
  Search search{.code = code, .found = {}};
  dl_iterate_phdr(look_into, &search);
  if (search.found.table == 0) return -UNW_ENOINFO;
  if (!walk.is_in_object(code)) {
    if (walk.object_count == walk.objects.size()) return refuse(walk, UNW_ENOINFO);
    walk.objects[walk.object_count++] = search.found;
  }
  TableHeader header;
  std::memcpy(&header, reinterpret_cast<const void*>(search.found.table), sizeof header);
  if (!header.is_known()) return -UNW_ENOINFO;
  unw_dyn_info_t table{};
  table.start_ip = search.found.begin;
  table.end_ip = search.found.end;
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.u.rti.segbase = search.found.table;
  table.u.rti.table_data = search.found.table + sizeof header;
  constexpr std::size_t kEntryBytes = 8;
  table.u.rti.table_len = std::size_t{header.count} * kEntryBytes / sizeof(unw_word_t);
  return unwinder.search_table(space, code, &table, procedure, needed, argument);
}

void put_procedure(unw_addr_space_t, unw_proc_info_t*, void*) {}

int get_generated_code(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

__attribute__((no_sanitize("address", "thread"))) int read_word(unw_addr_space_t,
                                                                unw_word_t address,
                                                                unw_word_t* value, int is_write,
                                                                void* argument) {
  Walk& walk = walk_of(argument);
  if (is_write != 0) return refuse(walk, UNW_EREADONLYREG);
  if (!proven::read(address, *value)) return refuse(walk, UNW_EINVAL);
  if (walk.is_in_object(address)) return 0;
  const bool is_above = address >= walk.door.slot && address - walk.door.slot < kLargestStack;
  if (!is_above || !walk.walked.add({address, *value})) return refuse(walk, UNW_EINVAL);
  return 0;
}

// The first frame is made up: a function of ours that has just been called from the door.
int read_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int is_write,
                  void* argument) {
  Walk& walk = walk_of(argument);
  if (is_write != 0) return refuse(walk, UNW_EREADONLYREG);
  switch (number) {
    case UNW_X86_64_RIP:
      *value = reinterpret_cast<unw_word_t>(&open);
      return 0;
    case UNW_X86_64_RSP:
      *value = walk.door.slot;
      return 0;
    case UNW_X86_64_RBP:
      walk.walked.needs_frame_pointer = true;
      *value = walk.door.frame_pointer;
      return 0;
    default:
      return refuse(walk, UNW_EBADREG);
  }
}

int refuse_float(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void* argument) {
  return refuse(walk_of(argument), UNW_EBADREG);
}

int refuse_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }

int refuse_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
  return -UNW_EUNSPEC;
}

}  // namespace

void open(DlsymFunction real_dlsym) noexcept {
  if (unwinder.space != nullptr) return;
  void* const library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    dlerror();  // the program must not find our failure there
    return;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(real_dlsym(library, name));
    return function != nullptr;
  };
  decltype(&unw_create_addr_space) create = nullptr;
  if (!find(create, "_Ux86_64_create_addr_space") ||
      !find(unwinder.begin, "_Ux86_64_init_remote") || !find(unwinder.step, "_Ux86_64_step") ||
      !find(unwinder.get_register, "_Ux86_64_get_reg") ||
      !find(unwinder.search_table, "_Ux86_64_dwarf_search_unwind_table")) {
    return;
  }
  // Later versions of libunwind have more members, which may be null.
  struct {
    unw_accessors_t known;
    void* later[16];
  } accessors{};
  accessors.known = {.find_proc_info = find_procedure,
                     .put_unwind_info = put_procedure,
                     .get_dyn_info_list_addr = get_generated_code,
                     .access_mem = read_word,
                     .access_reg = read_register,
                     .access_fpreg = refuse_float,
                     .resume = refuse_resume,
                     .get_proc_name = refuse_name};
  unwinder.own = text_range_of(reinterpret_cast<const void*>(&open));
  unwinder.space = create(&accessors.known, 0);
}

bool take(const Door& door, std::span<const std::uintptr_t> expected, bool ends,
          Walked& walked) noexcept {
  walked.begin();
  if (unwinder.space == nullptr) return false;
  Walk walk{.door = door, .walked = walked};
  unw_cursor_t cursor;
  if (unwinder.begin(&cursor, unwinder.space, &walk) != 0) return false;
  std::size_t depth = 0;
  bool goes_on = true;
  while (goes_on && (depth < expected.size() || ends)) {
    goes_on = unwinder.step(&cursor) > 0;
    unw_word_t code = 0;
    if (!goes_on || unwinder.get_register(&cursor, UNW_X86_64_RIP, &code) != 0) break;
    if (code == 0 || unwinder.own.contains(code - 1)) continue;
    if (depth == expected.size() || code != expected[depth]) return false;
    if (++depth == kOwnerFrames) walked.count_of_few = walked.count;
  }
  return depth == expected.size() && !walk.is_foreign;
}

}  // namespace vramscope::recorded_walk
