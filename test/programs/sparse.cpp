// Multiplies sparse matrices by cuSPARSE, and reads what it says of them.
// SPDX-License-Identifier: Apache-2.0
// The declarations are those that matter.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

extern "C" {
int cusparseCreate(void** handle);
int cusparseDestroy(void* handle);
int cusparseCreateCsr(void** made, std::int64_t rows, std::int64_t columns, std::int64_t entries,
                      void* offsets, void* indices, void* values, int offset_type, int index_type,
                      int base, int type);
int cusparseCsrGet(void* matrix, std::int64_t* rows, std::int64_t* columns, std::int64_t* entries,
                   void** offsets, void** indices, void** values, int* offset_type, int* index_type,
                   int* base, int* type);
int cusparseSpMatGetSize(const void* matrix, std::int64_t* rows, std::int64_t* columns,
                         std::int64_t* entries);
int cusparseDestroySpMat(void* matrix);
int cusparseSpMM_bufferSize(void* handle, int op_a, int op_b, const void* alpha, const void* a,
                            const void* b, const void* beta, void* c, int type, int algorithm,
                            std::size_t* bytes);
int cusparseSpGEMM_createDescr(void** made);
int cusparseSpGEMM_destroyDescr(void* made);
int cusparseSpGEMM_compute(void* handle, int op_a, int op_b, const void* alpha, const void* a,
                           const void* b, const void* beta, void* c, int type, int algorithm,
                           void* description, std::size_t* bytes, void* buffer);
int cusparseSpVV(void* handle, int op, const void* x, const void* y, void* product, int type,
                 void* buffer);
int cusparseXcsrilu02_zeroPivot(void* handle, void* info, int* position);
int cusparseSnnz(void* handle, int direction, int m, int n, void* description, const float* a,
                 int lda, int* each, int* all);
int cusparseXcsrgeam2Nnz(void* handle, int m, int n, void* a, int entries_a, const int* rows_a,
                         const int* columns_a, void* b, int entries_b, const int* rows_b,
                         const int* columns_b, void* c, int* rows_c, int* entries_c, void* buffer);
int cusparseSpMMOp_createPlan(void* handle, ...);
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

static void* matrix(std::int64_t rows, std::int64_t columns, std::int64_t entries) {
  static int place;
  void* made = nullptr;
  say("matrix",
      cusparseCreateCsr(&made, rows, columns, entries, &place, &place + 1, &place + 1, 2, 2, 0, 0));
  return made;
}

static void print(void* of) {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
  say("size", cusparseSpMatGetSize(of, &rows, &columns, &entries));
  std::printf("%lld x %lld, %lld entries\n", static_cast<long long>(rows),
              static_cast<long long>(columns), static_cast<long long>(entries));
}

int main() {
  void* handle = nullptr;
  say("handle", cusparseCreate(&handle));
  say("no place for a handle", cusparseCreate(nullptr));
  void* a = matrix(4, 8, 10);
  void* b = matrix(8, 6, 12);
  void* c = matrix(4, 6, 0);
  print(a);
  void* offsets = nullptr;
  void* indices = nullptr;
  int index_type = 0;
  say("content", cusparseCsrGet(a, nullptr, nullptr, nullptr, &offsets, &indices, nullptr, nullptr,
                                &index_type, nullptr, nullptr));
  std::printf("kept: %d\n", offsets < indices && index_type == 2);
  std::size_t bytes = 1;
  say("buffer",
      cusparseSpMM_bufferSize(handle, 0, 0, nullptr, a, nullptr, nullptr, nullptr, 0, 0, &bytes));
  std::printf("buffer: %zu\n", bytes);
  void* description = nullptr;
  say("description", cusparseSpGEMM_createDescr(&description));
  bytes = 1;
  say("product", cusparseSpGEMM_compute(handle, 0, 0, nullptr, a, b, nullptr, c, 0, 0, description,
                                        &bytes, nullptr));
  std::printf("buffer: %zu\n", bytes);
  print(c);
  double product = 7;
  say("dot", cusparseSpVV(handle, 0, nullptr, nullptr, &product, 1, nullptr));
  int pivot = 7;
  say("pivot", cusparseXcsrilu02_zeroPivot(handle, nullptr, &pivot));
  int entries = 7;
  say("entries", cusparseSnnz(handle, 0, 1, 1, nullptr, nullptr, 1, nullptr, &entries));
  std::printf("dot: %g, zero pivot: %d, entries: %d\n", product, pivot, entries);
  say("sum", cusparseXcsrgeam2Nnz(handle, 4, 4, nullptr, 3, nullptr, nullptr, nullptr, 5, nullptr,
                                  nullptr, nullptr, nullptr, &entries, nullptr));
  std::printf("entries: %d\n", entries);
  say("not modelled", cusparseSpMMOp_createPlan(handle));
  for (void* one : {a, b, c}) say("matrix", cusparseDestroySpMat(one));
  say("end", cusparseSpGEMM_destroyDescr(description) + cusparseDestroy(handle));
}
