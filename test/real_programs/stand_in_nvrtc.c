/* Stands in for NVRTC where its kernels are never run: compiles any text into code without any. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* With the variable that hashcat's kernels declare, and hashcat fills; nobody looks at the rest. */
static const char kCode[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .const .align 8 .b8 generic_constant[8192];\n";
static int the_program;

EXPORTED int nvrtcVersion(int* major, int* minor) {
  *major = 11;
  *minor = 8;
  return 0;
}

EXPORTED int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                                const char* const* texts, const char* const* names) {
  (void)source, (void)name, (void)headers, (void)texts, (void)names;
  *program = &the_program;
  return 0;
}

EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  (void)program, (void)count, (void)options;
  return 0;
}

EXPORTED int nvrtcDestroyProgram(void** program) {
  *program = NULL;
  return 0;
}

EXPORTED int nvrtcGetPTXSize(void* program, size_t* bytes) {
  (void)program;
  *bytes = sizeof kCode;
  return 0;
}

EXPORTED int nvrtcGetPTX(void* program, char* code) {
  (void)program;
  memcpy(code, kCode, sizeof kCode);
  return 0;
}

EXPORTED int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  (void)program;
  *bytes = 1;
  return 0;
}

EXPORTED int nvrtcGetProgramLog(void* program, char* log) {
  (void)program;
  *log = '\0';
  return 0;
}

EXPORTED const char* nvrtcGetErrorString(int error) {
  return error == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_INTERNAL_ERROR";
}

EXPORTED int nvrtcAddNameExpression(void* program, const char* name) {
  (void)program, (void)name;
  return 0;
}

EXPORTED int nvrtcGetLoweredName(void* program, const char* name, const char** lowered) {
  (void)program;
  *lowered = name;
  return 0;
}
