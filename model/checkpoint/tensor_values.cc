#include "weft/model/checkpoint/tensor_values.h"

#include <cstddef>
#include <cstring>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {
namespace {

template <class T>
T load(const CheckpointTensor& tensor, std::int64_t byte) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + byte, sizeof(T));
  return value;
}

float read_q8_0(const CheckpointTensor& tensor, std::int64_t index) {
  const DTypeBlock block = block_of(DType::kQ8_0);
  const std::int64_t start = index / block.elements * block.bytes;
  const float scale = from_f16(load<std::uint16_t>(tensor, start));
  return scale * static_cast<float>(load<std::int8_t>(tensor, start + 2 + index % block.elements));
}

float read_value(const CheckpointTensor& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DType::kF64:
      return static_cast<float>(load<double>(tensor, index * 8));
    case DType::kF32:
      return load<float>(tensor, index * 4);
    case DType::kF16:
      return from_f16(load<std::uint16_t>(tensor, index * 2));
    case DType::kBF16:
      return from_bf16(load<std::uint16_t>(tensor, index * 2));
    case DType::kQ8_0:
      return read_q8_0(tensor, index);
    default:
      internal_error("read_values: not a floating-point tensor");
  }
}

}  // namespace

void read_values(const CheckpointTensor& tensor, std::int64_t offset, std::int64_t stride,
                 std::span<float> out) {
  if (out.empty()) return;
  const DTypeBlock block = block_of(tensor.dtype);
  const auto numbers =
      static_cast<std::int64_t>(tensor.bytes.size()) / block.bytes * block.elements;
  const std::int64_t last = offset + stride * static_cast<std::int64_t>(out.size() - 1);
  if (offset < 0 || stride < 0 || last >= numbers)
    internal_error("read_values: outside the tensor");
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = read_value(tensor, offset + stride * static_cast<std::int64_t>(i));
  }
}

}  // namespace weft
