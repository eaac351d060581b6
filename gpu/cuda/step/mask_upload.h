#pragma once

#include <cstdint>
#include <span>

#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

/// Uploads masks of the tokens that a step's constrained rows may choose (TokenMasks), beside the
/// step's other work. A mask is known only some time after the step has begun, and has 16 KB with a
/// vocabulary of 128k. The constructor allocates page-locked memory for one mask a row; nothing
/// else allocates. Owner only; throws Failure.
class MaskUpload {
 public:
  /// For at most `rows` masks of V tokens; `device` is [rows, words].
  MaskUpload(Runtime& runtime, std::int64_t vocabulary, std::int32_t rows, std::uint32_t* device);

  /// Returns the buffer of the step's mask `index`, once the previous step has chosen.
  [[nodiscard]] std::span<std::uint32_t> mask(std::int32_t index);

  /// Uploads the first `count` masks, which have been written. Later work of `stream` waits for
  /// them.
  void bring(std::int32_t count, Stream stream);

 private:
  Runtime& runtime_;
  const std::int64_t words_;  // words of a mask
  std::uint32_t* const device_;
  OwnedPinned memory_;
  OwnedStream copying_;
  OwnedEvent copied_;
};

}  // namespace weft::cuda
