// machine.h: what a libcudart.so that needs no GPU is made of. It is for tests of the calls that a program makes, through libtorch's real CUDA
// library: memory is the host's, kernels are read from their PTX and interpreted (kernels.cc, ptx/), and the rules of streams and
// of recording a graph are kept more strictly than a GPU keeps them:
//   * work of a stream runs as late as it may: when somebody waits for it. Who reads too early, or changes what a copy is
//     still to read, sees wrong numbers;
//   * memory starts as NaN, or where kernels compute nothing as 0;
//   * while a graph is recorded, a call that CUDA forbids then ends the recording, and work that goes past it is an error.
//
//   CUDAHOST_GPUS     how many GPUs there are (1)
//   CUDAHOST_MEMORY   MiB each of them has (4096)
//   CUDAHOST_LOG      a file that gets each graph with its nodes, and the number of calls so far now and then
//   CUDAHOST_COMPUTE  0: kernels compute nothing
//   CUDAHOST_LOSE     N: the GPU is lost at the Nth launch. -N: from then on it does not answer any more
//
// Each file has one part of the API: devices.cc, memory.cc, streams.cc (with events and graphs), launch.cc.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device.h"

using Work = std::function<void()>;

struct CUgraph_st {
  struct Node {
    std::string text;
    Work work;
  };
  std::vector<Node> nodes;
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool spoilt = false;
};

struct CUgraphExec_st {
  std::vector<CUgraph_st::Node> nodes;
};

struct CUstream_st {
  int device = 0;
  CUgraph_st* graph = nullptr;  // being recorded
  struct Item {
    std::string text;
    Work work;                // none: an event
    cudaEvent_t event = nullptr;
    cudaEvent_t wait = nullptr;
    uint64_t turn = 0;        // of the event
  };
  std::deque<Item> items;
  bool running = false;
};

struct CUevent_st {
  CUgraph_st* graph = nullptr;  // the recording that it was recorded in
  cudaStream_t stream = nullptr;
  uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point time;
};

namespace cudahost {

struct Device {
  CUstream_st all;  // the default stream
  size_t used = 0;
};

struct Block {
  size_t bytes;
  int device;  // -1: the host's
};

struct Machine {
  Machine();
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<cudaStream_t> streams;
  std::map<uintptr_t, Block> blocks;  // by their first byte
  std::vector<CUgraph_st*> recordings;
  size_t memory = 0;
  int64_t lose = 0;
  bool computes = true;
  cudaError_t lost = cudaSuccess;
  unsigned long long graphs = 0;
  std::map<std::string, uint64_t> counts;
  uint64_t refused = 0;
  FILE* log = nullptr;
};

Machine& machine();

// Of the calling thread: its device, its last error, and what it may do while somebody records.
extern thread_local int current;
extern thread_local cudaError_t last_error;
extern thread_local cudaStreamCaptureMode own_mode;

// Keeps an error for cudaGetLastError and gives it back.
cudaError_t fail(cudaError_t e);

// At the start of a call: nobody else makes one, and a device that is lost answers nothing else.
#define LOCK                                             \
  Machine& m = machine();                                \
  std::lock_guard<std::recursive_mutex> lock(m.mutex);   \
  if (m.lost != cudaSuccess) return fail(m.lost)

CUstream_st& stream_of(cudaStream_t s);
// Runs what the stream holds but for the last `leave`; all that a device's streams hold.
void run_until(CUstream_st& s, size_t leave);
void run_device(int device);
// Whether the thread may make a call that is unsafe while somebody records.
cudaError_t unsafe(const char* what);
// Whether all of these bytes are allocated.
bool is_known(uint64_t address, size_t bytes, bool write);
// Writes the numbers of calls so far to the log. Programs end in many ways, so it is done now and then.
void write_totals();

}  // namespace cudahost
