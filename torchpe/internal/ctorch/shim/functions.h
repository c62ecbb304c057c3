/* functions.h lists the functions of the C interface, each as FUNCTION(result, name, (parameters),
 * (arguments)). shim.h declares them by it, and load.c of the Go package makes them call the library. */

/* ---- handles and memory ---- */
FUNCTION(int, tp_abi, (void), ())
FUNCTION(int64_t, tp_live, (void), ())
FUNCTION(char*, tp_release, (const tp_tensor* tensors, int64_t n), (tensors, n))
FUNCTION(void, tp_free_text, (char* text), (text))

/* ---- creation and reading ---- */
FUNCTION(tp_result, tp_from_data, (const void* data, const int64_t* shape, int rank, int dtype, int device),
         (data, shape, rank, dtype, device))
/* The same on the CPU without a copy: data stays the caller's, who keeps it where it is as long as any
 * tensor uses it. */
FUNCTION(tp_result, tp_share_data, (void* data, const int64_t* shape, int rank, int dtype),
         (data, shape, rank, dtype))
FUNCTION(tp_result, tp_full, (const int64_t* shape, int rank, double value, int dtype, int device),
         (shape, rank, value, dtype, device))
FUNCTION(tp_result, tp_randn, (const int64_t* shape, int rank, uint64_t seed, int dtype, int device),
         (shape, rank, seed, dtype, device))
FUNCTION(tp_info_result, tp_info, (tp_tensor x), (x))
FUNCTION(char*, tp_read, (tp_tensor x, void* out, int64_t bytes), (x, out, bytes))

/* ---- operators ---- */
/* Returns the name of operator number op, from 0, or NULL behind the last one. */
FUNCTION(const char*, tp_op_name, (int op), (op))
/* Runs an operator. Its row in a table (operands.h) says which operands it takes in which order; 0 stands for
 * a tensor that is left out. */
FUNCTION(char*, tp_op, (int op, const tp_tensor* tensors, int n_tensors, const int64_t* integers, int n_integers,
                        const double* numbers, int n_numbers, int grad, tp_tensor* results, int n_results),
         (op, tensors, n_tensors, integers, n_integers, numbers, n_numbers, grad, results, n_results))

/* ---- streams, CUDA graphs, copies that the host does not wait for ---- */
/* Moves the calling thread to a stream of its own */
FUNCTION(char*, tp_own_stream, (int device), (device))
/* Moves it back to the common stream */
FUNCTION(char*, tp_default_stream, (int device), (device))
/* Waits for all work; returns at once for the CPU */
FUNCTION(char*, tp_synchronize, (int device), (device))
/* Starts recording what this thread does on the device, until tp_graph_end, instead of doing it.
 * Graphs share memory with the graph named share (0 = none). */
FUNCTION(char*, tp_graph_begin, (int device, uint64_t share, uint64_t* graph), (device, share, graph))
FUNCTION(char*, tp_graph_end, (uint64_t graph), (graph))
FUNCTION(char*, tp_graph_replay, (uint64_t graph), (graph))
FUNCTION(char*, tp_graph_free, (uint64_t graph), (graph))
/* Copies data into dst, which must be dense and of that many bytes; data may be used again at once. */
FUNCTION(char*, tp_write_, (tp_tensor dst, const void* data, int64_t bytes), (dst, data, bytes))
/* Returns the bytes that libtorch's allocator has in use, had at most since tp_reset_peak_memory,
 * and holds; zeros for the CPU. */
FUNCTION(char*, tp_device_memory, (int device, int64_t* allocated, int64_t* peak, int64_t* reserved),
         (device, allocated, peak, reserved))
FUNCTION(char*, tp_reset_peak_memory, (int device), (device))
/* Gives memory that is not in use back to the device */
FUNCTION(char*, tp_release_cached, (int device), (device))
/* Selects operators that repeat to the same bits, where libtorch has them */
FUNCTION(char*, tp_set_deterministic, (int on), (on))

/* ---- the machine ---- */
FUNCTION(tp_system_info, tp_system, (void), ())
/* Returns a text like "2.6.0"; never NULL, free with tp_free_text */
FUNCTION(char*, tp_running_version, (void), ())
/* Returns why there is no CUDA, or "" */
FUNCTION(char*, tp_cuda_reason, (void), ())
FUNCTION(char*, tp_gpu, (int index, char** name, int64_t* total_bytes, int64_t* free_bytes),
         (index, name, total_bytes, free_bytes))
/* Returns name and version of the BLAS behind libtorch */
FUNCTION(char*, tp_blas, (void), ())
/* Returns the name of OpenBLAS's CPU kernel, or "" */
FUNCTION(char*, tp_blas_kernel, (void), ())
/* Returns the kernel that this CPU allows, or "" */
FUNCTION(char*, tp_blas_wanted, (void), ())
/* Returns how that was put right when the library was loaded, or "" */
FUNCTION(char*, tp_blas_repair, (void), ())
/* Sets the threads of one operator, on every thread; limited to what makes sense here */
FUNCTION(void, tp_set_threads, (int n), (n))
FUNCTION(int, tp_threads, (void), ())
/* Returns the instruction set of the fused kernels: avx512, avx2, generic, neon */
FUNCTION(const char*, tp_kernels, (void), ())
/* Chooses how the fused operators compute: 1 (default) our own loops on the CPU and our own kernels
 * on a GPU; 0 composed of libtorch's operators, for comparison; 2 the GPU's kernels, emulated on
 * the CPU: slow, for tests. */
FUNCTION(void, tp_set_fused, (int form), (form))
/* Sets the precision of the operands of float32 products in linear maps, projections and attention
 * of many tokens: 0 float32 (default); 1 tf32, mantissas of 10 bits; 2 bfloat16, of 7 bits. Sums in
 * products, residual sums, all other operators and float64 are not affected; with bfloat16 the halves of a
 * transformer's block also store what lies between their products as that. A GPU's tensor cores do
 * this, except for attention of many tokens in tf32, which libtorch computes; on the CPU the same
 * numbers are rounded (to nearest, ties to even). */
FUNCTION(void, tp_set_precision, (int precision), (precision))
FUNCTION(int, tp_precision, (void), ())
/* Chooses how a GPU computes attention over many tokens without a mask, where it is not of bfloat16 by
 * tp_set_precision: 0 (default) libtorch's memory-efficient kernel; 1 libtorch's flash kernel in
 * bfloat16, for operands of float32. What cannot be is 0. */
FUNCTION(void, tp_set_attention, (int form), (form))
FUNCTION(int, tp_attention_form, (void), ())
/* tp_trace_begin starts libtorch's profiler for the operators that this thread and its backward passes
 * call, by other operators too, and with `kernels` on a GPU for all kernels. tp_trace_end stops it and
 * returns the name of each call in a line; where path is not NULL it also writes its trace there. */
FUNCTION(char*, tp_trace_begin, (int kernels), (kernels))
FUNCTION(char*, tp_trace_end, (const char* path, char** names), (path, names))
