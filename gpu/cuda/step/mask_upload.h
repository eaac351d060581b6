#pragma once

#include <cstdint>
#include <span>

#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

/// Uploads masks of the tokens that a step's constrained rows may choose (TokenMasks), beside the
/// step's other work: a mask is known some time after the step has begun, and has 16 KB with a
/// vocabulary of 128k. Takes page-locked memory for one mask a row when it is made, and nothing
/// later. Owner only; throws Failure.
class MaskUpload {
 public:
  /// For at most `rows` masks of V tokens, which go to `device` [rows, words].
  MaskUpload(Runtime& runtime, std::int64_t vocabulary, std::int32_t rows, std::uint32_t* device);

  /// The buffer of the step's mask `index`, once the step before has chosen.
  [[nodiscard]] std::span<std::uint32_t> mask(std::int32_t index);

  /// Uploads the first `count` masks, which have been written; later work of `stream` waits for
  /// them.
  void bring(std::int32_t count, Stream stream);

 private:
  Runtime& runtime_;
  const std::int64_t words_;  // of a mask
  std::uint32_t* const device_;
  OwnedPinned memory_;
  OwnedStream copying_;
  OwnedEvent copied_;
};

}  // namespace weft::cuda
