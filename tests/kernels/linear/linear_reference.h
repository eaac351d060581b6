#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/activation_reference.h"

/// The linear op in float64: what follows a product, for the host as for CUDA, and CUDA's op over
/// memory of the host (CudaLinearParams with host pointers).
namespace weft::test {

/// The op's output for a product's sums with biases, before the residual is added. `up` is used
/// only if the weight is gated; NaN stays NaN.
inline double after_product(const LinearSpec& spec, bool gated, double sum, double up) {
  double value = 0;
  if (gated) {
    const auto limit = static_cast<double>(spec.gate_limit);
    if (limit > 0) {
      sum = sum > limit ? limit : sum;
      up = up > limit ? limit : up;
      up = up < -limit ? -limit : up;
    }
    const auto alpha = static_cast<double>(spec.gate_alpha);
    const double opened = alpha != 0 ? sum * activate(Activation::kSigmoid, {}, sum * alpha)
                                     : activate(spec.activation, spec.xielu, sum);
    value = opened * (up + static_cast<double>(spec.up_offset));
  } else {
    value = activate(spec.activation, spec.xielu, sum);
    const auto cap = static_cast<double>(spec.soft_cap);
    if (cap > 0) value = cap * std::tanh(value / cap);
  }
  return value * static_cast<double>(spec.scale);
}

inline double number_at(const void* data, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::kF16:
      return static_cast<double>(from_f16(static_cast<const std::uint16_t*>(data)[index]));
    case DType::kBF16:
      return static_cast<double>(from_bf16(static_cast<const std::uint16_t*>(data)[index]));
    default:
      return static_cast<double>(static_cast<const float*>(data)[index]);
  }
}

inline void store_number(void* data, DType dtype, std::int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF16:
      static_cast<std::uint16_t*>(data)[index] = to_f16(narrow);
      break;
    case DType::kBF16:
      static_cast<std::uint16_t*>(data)[index] = to_bf16(narrow);
      break;
    default:
      static_cast<float*>(data)[index] = narrow;
  }
}

inline double weight_at(const cuda::DeviceMatrix& weight, std::int64_t row, std::int64_t k) {
  const std::int64_t index = row * weight.stride + k;
  if (weight.dtype != DType::kQ8_0) return number_at(weight.data, weight.dtype, index);
  constexpr std::int64_t kBlock = 32;
  const double scale =
      number_at(weight.scales, DType::kF16, row * (weight.inputs / kBlock) + k / kBlock);
  return scale * reinterpret_cast<const std::int8_t*>(weight.data)[index];
}

/// The numbers of a row in the order of DeviceMatrix, of a matrix that keeps blocks.
inline std::vector<float> decoded_row(const cuda::DeviceMatrix& weight, std::int64_t row) {
  std::int64_t output = row;
  if (weight.gated) {
    const std::int64_t in_pair = row % (2 * cuda::kGateBlock);
    output = row / (2 * cuda::kGateBlock) * cuda::kGateBlock + in_pair % cuda::kGateBlock;
    if (in_pair >= cuda::kGateBlock) output += weight.outputs;
  }
  const cuda::EncodedRun* run = &weight.runs[0];
  for (int i = 1; i < weight.run_count; ++i) {
    if (output >= weight.runs[i].first) run = &weight.runs[i];
  }
  const DTypeBlock block = block_of(run->dtype);
  const std::int64_t count = weight.inputs / block.elements;
  const std::int64_t bytes = count * block.bytes;
  const std::byte* blocks = run->data + (output - run->first) * bytes;
  std::vector<std::byte> unboxed;
  if (run->boxed) {
    unboxed.resize(static_cast<std::size_t>(bytes));
    const std::int64_t boxes = boxed_bytes(run->dtype, CodeBox::kRows, weight.inputs);
    const std::int64_t in_run = output - run->first;
    take_from_boxes(run->dtype, weight.inputs, static_cast<std::int32_t>(in_run % CodeBox::kRows),
                    {run->data + in_run / CodeBox::kRows * boxes, static_cast<std::size_t>(boxes)},
                    unboxed);
    blocks = unboxed.data();
  }
  std::vector<float> numbers(static_cast<std::size_t>(weight.inputs));
  decode_blocks({.dtype = run->dtype, .data = blocks, .count = count}, numbers.data());
  return numbers;
}

