// streams.cc: streams, events, and graphs recorded from streams.
#include "machine.h"

#include <unistd.h>

#include <cstdlib>

using namespace cudahost;

extern "C" {

// ---- streams and events ----

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) {
  LOCK;
  *s = new CUstream_st();
  (*s)->device = current;
  m.streams.push_back(*s);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (s.graph) {
    s.graph->spoilt = true;
    return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamSynchronize of a stream that is recorded");
  }
  if (const cudaError_t e = unsafe("cudaStreamSynchronize")) return e;
  m.counts["cudaStreamSynchronize"]++;
  run_until(s, 0);
  if (m.log && m.counts["cudaStreamSynchronize"] % 16 == 1) write_totals();
  return fail(m.lost);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaStreamQuery")) return e;
  CUstream_st& s = stream_of(stream);
  if (s.items.empty()) return cudaSuccess;
  run_until(s, s.items.size() - 1);
  return s.items.empty() ? cudaSuccess : fail(cudaErrorNotReady);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new CUevent_st();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  LOCK;
  for (size_t d = 0; d < m.devices.size(); d++) run_device(int(d));  // none that is still to come names it
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  e->graph = s.graph;
  e->stream = &s;
  e->recorded++;
  if (s.graph) return cudaSuccess;
  CUstream_st::Item i;
  i.event = e;
  i.turn = e->recorded;
  s.items.push_back(std::move(i));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  LOCK;
  if (e->graph) return refuse(cudaErrorStreamCaptureUnsupported, "cudaEventQuery of an event that is recorded");
  if (const cudaError_t u = unsafe("cudaEventQuery")) return u;
  if (e->done < e->recorded && e->stream && !e->stream->items.empty()) run_until(*e->stream, e->stream->items.size() - 1);
  return e->done >= e->recorded ? cudaSuccess : fail(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  LOCK;
  if (e->graph) return refuse(cudaErrorStreamCaptureUnsupported, "cudaEventSynchronize of an event that is recorded");
  if (const cudaError_t u = unsafe("cudaEventSynchronize")) return u;
  while (e->done < e->recorded && e->stream && !e->stream->items.empty()) run_until(*e->stream, e->stream->items.size() - 1);
  return fail(m.lost);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  LOCK;
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (e->graph) {
    if (s.graph && s.graph != e->graph) return refuse(cudaErrorStreamCaptureMerge, "two recordings meet");
    s.graph = e->graph;
    return cudaSuccess;
  }
  if (s.graph) return refuse(cudaErrorStreamCaptureIsolation, "a stream that is recorded waits for an event that is not");
  if (e->done >= e->recorded) return cudaSuccess;
  CUstream_st::Item i;
  i.wait = e;
  i.turn = e->recorded;
  s.items.push_back(std::move(i));
  return cudaSuccess;
}

// ---- graphs ----

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, own_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  LOCK;
  auto g = stream_of(stream).graph;
  *status = !g ? cudaStreamCaptureStatusNone : g->spoilt ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
  LOCK;
  auto g = stream_of(stream).graph;
  *status = !g ? cudaStreamCaptureStatusNone : g->spoilt ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  if (id) *id = g ? g->id : 0;
  if (graph) *graph = g;
  if (dependencies) *dependencies = nullptr;
  if (count) *count = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (&s == &m.devices.at(size_t(s.device))->all) return refuse(cudaErrorStreamCaptureUnsupported, "the default stream is not recorded");
  if (s.graph) return refuse(cudaErrorIllegalState, "a stream is recorded twice");
  s.graph = new CUgraph_st();
  s.graph->origin = &s;
  s.graph->mode = mode;
  s.graph->thread = std::this_thread::get_id();
  s.graph->id = ++m.graphs;
  m.recordings.push_back(s.graph);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  CUgraph_st* g = s.graph;
  if (!g || g->origin != &s) return refuse(cudaErrorIllegalState, "the end of a recording that has not begun");
  if (g->thread != std::this_thread::get_id() && g->mode != cudaStreamCaptureModeRelaxed)
    return refuse(cudaErrorStreamCaptureWrongThread, "another thread ends a recording");
  for (auto other : m.streams)
    if (other->graph == g) other->graph = nullptr;
  for (size_t i = 0; i < m.recordings.size(); i++)
    if (m.recordings[i] == g) m.recordings.erase(m.recordings.begin() + long(i));
  *graph = g->spoilt ? nullptr : g;
  return g->spoilt ? fail(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}
static cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  LOCK;
  *exec = new CUgraphExec_st{graph->nodes};
  m.counts["graphs"]++;
  if (m.log) {
    std::fprintf(m.log, "graph %llu, %zu nodes\n", graph->id, graph->nodes.size());
    for (auto& n : graph->nodes) std::fprintf(m.log, "  %s\n", n.text.c_str());
    std::fflush(m.log);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) { return instantiate(exec, graph); }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) { return instantiate(exec, graph); }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) {
  if (!nodes) *n = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  Machine& m = machine();
  std::lock_guard<std::recursive_mutex> lock(m.mutex);
  m.counts["launches"] += exec->nodes.size();
  if (m.lose && m.counts["launches"] >= uint64_t(std::abs(m.lose))) {
    if (m.lose < 0)
      for (;;) pause();
    return fail(m.lost = cudaErrorECCUncorrectable);
  }
  return enqueue(stream, "replay", [exec] {
    for (auto& n : exec->nodes)
      if (n.work) n.work();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  LOCK;
  for (size_t d = 0; d < m.devices.size(); d++) run_device(int(d));
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) { return cudaSuccess; }

}  // extern "C"
