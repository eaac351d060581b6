#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weft/model/checkpoint/quantized/integer_rows.h"
#include "weft/model/checkpoint/quantized/schemes.h"

namespace weft {
namespace {

/// The settings of a scheme of packed words, for all weights.
struct Words {
  std::int64_t bits = 0;        ///< 0: the tensors determine it
  std::int64_t group_size = 0;  ///< 0: the tensors determine it; -1: all inputs
  bool needs_order = false;     ///< every weight has `g_idx`
  int zero_offset = 0;
  CodePacking codes, zeros;
};

/// Returns the bits of the codes, from `scales` [groups, outputs] and `qzeros` [groups, outputs *
/// bits / 32].
Result<int> bits_of(const CheckpointTensor& scales, const CheckpointTensor& zeros,
                    std::int64_t stated) {
  if (scales.shape.size() != 2 || !is_filled(scales))
    return bad_raw(scales, "is " + shape_text(scales.shape) + ", not [groups, outputs]");
  if (!is_float(scales.dtype) || is_encoded(scales.dtype))
    return bad_raw(scales, "holds " + std::string(to_string(scales.dtype)) + ", no scales");
  for (const std::int64_t bits : kCodeBits) {
    const std::vector wanted = {scales.shape[0], (scales.shape[1] * bits + 31) / 32};
    if ((stated == 0 || stated == bits) && zeros.shape == wanted) return static_cast<int>(bits);
  }
  return bad_raw(zeros, "is " + shape_text(zeros.shape) + ", which does not fit " +
                            std::string("scales of ") + shape_text(scales.shape) +
                            (stated == 0 ? "" : " and " + std::to_string(stated) + " bits"));
}

Result<void> check_group(const CheckpointTensor& scales, std::int64_t inputs, std::int64_t stated) {
  const std::int64_t groups = scales.shape[0];
  const std::int64_t wanted = stated == -1 ? inputs : stated;
  if (inputs % groups != 0 || (stated != 0 && inputs / groups != wanted))
    return bad_raw(scales,
                   "has " + std::to_string(groups) + " groups for " + std::to_string(inputs) +
                       " inputs" +
                       (stated == 0 ? "" : ", the group size is " + std::to_string(stated)));
  return {};
}

Result<void> take_words(const Words& words, const std::string& module, QuantizedModel& model) {
  const CheckpointTensor& codes = *model.raw.take(module + ".qweight");
  const auto scales = model.raw.require(module + ".scales", codes);
  if (!scales) return scales.error();
  const auto zeros = model.raw.require(module + ".qzeros", codes);
  if (!zeros) return zeros.error();
  const auto bits = bits_of(**scales, **zeros, words.bits);
  if (!bits) return bits.error();
  if (codes.shape.size() != 2 || !is_filled(codes))
    return bad_raw(codes, "is " + shape_text(codes.shape) + ", no matrix");
  const std::int64_t outputs = (*scales)->shape[1];
  const std::int64_t groups = (*scales)->shape[0];
  const std::int64_t inputs =
      words.codes.along_outputs ? codes.shape[0] : codes.shape[0] * 32 / *bits;
  CodePacking packing = words.codes;
  CodePacking zero_packing = words.zeros;
  packing.bits = zero_packing.bits = *bits;
  IntegerWeight weight{.bits = *bits,
                       .outputs = outputs,
                       .inputs = inputs,
                       .codes = CodePlane(codes, packing, outputs, inputs),
                       .scales = ScalePlane(**scales, {outputs, groups, 1, true}),
                       .zeros = CodePlane(**zeros, zero_packing, outputs, groups),
                       .zero_offset = words.zero_offset};
  for (const CodePlane* plane : {&weight.codes, &*weight.zeros}) {
    const auto checked = check_raw(plane->tensor(), DType::kI32, plane->shape());
    if (!checked) return checked;
  }
  if (const auto checked = check_group(**scales, inputs, words.group_size); !checked)
    return checked;
  const CheckpointTensor* group_of = model.raw.take(module + ".g_idx");
  if (group_of == nullptr && words.needs_order)
    return bad_raw(codes, "has no 'g_idx' beside it, and desc_act is true");
  if (group_of != nullptr) {
    auto order = order_by_group(*group_of, inputs, groups);
    if (!order) return order.error();
    weight.order = std::move(*order);
  }
  return model.add(integer_tensor(module + ".weight", std::move(weight)));
}

Result<void> take_all(const Words& words, QuantizedModel& model) {
  for (const std::string& module : model.raw.modules(".qweight")) {
    if (const auto taken = take_words(words, module, model); !taken) return taken;
  }
  return {};
}

Words gptq_words(bool stores_zeros_less_one) {
  return {.zero_offset = stores_zeros_less_one ? 1 : 0,
          .codes = {.words_are_lines = true},
          .zeros = {.along_outputs = true}};
}

Words awq_words() {
  const CodePacking packing{.along_outputs = true, .awq = true};
  return {.bits = 4, .codes = packing, .zeros = packing};
}

}  // namespace

Result<void> read_gptq(const QuantizationConfig& config, QuantizedModel& model) {
  // GPTQModel's own file uses the shorter name.
  const bool is_long = config.find("checkpoint_format") != nullptr;
  const std::string_view format_key = is_long ? "checkpoint_format" : "format";
  const auto format = config.text(format_key);
  if (!format) return format.error();
  if (auto known = config.expect(format_key, {"gptq", "gptq_v2"}); !known) return known;
  const auto marlin = config.flag("is_marlin_format", false);
  if (!marlin) return marlin.error();
  if (*marlin) return config.unsupported("is_marlin_format", "which is not read");
  const auto bits = config.integer("bits");
  const auto group = config.integer("group_size");
  const auto order = config.flag("desc_act", false);
  if (!bits) return bits.error();
  if (!group) return group.error();
  if (!order) return order.error();
  const bool is_known = !*bits || std::ranges::find(kCodeBits, **bits) != kCodeBits.end();
  if (!is_known) return config.unsupported("bits", "which is not read");
  Words words = gptq_words(format->value_or("gptq") == "gptq");
  words.needs_order = *order;
  // With `dynamic`, modules may have their own bits and groups.
  if (config.find("dynamic") == nullptr) {
    words.bits = bits->value_or(0);
    words.group_size = group->value_or(0);
  }
  return take_all(words, model);
}

Result<void> read_awq(const QuantizationConfig& config, QuantizedModel& model) {
  if (auto known = config.expect("version", {"gemm", "exllama", "ipex"}); !known) return known;
  if (auto known = config.expect("backend", {"autoawq"}); !known) return known;
  // AutoAWQ's own file uses other names.
  const std::string bits_key = config.find("w_bit") != nullptr ? "w_bit" : "bits";
  const auto bits = config.integer(bits_key);
  if (!bits) return bits.error();
  if (bits->value_or(4) != 4) return config.unsupported(bits_key, "which is not read");
  const auto group =
      config.integer(config.find("q_group_size") != nullptr ? "q_group_size" : "group_size");
  if (!group) return group.error();
  Words words = awq_words();
  words.group_size = group->value_or(0);
  return take_all(words, model);
}

Result<void> read_auto_round(const QuantizationConfig& config, QuantizedModel& model) {
  constexpr std::string_view kKey = "packing_format";
  const auto format = config.text(kKey);
  if (!format) return format.error();
  if (*format == "auto_round:auto_gptq") return take_all(gptq_words(true), model);
  if (*format == "auto_round:auto_awq") return take_all(awq_words(), model);
  return config.unsupported(kKey, "which is not read");
}

}  // namespace weft
