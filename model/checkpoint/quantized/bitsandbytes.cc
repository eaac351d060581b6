#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/model/checkpoint/quantized/integer_rows.h"
#include "weft/model/checkpoint/quantized/schemes.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::int64_t kFourBitLength = 64;  // block length of kNF4_64 and kFP4_64
constexpr std::size_t kMaxStateDepth = 8;

/// The scales of a weight's blocks of numbers, counted from its first number. They are in f32, or
/// quantized themselves in blocks of `nested_block`: a table's number times the block's scale, plus
/// an offset.
struct Absmax {
  CheckpointTensor scales = {};
  std::int64_t block = 64;
  std::optional<CheckpointTensor> nested_scales = {};
  std::vector<float> nested_table = {};
  std::int64_t nested_block = 256;
  float nested_offset = 0;

  [[nodiscard]] Result<std::vector<float>> read(std::int64_t first, std::int64_t end) const;
};

Result<std::vector<float>> read_floats(const CheckpointTensor& tensor, std::int64_t first,
                                       std::int64_t end) {
  std::vector<float> numbers(static_cast<std::size_t>(end - first));
  if (const auto read = read_values(tensor, first, 1, numbers); !read) return read.error();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i]))
      return bad_raw(tensor, "has a number that is not finite at " +
                                 std::to_string(first + static_cast<std::int64_t>(i)));
  }
  return numbers;
}

Result<std::vector<float>> Absmax::read(std::int64_t first, std::int64_t end) const {
  if (!nested_scales) return read_floats(scales, first, end);
  std::vector<std::byte> codes(static_cast<std::size_t>(end - first));
  if (const auto read = scales.read(static_cast<std::uint64_t>(first), codes); !read)
    return read.error();
  const std::int64_t first_nested = first / nested_block;
  const auto nested = read_floats(*nested_scales, first_nested, (end - 1) / nested_block + 1);
  if (!nested) return nested.error();
  std::vector<float> numbers(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::int64_t at = (first + static_cast<std::int64_t>(i)) / nested_block - first_nested;
    const float number = nested_table[std::to_integer<std::size_t>(codes[i])] *
                         (*nested)[static_cast<std::size_t>(at)];
    numbers[i] = number + nested_offset;
  }
  return numbers;
}

class FourBitRows final : public RowMaker {
 public:
  FourBitRows(const CheckpointTensor& codes, Absmax absmax, std::int64_t inputs)
      : codes_(codes), absmax_(std::move(absmax)), inputs_(inputs) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const std::int64_t width = inputs_ / 2;
    const auto codes = read_band(codes_, width, {first, first + count, 0, width});
    if (!codes) return codes.error();
    const std::int64_t begin = first * inputs_;
    const std::int64_t end = (first + count) * inputs_;
    const std::int64_t first_block = begin / absmax_.block;
    const auto scales = absmax_.read(first_block, (end - 1) / absmax_.block + 1);
    if (!scales) return scales.error();
    const std::byte* from = codes->bytes.data();
    std::byte* to = out.data();
    for (std::int64_t at = begin; at < end; at += kFourBitLength, from += kFourBitLength / 2) {
      const float scale = (*scales)[static_cast<std::size_t>(at / absmax_.block - first_block)];
      std::memcpy(to, &scale, sizeof(scale));
      to += sizeof(scale);
      for (const std::size_t run : {0U, 32U}) {
        for (std::size_t i = run; i < run + 16; ++i) {
          *to++ = code_of(from, i) | code_of(from, i + 16) << 4;
        }
      }
    }
    return {};
  }

 private:
  /// In a byte the first of two neighbours is in the high half.
  static std::byte code_of(const std::byte* from, std::size_t input) {
    return from[input / 2] >> (input % 2 == 0 ? 4 : 0) & std::byte{15};
  }

  CheckpointTensor codes_;
  Absmax absmax_;
  std::int64_t inputs_;
};

bool is_side(std::int64_t side) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  return side > 0 && side < kMost;
}

