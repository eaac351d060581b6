#include "weft/core/dtype.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "weft/core/encodings.h"
#include "weft/core/error/checked.h"

namespace weft {
namespace {

struct Row {
  DType dtype{};
  std::string_view name;
  DTypeBlock block;
  bool is_float = false;
};

constexpr std::array kBeforeEncodings = {
    Row{DType::kF64, "f64", {1, 8}, true},          Row{DType::kF32, "f32", {1, 4}, true},
    Row{DType::kF16, "f16", {1, 2}, true},          Row{DType::kBF16, "bf16", {1, 2}, true},
    Row{DType::kF8_E4M3, "f8_e4m3", {1, 1}, false},
};
constexpr std::array kAfterEncodings = {
    Row{DType::kI64, "i64", {1, 8}, false}, Row{DType::kI32, "i32", {1, 4}, false},
    Row{DType::kI16, "i16", {1, 2}, false}, Row{DType::kI8, "i8", {1, 1}, false},
    Row{DType::kU8, "u8", {1, 1}, false},   Row{DType::kBool, "bool", {1, 1}, false},
};

constexpr auto kTypes = [] {
  std::array<Row, kBeforeEncodings.size() + kEncodings.size() + kAfterEncodings.size()> all{};
  auto* next = std::ranges::copy(kBeforeEncodings, all.begin()).out;
  next = std::ranges::transform(kEncodings, next, [](const Encoding& encoding) {
           return Row{encoding.dtype, encoding.name, encoding.block, true};
         }).out;
  std::ranges::copy(kAfterEncodings, next);
  return all;
}();

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
