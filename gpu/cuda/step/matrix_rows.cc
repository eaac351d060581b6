#include "weft/gpu/cuda/step/matrix_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kScaleBytes = 2;  // of a q8_0 block, before its 32 numbers

// Which output of the program's matrix a stored row holds; -1 = none.
std::int64_t output_of(const DeviceMatrix& matrix, std::int64_t row) {
  if (!matrix.gated) return row;
  const std::int64_t pair = row / (2 * kGateBlock);
  const std::int64_t in_pair = row % (2 * kGateBlock);
  const std::int64_t output = pair * kGateBlock + in_pair % kGateBlock;
  if (output >= matrix.outputs) return -1;
  return in_pair < kGateBlock ? output : matrix.outputs + output;
}

const MatrixPart* part_of(const MatrixPlan& plan, std::int64_t output) {
  const auto found = std::ranges::find_if(plan.parts, [&](const MatrixPart& part) {
    return output >= part.first_output && output < part.first_output + part.outputs;
  });
  return found == plan.parts.end() ? nullptr : &*found;
}

void write_converted(const MatrixPart& part, std::int64_t offset, DType dtype, std::byte* out) {
  constexpr std::int64_t kAtOnce = 1024;
  std::array<float, kAtOnce> values{};
  for (std::int64_t done = 0; done < part.inputs; done += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, part.inputs - done);
    const auto some = std::span(values).first(static_cast<std::size_t>(count));
    read_values(*part.tensor, offset + done * part.stride_input, part.stride_input, some);
    if (dtype == DType::kF32) {
      std::memcpy(out + done * 4, some.data(), some.size_bytes());
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = some[static_cast<std::size_t>(i)];
      const std::uint16_t bits = dtype == DType::kF16 ? to_f16(value) : to_bf16(value);
      std::memcpy(out + (done + i) * 2, &bits, 2);
    }
  }
}

// A row of whole blocks, of which the numbers or the scales are wanted.
void write_blocks(const MatrixPart& part, std::int64_t offset, bool scales, std::byte* out) {
  const DTypeBlock block = block_of(DType::kQ8_0);
  const std::byte* from = part.tensor->bytes.data() + offset / block.elements * block.bytes;
  for (std::int64_t i = 0; i < part.inputs / block.elements; ++i, from += block.bytes) {
    if (scales) {
      std::memcpy(out + i * kScaleBytes, from, kScaleBytes);
    } else {
      std::memcpy(out + i * block.elements, from + kScaleBytes,
                  static_cast<std::size_t>(block.elements));
    }
  }
}

void write_row(const MatrixPart& part, std::int64_t output, const DeviceMatrix& matrix, bool scales,
               std::byte* out) {
  const std::int64_t offset = part.offset + (output - part.first_output) * part.stride_output;
  const bool alike = part.tensor->dtype == matrix.dtype && part.stride_input == 1;
  if (matrix.dtype == DType::kQ8_0) {
    if (!alike) internal_error("only q8_0 becomes q8_0");
    write_blocks(part, offset, scales, out);
  } else if (alike) {
    const std::int64_t width = block_of(matrix.dtype).bytes;
    std::memcpy(out, part.tensor->bytes.data() + offset * width,
                static_cast<std::size_t>(part.inputs * width));
  } else {
    write_converted(part, offset, matrix.dtype, out);
  }
}

}  // namespace

std::int64_t row_bytes(const DeviceMatrix& matrix, bool scales) {
  if (scales) return matrix.inputs / block_of(DType::kQ8_0).elements * kScaleBytes;
  return matrix.dtype == DType::kQ8_0 ? matrix.stride
                                      : bytes_of(matrix.dtype, matrix.stride).value();
}

void write_matrix_rows(const MatrixPlan& plan, const DeviceMatrix& matrix, std::int64_t first,
                       std::int64_t count, bool scales, std::span<std::byte> out) {
  const std::int64_t bytes = row_bytes(matrix, scales);
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* row = out.data() + i * bytes;
    const std::int64_t output = output_of(matrix, first + i);
    const MatrixPart* part = output < 0 ? nullptr : part_of(plan, output);
    const std::int64_t used =
        scales || part == nullptr
            ? 0
            : (matrix.dtype == DType::kQ8_0 ? matrix.inputs
                                            : bytes_of(matrix.dtype, matrix.inputs).value());
    // What follows the numbers, or all of it.
    if (!scales || part == nullptr) {
      std::memset(row + used, 0, static_cast<std::size_t>(bytes - used));
    }
    if (part != nullptr) write_row(*part, output, matrix, scales, row);
  }
}

}  // namespace weft::cuda
