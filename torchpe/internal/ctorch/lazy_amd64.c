/* lazy_amd64.c loads libtorchpe.so, and libtorch with it, when one of its functions is first called:
 * what computes nothing need not wait for that. lazy_amd64.S has the functions that cgo links. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define F(name) #name,
static const char* const names[] = {
#include "functions.h"
};
#undef F
enum { COUNT = sizeof names / sizeof *names };

void torchpe_resolve(void); /* in lazy_amd64.S; calls torchpe_load, then the function */

/* The function of each name: torchpe_resolve until the library is loaded. */
void* torchpe_functions[COUNT] = {[0 ... COUNT - 1] = (void*)torchpe_resolve};

/* Ends the program, which computes nothing without its library. */
static void give_up(const char* why) {
  dprintf(STDERR_FILENO,
          "torchpe: %s. The library is looked for in ../lib beside the program and in the program's folder; "
          "`make build` builds both\n",
          why);
  _exit(1);
}

/* Ends the program where libtorch does not fit in the addresses that it may use, if these are limited. */
static void give_up_for_addresses(const char* why, rlim_t limited_below) {
  struct rlimit most;
  if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur >= limited_below) return;
  dprintf(STDERR_FILENO,
          "torchpe: %s: libtorch does not fit in the addresses that this process may use, %ld MB (ulimit -v): "
          "it takes 2000 to 3000 without a GPU; raise the limit\n",
          why, (long)(most.rlim_cur >> 20));
  _exit(1);
}

static void load(void) {
  give_up_for_addresses("libtorchpe.so", 1400L << 20); /* else Go's runtime may end first, in words of its own */
  void* library = dlopen("libtorchpe.so", RTLD_LAZY | RTLD_GLOBAL);
  if (!library) {
    const char* why = dlerror();
    if (strstr(why, " map ") || strstr(why, "allocate memory")) give_up_for_addresses(why, RLIM_INFINITY);
    give_up(why);
  }
  int (*abi)(void) = (int (*)(void))dlsym(library, "tp_abi");
  if (!abi || abi() != TORCHPE_ABI) {
    char text[80];
    snprintf(text, sizeof text, "libtorchpe.so has interface %d, this program needs %d", abi ? abi() : 0, TORCHPE_ABI);
    give_up(text);
  }
  for (int i = 0; i < COUNT; i++) {
    void* function = dlsym(library, names[i]);
    if (!function) give_up(dlerror());
    __atomic_store_n(&torchpe_functions[i], function, __ATOMIC_RELEASE);
  }
}

void torchpe_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}
