// An object that does nothing, which a 32-bit process loads in place of the 64-bit library. As an
// auditor (man rtld-audit) it returns 0, so that the loader ignores it without a message.
// SPDX-License-Identifier: Apache-2.0
        .globl la_version
        .type la_version, @function
la_version:
        xorl %eax, %eax
        ret
        .section .note.GNU-stack, "", @progbits
