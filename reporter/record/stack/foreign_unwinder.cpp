// Gives libunwind the registers and words of a made-up frame one by one, and notes what it asks
// for.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/foreign_unwinder.h"

#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <link.h>

#include <algorithm>
#include <array>

#include "reporter/record/stack/library_guards.h"
#include "reporter/record/stack/safe_read.h"

namespace vramscope::foreign_unwinder {

namespace {

struct Unwinder {
  unw_addr_space_t space = nullptr;
  decltype(&unw_init_remote) begin = nullptr;
  decltype(&unw_step) step = nullptr;
  decltype(&unw_get_reg) get_register = nullptr;
  int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                      void*) = nullptr;
};
// Is set once, before any frame is made up.
constinit Unwinder unwinder;

// The parts of an object that unwinding needs.
struct Object {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;  // the address of its .eh_frame_hdr; 0: none
};

// The values of the made-up frame's pointers and words. They point nowhere, and are so far apart
// that a sum shows to which of them something was added.
constexpr std::uintptr_t kStack = std::uintptr_t{1} << 60;
constexpr std::uintptr_t kFrame = std::uintptr_t{2} << 60;
constexpr std::uintptr_t kFound = std::uintptr_t{3} << 60;
constexpr std::uintptr_t kAway = std::uintptr_t{1} << 31;  // a rule has 32 bits for a distance

constexpr bool is_near(std::uintptr_t address, std::uintptr_t base) {
  return address + kAway - base < 2 * kAway;
}

// A frame that the code in question has called, and whose other callers are not known.
struct MadeUp {
  const std::uintptr_t code;
  std::array<Object, 4> objects{};
  std::size_t object_count = 0;
  bool is_foreign = false;  // the unwinder asked for something that we cannot answer
  bool has_table = false;
  std::array<std::uintptr_t, 4> read{};  // addresses of stack words, since the last step
  std::size_t read_count = 0;
  bool asked_frame_pointer = false;

  void begin_step() {
    has_table = asked_frame_pointer = false;
    read_count = 0;
  }
  [[nodiscard]] bool is_in_object(std::uintptr_t address) const {
    return std::any_of(
        objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(object_count),
        [address](const Object& o) { return address >= o.begin && address < o.end; });
  }
};

MadeUp& made_up(void* argument) { return *static_cast<MadeUp*>(argument); }

int refuse(MadeUp& frame, int error) {
  frame.is_foreign = true;
  return -error;
}

struct Search {
  std::uintptr_t code;
  Object found;
};

// Runs under the loader's lock, so it only looks.
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
  MadeUp& frame = made_up(argument);
  Search search{.code = code, .found = {}};
  dl_iterate_phdr(look_into, &search);
  if (search.found.table == 0) return -UNW_ENOINFO;
  if (!frame.is_in_object(code)) {
    if (frame.object_count == frame.objects.size()) return refuse(frame, UNW_ENOINFO);
    frame.objects[frame.object_count++] = search.found;
  }
  TableHeader header;
  // Another thread may have unloaded the object meanwhile.
  if (!safe_read::copy(search.found.table, &header, sizeof header)) return -UNW_ENOINFO;
  if (!header.is_known()) return -UNW_ENOINFO;
  unw_dyn_info_t table{};
  table.start_ip = search.found.begin;
  table.end_ip = search.found.end;
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.u.rti.segbase = search.found.table;
  table.u.rti.table_data = search.found.table + sizeof header;
  constexpr std::size_t kEntryBytes = 8;
  table.u.rti.table_len = std::size_t{header.count} * kEntryBytes / sizeof(unw_word_t);
  const int answer = unwinder.search_table(space, code, &table, procedure, needed, argument);
  frame.has_table = answer == 0;
  return answer;
}

void put_procedure(unw_addr_space_t, unw_proc_info_t*, void*) {}

int get_generated_code(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

int read_word(unw_addr_space_t, unw_word_t address, unw_word_t* value, int is_write,
              void* argument) {
  MadeUp& frame = made_up(argument);
  if (is_write != 0) return refuse(frame, UNW_EREADONLYREG);
  if (frame.is_in_object(address)) {
    return safe_read::read(address, *value) ? 0 : refuse(frame, UNW_EINVAL);
  }
  const bool is_known =
      is_near(address, kStack) || is_near(address, kFrame) || is_near(address, kFound);
  if (!is_known || frame.read_count == frame.read.size()) return refuse(frame, UNW_EINVAL);
  frame.read[frame.read_count++] = address;
  *value = address == kStack ? frame.code : kFound;
  return 0;
}

// Gives the registers of a function of ours that was just called.
int read_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int is_write,
                  void* argument) {
  MadeUp& frame = made_up(argument);
  if (is_write != 0) return refuse(frame, UNW_EREADONLYREG);
  switch (number) {
    case UNW_X86_64_RIP:
      *value = reinterpret_cast<unw_word_t>(&open);
      return 0;
    case UNW_X86_64_RSP:
      *value = kStack;
      return 0;
    case UNW_X86_64_RBP:
      frame.asked_frame_pointer = true;
      *value = kFrame;
      return 0;
    default:
      return refuse(frame, UNW_EBADREG);
  }
}

