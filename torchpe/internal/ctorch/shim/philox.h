// philox.h: the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). Its draws depend only on its counter and key, so a
// resumed run draws the same numbers.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define TORCHPE_EVERYWHERE __host__ __device__
#else
#define TORCHPE_EVERYWHERE
#endif

namespace torchpe {

TORCHPE_EVERYWHERE inline void philox4x32_round(uint32_t c[4], uint32_t k0, uint32_t k1) {
  const uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
  const uint32_t n0 = uint32_t(b >> 32) ^ c[1] ^ k0, n2 = uint32_t(a >> 32) ^ c[3] ^ k1;
  c[1] = uint32_t(b);
  c[3] = uint32_t(a);
  c[0] = n0;
  c[2] = n2;
}

TORCHPE_EVERYWHERE inline void philox4x32_raw(uint32_t c[4], uint32_t k0, uint32_t k1) {
  for (int i = 0; i < 10; i++) {
    philox4x32_round(c, k0, k1);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

// Four numbers for block `block` of call `call` in step `step`, keyed by the member's seed.
TORCHPE_EVERYWHERE inline void philox4x32(uint64_t block, uint64_t call, uint64_t step, uint64_t seed,
                                          uint32_t out[4]) {
  out[0] = uint32_t(block);
  out[1] = uint32_t(call) ^ (uint32_t(block >> 32) << 16);
  out[2] = uint32_t(step);
  out[3] = uint32_t(step >> 32);
  philox4x32_raw(out, uint32_t(seed), uint32_t(seed >> 32));
}

}  // namespace torchpe
