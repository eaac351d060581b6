#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/quantized/quantization_config.h"
#include "weft/model/checkpoint/quantized/raw_tensors.h"

namespace weft {

/// A checkpoint while the tensors of its files are converted to weights.
struct QuantizedModel {
  RawTensors raw;
  std::vector<CheckpointTensor> weights;

  Result<void> add(Result<CheckpointTensor> weight) {
    if (!weight) return weight.error();
    weights.push_back(std::move(*weight));
    return {};
  }
};

/// A scheme of quantization: takes the tensors of each weight and adds the weight. A module with a
/// plain `.weight` is not quantized and stays as it is. kUnsupportedFormat for unknown settings,
/// with the key and its value or the tensor; kBadCheckpoint if tensors do not fit one another;
/// kBadConfig.
using ReadScheme = Result<void> (*)(const QuantizationConfig& config, QuantizedModel& model);

/// GPTQ: `qweight`, `qzeros`, `scales` and, with activation order, `g_idx`. Packed along the
/// inputs, 32 codes in as many words as they have bits. (AutoGPTQ, GPTQModel: BaseQuantLinear.)
[[nodiscard]] Result<void> read_gptq(const QuantizationConfig& config, QuantizedModel& model);

/// AWQ's GEMM layout: GPTQ's names, packed along the outputs in the order 0, 2, 4, 6, 1, 3, 5, 7.
/// (AutoAWQ: WQLinear_GEMM.)
[[nodiscard]] Result<void> read_awq(const QuantizationConfig& config, QuantizedModel& model);

/// AutoRound: one of these two layouts, according to `packing_format`.
[[nodiscard]] Result<void> read_auto_round(const QuantizationConfig& config, QuantizedModel& model);

/// compressed-tensors: `weight_packed` or int8 `weight` with `weight_scale` and optionally
/// `weight_zero_point` and `weight_g_idx`, or FP8 `weight` with `weight_scale`.
[[nodiscard]] Result<void> read_compressed_tensors(const QuantizationConfig& config,
                                                   QuantizedModel& model);

/// FP8: `weight` in E4M3 with `weight_scale_inv` or `weight_scale`, which both multiply: one for
/// the tensor, for each output, or for each block of `weight_block_size`.
[[nodiscard]] Result<void> read_fp8(const QuantizationConfig& config, QuantizedModel& model);

/// MXFP4 as in gpt-oss: `NAME_blocks` [..., outputs, blocks, 16] and `NAME_scales`.
[[nodiscard]] Result<void> read_mxfp4(const QuantizationConfig& config, QuantizedModel& model);

/// bitsandbytes: NF4 and FP4 with their quantization state in other tensors, and int8 with `SCB`.
[[nodiscard]] Result<void> read_bitsandbytes(const QuantizationConfig& config,
                                             QuantizedModel& model);

/// Whether FP8 supports blocks of these outputs and inputs.
[[nodiscard]] bool is_fp8_block(std::span<const std::int64_t> block) noexcept;

/// Converts FP8 weights of `model` to Weft's encodings, for any scheme. `block` has the outputs and
/// inputs of a scale's block; it is empty if scales are by tensor or output.
[[nodiscard]] Result<void> take_fp8(QuantizedModel& model, std::span<const std::int64_t> block);

}  // namespace weft
