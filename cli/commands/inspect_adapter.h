#pragma once

#include <filesystem>
#include <string_view>

namespace weft::cli {

/// Whether a path is an adapter and no model: a folder with adapter_config.json and without
/// config.json, or a GGUF adapter.
[[nodiscard]] bool is_only_adapter(const std::filesystem::path& path);

/// Prints an adapter's targets, ranks, scales and bytes, and each key that is refused. An adapter
/// that cannot be read ends the command `verb`.
void inspect_adapter(std::string_view verb, const std::filesystem::path& path);

/// Prints a line for each adapter in a model's folder, which the model's weights are without.
void tell_adapters_beside(const std::filesystem::path& model);

}  // namespace weft::cli
