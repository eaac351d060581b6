#pragma once

#include <filesystem>
#include <string_view>

namespace weft::cli {

/// Copies the config, the tokenizer and the other texts beside a model's weights from one folder to
/// another. Weights, their indexes, adapters and hidden files stay behind. A failure ends the
/// command `verb`.
void copy_companions(std::string_view verb, const std::filesystem::path& from,
                     const std::filesystem::path& to);

}  // namespace weft::cli
