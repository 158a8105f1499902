// NCCL as the simulated device meets it: the second of two ranks, with functions of two names each,
// whose kernels do nothing.
// SPDX-License-Identifier: Apache-2.0
#define FUNCTION(name)        \
  int p##name() { return 0; } \
  __attribute__((weak, alias("p" #name))) int name();

#pragma GCC visibility push(default)
extern "C" {
FUNCTION(ncclAllGather)
FUNCTION(ncclAllReduce)
FUNCTION(ncclAlltoAll)
FUNCTION(ncclBroadcast)
FUNCTION(ncclGather)
FUNCTION(ncclGroupEnd)
FUNCTION(ncclGroupStart)
FUNCTION(ncclReduce)
FUNCTION(ncclReduceScatter)
FUNCTION(ncclSend)

int pncclCommCount(const void*, int* ranks) {
  *ranks = 2;
  return 0;
}
int pncclCommUserRank(const void*, int* rank) {
  *rank = 1;
  return 0;
}
}
#pragma GCC visibility pop
