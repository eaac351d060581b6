#pragma once

#include <span>
#include <string_view>

namespace weft {

/// The text of one file of config/models.
struct BuiltinSpec {
  std::string_view name;  ///< Without ".toml".
  std::string_view toml;
};

/// Every file of config/models, in the order of the names, as it was when Weft was built.
[[nodiscard]] std::span<const BuiltinSpec> builtin_spec_texts() noexcept;

/// The text of config/gguf.toml: the facts that all GGUF files share.
[[nodiscard]] std::string_view builtin_gguf_text() noexcept;

}  // namespace weft
