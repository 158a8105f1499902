// What a 32-bit process is given in place of a library of 64 bits: an object that does nothing. As an
// auditor (man rtld-audit) it asks, by answering 0, to be left out without a message.
// SPDX-License-Identifier: Apache-2.0
        .globl la_version
        .type la_version, @function
la_version:
        xorl %eax, %eax
        ret
        .section .note.GNU-stack, "", @progbits
