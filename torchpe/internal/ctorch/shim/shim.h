/* shim.h declares the C ABI of libtorchpe.so, all that the Go side knows of libtorch:
 * here its types, in functions.h its functions.
 *
 * Tensors are handles: a slot and its generation in one integer, never a pointer. A handle that was
 * freed, or never given, is an error of the call that names it, not a crash. Every call that can fail
 * returns its error by value as a malloc'ed text (NULL = none) that the caller frees with
 * tp_free_text; nothing is kept per thread. No C++ exception leaves a function.
 *
 * `grad` (0/1) is the grad mode of the call. E is the ensemble axis: the number of independent members.
 */
#ifndef TORCHPE_SHIM_H
#define TORCHPE_SHIM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Bumped when a function is added or changes; the Go side refuses a library of another number. */
#define TP_ABI 21

typedef uint64_t tp_tensor; /* 0 = no tensor */
typedef struct {
  tp_tensor tensor;
  char* error;
} tp_result;

enum { TP_FLOAT32 = 0, TP_FLOAT64 = 1, TP_INT64 = 2, TP_BOOL = 3 };
enum { TP_CPU = 0 }; /* devices: 0 = CPU, 1 + i = cuda:i */
enum { TP_MAX_RANK = 8 };

typedef struct {
  int64_t shape[TP_MAX_RANK];
  int rank, dtype, device, requires_grad;
  char* error;
} tp_info_result;

typedef struct {
  int64_t built_version, running_version; /* major*10000 + minor*100 + patch */
  int cuda_built, cuda_available, gpus, threads;
  int cuda_kernels; /* our own kernels were compiled by nvcc */
  int cuda_bf16;    /* a GPU multiplies bfloat16 by cuBLAS; else float32 operands are rounded */
} tp_system_info;

/* The functions: functions.h says what they do. */
#define FUNCTION(result, name, parameters, arguments) result name parameters;
#include "functions.h"
#undef FUNCTION

#ifdef __cplusplus
}
#endif
#endif
