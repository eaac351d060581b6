#include "weft/core/dtype.h"

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

constexpr std::array kTypes = {
    Row{DType::kF64, "f64", {1, 8}, true},
    Row{DType::kF32, "f32", {1, 4}, true},
    Row{DType::kF16, "f16", {1, 2}, true},
    Row{DType::kBF16, "bf16", {1, 2}, true},
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
bool is_encoded(DType dtype) noexcept { return block_of(dtype).elements > 1; }
bool is_float(DType dtype) noexcept { return row_of(dtype).is_float; }

std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept {
  const DTypeBlock block = block_of(dtype);
  if (elements < 0 || elements % block.elements != 0) return std::nullopt;
  return checked_multiply(elements / block.elements, block.bytes);
}

}  // namespace weft
