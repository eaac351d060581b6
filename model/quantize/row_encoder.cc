#include "weft/model/quantize/row_encoder.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/quantize/quantize.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

Error cannot_encode(const CheckpointTensor& tensor, DType dtype, std::int64_t row) {
  return {ModelErrc::kCannotQuantize,
          tensor.file() + ": tensor " + in_quotes(tensor.name) + ": row " + std::to_string(row) +
              " has a number that is not finite or too large for " + std::string(to_string(dtype))};
}

template <class T>
std::byte* store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(value));
  return to + sizeof(value);
}

/// Returns false if a number is too large for the type.
bool narrow(DType dtype, std::span<const float> from, std::byte* to) {
  for (const float number : from) {
    if (dtype == DType::kF32) {
      to = store(number, to);
      continue;
    }
    const std::uint16_t bits = dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
    const float kept = dtype == DType::kF16 ? from_f16(bits) : from_bf16(bits);
    if (!std::isfinite(kept)) return false;
    to = store(bits, to);
  }
  return true;
}

}  // namespace

std::int64_t row_numbers(const CheckpointTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape.back();
}

std::int64_t row_bytes(const CheckpointTensor& tensor, DType dtype) {
  const auto bytes = bytes_of(dtype, row_numbers(tensor));
  if (!bytes) internal_error("row_bytes: rows of a part of a block");
  return *bytes;
}

Result<void> RowEncoder::encode(const PlannedTensor& tensor, RowRange rows,
                                std::span<std::byte> out) {
  const CheckpointTensor& source = *tensor.source;
  if (tensor.dtype == source.dtype) {
    return source.read(static_cast<std::uint64_t>(rows.first * row_bytes(source, source.dtype)),
                       out);
  }
  const std::int64_t row = row_numbers(source);
  numbers_.resize(static_cast<std::size_t>(row * rows.count));
  if (auto read = read_values(source, rows.first * row, 1, numbers_); !read) return read;
  const std::int64_t bytes = row_bytes(source, tensor.dtype);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto done = encode_row(tensor, i, rows.first + i, out.data() + i * bytes);
    if (!done) return done.error();
    if (!*done) return cannot_encode(source, tensor.dtype, rows.first + i);
  }
  return {};
}

Result<bool> RowEncoder::encode_row(const PlannedTensor& tensor, std::int64_t index,
                                    std::int64_t number, std::byte* to) const {
  const std::int64_t row = row_numbers(*tensor.source);
  const float* from = numbers_.data() + index * row;
  if (!is_encoded(tensor.dtype))
    return narrow(tensor.dtype, {from, static_cast<std::size_t>(row)}, to);
  const auto importance = importance_for(*tensor.source, number);
  if (!importance) return importance.error();
  return !quantize_blocks({tensor.dtype, from, row / block_of(tensor.dtype).elements, *importance},
                          to);
}

Result<const float*> RowEncoder::importance_for(const CheckpointTensor& tensor,
                                                std::int64_t number) const {
  if (importance_ == nullptr) return nullptr;
  const auto found = importance_->find(tensor.name);
  if (found == importance_->end()) return nullptr;
  const std::vector<float>& values = found->second;
  const std::int64_t row = row_numbers(tensor);
  if (std::cmp_equal(values.size(), row)) return values.data();
  const bool is_stack = tensor.shape.size() == 3;
  if (is_stack && std::cmp_equal(values.size(), tensor.shape[0] * row))
    return values.data() + number / tensor.shape[1] * row;
  return Error{ModelErrc::kCannotQuantize,
               "tensor " + in_quotes(tensor.name) + " has " + std::to_string(row) +
                   " inputs and an importance of " + std::to_string(found->second.size())};
}

}  // namespace weft
