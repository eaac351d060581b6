#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/device_adapter.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// Returns the bytes of a place for an adapter of the greatest rank (adapter_place_cuda.h).
/// `adapted` comes from attach_adapters().
[[nodiscard]] std::int64_t adapter_place_bytes(const Program& adapted);

/// Returns the reason why a GPU cannot compute an adapted program's adapters, or null.
[[nodiscard]] const char* refuses_adapters(const Program& adapted);

/// An adapter for one part of a model, laid out as in a place. It is held in page-locked buffers of
/// kLoadBufferBytes, which the destructor gives back. Immutable; shared by threads.
class CudaAdapter final : public DeviceAdapter {
 public:
  /// `adapted` comes from attach_adapters() and may be destroyed afterwards; `buffers` outlives the
  /// adapter. Errors of pairs_at_sites(); kUnfit if refuses_adapters(); kOutOfMemory.
  [[nodiscard]] static Result<std::shared_ptr<const CudaAdapter>> make(const Adapter& adapter,
                                                                       const Program& adapted,
                                                                       KeptBuffers& buffers);
  ~CudaAdapter() override;

  /// Whether the adapter was made for this part of a model.
  [[nodiscard]] bool is_for(const ProgramPart& part) const noexcept {
    return part_.first_layer == part.first_layer && part_.rank == part.rank;
  }
  [[nodiscard]] std::int64_t bytes() const noexcept override {
    return static_cast<std::int64_t>(memory_.size() * kLoadBufferBytes);
  }
  /// Returns the bytes that the adapter takes in a place.
  [[nodiscard]] std::size_t place_bytes() const noexcept { return bytes_; }
  /// Returns the adapter's bytes in order, piece by piece.
  [[nodiscard]] std::vector<std::span<const std::byte>> pieces() const;

 private:
  CudaAdapter(const ProgramPart& part, KeptBuffers& buffers) : part_(part), buffers_(buffers) {}

  [[nodiscard]] Result<void> take(std::size_t bytes);
  void write(std::size_t at, std::span<const std::byte> bytes);

  ProgramPart part_;
  KeptBuffers& buffers_;
  std::size_t bytes_ = 0;
  std::vector<std::byte*> memory_;
};

}  // namespace weft::cuda
