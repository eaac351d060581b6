#include "weft/core/text/trimmed.h"

namespace weft {
namespace {

constexpr std::string_view kSpaces = " \t";

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

}  // namespace weft
