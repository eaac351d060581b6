#include "weft/core/dtype.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "weft/core/error/checked.h"

namespace weft {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  DTypeBlock block;
  bool is_float;
};

/// A row of an encoding of integers: two groups share a block where its zeros have room in one
/// byte. What is in a block is said by kernels/encoding/integer_codes.h.
constexpr Row integers(DType dtype, std::string_view name, std::int64_t bits, std::int64_t group,
                       std::int64_t groups = 1) {
  const std::int64_t scale_bytes = bits == 8 ? 4 : 2;
  return {dtype, name, {groups * group, groups * (scale_bytes + group * bits / 8) + 1}, true};
}

constexpr std::array kTypes = {
    Row{DType::kF64, "f64", {1, 8}, true},
    Row{DType::kF32, "f32", {1, 4}, true},
    Row{DType::kF16, "f16", {1, 2}, true},
    Row{DType::kBF16, "bf16", {1, 2}, true},
    Row{DType::kF8_E4M3, "f8_e4m3", {1, 1}, false},
    Row{DType::kQ8_0, "q8_0", {32, 34}, true},
    Row{DType::kQ4_0, "q4_0", {32, 18}, true},
    Row{DType::kQ4_1, "q4_1", {32, 20}, true},
    Row{DType::kQ5_0, "q5_0", {32, 22}, true},
    Row{DType::kQ5_1, "q5_1", {32, 24}, true},
    Row{DType::kQ2_K, "q2_k", {256, 84}, true},
    Row{DType::kQ3_K, "q3_k", {256, 110}, true},
    Row{DType::kQ4_K, "q4_k", {256, 144}, true},
    Row{DType::kQ5_K, "q5_k", {256, 176}, true},
    Row{DType::kQ6_K, "q6_k", {256, 210}, true},
    Row{DType::kIQ1_S, "iq1_s", {256, 50}, true},
    Row{DType::kIQ1_M, "iq1_m", {256, 56}, true},
    Row{DType::kIQ2_XXS, "iq2_xxs", {256, 66}, true},
    Row{DType::kIQ2_XS, "iq2_xs", {256, 74}, true},
    Row{DType::kIQ2_S, "iq2_s", {256, 82}, true},
    Row{DType::kIQ3_XXS, "iq3_xxs", {256, 98}, true},
    Row{DType::kIQ3_S, "iq3_s", {256, 110}, true},
    Row{DType::kIQ4_NL, "iq4_nl", {32, 18}, true},
    Row{DType::kIQ4_XS, "iq4_xs", {256, 136}, true},
    Row{DType::kTQ1_0, "tq1_0", {256, 54}, true},
    Row{DType::kTQ2_0, "tq2_0", {256, 66}, true},
    Row{DType::kMXFP4, "mxfp4", {32, 17}, true},
    Row{DType::kQ2_B32, "q2_b32", {32, 12}, true},
    Row{DType::kQ3_B32, "q3_b32", {32, 16}, true},
    Row{DType::kQ3H_B64, "q3h_b64", {64, 32}, true},
    Row{DType::kQ4_B32, "q4_b32", {32, 20}, true},
    Row{DType::kQ4_B64, "q4_b64", {64, 36}, true},
    Row{DType::kQ5_B64, "q5_b64", {64, 44}, true},
    Row{DType::kQ6_B64, "q6_b64", {64, 52}, true},
    Row{DType::kQ8_B32, "q8_b32", {32, 36}, true},
    integers(DType::kI2_32, "i2_32", 2, 32, 2),
    integers(DType::kI2_64, "i2_64", 2, 64, 2),
    integers(DType::kI2_128, "i2_128", 2, 128),
    integers(DType::kI2_256, "i2_256", 2, 256),
    integers(DType::kI3_32, "i3_32", 3, 32, 2),
    integers(DType::kI3_64, "i3_64", 3, 64),
    integers(DType::kI3_128, "i3_128", 3, 128),
    integers(DType::kI3_256, "i3_256", 3, 256),
    integers(DType::kI4_32, "i4_32", 4, 32),
    integers(DType::kI4_64, "i4_64", 4, 64),
    integers(DType::kI4_128, "i4_128", 4, 128),
    integers(DType::kI4_256, "i4_256", 4, 256),
    integers(DType::kI8_32, "i8_32", 8, 32),
    integers(DType::kI8_64, "i8_64", 8, 64),
    integers(DType::kI8_128, "i8_128", 8, 128),
    integers(DType::kI8_256, "i8_256", 8, 256),
    Row{DType::kF8_32, "f8_32", {32, 36}, true},
    Row{DType::kF8_64, "f8_64", {64, 68}, true},
    Row{DType::kF8_128, "f8_128", {128, 132}, true},
    Row{DType::kF8_256, "f8_256", {256, 260}, true},
    Row{DType::kNF4_64, "nf4_64", {64, 36}, true},
    Row{DType::kFP4_64, "fp4_64", {64, 36}, true},
    Row{DType::kI64, "i64", {1, 8}, false},
    Row{DType::kI32, "i32", {1, 4}, false},
    Row{DType::kI16, "i16", {1, 2}, false},
    Row{DType::kI8, "i8", {1, 1}, false},
    Row{DType::kU8, "u8", {1, 1}, false},
    Row{DType::kBool, "bool", {1, 1}, false},
};

constexpr bool rows_stand_at_their_number() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_number());

const Row& row_of(DType dtype) noexcept { return kTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

DTypeBlock block_of(DType dtype) noexcept { return row_of(dtype).block; }
std::string_view to_string(DType dtype) noexcept { return row_of(dtype).name; }
std::optional<DType> dtype_named(std::string_view name) noexcept {
  const auto* row = std::ranges::find(kTypes, name, &Row::name);
  if (row == kTypes.end()) return std::nullopt;
  return row->dtype;
}

bool is_encoded(DType dtype) noexcept { return block_of(dtype).elements > 1; }
bool is_float(DType dtype) noexcept { return row_of(dtype).is_float; }

std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept {
  const DTypeBlock block = block_of(dtype);
  if (elements < 0 || elements % block.elements != 0) return std::nullopt;
  return checked_multiply(elements / block.elements, block.bytes);
}

}  // namespace weft
