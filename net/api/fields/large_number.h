#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Returns the path ("logit_bias.7", "prompt[3]") of the first number in a JSON text that no
/// integer or floating-point number of 64 bits can hold; keys are shown as they are written. It is
/// for a text that a parser has refused because of a number, and reports no other mistakes. It does
/// not search below 64 levels.
[[nodiscard]] std::optional<std::string> number_beyond_64_bits(std::string_view text);

}  // namespace weft
