// device.h: the device that this folder's libcudart plays, for the libraries beside it.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace cudahost {

// Puts work behind what the stream has been given, or into the graph that the stream is being recorded into. `text` names it
// in the log. It runs when somebody waits for it.
cudaError_t enqueue(cudaStream_t stream, std::string text, std::function<void()> work);

// An error in the calls themselves, which real CUDA might answer with wrong results: printed, counted, and given back.
cudaError_t refuse(cudaError_t error, const std::string& why);

}  // namespace cudahost
