/* lazy_amd64.c loads libtorchpe.so, and libtorch with it, when one of its functions is first called:
 * what computes nothing need not wait for that. lazy_amd64.S has the functions that cgo links. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
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

static void load(void) {
  void* library = dlopen("libtorchpe.so", RTLD_LAZY | RTLD_GLOBAL);
  if (!library) give_up(dlerror());
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
