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
#define TP_ABI 16

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

/* Tokens that share rows: token n of sample b is all[e, index[e,b,n], n] + values[e,b,n] slope[e], all
 * [E,S,N,D], index int64 [E,B,N], values [E,B,N] and slope [E,D], or 0 and 0. */
typedef struct {
  tp_tensor all, index, values, slope;
} tp_rows;

/* A layer norm: gain, bias [E,D]. A table [E,N,D] (0 = none) is added to its result, then [E,B,N,D]. */
typedef struct {
  tp_tensor gain, bias, table;
  double eps;
} tp_norm;

/* Attention and what is around it: the operands of tp_project_qkv, tp_attention (mask: 0 = none) and
 * tp_linear. Biases may be 0. Where read is given, int64 [E,B,M], only those tokens are returned; where
 * rows.all is, x is what tp_take_rows returns of them. */
typedef struct {
  tp_tensor qkv_w, qkv_b, out_w, out_b, mask, read;
  tp_rows rows;
  int64_t heads;
  double scale;
} tp_self_attention;

/* The weights of the second half of a transformer's block; biases may be 0. */
typedef struct {
  tp_tensor in_w, in_b, out_w, out_b;
} tp_mlp;

typedef struct {
  int64_t built_version, running_version; /* major*10000 + minor*100 + patch */
  int cuda_built, cuda_available, gpus, threads, openblas;
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