/// Reads `quant_state.bitsandbytes__TYPE`: JSON as bytes.
Result<json::object> read_state(const CheckpointTensor& tensor) {
  if (tensor.dtype != DType::kU8 || tensor.shape.size() != 1)
    return bad_raw(tensor, "is no text of bytes");
  const auto bytes = read_all(tensor);
  if (!bytes) return bytes.error();
  std::string problem;
  auto state = parse_json({reinterpret_cast<const char*>(bytes->data()), bytes->size()},
                          kMaxStateDepth, problem);
  if (!problem.empty()) return bad_raw(tensor, "is no JSON: " + problem);
  if (!state.is_object()) return bad_raw(tensor, "holds no object");
  return std::move(state.as_object());
}

Result<void> check_table(const CheckpointTensor& table, const std::array<float, 16>& wanted) {
  if (const auto checked = check_raw(table, DType::kF32, {16}); !checked) return checked;
  const auto numbers = read_floats(table, 0, 16);
  if (!numbers) return numbers.error();
  if (!std::ranges::equal(*numbers, wanted))
    return unsupported_raw(table, "has other numbers than bitsandbytes' type");
  return {};
}

Result<void> read_nested(const std::string& name, const CheckpointTensor& codes,
                         const QuantizationConfig& state, std::int64_t blocks, Absmax& absmax,
                         QuantizedModel& model) {
  const auto scales = model.raw.require(name + ".nested_absmax", codes);
  if (!scales) return scales.error();
  const auto table = model.raw.require(name + ".nested_quant_map", codes);
  if (!table) return table.error();
  if (const auto checked = check_raw(**table, DType::kF32, {256}); !checked) return checked;
  auto numbers = read_floats(**table, 0, 256);
  if (!numbers) return numbers.error();
  absmax.nested_table = std::move(*numbers);
  const auto block = state.integer("nested_blocksize");
  if (!block) return block.error();
  absmax.nested_block = block->value_or(256);
  if (!is_side(absmax.nested_block)) return state.bad("nested_blocksize", "which is no size");
  const std::vector wanted = {(blocks + absmax.nested_block - 1) / absmax.nested_block};
  if (const auto checked = check_raw(**scales, DType::kF32, wanted); !checked) return checked;
  absmax.nested_scales = **scales;
  const auto* offset = state.find("nested_offset");
  if (offset == nullptr || !offset->is_number())
    return state.bad("nested_offset", "which is no number");
  absmax.nested_offset = offset->to_number<float>();
  if (!std::isfinite(absmax.nested_offset))
    return state.bad("nested_offset", "which is beyond f32's largest number");
  return {};
}

struct FourBitType {
  std::string_view name;
  DType dtype;
  const std::array<float, 16>* table;
};
constexpr std::array kFourBitTypes = {FourBitType{"nf4", DType::kNF4_64, &kNf4Values},
                                      FourBitType{"fp4", DType::kFP4_64, &kFp4Values}};

/// Takes the scales of `numbers` codes, in any of the ways to store them.
Result<Absmax> take_absmax(const std::string& name, const CheckpointTensor& codes,
                           const QuantizationConfig& state, std::int64_t numbers,
                           QuantizedModel& model) {
  const auto block = state.integer("blocksize");
  if (!block) return block.error();
  Absmax absmax{.block = block->value_or(kFourBitLength)};
  if (!is_side(absmax.block) || absmax.block % kFourBitLength != 0)
    return state.unsupported("blocksize", "which is not read");
  const auto scales = model.raw.require(name + ".absmax", codes);
  if (!scales) return scales.error();
  absmax.scales = **scales;
  const std::int64_t blocks = (numbers + absmax.block - 1) / absmax.block;
  const bool is_nested = absmax.scales.dtype == DType::kU8;
  const auto checked = check_raw(absmax.scales, is_nested ? DType::kU8 : DType::kF32, {blocks});
  if (!checked) return checked.error();
  if (is_nested) {
    const auto read = read_nested(name, codes, state, blocks, absmax, model);
    if (!read) return read.error();
  }
  return absmax;
}

