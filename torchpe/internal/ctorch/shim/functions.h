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
FUNCTION(char*, tp_copy_, (tp_tensor dst, tp_tensor src), (dst, src))
FUNCTION(char*, tp_fill_, (tp_tensor dst, double value), (dst, value))

/* ---- elementwise, one operand ---- */
FUNCTION(tp_result, tp_neg, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_abs, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_exp, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_log1p, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_sqrt, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_square, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_sin, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_cos, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_sigmoid, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_softplus, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_relu, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_gelu, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_floor, (tp_tensor x, int grad), (x, grad))

/* ---- elementwise, two operands (broadcast) ---- */
FUNCTION(tp_result, tp_add, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
FUNCTION(tp_result, tp_sub, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
FUNCTION(tp_result, tp_mul, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
FUNCTION(tp_result, tp_div, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
FUNCTION(tp_result, tp_maximum, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
FUNCTION(tp_result, tp_add_scalar, (tp_tensor x, double c, int grad), (x, c, grad))
FUNCTION(tp_result, tp_mul_scalar, (tp_tensor x, double c, int grad), (x, c, grad))
FUNCTION(tp_result, tp_clamp, (tp_tensor x, double low, double high, int grad), (x, low, high, grad))

/* ---- shapes ---- */
FUNCTION(tp_result, tp_reshape, (tp_tensor x, const int64_t* shape, int rank, int grad), (x, shape, rank, grad))
FUNCTION(tp_result, tp_expand, (tp_tensor x, const int64_t* shape, int rank, int grad), (x, shape, rank, grad))
FUNCTION(tp_result, tp_permute, (tp_tensor x, const int64_t* dims, int rank, int grad), (x, dims, rank, grad))
FUNCTION(tp_result, tp_transpose, (tp_tensor x, int64_t a, int64_t b, int grad), (x, a, b, grad))
FUNCTION(tp_result, tp_unsqueeze, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
FUNCTION(tp_result, tp_squeeze, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
FUNCTION(tp_result, tp_narrow, (tp_tensor x, int64_t dim, int64_t start, int64_t length, int grad),
         (x, dim, start, length, grad))
FUNCTION(tp_result, tp_select, (tp_tensor x, int64_t dim, int64_t index, int grad), (x, dim, index, grad))
/* Returns all n entries of axis dim. Their gradients are collected in one call. */
FUNCTION(char*, tp_unbind, (tp_tensor x, int64_t dim, int n, int grad, tp_tensor* out), (x, dim, n, grad, out))
FUNCTION(tp_result, tp_cat, (const tp_tensor* xs, int n, int64_t dim, int grad), (xs, n, dim, grad))
FUNCTION(tp_result, tp_stack, (const tp_tensor* xs, int n, int64_t dim, int grad), (xs, n, dim, grad))
FUNCTION(tp_result, tp_flip, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
FUNCTION(tp_result, tp_pad, (tp_tensor x, int64_t dim, int64_t before, int64_t after, double value, int grad),
         (x, dim, before, after, value, grad))
FUNCTION(tp_result, tp_index_select, (tp_tensor x, int64_t dim, tp_tensor index, int grad), (x, dim, index, grad))
FUNCTION(tp_result, tp_gather, (tp_tensor x, int64_t dim, tp_tensor index, int grad), (x, dim, index, grad))
FUNCTION(tp_result, tp_one_hot, (tp_tensor index, int64_t classes, int dtype, int grad),
         (index, classes, dtype, grad))
FUNCTION(tp_result, tp_contiguous, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_detach, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_clone, (tp_tensor x, int grad), (x, grad))
FUNCTION(tp_result, tp_to, (tp_tensor x, int dtype, int device, int grad), (x, dtype, device, grad))

/* ---- reductions; dims = NULL, n = 0: over all ---- */
FUNCTION(tp_result, tp_sum, (tp_tensor x, const int64_t* dims, int n, int keep, int grad), (x, dims, n, keep, grad))
FUNCTION(tp_result, tp_mean, (tp_tensor x, const int64_t* dims, int n, int keep, int grad), (x, dims, n, keep, grad))
FUNCTION(tp_result, tp_argmax, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
FUNCTION(tp_result, tp_cumsum, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))

/* ---- products ---- */
FUNCTION(tp_result, tp_matmul, (tp_tensor a, tp_tensor b, int grad), (a, b, grad))
/* Computes x w^T + b, then GELU where gelu = 1: x [E,...,I], w [E,O,I], b [E,O] or 0
 * -> [E,...,O]. */
FUNCTION(tp_result, tp_linear, (tp_tensor x, tp_tensor w, tp_tensor b, int gelu, int grad), (x, w, b, gelu, grad))
/* Returns the tokens that share rows, [E,B,N,D]. */
FUNCTION(tp_result, tp_take_rows, (tp_rows rows, int grad), (rows, grad))
/* Computes q, k and v, each [E,B,H,N,Dh], of x [E,B,N,D] with w [E,3D,D] (rows q, k, v) and b
 * [E,3D] or 0; where rows.all is given, of these tokens, each row once, and x may be 0. */
FUNCTION(char*, tp_project_qkv, (tp_tensor x, tp_rows rows, tp_tensor w, tp_tensor b, int64_t heads, int grad,
                                 tp_tensor out[3]), (x, rows, w, b, heads, grad, out))

/* ---- attention ---- */
/* Computes scale q k^T: q [...,N,Dh], k [...,M,Dh] -> [...,N,M]. */
FUNCTION(tp_result, tp_attention_logits, (tp_tensor q, tp_tensor k, double scale, int grad), (q, k, scale, grad))
/* Computes w v: w [E,B,H,N,M], v [E,B,H,M,Dh] -> [E,B,H,N,Dh], in memory as [E,B,N,H,Dh]. */
FUNCTION(tp_result, tp_attention_values, (tp_tensor w, tp_tensor v, int grad), (w, v, grad))
/* Computes softmax(scale q k^T + bias) v: q [E,B,H,N,Dh], k [E,B,H,M,Dh], v [E,B,H,M,Dv], bias
 * (0 = none) broadcast to [E,B,H,N,M] -> [E,B,H,N,Dv], in memory as [E,B,N,H,Dv]. For many tokens
 * on the CPU, neither logits nor weights are stored as a whole. */
FUNCTION(tp_result, tp_attention, (tp_tensor q, tp_tensor k, tp_tensor v, tp_tensor bias, double scale, int grad),
         (q, k, v, bias, scale, grad))
FUNCTION(tp_result, tp_softmax, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
FUNCTION(tp_result, tp_log_softmax, (tp_tensor x, int64_t dim, int grad), (x, dim, grad))
/* Rotates the pairs (2k,2k+1), or (k,k+D/2) where half = 1, of x [...,N,D] by the angles whose
 * cosines and sines are given [...,N,D/2]. */
FUNCTION(tp_result, tp_rotate, (tp_tensor x, tp_tensor cos, tp_tensor sin, int half, int grad),
         (x, cos, sin, half, grad))

/* ---- normalisation, noise, losses ---- */
/* Computes the layer norm over the last axis of x + y (y may be 0). */
FUNCTION(tp_result, tp_add_layer_norm, (tp_tensor x, tp_tensor y, tp_norm norm, int grad), (x, y, norm, grad))
/* Computes the first half of a transformer's block: the layer norm of x + a out_w^T + out_b, where
 * a is the attention, x [E,B,N,D]. */
FUNCTION(tp_result, tp_attention_block, (tp_tensor x, tp_self_attention attention, tp_norm norm, int grad),
         (x, attention, norm, grad))
/* Computes the second half: the layer norm of x + gelu(gelu(x in_w^T + in_b) out_w^T + out_b). */
FUNCTION(tp_result, tp_mlp_block, (tp_tensor x, tp_mlp mlp, tp_norm norm, int grad), (x, mlp, norm, grad))
/* Drops elements with probability p; the mask of member e is a pure function of (seeds[e], step,
 * call). */
FUNCTION(tp_result, tp_dropout, (tp_tensor x, double p, const uint64_t* seeds, int64_t members, uint64_t step,
                                 uint64_t call, int grad), (x, p, seeds, members, step, call, grad))
/* Does the same with the step and the seeds on x's device: draws, int64 [1+E], holds the step and
 * then the bits of each member's seed. Nothing is read back from a GPU. The backward pass reads
 * draws again: they must not have changed. */
FUNCTION(tp_result, tp_dropout_drawn, (tp_tensor x, double p, tp_tensor draws, uint64_t call, int grad),
         (x, p, draws, call, grad))
/* Computes each member's mean cross-entropy: logits [E,B,C], target int64 [E,B] -> [E]. */
FUNCTION(tp_result, tp_cross_entropy, (tp_tensor logits, tp_tensor target, int grad), (logits, target, grad))
/* Counts the rows of logits [E,B,C] whose first largest entry is at target [E,B]: float64 [E],
 * without a gradient. */
FUNCTION(tp_result, tp_right_answers, (tp_tensor logits, tp_tensor target), (logits, target))

/* ---- gradients ---- */
FUNCTION(char*, tp_backward, (tp_tensor loss), (loss))
FUNCTION(char*, tp_set_requires_grad, (tp_tensor x, int on), (x, on))
FUNCTION(tp_result, tp_grad, (tp_tensor x), (x))
/* Sets the gradients in the buffer of all these leaves to zero. On a GPU they only count as zero:
 * whoever has the first gradient for one writes it. tp_settle_gradients fills what no gradient has
 * reached: call it before the buffer is read, but by tp_grad. */
FUNCTION(char*, tp_zero_gradients, (tp_tensor buffer, const tp_tensor* leaves, int64_t n), (buffer, leaves, n))
FUNCTION(char*, tp_settle_gradients, (const tp_tensor* leaves, int64_t n), (leaves, n))
/* Returns a leaf that shares x's memory and whose gradient accumulates into grad_buffer's. */
FUNCTION(tp_result, tp_leaf, (tp_tensor x, int64_t offset, const int64_t* shape, int rank, tp_tensor grad_buffer),
         (x, offset, shape, rank, grad_buffer))

/* ---- optimizers: one call over all parameters ----
 * p, g, m, v: [E,P] with dense rows. settings, on p's device: float64 [E,6] with learning rate,
 * weight decay, gradient scale, active (0 or 1), 1 - beta1^t and sqrt(1 - beta2^t); SGD takes the
 * first four. Nothing is read back from a GPU, so a CUDA graph that holds the step uses what is
 * written there before each replay. */
FUNCTION(char*, tp_adam_, (tp_tensor p, tp_tensor g, tp_tensor m, tp_tensor v, tp_tensor settings, double beta1,
                          double beta2, double eps, int decoupled),
         (p, g, m, v, settings, beta1, beta2, eps, decoupled))
FUNCTION(char*, tp_sgd_, (tp_tensor p, tp_tensor g, tp_tensor settings), (p, g, settings))
/* Adds the results of a training step to state, dense float64 [5,E] on the same device. Its rows:
 * the sum of the losses (each mean times examples); the sum of correct predictions (correct,
 * float64; 0 = none); whether the member is active; the step, from 1, at which it diverged (0 =
 * none); the losses of the last step. step, int64, starts with the step's number from 0. A loss
 * that is not finite makes its member inactive. */
FUNCTION(char*, tp_account_, (tp_tensor each, tp_tensor correct, double examples, tp_tensor step, tp_tensor state),
         (each, correct, examples, step, state))
/* Computes the Euclidean norm of each member's gradient: [E,P] -> [E]. */
FUNCTION(tp_result, tp_member_norm, (tp_tensor g, int grad), (g, grad))

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
/* Returns the instruction set of the fused kernels: avx512, avx2, generic */
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
 * tp_set_precision: 0 (default) libtorch's memory-efficient kernel; 1 batched products and a softmax
 * of our own; 2 libtorch's flash kernel in bfloat16, for operands of float32. What cannot be is 0. */
FUNCTION(void, tp_set_attention, (int form), (form))
FUNCTION(int, tp_attention_form, (void), ())
/* tp_profile(1) starts measuring what the fused operators of the CPU do, from zero, tp_profile(0)
 * stops. tp_profile_part writes of a part its nanoseconds, the operations of its products (two a
 * multiplication) and the bytes that it read from memory and wrote: 0 products, 1 bias and GELU, 2
 * attention, 3 layer norm, 4 optimizer. */
FUNCTION(void, tp_profile, (int on), (on))
FUNCTION(char*, tp_profile_part, (int part, int64_t ns_operations_bytes[3]), (part, ns_operations_bytes))
/* Measures what all threads together reach, in about a third of a second: operations a second in products
 * whose operands are in cache, and bytes a second, read and written, in copies that are not. */
FUNCTION(char*, tp_machine_rates, (int float64, double operations_bytes[2]), (float64, operations_bytes))
/* tp_count_operators(1) starts counting the calls of libtorch's operators, by any thread and by other
 * operators too, from zero. tp_operators returns them, a name and its calls in each line. */
FUNCTION(void, tp_count_operators, (int on), (on))
FUNCTION(char*, tp_operators, (void), ())
/* tp_count_moved(1) starts counting what a GPU's kernels of torchpe's own and the products between them
 * read and write, from zero, while they are launched: the replay of a graph counts nothing. tp_moved
 * returns it, in each line a kernel's name ("products" for those), its runs and its bytes. */
FUNCTION(void, tp_count_moved, (int on), (on))
FUNCTION(char*, tp_moved, (void), ())
/* tp_trace_begin starts libtorch's profiler for what this thread does and, on a GPU, for all its
 * kernels; tp_trace_end stops it and returns the events: device ("cpu" or "gpu"), nanoseconds and
 * name in each line, with tabs between. */
FUNCTION(char*, tp_trace_begin, (void), ())
FUNCTION(char*, tp_trace_end, (char** events), (events))