/// The factor of a row's sums.
inline double root_of(const cuda::CudaLinearParams& params, std::int64_t row) {
  if (params.norm_before.squares == nullptr) return 1;
  const std::int64_t count = params.weight.inputs / cuda::kSquaredOutputs;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(params.norm_before.squares[row * count + i]);
  }
  const double mean = sum / static_cast<double>(params.weight.inputs);
  return 1 / std::sqrt(mean + static_cast<double>(params.norm_before.eps));
}

/// A x of a row for a site of its adapter, times the adapter's scale.
inline std::vector<double> low_reference(const cuda::CudaLinearParams& params, std::int64_t row,
                                         const std::byte* place,
                                         const cuda::CudaAdapterPair& pair) {
  std::vector<double> low(static_cast<std::size_t>(pair.tiles * cuda::kAdapterTile));
  for (std::size_t rank = 0; rank < low.size(); ++rank) {
    for (std::int64_t k = 0; k < params.weight.inputs; ++k) {
      const auto at = static_cast<std::int64_t>(rank);
      low[rank] +=
          number_at(params.in.data, params.in.dtype, row * params.in.stride + k) *
          number_at(place + pair.a, DType::kBF16, cuda::adapter_a_at(at, k, params.weight.inputs));
    }
    low[rank] *= static_cast<double>(pair.scale);
  }
  return low;
}

/// Returns the numbers that a row's adapter adds to the product's sums, by output; in a gated
/// product the ups follow all gates.
inline std::vector<double> added_by_adapter(const cuda::CudaLinearParams& params,
                                            std::int64_t row) {
  const cuda::ProductAdapters& of = params.adapters;
  std::vector<double> added(
      static_cast<std::size_t>(params.weight.outputs * (params.weight.gated ? 2 : 1)));
  if (of.tasks.tasks == nullptr) return added;
  std::int32_t own = -1;
  for (std::int32_t i = 0; i < *of.tasks.count; ++i) {
    const cuda::CudaAdapterTask& task = of.tasks.tasks[i];
    const auto* rows = of.tasks.rows + task.first;
    if (std::find(rows, rows + task.count, row) != rows + task.count) own = task.place;
  }
  if (own < 0) return added;
  const std::byte* place = of.places.data + own * of.places.bytes;
  for (std::int32_t r = 0; r < of.run_count; ++r) {
    const AdapterRun& run = of.runs[r];
    const auto& pair = reinterpret_cast<const cuda::CudaAdapterPair*>(place)[run.site];
    const std::vector<double> low = low_reference(params, row, place, pair);
    for (std::int64_t output = 0; output < run.outputs; ++output) {
      double& sum = added[static_cast<std::size_t>(run.first_output + output)];
      for (std::size_t rank = 0; rank < low.size(); ++rank) {
        sum +=
            low[rank] * number_at(place + pair.b, DType::kBF16,
                                  cuda::adapter_b_at(run.first_panel + output / kAdapterPanel,
                                                     output % kAdapterPanel,
                                                     static_cast<std::int64_t>(rank), pair.tiles));
      }
    }
  }
  return added;
}

