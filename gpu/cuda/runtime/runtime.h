#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/runtime/kept_buffers.h"
#include "weft/gpu/cuda/runtime/launchers.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/linear/linear_cuda.h"

struct CUevent_st;
struct CUgraphExec_st;

namespace weft::cuda {

/// cudaEvent_t and cudaGraphExec_t.
using Event = CUevent_st*;
using Graph = CUgraphExec_st*;

/// Values of cudaError_t that the device must distinguish.
inline constexpr Status kOutOfMemory{2};
inline constexpr Status kNotReady{600};
inline constexpr Status kLaunchFailure{719};
/// Weft's own value: another rank of the model was lost.
inline constexpr Status kRankLost{10'000};

/// The size of a buffer for loading weights. A step's small copy waits behind two such buffers, 0.3
/// ms. With half the size, loading threads, which synchronize once for each buffer, reach 0.6 of
/// the bus's rate instead of 0.9.
inline constexpr std::size_t kLoadBufferBytes = std::size_t{8} << 20U;

/// The properties of a GPU.
struct Properties {
  std::string name;
  std::int32_t processors = 0;
  std::int32_t architecture = 0;  ///< 90 for sm_90
  std::int64_t l2_bytes = 0;      ///< the cache that all multiprocessors share
  bool multiplies_codes = false;  ///< has LinearWay::kCodes
};

/// Everything that the CUDA device needs from CUDA, for one GPU: memory, streams, graphs, and the
/// ops. The device uses this interface and not the library, so that tests run it without a GPU and
/// make any call fail. One thread at a time; before other calls a thread calls use().
class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  [[nodiscard]] virtual std::string describe(Status status) const = 0;
  [[nodiscard]] virtual Properties properties() const = 0;
  /// Makes this GPU the calling thread's.
  virtual Status use() = 0;

  virtual Status free_memory(std::size_t& bytes) = 0;
  virtual Status allocate(std::byte*& memory, std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Allocates page-locked host memory; the device reaches it at the same address.
  virtual Status allocate_pinned(std::byte*& memory, std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) noexcept = 0;
  /// Takes a page-locked buffer of kLoadBufferBytes for a load. A buffer that is given back is kept
  /// for the next load, of any GPU, because page-locking memory stalls every user of the driver.
  virtual Status take_load_buffer(std::byte*& memory) = 0;
  virtual void give_back_load_buffer(std::byte* memory) noexcept = 0;
  /// The buffers of take_load_buffer(). They live as long as the process. Any thread.
  [[nodiscard]] virtual KeptBuffers& load_buffers() const = 0;

  virtual Status make_stream(Stream& stream) = 0;
  virtual void release(Stream stream) noexcept = 0;
  virtual Status make_event(Event& event) = 0;
  /// Makes an event for elapsed().
  virtual Status make_timing_event(Event& event) = 0;
  virtual void release(Event event) noexcept = 0;
  virtual Status record(Event event, Stream stream) = 0;
  virtual Status wait(Event event) = 0;
  /// Makes later work of the stream wait for the event.
  virtual Status wait(Stream stream, Event event) = 0;
  /// Sets the time between two timing events, both of which have been waited for.
  virtual Status elapsed(Event from, Event to, float& milliseconds) = 0;
  /// Returns kNotReady while work is left. An error may come from any earlier work.
  virtual Status query(Stream stream) = 0;
  /// Waits for all work. On a rank it returns kRankLost as soon as a rank is lost, even if work is
  /// left.
  virtual Status synchronize(Stream stream) = 0;

  virtual Status copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes,
                                Stream stream) = 0;
  virtual Status copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes,
                              Stream stream) = 0;
  virtual Status copy_on_device(std::byte* to, const std::byte* from, std::size_t bytes,
                                Stream stream) = 0;
  virtual Status clear(std::byte* memory, std::size_t bytes, Stream stream) = 0;

  /// Work launched between begin_capture() and end_capture() is recorded, not run.
  virtual Status begin_capture(Stream stream) = 0;
  virtual Status end_capture(Stream stream, Graph& graph) = 0;
  virtual Status launch(Graph graph, Stream stream) = 0;
  virtual void release(Graph graph) noexcept = 0;

  /// Makes this GPU a rank of a model. Blocks until all ranks have called it, each on its thread.
  virtual Status join(const CudaRank& place) = 0;
  /// Returns whether ranks can still exchange: kRankLost, or another failure. Without ranks:
  /// kSuccess.
  virtual Status ranks_state() = 0;
  /// Marks a rank as lost. Any thread.
  virtual void abandon() noexcept = 0;
  /// Ends all work here that waits for other ranks, now and later. Call it before freeing graphs
  /// and memory, which might otherwise wait for ever. May be called repeatedly.
  virtual void leave() noexcept = 0;

  /// Whether `way` can compute this product with these steps on this GPU.
  [[nodiscard]] virtual bool can(LinearWay way, const DeviceMatrix& weight, std::int64_t tokens,
                                 const EpilogueSteps& steps) const = 0;

  /// Launches an op by its parameters, one of the types of AnyCudaParams. Only a rank launches
  /// exchanges.
  template <class Params>
  Status run(const Params& params, Stream stream) {
    return run_any(&params, stream);
  }

 private:
  virtual Status run_any(AnyCudaParams params, Stream stream) = 0;
};

/// Opens the runtime of GPU `index`. It loads NVIDIA's libraries now and not before. kDriver;
/// kUnfit if the GPU is older than sm_80 or a library is missing; kNoGpuSupport in a build without
/// CUDA.
[[nodiscard]] Result<std::unique_ptr<Runtime>> open_runtime(int index);

}  // namespace weft::cuda
