#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/cli/chat/input_error.h"
#include "weft/core/error/error.h"

namespace weft::cli {

/// One prompt of a batch.
struct BatchPrompt {
  boost::json::value input{};   ///< a text, or a list of messages
  std::int64_t max_tokens = 0;  ///< the most tokens of its answer; 0 = the setting for all
};

/// The most prompts of one batch. Longer lists belong into `weft batch`, which keeps no answer in
/// memory.
inline constexpr std::size_t kMaxBatchPrompts = 4096;

/// Parses `["Prompt 1", "Prompt 2"] [32, 64]`: prompts as JSON strings, and how many tokens each
/// answer may have; the second list may be left out. The lists begin at `begin` in `line`. A
/// mistake has the offset in `line`.
[[nodiscard]] Parsed<std::vector<BatchPrompt>> parse_prompts(std::string_view line,
                                                             std::size_t begin);

/// Parses lines of JSON: "a text", {"prompt": "a text", "max_tokens": 32}, or what `weft batch`
/// takes, with "messages" in "body". Empty lines are skipped. A mistake names the number of its
/// line.
[[nodiscard]] Parsed<std::vector<BatchPrompt>> parse_prompt_file(std::string_view text);

}  // namespace weft::cli
