// Walks the DWARF tree down to an address.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/dwarf_scopes.h"

#include <dwarf.h>

namespace vramscope {
namespace {

bool is_code(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}
bool may_have_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

struct ScopeSearch {
  bool opens_namespaces = false;
  int depth = 0;
};

// Adds the children of `parent` that contain the address, innermost first. Returns whether any do.
bool add_scopes(Dwarf_Die* parent, Dwarf_Addr address, ScopeSearch search,
                std::vector<Dwarf_Die>& scopes) {
  constexpr int kDeepest = 256;  // compilers nest far less deeply
  Dwarf_Die child;
  if (++search.depth > kDeepest || dwarf_child(parent, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (search.opens_namespaces && may_have_functions(tag)) {
      if (add_scopes(&child, address, search, scopes)) return true;
    } else if (is_code(tag) && dwarf_haspc(&child, address) == 1) {
      (void)add_scopes(&child, address, search, scopes);
      scopes.push_back(child);
      return true;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

}  // namespace

std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address) {
  std::vector<Dwarf_Die> scopes;
  if (!add_scopes(unit, address, {}, scopes)) {
    (void)add_scopes(unit, address, {.opens_namespaces = true}, scopes);
  }
  return scopes;
}

}  // namespace vramscope