Result<void> take_four_bit(const std::string& name, const FourBitType& type,
                           QuantizedModel& model) {
  const std::string suffix = ".quant_state.bitsandbytes__" + std::string(type.name);
  const CheckpointTensor& state_tensor = *model.raw.take(name + suffix);
  const auto fields = read_state(state_tensor);
  if (!fields) return fields.error();
  const QuantizationConfig state(*fields, state_tensor.file() + ": " + state_tensor.name);
  const auto shape = state.integers("shape");
  if (!shape) return shape.error();
  if (!*shape || (*shape)->size() != 2 || !std::ranges::all_of(**shape, is_side))
    return state.bad("shape", "which is no matrix");
  const auto codes = model.raw.require(name, state_tensor);
  if (!codes) return codes.error();
  const std::int64_t inputs = (**shape)[1];
  const std::int64_t numbers = (**shape)[0] * inputs;
  if (inputs % kFourBitLength != 0)
    return unsupported_raw(**codes,
                           "has " + std::to_string(inputs) + " inputs, which are no blocks of 64");
  if (const auto checked = check_raw(**codes, DType::kU8, {numbers / 2, 1}); !checked)
    return checked;
  const auto table = model.raw.require(name + ".quant_map", **codes);
  if (!table) return table.error();
  if (const auto checked = check_table(**table, *type.table); !checked) return checked;
  auto absmax = take_absmax(name, **codes, state, numbers, model);
  if (!absmax) return absmax.error();
  return model.add(assembled(name, (*codes)->file(), type.dtype, **shape,
                             std::make_unique<FourBitRows>(**codes, std::move(*absmax), inputs)));
}

/// Takes int8 weights: a weight is its int8 times SCB / 127.
Result<void> take_int8(const std::string& module, QuantizedModel& model) {
  const CheckpointTensor& scales = *model.raw.take(module + ".SCB");
  const auto codes = model.raw.require(module + ".weight", scales);
  if (!codes) return codes.error();
  const auto* format = model.raw.take(module + ".weight_format");
  if (format != nullptr) {
    const auto bytes = read_all(*format);
    if (!bytes) return bytes.error();
    // 0 means rows; other values are layouts for GPUs' matrix units.
    if (std::ranges::any_of(*bytes, [](std::byte byte) { return byte != std::byte{}; }))
      return unsupported_raw(*format, "is not 0, which is by rows");
  }
  const std::vector<std::int64_t>& shape = (*codes)->shape;
  if ((*codes)->dtype != DType::kI8 || shape.size() != 2 || !is_filled(**codes))
    return bad_raw(**codes, "is no matrix of i8");
  if (const auto checked = check_raw(scales, DType::kF32, {shape[0]}); !checked) return checked;
  IntegerWeight weight{.bits = 8, .outputs = shape[0], .inputs = shape[1]};
  weight.codes = CodePlane(**codes, {.bits = 8, .is_signed = true}, shape[0], shape[1]);
  weight.scales = ScalePlane(scales, {shape[0], 1});
  weight.scale_factor = 1.0F / 127;
  return model.add(integer_tensor(module + ".weight", std::move(weight)));
}

}  // namespace

Result<void> read_bitsandbytes(const QuantizationConfig& config, QuantizedModel& model) {
  if (auto known = config.expect("bnb_4bit_quant_type", {"nf4", "fp4"}); !known) return known;
  for (const FourBitType& type : kFourBitTypes) {
    const std::string suffix = ".quant_state.bitsandbytes__" + std::string(type.name);
    for (const std::string& name : model.raw.modules(suffix)) {
      if (const auto taken = take_four_bit(name, type, model); !taken) return taken;
    }
  }
  for (const std::string& module : model.raw.modules(".SCB")) {
    if (const auto taken = take_int8(module, model); !taken) return taken;
  }
  return {};
}

}  // namespace weft