int refuse_float(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void* argument) {
  return refuse(made_up(argument), UNW_EBADREG);
}

int refuse_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }

int refuse_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
  return -UNW_EUNSPEC;
}

constexpr FrameRule kOdd{.kind = FrameRule::Kind::odd};
constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
// The stack pointer of the code in question after the return from its call.
constexpr std::uintptr_t kPopped = kStack + kWord;

// Finds how far below the CFA the frame pointer was saved. Returns false if it was saved elsewhere.
// Must be the last question.
bool find_saved(MadeUp& frame, unw_cursor_t& cursor, std::uintptr_t cfa, FrameRule& rule) {
  frame.begin_step();
  unw_word_t value = 0;
  if (unwinder.get_register(&cursor, UNW_X86_64_RBP, &value) != 0) return false;
  if (frame.read_count == 0) return frame.asked_frame_pointer;
  if (frame.read_count != 1) return false;
  if (rule.kind == FrameRule::Kind::by_frame_word) return frame.read[0] == kFrame;
  if (frame.read[0] >= cfa || !is_near(frame.read[0], cfa)) return false;
  rule.saved_below = static_cast<std::uint32_t>(cfa - frame.read[0]);
  return true;
}

// Returns the rule from what was read in the step out of the frame: where the caller's frame lies.
FrameRule rule_of(MadeUp& frame, unw_cursor_t& cursor) {
  unw_word_t cfa = 0;
  const std::size_t count = frame.read_count;
  if (unwinder.get_register(&cursor, UNW_X86_64_RSP, &cfa) != 0 || frame.read_count != count ||
      count == 0 || frame.read[count - 1] != cfa - kWord) {
    return kOdd;
  }
  FrameRule rule;
  if (count == 2 && cfa == kFound && frame.read[0] < kFrame && is_near(frame.read[0], kFrame)) {
    rule = {.kind = FrameRule::Kind::by_frame_word,
            .cfa = static_cast<std::uint32_t>(kFrame - frame.read[0])};
  } else if (count == 1 && cfa > kPopped && is_near(cfa, kPopped)) {
    rule = {.kind = FrameRule::Kind::by_stack_pointer,
            .cfa = static_cast<std::uint32_t>(cfa - kPopped)};
  } else if (count == 1 && cfa > kFrame && is_near(cfa, kFrame)) {
    rule = {.kind = FrameRule::Kind::by_frame_pointer,
            .cfa = static_cast<std::uint32_t>(cfa - kFrame)};
  } else {
    return kOdd;
  }
  return find_saved(frame, cursor, cfa, rule) && !frame.is_foreign ? rule : kOdd;
}

}  // namespace

bool open(DlsymFunction real_dlsym) noexcept {
  if (unwinder.space != nullptr) return true;
  void* const library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    dlerror();  // the program must not find our failure there
    return false;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(real_dlsym(library, name));
    return function != nullptr;
  };
  guard_library(library);  // this library makes a pipe of its own
  decltype(&unw_create_addr_space) create = nullptr;
  if (!find(create, "_Ux86_64_create_addr_space") ||
      !find(unwinder.begin, "_Ux86_64_init_remote") || !find(unwinder.step, "_Ux86_64_step") ||
      !find(unwinder.get_register, "_Ux86_64_get_reg") ||
      !find(unwinder.search_table, "_Ux86_64_dwarf_search_unwind_table")) {
    return false;
  }
  // Later versions of libunwind have more members, which may be null.
  struct {
    unw_accessors_t known;
    void* later[16];
  } accessors{};
  accessors.known.find_proc_info = find_procedure;
  accessors.known.put_unwind_info = put_procedure;
  accessors.known.get_dyn_info_list_addr = get_generated_code;
  accessors.known.access_mem = read_word;
  accessors.known.access_reg = read_register;
  accessors.known.access_fpreg = refuse_float;
  accessors.known.resume = refuse_resume;
  accessors.known.get_proc_name = refuse_name;
  unwinder.space = create(&accessors.known, 0);
  return unwinder.space != nullptr;
}

FrameRule learn(std::uintptr_t code) noexcept {
  MadeUp frame{.code = code};
  unw_cursor_t cursor;
  if (unwinder.begin(&cursor, unwinder.space, &frame) != 0 || unwinder.step(&cursor) <= 0) {
    return kOdd;
  }
  frame.begin_step();
  const int answer = unwinder.step(&cursor);
  if (answer < 0 || frame.is_foreign || !frame.has_table) return kOdd;
  return answer == 0 ? FrameRule{.kind = FrameRule::Kind::last} : rule_of(frame, cursor);
}

}  // namespace vramscope::foreign_unwinder
