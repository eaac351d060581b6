#pragma once

#include <string_view>

namespace weft {

/// How GPT-2 splits text into words; the pattern that ByteLevel parts mean by "use_regex".
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace weft
