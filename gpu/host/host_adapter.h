#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/kernels/adapter/adapter_pair.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/program/program.h"

namespace weft {

/// An adapter as the host's kernels read it, for one part of a model. Numbers are f32 if the
/// product's matrix is f32, else bf16: such a matrix is rounded at least as much, and a step reads
/// half as many bytes. Immutable; shared by threads.
class HostAdapter final : public DeviceAdapter {
 public:
  /// `adapted` comes from attach_adapters() and may be destroyed afterwards. Errors of
  /// pairs_at_sites(); kOutOfMemory.
  [[nodiscard]] static Result<std::shared_ptr<const HostAdapter>> make(const Adapter& adapter,
                                                                       const Program& adapted);

  /// Returns the pairs by site of the program.
  [[nodiscard]] std::span<const AdapterPair> pairs() const noexcept { return pairs_; }
  /// Whether the adapter was made for this part of a model.
  [[nodiscard]] bool is_for(const ProgramPart& part) const noexcept {
    return part_.first_layer == part.first_layer && part_.rank == part.rank;
  }
  [[nodiscard]] std::int64_t bytes() const noexcept override {
    return static_cast<std::int64_t>(memory_.bytes().size());
  }

 private:
  explicit HostAdapter(const ProgramPart& part) : part_(part) {}

  ProgramPart part_;
  HostMemory memory_;
  std::vector<AdapterPair> pairs_;
};

}  // namespace weft
