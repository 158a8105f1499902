// The capture code as the program meets it: in a library of its own, whose frames are dropped.
// SPDX-License-Identifier: Apache-2.0
#include "test/reporter/stack_library.h"

#include "allocator/base/own_stack.h"
#include "reporter/record/stack/known_stacks.h"

namespace vramscope {

StackMethod open_library_stacks(StackMethod wanted, std::size_t max_depth, DlsymFunction lookup) {
  return open_stacks(wanted, max_depth, lookup);
}

void library_capture(Stack& stack) { capture(stack); }

void library_capture_elsewhere(Stack& stack) {
  own_stack::run([&stack] { capture(stack); });
}

bool library_note_fits() {
  Stack walked;
  capture(walked);
  const Door door = door_at(__builtin_frame_address(0));
  const StackNote* const note = KnownStacks::of_thread()->find_note(door, StackPart::all);
  own_stack::run([] {
    Stack stack;
    capture(stack);  // so that it is learnt
  });
  return note == nullptr || note->hash == walked.hash();
}

std::uint64_t library_found() { return KnownStacks::of_thread()->found(); }

}  // namespace vramscope
