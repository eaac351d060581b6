#include "weft/kernels/linear/linear_table_cuda.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "weft/core/encodings.h"
#include "weft/core/words.h"
#include "weft/kernels/linear/linear_ways_cuda.h"

namespace weft::cuda {
namespace {

constexpr std::string_view kAvoid = "avoid";
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30U;  // the largest bucket

std::optional<std::int64_t> positive(std::string_view word) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(word.begin(), word.end(), number);
  if (error != std::errc{} || stop != word.end() || number <= 0) return std::nullopt;
  return number;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (weft::to_string(dtype) == name) return dtype;
  }
  const auto* encoding = std::ranges::find(kEncodings, name, &Encoding::name);
  if (encoding == kEncodings.end()) return std::nullopt;
  return encoding->dtype;
}

/// Returns the row of a way by its name in tables, or null.
const LinearWayRow* row_of_name(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kLinearWays, [&](const LinearWayRow& row) { return is_tuned(row) && row.name == name; });
  return found == kLinearWays.end() ? nullptr : found;
}

}  // namespace

std::string_view to_string(LinearWay way) noexcept { return row_of_way(way).name; }

std::string_view CudaLinearTable::read_avoided(std::string_view line) {
  const LinearWayRow* way = row_of_name(next_word(line));
  if (way == nullptr) return "a way that there is not";
  if (way->way == LinearWay::kVector) return "the way that computes what no other can";
  if (!next_word(line).empty()) return "more words than an entry has";
  avoided_[static_cast<std::size_t>(way->way)] = true;
  return "";
}

std::string_view CudaLinearTable::read_line(std::string_view line) {
  std::string_view rest = line;
  if (next_word(rest) == kAvoid) return read_avoided(rest);
  const auto dtype = dtype_of(next_word(line));
  if (!dtype) return "a dtype that no way multiplies";
  const auto rows = positive(next_word(line));
  const auto inputs = positive(next_word(line));
  if (!rows || !inputs) return "rows and inputs are positive numbers";
  const auto tokens = positive(next_word(line));
  if (!tokens || *tokens > kMaxTokens ||
      !std::has_single_bit(static_cast<std::uint64_t>(*tokens))) {
    return "tokens are a power of two";
  }
  const LinearWayRow* way = row_of_name(next_word(line));
  if (way == nullptr) return "a way that there is not";
  if (!next_word(line).empty()) return "more words than an entry has";
  set({.dtype = *dtype, .rows = *rows, .inputs = *inputs, .tokens = *tokens}, way->way);
  return "";
}

std::string CudaLinearTable::print() const {
  std::string text;
  for (const LinearWayRow& row : kLinearWays) {
    if (avoids(row.way)) text.append(kAvoid).append(" ").append(row.name).append("\n");
  }
  for (const auto& [shape, way] : ways_) {
    text.append(weft::to_string(shape.dtype));
    for (const std::int64_t number : {shape.rows, shape.inputs, shape.tokens}) {
      text.append(" ").append(std::to_string(number));
    }
    text.append(" ").append(to_string(way)).append("\n");
  }
  return text;
}

void CudaLinearTable::set(LinearShape shape, LinearWay way) {
  shape.tokens = bucket_of(shape.tokens);
  ways_.insert_or_assign(shape, way);
}

std::optional<LinearWay> CudaLinearTable::measured(LinearShape shape) const {
  shape.tokens = bucket_of(shape.tokens);
  const auto found = ways_.find(shape);
  if (found == ways_.end()) return std::nullopt;
  return found->second;
}

LinearWay CudaLinearTable::default_way(DType dtype, std::int64_t tokens) noexcept {
  if (is_encoding(dtype)) {
    const std::int64_t most = dtype == DType::kQ8_0 ? kVectorQ8Tokens : kVectorBlockTokens;
    return bucket_of(tokens) <= most ? LinearWay::kVector : LinearWay::kDecoded;
  }
  if (dtype == DType::kF32) return LinearWay::kVector;
  return bucket_of(tokens) <= kDefaultFlatTokens ? LinearWay::kFlat : LinearWay::kLibrary;
}

std::int64_t CudaLinearTable::bucket_of(std::int64_t tokens) noexcept {
  const auto number = static_cast<std::uint64_t>(std::clamp<std::int64_t>(tokens, 1, kMaxTokens));
  return static_cast<std::int64_t>(std::bit_ceil(number));
}

}  // namespace weft::cuda
