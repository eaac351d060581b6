#pragma once

#include <string>

namespace weft {

/// Returns a pattern whose matches are runs of one Unicode script, as the pre-tokenizer
/// UnicodeScripts splits. Japanese scripts count as Han. A space or an unassigned character counts
/// as the script before it; at the beginning it belongs to no run.
[[nodiscard]] std::string script_run_pattern();

}  // namespace weft
