#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// Contiguous lines that were read of a tensor, for some outputs.
struct Band {
  std::vector<std::byte> bytes;
  std::int64_t first_line = 0;
  std::int64_t stride = 0;      ///< bytes from one line to the next
  std::int64_t first_byte = 0;  ///< first byte within a line
};

/// Reads bytes [first_byte, end_byte) of lines [first, end) of a tensor whose lines have `width`
/// bytes: at once if these are whole lines, else line by line.
struct Rectangle {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t first_byte = 0;
  std::int64_t end_byte = 0;
};
[[nodiscard]] Result<Band> read_band(const CheckpointTensor& tensor, std::int64_t width,
                                     const Rectangle& rectangle);

/// How small integers [outputs, columns] are packed in 32-bit words, the first in the lowest bits.
struct CodePacking {
  int bits = 4;
  bool along_outputs = false;  ///< the integers of a word are of neighbouring outputs, not columns
  bool words_are_lines = false;  ///< consecutive words are in consecutive lines, not in one line
  bool awq = false;              ///< eight integers in a word, in AWQ's order; along outputs
  bool is_signed = false;        ///< int8 bytes, to which 128 is added
};

/// Small integers of a checkpoint's tensor: codes by input, or zeros by group.
class CodePlane {
 public:
  CodePlane() = default;
  CodePlane(const CheckpointTensor& tensor, CodePacking packing, std::int64_t outputs,
            std::int64_t columns)
      : tensor_(tensor), packing_(packing), outputs_(outputs), columns_(columns) {}

  /// The shape that the tensor must have.
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] const CheckpointTensor& tensor() const noexcept { return tensor_; }

  /// Whether a line has all outputs, so that some outputs are a part of each line.
  [[nodiscard]] bool has_lines_of_outputs() const noexcept {
    return packing_.words_are_lines != packing_.along_outputs;
  }

  /// Reads the bytes of the tensor that outputs [first, first + count) need.
  [[nodiscard]] Result<Band> read(std::int64_t first, std::int64_t count) const;
  /// Unpacks the integers of `count` outputs from `first` on, [count, columns]. Several outputs at
  /// a time are fastest if the words of neighbours are contiguous.
  void unpack(const Band& band, std::int64_t first, std::int64_t count,
              std::span<std::uint8_t> out) const;

 private:
  [[nodiscard]] std::int64_t words(std::int64_t integers) const noexcept {
    return (integers * packing_.bits + 31) / 32;
  }
  void unpack_bytes(const Band& band, std::int64_t first, std::int64_t count,
                    std::uint8_t* out) const;
  void unpack_columns(const Band& band, std::int64_t first, std::int64_t count,
                      std::uint8_t* out) const;
  void unpack_across(const Band& band, std::int64_t first, std::int64_t count,
                     std::uint8_t* out) const;

  CheckpointTensor tensor_;
  CodePacking packing_;
  std::int64_t outputs_ = 0;
  std::int64_t columns_ = 0;
};

/// Scales from a checkpoint's tensor, in f16, bf16 or f32. A scale is for one or more outputs and
/// one column.
class ScalePlane {
 public:
  struct Layout {
    std::int64_t outputs = 1;       ///< scales along the outputs
    std::int64_t columns = 1;       ///< scales along the columns
    std::int64_t outputs_each = 1;  ///< outputs that share a scale
    bool transposed = false;        ///< [columns, outputs]
  };

  ScalePlane() = default;
  ScalePlane(const CheckpointTensor& tensor, Layout layout) : tensor_(tensor), layout_(layout) {}

  [[nodiscard]] const CheckpointTensor& tensor() const noexcept { return tensor_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return layout_.columns; }

  [[nodiscard]] Result<Band> read(std::int64_t first, std::int64_t count) const;
  /// Returns one output's scales. kBadCheckpoint if one is infinite or not a number.
  [[nodiscard]] Result<void> widen(const Band& band, std::int64_t output,
                                   std::span<float> out) const;

 private:
  CheckpointTensor tensor_;
  Layout layout_;
};

}  // namespace weft
