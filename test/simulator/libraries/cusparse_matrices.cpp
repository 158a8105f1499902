// cuSPARSE's descriptors of matrices and vectors: each keeps what it was given.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cusparseStatus_t
constexpr int kAllocationFailed = 2;
constexpr int kInvalidValue = 3;

// cusparseFormat_t
constexpr int kCsr = 1;
constexpr int kCsc = 2;
constexpr int kCoo = 3;
constexpr int kBlockedEll = 5;
constexpr int kBsr = 6;
constexpr int kSlicedEll = 7;

using Size = std::int64_t;
using Place = void*;  // memory of the program; nobody looks into it here

// Of any kind.
struct Matrix {
  int format = 0;
  struct {
    Size rows, columns, entries;  // of a dense one: its leading dimension in place of its entries
  } size = {};
  struct {
    Place first, second, values;
  } places = {};
  struct {
    int first, second, base, value;  // of a dense one: its order in place of its base
  } types = {};
  Size block = 0;
  Size stride = 0;
  int batch = 1;
  int attributes[2] = {};
};

int make(Matrix** made, const Matrix& content) {
  if (made == nullptr || content.size.rows < 0 || content.size.columns < 0 ||
      content.size.entries < 0)
    return kInvalidValue;
  *made = new (std::nothrow) Matrix(content);
  return *made == nullptr ? kAllocationFailed : kSuccess;
}

int destroy(const Matrix* matrix) {
  delete matrix;
  return kSuccess;
}

template <typename Value>
void tell(Value* into, Value value) {
  if (into != nullptr) *into = value;
}

struct SizesAsked {
  Size *rows, *columns, *entries;
};
struct PlacesAsked {
  Place *first, *second, *values;
};
struct TypesAsked {
  int *first, *second, *base, *value;
};

int tell(const Matrix* matrix, SizesAsked sizes, PlacesAsked places, TypesAsked types) {
  if (matrix == nullptr) return kInvalidValue;
  tell(sizes.rows, matrix->size.rows);
  tell(sizes.columns, matrix->size.columns);
  tell(sizes.entries, matrix->size.entries);
  tell(places.first, matrix->places.first);
  tell(places.second, matrix->places.second);
  tell(places.values, matrix->places.values);
  tell(types.first, matrix->types.first);
  tell(types.second, matrix->types.second);
  tell(types.base, matrix->types.base);
  tell(types.value, matrix->types.value);
  return kSuccess;
}

int set_places(Matrix* matrix, Place first, Place second, Place values) {
  if (matrix == nullptr) return kInvalidValue;
  matrix->places = {first, second, values};
  return kSuccess;
}

int set_values(Matrix* matrix, Place values) {
  if (matrix == nullptr) return kInvalidValue;
  matrix->places.values = values;
  return kSuccess;
}

int set_batch(Matrix* matrix, int batch, Size stride) {
  if (matrix == nullptr) return kInvalidValue;
  matrix->batch = batch;
  matrix->stride = stride;
  return kSuccess;
}

