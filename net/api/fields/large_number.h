#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Returns the path ("logit_bias.7", "prompt[3]") of the first number in a JSON text that no
/// integer or floating-point number of 64 bits can hold; keys are shown as they are written. For a
/// text that a parser has refused because of a number: of other mistakes in it nothing is said.
/// Nothing beyond 64 levels is looked at.
[[nodiscard]] std::optional<std::string> number_beyond_64_bits(std::string_view text);

}  // namespace weft
