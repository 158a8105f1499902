// A library that does something as it is loaded, while the loader holds its lock.
// SPDX-License-Identifier: Apache-2.0
extern "C" void while_loading();  // of the program

__attribute__((constructor)) static void at_load() { while_loading(); }
