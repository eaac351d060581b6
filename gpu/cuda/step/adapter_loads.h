#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/gpu/cuda/cuda_adapter.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/device_adapter.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/model/program/program_part.h"

namespace weft::cuda {

/// Copies adapters to a GPU's places, on a stream beside the steps. Throws Failure. Owner only.
class AdapterLoads {
 public:
  AdapterLoads(Runtime& runtime, const CudaAdapterPlaces& places, const ProgramPart& part);
  ~AdapterLoads();
  AdapterLoads(const AdapterLoads&) = delete;
  AdapterLoads& operator=(const AdapterLoads&) = delete;

  /// Begins to copy an adapter to a place that no running step uses. Keeps a share of the adapter
  /// until the copy has ended.
  void begin(std::int32_t place, const std::shared_ptr<const PreparedAdapter>& adapter);
  /// Makes later work of the step's stream wait for the copy to this place, if one is running.
  void wait_for(std::int32_t place, Stream step);
  [[nodiscard]] bool any() const noexcept { return !loads_.empty(); }
  /// Waits for all copies.
  void finish();
  /// Adds the places whose copies have ended, each once, and forgets these copies.
  void tell(std::vector<std::int32_t>& places);

 private:
  struct Load {
    std::int32_t place = 0;
    std::shared_ptr<const PreparedAdapter> adapter;
    bool is_whole = false;  ///< no copy of the adapter was refused
  };

  [[nodiscard]] const CudaAdapter& own_part(const PreparedAdapter& adapter) const;

  Runtime& runtime_;
  const CudaAdapterPlaces places_;
  const ProgramPart part_;
  OwnedStream stream_;
  OwnedEvent copied_;  // recorded after the last of loads_
  std::vector<Load> loads_;
};

}  // namespace weft::cuda
