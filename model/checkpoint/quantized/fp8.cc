#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "weft/core/encodings.h"
#include "weft/model/checkpoint/quantized/integer_rows.h"
#include "weft/model/checkpoint/quantized/schemes.h"

namespace weft {
namespace {

struct Fp8Weight {
  CheckpointTensor codes;
  ScalePlane scales = {};
  std::int64_t inputs = 0;
  std::int64_t inputs_each = 0;  ///< inputs that share a scale
  std::int64_t length = 0;       ///< length of a block
};

class Fp8Rows final : public RowMaker {
 public:
  explicit Fp8Rows(Fp8Weight weight) : weight_(std::move(weight)) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const std::int64_t width = weight_.inputs;
    const auto codes = read_band(weight_.codes, width, {first, first + count, 0, width});
    if (!codes) return codes.error();
    const auto scales = weight_.scales.read(first, count);
    if (!scales) return scales.error();
    std::vector<float> own(static_cast<std::size_t>(weight_.scales.columns()));
    const std::byte* from = codes->bytes.data();
    std::byte* to = out.data();
    for (std::int64_t row = 0; row < count; ++row) {
      if (const auto done = weight_.scales.widen(*scales, first + row, own); !done) return done;
      for (std::int64_t at = 0; at < width; at += weight_.length) {
        std::memcpy(to, &own[static_cast<std::size_t>(at / weight_.inputs_each)], sizeof(float));
        std::memcpy(to + sizeof(float), from, static_cast<std::size_t>(weight_.length));
        to += static_cast<std::int64_t>(sizeof(float)) + weight_.length;
        from += weight_.length;
      }
    }
    return {};
  }

 private:
  Fp8Weight weight_;
};

constexpr std::int64_t divide_up(std::int64_t count, std::int64_t each) {
  return (count + each - 1) / each;
}

/// Returns the FP8 encoding with scales for blocks of `length`; null if there is none.
const Encoding* encoding_with(std::int64_t length) {
  const auto* found = std::ranges::find_if(kEncodings, [&](const Encoding& encoding) {
    return encoding.codes == CodeType::kFloat && encoding.group == length;
  });
  return found == kEncodings.end() ? nullptr : found;
}

Result<void> find_fp8_scales(const CheckpointTensor& scales, std::span<const std::int64_t> block,
                             std::int64_t outputs, Fp8Weight& weight) {
  if (!is_float(scales.dtype) || is_encoded(scales.dtype))
    return bad_raw(scales, "holds " + std::string(to_string(scales.dtype)) + ", no scales");
  const std::vector<std::int64_t>& shape = scales.shape;
  weight.inputs_each = weight.inputs;
  const bool is_one = std::ranges::all_of(shape, [](std::int64_t extent) { return extent == 1; });
  if (is_one && block.empty()) {
    weight.scales = ScalePlane(scales, {});
    return {};
  }
  if (shape == std::vector{outputs} || shape == std::vector<std::int64_t>{outputs, 1}) {
    weight.scales = ScalePlane(scales, {outputs, 1});
    return {};
  }
  if (block.size() == 2) {
    const std::vector wanted = {divide_up(outputs, block[0]), divide_up(weight.inputs, block[1])};
    if (shape == wanted) {
      weight.scales = ScalePlane(scales, {wanted[0], wanted[1], block[0]});
      weight.inputs_each = block[1];
      return {};
    }
  }
  return bad_raw(scales, "is " + shape_text(shape) + ", which does not fit a weight of " +
                             shape_text(std::array{outputs, weight.inputs}) +
                             (block.empty() ? "" : " in blocks of " + shape_text(block)));
}

Result<void> take_fp8_weight(const std::string& module, const CheckpointTensor& scales,
                             std::span<const std::int64_t> block, QuantizedModel& model) {
  const CheckpointTensor& codes = *model.raw.take(module + ".weight");
  if (codes.shape.size() != 2 || !is_filled(codes))
    return bad_raw(codes, "is " + shape_text(codes.shape) + ", no matrix");
  Fp8Weight weight{.codes = codes, .inputs = codes.shape[1]};
  if (const auto found = find_fp8_scales(scales, block, codes.shape[0], weight); !found)
    return found;
  const Encoding* to = encoding_with(block_length(weight.inputs_each, weight.inputs));
  if (to == nullptr)
    return unsupported_raw(
        codes, "has " + std::to_string(weight.inputs) + " inputs, which no encoding of FP8 has");
  const std::vector shape = codes.shape;
  weight.length = to->group;
  return model.add(assembled(codes.name, codes.file(), to->dtype, shape,
                             std::make_unique<Fp8Rows>(std::move(weight))));
}

}  // namespace

bool is_fp8_block(std::span<const std::int64_t> block) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  return block.size() == 2 &&
         std::ranges::all_of(block, [](std::int64_t side) { return side > 0 && side < kMost; });
}

Result<void> take_fp8(QuantizedModel& model, std::span<const std::int64_t> block) {
  for (const std::string& module : model.raw.modules(".weight")) {
    const CheckpointTensor* weight = model.raw.find(module + ".weight");
    if (weight->dtype != DType::kF8_E4M3) continue;
    const CheckpointTensor* scales = model.raw.take(module + ".weight_scale_inv");
    if (scales == nullptr) scales = model.raw.take(module + ".weight_scale");
    if (scales == nullptr)
      return bad_raw(*weight, "has neither 'weight_scale_inv' nor 'weight_scale' beside it");
    if (const auto taken = take_fp8_weight(module, *scales, block, model); !taken) return taken;
    model.raw.take(module + ".input_scale");
  }
  return {};
}

Result<void> read_fp8(const QuantizationConfig& config, QuantizedModel& model) {
  if (auto known = config.expect("fmt", {"e4m3"}); !known) return known;
  if (auto known = config.expect("quant_algo", {"fp8"}); !known) return known;
  const auto block = config.integers("weight_block_size");
  if (!block) return block.error();
  if (*block && !is_fp8_block(**block)) return config.bad("weight_block_size", "which is no block");
  return take_fp8(model, block->value_or(std::vector<std::int64_t>()));
}

}  // namespace weft
