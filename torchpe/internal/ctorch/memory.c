// memory.c sets how the program keeps memory, before it has threads: each would get a heap of its own.
#ifndef __linux__
#error "torchpe runs on Linux; docs/cluster.md says how a Mac runs it"
#endif
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// Go's runtime does not say why it ends where it has too few addresses for its tables.
__attribute__((constructor)) static void need_addresses(void) {
  struct rlimit most;
  if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur >= 1400L << 20) return;
  dprintf(STDERR_FILENO,
          "torchpe: this process may use addresses of %ld MB (ulimit -v), and needs 1400, or with libtorch 2000 to "
          "3000: raise the limit\n",
          (long)(most.rlim_cur >> 20));
  _exit(1);
}

// A training step frees and asks for the same megabytes again: kept in one heap they are reused; given
// back to the kernel each time they are paged in anew.
__attribute__((constructor)) static void keep_memory(void) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}
