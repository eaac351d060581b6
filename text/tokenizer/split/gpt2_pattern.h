#pragma once

#include <string_view>

namespace weft {

/// GPT-2's pattern that splits text into words; ByteLevel parts mean it by "use_regex".
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace weft
