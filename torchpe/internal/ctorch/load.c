/* load.c defines the functions that cgo links. Each calls the function of its name in libtorchpe.so. The
 * first call of any loads that library, and libtorch with it: what computes nothing need not wait. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim.h"

/* The functions of the library, once it is loaded. */
#define FUNCTION(result, name, parameters, arguments) result (*name) parameters;
static struct {
#include "functions.h"
} loaded;
#undef FUNCTION

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

static void* find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (!function) give_up(dlerror());
  return function;
}

static void load(void) {
  give_up_for_addresses("libtorchpe.so", 2000L << 20); /* else it may end in words of its own, once it starts threads */
  void* library = dlopen("libtorchpe.so", RTLD_LAZY | RTLD_GLOBAL);
  if (!library) {
    const char* why = dlerror();
    if (strstr(why, " map ") || strstr(why, "allocate memory")) give_up_for_addresses(why, RLIM_INFINITY);
    give_up(why);
  }
  int (*abi)(void) = (int (*)(void))dlsym(library, "tp_abi");
  if (!abi || abi() != TP_ABI) {
    char text[80];
    snprintf(text, sizeof text, "libtorchpe.so has interface %d, this program needs %d", abi ? abi() : 0, TP_ABI);
    give_up(text);
  }
#define FUNCTION(result, name, parameters, arguments) \
  loaded.name = (result (*) parameters)find(library, #name);
#include "functions.h"
#undef FUNCTION
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

#define FUNCTION(result, name, parameters, arguments) \
  result name parameters {                            \
    load_once();                                      \
    return loaded.name arguments;                     \
  }
#include "functions.h"
