// simulate_cores.c: preloaded, it runs the threads of each OpenMP region one after the other and
// measures each, as if every one had a core: see simulate_cores.sh.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int omp_get_max_threads(void);

// What the file SIMULATE_CORES holds: seconds of CPU time outside regions, of all threads in them and
// of the slowest thread of each, and the number of regions.
static struct totals {
  double outside, work, slowest, regions;
} * totals;

// Of the thread that makes regions.
static _Thread_local int threads = 1, number;
static _Thread_local double region_end;  // its CPU time then; 0 before the first

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("SIMULATE_CORES");
  const int file = path ? open(path, O_RDWR | O_CREAT, 0644) : -1;
  if (file < 0 || ftruncate(file, sizeof *totals)) abort();
  totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (totals == MAP_FAILED) abort();
}

// In place of libgomp's.
int omp_get_num_threads(void) { return threads; }
int omp_get_thread_num(void) { return number; }
int omp_in_parallel(void) { return threads > 1; }

void GOMP_parallel(void (*body)(void*), void* data, unsigned wanted, unsigned flags) {
  (void)flags;
  double time = cpu_seconds(), slowest = 0;
  if (region_end > 0) totals->outside += time - region_end;
  threads = wanted ? (int)wanted : omp_get_max_threads();
  for (number = 0; number < threads; number++) {
    const double before = time;
    body(data);
    time = cpu_seconds();
    totals->work += time - before;
    if (time - before > slowest) slowest = time - before;
  }
  threads = 1;
  number = 0;
  totals->slowest += slowest;
  totals->regions++;
  region_end = cpu_seconds();
}