// The rule for a product, whose entries depend on values: as many as its larger factor has.
void multiply(const Matrix* one, const Matrix* other, Matrix* product) {
  if (one != nullptr && other != nullptr && product != nullptr)
    product->size.entries = std::max(one->size.entries, other->size.entries);
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

// Each exists for memory that is written and, called Const, for memory that is only read.
#define ALSO(name, function) extern decltype(function) name __attribute__((alias(#function)));

int cusparseCreateCsr(Matrix** made, Size rows, Size columns, Size entries, Place offsets,
                      Place indices, Place values, int offset_type, int index_type, int base,
                      int type) {
  return make(made, {kCsr,
                     {rows, columns, entries},
                     {offsets, indices, values},
                     {offset_type, index_type, base, type}});
}
int cusparseCreateCsc(Matrix** made, Size rows, Size columns, Size entries, Place offsets,
                      Place indices, Place values, int offset_type, int index_type, int base,
                      int type) {
  return make(made, {kCsc,
                     {rows, columns, entries},
                     {offsets, indices, values},
                     {offset_type, index_type, base, type}});
}
int cusparseCreateCoo(Matrix** made, Size rows, Size columns, Size entries, Place row_indices,
                      Place column_indices, Place values, int index_type, int base, int type) {
  return make(made, {kCoo,
                     {rows, columns, entries},
                     {row_indices, column_indices, values},
                     {index_type, index_type, base, type}});
}
int cusparseCreateBsr(Matrix** made, Size rows, Size columns, Size entries, Size height, Size width,
                      Place offsets, Place indices, Place values, int offset_type, int index_type,
                      int base, int type, int) {
  return make(made, {kBsr,
                     {rows * height, columns * width, entries * height * width},
                     {offsets, indices, values},
                     {offset_type, index_type, base, type}});
}
int cusparseCreateBlockedEll(Matrix** made, Size rows, Size columns, Size block, Size ell_columns,
                             Place indices, Place values, int index_type, int base, int type) {
  return make(made, {kBlockedEll,
                     {rows, columns, rows * ell_columns},
                     {nullptr, indices, values},
                     {0, index_type, base, type},
                     block,
                     ell_columns});
}
int cusparseCreateSlicedEll(Matrix** made, Size rows, Size columns, Size entries, Size, Size slice,
                            Place offsets, Place indices, Place values, int offset_type,
                            int index_type, int base, int type) {
  return make(made, {kSlicedEll,
                     {rows, columns, entries},
                     {offsets, indices, values},
                     {offset_type, index_type, base, type},
                     slice});
}
int cusparseCreateDnMat(Matrix** made, Size rows, Size columns, Size leading, Place values,
                        int type, int order) {
  return make(made, {0, {rows, columns, leading}, {nullptr, nullptr, values}, {0, 0, order, type}});
}
int cusparseCreateDnVec(Matrix** made, Size size, Place values, int type) {
  return make(made, {0, {size, 0, 0}, {nullptr, nullptr, values}, {0, 0, 0, type}});
}
int cusparseCreateSpVec(Matrix** made, Size size, Size entries, Place indices, Place values,
                        int index_type, int base, int type) {
  return make(made,
              {0, {size, 0, entries}, {indices, nullptr, values}, {index_type, 0, base, type}});
}
ALSO(cusparseCreateConstCsr, cusparseCreateCsr)
ALSO(cusparseCreateConstCsc, cusparseCreateCsc)
ALSO(cusparseCreateConstCoo, cusparseCreateCoo)
ALSO(cusparseCreateConstBsr, cusparseCreateBsr)
ALSO(cusparseCreateConstBlockedEll, cusparseCreateBlockedEll)
ALSO(cusparseCreateConstSlicedEll, cusparseCreateSlicedEll)
ALSO(cusparseCreateConstDnMat, cusparseCreateDnMat)
ALSO(cusparseCreateConstDnVec, cusparseCreateDnVec)
ALSO(cusparseCreateConstSpVec, cusparseCreateSpVec)

int cusparseDestroySpMat(const Matrix* matrix) { return destroy(matrix); }
int cusparseDestroyDnMat(const Matrix* matrix) { return destroy(matrix); }
int cusparseDestroyDnVec(const Matrix* vector) { return destroy(vector); }
int cusparseDestroySpVec(const Matrix* vector) { return destroy(vector); }

int cusparseCsrGet(const Matrix* matrix, Size* rows, Size* columns, Size* entries, Place* offsets,
                   Place* indices, Place* values, int* offset_type, int* index_type, int* base,
                   int* type) {
  return tell(matrix, {rows, columns, entries}, {offsets, indices, values},
              {offset_type, index_type, base, type});
}
int cusparseCooGet(const Matrix* matrix, Size* rows, Size* columns, Size* entries,
                   Place* row_indices, Place* column_indices, Place* values, int* index_type,
                   int* base, int* type) {
  return tell(matrix, {rows, columns, entries}, {row_indices, column_indices, values},
              {index_type, nullptr, base, type});
}
int cusparseBlockedEllGet(const Matrix* matrix, Size* rows, Size* columns, Size* block,
                          Size* ell_columns, Place* indices, Place* values, int* index_type,
                          int* base, int* type) {
  if (matrix == nullptr) return kInvalidValue;
  tell(block, matrix->block);
  tell(ell_columns, matrix->stride);
  return tell(matrix, {rows, columns, nullptr}, {nullptr, indices, values},
              {nullptr, index_type, base, type});
}
int cusparseDnMatGet(const Matrix* matrix, Size* rows, Size* columns, Size* leading, Place* values,
                     int* type, int* order) {
  return tell(matrix, {rows, columns, leading}, {nullptr, nullptr, values},
              {nullptr, nullptr, order, type});
}
int cusparseDnVecGet(const Matrix* vector, Size* size, Place* values, int* type) {
  return tell(vector, {size, nullptr, nullptr}, {nullptr, nullptr, values},
              {nullptr, nullptr, nullptr, type});
}
int cusparseSpVecGet(const Matrix* vector, Size* size, Size* entries, Place* indices, Place* values,
                     int* index_type, int* base, int* type) {
  return tell(vector, {size, nullptr, entries}, {indices, nullptr, values},
              {index_type, nullptr, base, type});
}
int cusparseSpMatGetValues(const Matrix* of, Place* values) {
  return tell(of, {}, {nullptr, nullptr, values}, {});
}
ALSO(cusparseCscGet, cusparseCsrGet)
ALSO(cusparseConstCsrGet, cusparseCsrGet)
ALSO(cusparseConstCscGet, cusparseCsrGet)
ALSO(cusparseConstCooGet, cusparseCooGet)
ALSO(cusparseConstBlockedEllGet, cusparseBlockedEllGet)
ALSO(cusparseConstDnMatGet, cusparseDnMatGet)
ALSO(cusparseConstDnVecGet, cusparseDnVecGet)
ALSO(cusparseConstSpVecGet, cusparseSpVecGet)
ALSO(cusparseDnMatGetValues, cusparseSpMatGetValues)
ALSO(cusparseDnVecGetValues, cusparseSpMatGetValues)
ALSO(cusparseSpVecGetValues, cusparseSpMatGetValues)
ALSO(cusparseConstSpMatGetValues, cusparseSpMatGetValues)
ALSO(cusparseConstDnMatGetValues, cusparseSpMatGetValues)
ALSO(cusparseConstDnVecGetValues, cusparseSpMatGetValues)
ALSO(cusparseConstSpVecGetValues, cusparseSpMatGetValues)
#undef ALSO

int cusparseSpMatSetValues(Matrix* in, Place values) { return set_values(in, values); }
int cusparseDnMatSetValues(Matrix* in, Place values) { return set_values(in, values); }
int cusparseDnVecSetValues(Matrix* in, Place values) { return set_values(in, values); }
int cusparseSpVecSetValues(Matrix* in, Place values) { return set_values(in, values); }
int cusparseCsrSetPointers(Matrix* in, Place offsets, Place indices, Place values) {
  return set_places(in, offsets, indices, values);
}
int cusparseCscSetPointers(Matrix* in, Place offsets, Place indices, Place values) {
  return set_places(in, offsets, indices, values);
}
int cusparseCooSetPointers(Matrix* in, Place rows, Place columns, Place values) {
  return set_places(in, rows, columns, values);
}

int cusparseCooSetStridedBatch(Matrix* in, int batch, Size stride) {
  return set_batch(in, batch, stride);
}
int cusparseCsrSetStridedBatch(Matrix* in, int batch, Size, Size stride) {
  return set_batch(in, batch, stride);
}
int cusparseBsrSetStridedBatch(Matrix* in, int batch, Size, Size, Size stride) {
  return set_batch(in, batch, stride);
}
int cusparseDnMatSetStridedBatch(Matrix* in, int batch, Size stride) {
  return set_batch(in, batch, stride);
}
int cusparseSpMatGetStridedBatch(const Matrix* of, int* batch) {
  return of == nullptr ? kInvalidValue : write_result(batch, of->batch, kInvalidValue);
}
int cusparseDnMatGetStridedBatch(const Matrix* of, int* batch, Size* stride) {
  if (of == nullptr) return kInvalidValue;
  tell(stride, of->stride);
  return write_result(batch, of->batch, kInvalidValue);
}

int cusparseSpMatGetSize(const Matrix* matrix, Size* rows, Size* columns, Size* entries) {
  return tell(matrix, {rows, columns, entries}, {}, {});
}
int cusparseSpMatGetFormat(const Matrix* of, int* format) {
  return of == nullptr ? kInvalidValue : write_result(format, of->format, kInvalidValue);
}
int cusparseSpMatGetIndexBase(const Matrix* of, int* base) {
  return of == nullptr ? kInvalidValue : write_result(base, of->types.base, kInvalidValue);
}
int cusparseSpVecGetIndexBase(const Matrix* of, int* base) {
  return of == nullptr ? kInvalidValue : write_result(base, of->types.base, kInvalidValue);
}

static bool is_attribute(const Matrix* matrix, int which, const void* value, std::size_t bytes) {
  return matrix != nullptr && which >= 0 && which < 2 && value != nullptr && bytes == sizeof(int);
}
int cusparseSpMatSetAttribute(Matrix* in, int which, const void* value, std::size_t bytes) {
  if (!is_attribute(in, which, value, bytes)) return kInvalidValue;
  std::memcpy(&in->attributes[which], value, bytes);
  return kSuccess;
}
int cusparseSpMatGetAttribute(const Matrix* of, int which, void* value, std::size_t bytes) {
  if (!is_attribute(of, which, value, bytes)) return kInvalidValue;
  std::memcpy(value, &of->attributes[which], bytes);
  return kSuccess;
}

int cusparseSpGEMM_compute(const void*, int, int, const void*, const Matrix* one,
                           const Matrix* other, const void*, Matrix* product, int, int, void*,
                           std::size_t* bytes) {
  multiply(one, other, product);
  return write_result(bytes, std::size_t{0}, kInvalidValue);
}
int cusparseSpGEMMreuse_nnz(const void*, int, int, const Matrix* one, const Matrix* other,
                            Matrix* product, int, void*, std::size_t* second, void*,
                            std::size_t* third, void*, std::size_t* fourth) {
  multiply(one, other, product);
  for (std::size_t* bytes : {second, third, fourth}) tell(bytes, std::size_t{0});
  return kSuccess;
}
int cusparseSpGEMM_estimateMemory(const void*, int, int, const void*, const void*, const void*,
                                  const void*, const void*, int, int, void*, float,
                                  std::size_t* third, void*, std::size_t* second) {
  tell(second, std::size_t{0});
  return write_result(third, std::size_t{0}, kInvalidValue);
}

}  // extern "C"
#pragma GCC visibility pop
