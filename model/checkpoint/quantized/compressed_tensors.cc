#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "weft/model/checkpoint/quantized/integer_rows.h"
#include "weft/model/checkpoint/quantized/schemes.h"

namespace weft {
namespace {

namespace json = boost::json;

Result<void> check_weights(const QuantizationConfig& weights) {
  if (auto known = weights.expect("type", {"int", "float"}); !known) return known;
  if (auto known = weights.expect("strategy", {"tensor", "channel", "group", "block"}); !known)
    return known;
  const auto bits = weights.integer("num_bits");
  if (!bits) return bits.error();
  const auto type = weights.text("type");
  const bool is_known = *type == "float"
                            ? bits->value_or(8) == 8
                            : std::ranges::find(kCodeBits, bits->value_or(8)) != kCodeBits.end();
  return is_known ? Result<void>() : weights.unsupported("num_bits", "which is not read");
}

/// Reads `config_groups`; returns the outputs and inputs of FP8's blocks, if there are any.
Result<std::vector<std::int64_t>> read_groups(const QuantizationConfig& config) {
  std::vector<std::int64_t> block;
  const auto* groups = config.find("config_groups");
  if (groups == nullptr) return block;
  if (!groups->is_object()) return config.bad("config_groups", "which is no object");
  for (const auto& group : groups->as_object()) {
    const std::string where = "config_groups." + std::string(group.key());
    const auto* fields = group.value().if_object();
    if (fields == nullptr) return config.bad("config_groups", "which has what is no object");
    const QuantizationConfig own(*fields, where);
    if (auto known = own.expect("format", {"pack-quantized", "int-quantized", "float-quantized",
                                           "naive-quantized", "dense"});
        !known)
      return known.error();
    const auto* weights = own.find("weights");
    if (weights == nullptr) continue;
    if (!weights->is_object()) return own.bad("weights", "which is no object");
    const QuantizationConfig numbers(weights->as_object(), where + ".weights");
    if (const auto known = check_weights(numbers); !known) return known.error();
    const auto structure = numbers.integers("block_structure");
    if (!structure) return structure.error();
    if (*structure && !block.empty() && block != **structure)
      return numbers.unsupported("block_structure", "which another group has otherwise");
    if (*structure && !is_fp8_block(**structure))
      return numbers.bad("block_structure", "which is no block");
    if (*structure) block = **structure;
  }
  return block;
}

/// Returns the two numbers of `weight_shape`.
Result<std::vector<std::int64_t>> read_shape(const CheckpointTensor& tensor) {
  if (const auto checked = check_raw(tensor, DType::kI64, {2}); !checked) return checked.error();
  const auto bytes = read_all(tensor);
  if (!bytes) return bytes.error();
  std::vector<std::int64_t> shape(2);
  std::memcpy(shape.data(), bytes->data(), bytes->size());
  return shape;
}

/// Returns the scales: one for the tensor, or [outputs, groups].
Result<ScalePlane> scales_of(const CheckpointTensor& scales, std::int64_t outputs,
                             std::int64_t inputs) {
  if (!is_float(scales.dtype) || is_encoded(scales.dtype))
    return bad_raw(scales, "holds " + std::string(to_string(scales.dtype)) + ", no scales");
  const std::vector<std::int64_t>& shape = scales.shape;
  if (shape.empty() || shape == std::vector<std::int64_t>{1}) return ScalePlane(scales, {});
  const std::int64_t groups = shape.size() == 2 ? shape[1] : 1;
  if (shape.size() > 2 || shape[0] != outputs || groups < 1 || inputs % groups != 0)
    return bad_raw(scales, "is " + shape_text(shape) + ", which does not fit a weight of " +
                               shape_text(std::array{outputs, inputs}));
  return ScalePlane(scales, {outputs, groups});
}

Result<void> take_zeros(const std::string& module, int bits, IntegerWeight& weight,
                        QuantizedModel& model) {
  const CheckpointTensor* zeros = model.raw.take(module + ".weight_zero_point");
  if (zeros == nullptr) return {};
  const std::int64_t groups = weight.scales.columns();
  const bool is_plain = zeros->dtype == DType::kI8;
  CodePacking packing{.bits = bits, .along_outputs = true, .words_are_lines = true};
  // CodePlane adds 128 to int8; zero_offset corrects this for codes with fewer bits.
  if (is_plain) packing = {.bits = 8, .is_signed = true};
  const CodePlane plane(*zeros, packing, weight.outputs, groups);
  const DType dtype = is_plain ? DType::kI8 : DType::kI32;
  if (const auto checked = check_raw(*zeros, dtype, plane.shape()); !checked) return checked;
  if (is_plain) weight.zero_offset = (1 << (bits - 1)) - 128;
  weight.zeros = plane;
  return {};
}

Result<void> take_module(const std::string& module, IntegerWeight weight,
                         const CheckpointTensor& codes, QuantizedModel& model) {
  const auto scales = model.raw.require(module + ".weight_scale", codes);
  if (!scales) return scales.error();
  auto plane = scales_of(**scales, weight.outputs, weight.inputs);
  if (!plane) return plane.error();
  weight.scales = std::move(*plane);
  const CodePlane& own = weight.codes;
  const DType dtype = codes.dtype == DType::kI8 ? DType::kI8 : DType::kI32;
  if (const auto checked = check_raw(codes, dtype, own.shape()); !checked) return checked;
  if (const auto taken = take_zeros(module, weight.bits, weight, model); !taken) return taken;
  if (const auto* group_of = model.raw.take(module + ".weight_g_idx"); group_of != nullptr) {
    auto order = order_by_group(*group_of, weight.inputs, weight.scales.columns());
    if (!order) return order.error();
    weight.order = std::move(*order);
  }
  return model.add(integer_tensor(module + ".weight", std::move(weight)));
}

Result<void> take_packed(const std::string& module, QuantizedModel& model) {
  const CheckpointTensor& codes = *model.raw.take(module + ".weight_packed");
  const auto shape_tensor = model.raw.require(module + ".weight_shape", codes);
  if (!shape_tensor) return shape_tensor.error();
  const auto shape = read_shape(**shape_tensor);
  if (!shape) return shape.error();
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  const std::int64_t outputs = (*shape)[0];
  const std::int64_t inputs = (*shape)[1];
  const auto fits = [&](std::int64_t bits) {
    return codes.shape == std::vector{outputs, (inputs * bits + 31) / 32};
  };
  const bool is_matrix = outputs > 0 && inputs > 0 && outputs < kMost && inputs < kMost;
  const auto* bits = is_matrix ? std::ranges::find_if(kCodeBits, fits) : kCodeBits.end();
  if (bits == kCodeBits.end())
    return bad_raw(codes, "is " + shape_text(codes.shape) + ", which no packing makes of " +
                              shape_text(*shape));
  IntegerWeight weight{.bits = static_cast<int>(*bits), .outputs = outputs, .inputs = inputs};
  weight.codes = CodePlane(codes, {.bits = weight.bits}, outputs, inputs);
  return take_module(module, std::move(weight), codes, model);
}

Result<void> take_bytes(const std::string& module, const CheckpointTensor& codes,
                        QuantizedModel& model) {
  if (codes.shape.size() != 2 || !is_filled(codes))
    return bad_raw(codes, "is " + shape_text(codes.shape) + ", no matrix");
  IntegerWeight weight{.bits = 8, .outputs = codes.shape[0], .inputs = codes.shape[1]};
  weight.codes = CodePlane(codes, {.bits = 8, .is_signed = true}, weight.outputs, weight.inputs);
  return take_module(module, std::move(weight), codes, model);
}

}  // namespace

Result<void> read_compressed_tensors(const QuantizationConfig& config, QuantizedModel& model) {
  if (auto known = config.expect("format", {"pack-quantized", "int-quantized", "float-quantized",
                                            "naive-quantized", "mixed-precision", "dense"});
      !known)
    return known;
  for (const std::string_view key : {"sparsity_config", "transform_config"}) {
    const auto* value = config.find(key);
    const auto* fields = value == nullptr ? nullptr : value->if_object();
    const auto* format = fields == nullptr ? nullptr : fields->if_contains("format");
    const bool is_dense = format != nullptr && *format == "dense";
    const bool is_empty = fields != nullptr && fields->empty();
    if (value != nullptr && !is_dense && !is_empty) {
      return config.unsupported(key, "which is not read");
    }
  }
  const auto block = read_groups(config);
  if (!block) return block.error();
  for (const std::string& module : model.raw.modules(".weight_packed")) {
    if (const auto taken = take_packed(module, model); !taken) return taken;
  }
  for (const std::string& module : model.raw.modules(".weight_scale")) {
    const CheckpointTensor* weight = model.raw.find(module + ".weight");
    if (weight == nullptr || weight->dtype != DType::kI8) continue;
    model.raw.take(weight->name);
    if (const auto taken = take_bytes(module, *weight, model); !taken) return taken;
  }
  return take_fp8(model, *block);
}

}  // namespace weft
