// memory.c sets how the program keeps memory, before it has threads: each would get a heap of its own.
#include <malloc.h>

// A training step frees and asks for the same megabytes again: kept in one heap they are reused; given
// back to the kernel each time they are paged in anew.
__attribute__((constructor)) static void keep_memory(void) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}
