#include "weft/text/json/json_fields.h"

#include <cmath>

namespace weft {

std::optional<std::int64_t> whole_number(simdjson::dom::element element) noexcept {
  std::int64_t whole = 0;
  if (element.get(whole) == simdjson::SUCCESS) return whole;
  double number = 0;
  constexpr double kBound = 9223372036854775808.0;  // 2^63
  const bool fits = element.is_double() && element.get(number) == simdjson::SUCCESS &&
                    number >= -kBound && number < kBound && std::trunc(number) == number;
  if (!fits) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool is_whole(simdjson::dom::element element) noexcept {
  double number = 0;
  return element.is_uint64() ||
         (element.get(number) == simdjson::SUCCESS && std::trunc(number) == number);
}

std::string indexed(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace weft
