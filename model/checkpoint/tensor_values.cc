#include "weft/model/checkpoint/tensor_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20U;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

float load_value(DType dtype, const std::byte* from, std::int64_t index) {
  switch (dtype) {
    case DType::kF64:
      return static_cast<float>(load<double>(from + index * 8));
    case DType::kF32:
      return load<float>(from + index * 4);
    case DType::kF16:
      return from_f16(load<std::uint16_t>(from + index * 2));
    case DType::kBF16:
      return from_bf16(load<std::uint16_t>(from + index * 2));
    default:
      internal_error("widen_values: not a floating-point type");
  }
}

template <class T>
void store(std::span<std::byte> out, std::size_t index, T value) {
  std::memcpy(out.data() + index * sizeof(T), &value, sizeof(T));
}

/// Stores a number, and returns what it is in this type.
float store_value(DType dtype, float value, std::span<std::byte> out, std::size_t index) {
  switch (dtype) {
    case DType::kF64:
      store(out, index, double{value});
      return value;
    case DType::kF32:
      store(out, index, value);
      return value;
    case DType::kF16:
      store(out, index, to_f16(value));
      return from_f16(to_f16(value));
    case DType::kBF16:
      store(out, index, to_bf16(value));
      return from_bf16(to_bf16(value));
    default:
      internal_error("narrow_values: not a floating-point type");
  }
}

/// Decodes each block once for all its numbers.
void widen_blocks(DType dtype, const std::byte* from, std::int64_t offset, std::int64_t stride,
                  std::span<float> out) {
  constexpr std::int64_t kMostElements = 256;
  const DTypeBlock block = block_of(dtype);
  std::array<float, kMostElements> values;
  std::int64_t decoded = -1;
  for (float& value : out) {
    const std::int64_t at = offset / block.elements;
    if (at != decoded) {
      decode_blocks({.dtype = dtype, .data = from + at * block.bytes, .count = 1}, values.data());
      decoded = at;
    }
    value = values[static_cast<std::size_t>(offset % block.elements)];
    offset += stride;
  }
}

}  // namespace

bool narrow_values(DType dtype, std::span<const float> values, std::span<std::byte> out) {
  bool finite = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    finite = std::isfinite(store_value(dtype, values[i], out, i)) && finite;
  }
  return finite;
}

void widen_values(DType dtype, const std::byte* from, std::int64_t offset, std::int64_t stride,
                  std::span<float> out) {
  if (is_encoded(dtype)) {
    widen_blocks(dtype, from, offset, stride, out);
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_value(dtype, from, offset + stride * static_cast<std::int64_t>(i));
  }
}

Result<void> read_values(const CheckpointTensor& tensor, std::int64_t offset, std::int64_t stride,
                         std::span<float> out) {
  if (out.empty()) return {};
  const DTypeBlock block = block_of(tensor.dtype);
  const std::int64_t numbers =
      static_cast<std::int64_t>(tensor.size) / block.bytes * block.elements;
  const std::int64_t last = offset + stride * static_cast<std::int64_t>(out.size() - 1);
  if (offset < 0 || stride < 0 || last >= numbers)
    internal_error("read_values: outside the tensor");
  // As many numbers as a piece has room for; one number if they are further apart.
  const std::int64_t step = std::max<std::int64_t>(stride, 1);
  const std::int64_t most =
      std::max<std::int64_t>(kPieceBytes / block.bytes * block.elements / step, 1);
  std::vector<std::byte> piece;
  while (!out.empty()) {
    const auto some = out.first(std::min(out.size(), static_cast<std::size_t>(most)));
    const std::int64_t begin = offset / block.elements;
    const std::int64_t end =
        (offset + stride * static_cast<std::int64_t>(some.size() - 1)) / block.elements + 1;
    piece.resize(static_cast<std::size_t>((end - begin) * block.bytes));
    const auto read = tensor.read_blocks(static_cast<std::uint64_t>(begin * block.bytes), piece);
    if (!read) return read;
    widen_values(tensor.dtype, piece.data(), offset - begin * block.elements, stride, some);
    offset += stride * static_cast<std::int64_t>(some.size());
    out = out.subspan(some.size());
  }
  return {};
}

}  // namespace weft
