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
    Row{DType::kF64, "f64", {1, 8}, true},     Row{DType::kF32, "f32", {1, 4}, true},
    Row{DType::kF16, "f16", {1, 2}, true},     Row{DType::kBF16, "bf16", {1, 2}, true},
    Row{DType::kQ8_0, "q8_0", {32, 34}, true}, Row{DType::kI64, "i64", {1, 8}, false},
    Row{DType::kI32, "i32", {1, 4}, false},    Row{DType::kI16, "i16", {1, 2}, false},
    Row{DType::kI8, "i8", {1, 1}, false},      Row{DType::kU8, "u8", {1, 1}, false},
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
bool is_float(DType dtype) noexcept { return row_of(dtype).is_float; }

std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept {
  const DTypeBlock block = block_of(dtype);
  if (elements < 0 || elements % block.elements != 0) return std::nullopt;
  return checked_multiply(elements / block.elements, block.bytes);
}

}  // namespace weft