/// Number `output` of row `row`, before it is rounded to the type of `out`. `added` is
/// added_by_adapter(), or empty.
inline double linear_output(const cuda::CudaLinearParams& params, std::int64_t row,
                            std::int64_t output, const std::vector<double>& added = {}) {
  const cuda::DeviceMatrix& weight = params.weight;
  const std::int64_t from = params.input_rows == nullptr ? row : params.input_rows[row];
  const double root = root_of(params, row);
  const auto sum = [&](std::int64_t weight_row, std::int64_t place) {
    double total = 0;
    std::vector<float> decoded;
    if (weight.keeps_blocks()) decoded = decoded_row(weight, weight_row);
    const bool rounds = params.way == cuda::LinearWay::kDecoded;
    for (std::int64_t k = 0; k < weight.inputs; ++k) {
      double number = weight.keeps_blocks()
                          ? static_cast<double>(decoded[static_cast<std::size_t>(k)])
                          : weight_at(weight, weight_row, k);
      if (rounds) number = static_cast<double>(from_bf16(to_bf16(static_cast<float>(number))));
      total += number_at(params.in.data, params.in.dtype, from * params.in.stride + k) * number;
    }
    if (!added.empty()) total += added[static_cast<std::size_t>(place)];
    return total * root + (params.bias == nullptr ? 0 : static_cast<double>(params.bias[place]));
  };
  const std::int64_t first =
      weight.gated ? output / cuda::kGateBlock * 2 * cuda::kGateBlock + output % cuda::kGateBlock
                   : output;
  const double up = weight.gated ? sum(first + cuda::kGateBlock, weight.outputs + output) : 0.0;
  const double value = after_product(params.spec, weight.gated, sum(first, output), up);
  if (params.residual.data == nullptr) return value;
  return value + number_at(params.residual.data, params.residual.dtype,
                           row * params.residual.stride + output);
}

/// The op of CudaDecodeParams, over host memory.
inline void decode_reference(const cuda::CudaDecodeParams& params) {
  const cuda::DeviceMatrix& to = params.to;
  auto* numbers = reinterpret_cast<std::uint16_t*>(const_cast<std::byte*>(to.data));
  for (std::int64_t row = 0; row < to.rows(); ++row) {
    const bool pads =
        to.gated &&
        row % cuda::kGateBlock + row / (2 * cuda::kGateBlock) * cuda::kGateBlock >= to.outputs;
    std::vector<float> decoded(static_cast<std::size_t>(to.stride));
    if (!pads) {
      const std::int64_t from = to.gated ? row : params.first + row;
      if (params.from.keeps_blocks()) {
        std::ranges::copy(decoded_row(params.from, from), decoded.begin());
      } else {
        for (std::int64_t k = 0; k < to.inputs; ++k) {
          decoded[static_cast<std::size_t>(k)] =
              static_cast<float>(weight_at(params.from, from, k));
        }
      }
    }
    for (std::int64_t k = 0; k < to.stride; ++k) {
      numbers[row * to.stride + k] = to_bf16(decoded[static_cast<std::size_t>(k)]);
    }
  }
}

/// The numbers that a product leaves for the norm behind it, from the written outputs.
inline void norm_after_reference(const cuda::CudaLinearParams& params, std::int64_t row) {
  const cuda::NormAfter& after = params.norm_after;
  std::vector<double> squares(
      static_cast<std::size_t>(params.weight.outputs / cuda::kSquaredOutputs));
  for (std::int64_t output = 0; output < params.weight.outputs; ++output) {
    const double value =
        number_at(params.out.data, params.out.dtype, row * params.out.stride + output);
    const double weight = after.weight == nullptr ? 1
                                                  : static_cast<double>(after.weight[output]) +
                                                        static_cast<double>(after.weight_offset);
    store_number(after.out.data, after.out.dtype, row * after.out.stride + output, value * weight);
    squares[static_cast<std::size_t>(output / cuda::kSquaredOutputs)] += value * value;
  }
  const auto count = static_cast<std::int64_t>(squares.size());
  for (std::int64_t i = 0; i < count; ++i) {
    after.squares[row * count + i] = static_cast<float>(squares[static_cast<std::size_t>(i)]);
  }
}

/// All of `out`. kDecoded rounds weights to bf16; else no way makes a difference. `workspace` and
/// `decoded` are not looked at.
inline void linear_reference(const cuda::CudaLinearParams& params) {
  for (std::int64_t row = 0; row < params.rows; ++row) {
    const std::vector<double> added = added_by_adapter(params, row);
    for (std::int64_t output = 0; output < params.weight.outputs; ++output) {
      store_number(params.out.data, params.out.dtype, row * params.out.stride + output,
                   linear_output(params, row, output, added));
    }
    if (params.norm_after.out.data != nullptr) norm_after_reference(params, row);
  }
}

}  // namespace weft::test
