#pragma once

#include <string>

namespace weft {

/// A pattern whose matches are runs of one Unicode script, as the pre-tokenizer UnicodeScripts
/// splits: Japanese scripts count as Han, a space or an unassigned character as the script before
/// it, and belongs to no run at the beginning.
[[nodiscard]] std::string script_run_pattern();

}  // namespace weft
