// What a 32-bit process is given in place of the library: an object without anything in it.
// SPDX-License-Identifier: Apache-2.0
        .section .note.GNU-stack, "", @progbits
