#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"

/// The text of Config::adapters: "NAME=PATH" for each, between semicolons.
namespace weft {

/// Whether requests can name an adapter so: 1 .. 128 letters, digits, dots, hyphens, underlines and
/// slashes, no part between slashes beginning with a dot. Such a name leads out of no folder.
[[nodiscard]] bool is_adapter_name(std::string_view name) noexcept;

/// Whether this can be the name of a fine-tuned model: "ft:" and then a name like an adapter's,
/// which may also contain colons: "ft:llama:our-faq:x7k2". No configuration and no folder has such
/// a name.
[[nodiscard]] bool is_tuned_name(std::string_view name) noexcept;

/// Reads the text. Nothing where an entry is no "NAME=PATH", or two have one name.
[[nodiscard]] std::optional<std::vector<NamedAdapter>> parse_adapters(std::string_view text);

/// Writes the adapters as such a text.
[[nodiscard]] std::string adapters_text(const std::vector<NamedAdapter>& adapters);

/// Whether parse_adapters() gives these adapters back.
[[nodiscard]] bool are_sound(const std::vector<NamedAdapter>& adapters);

}  // namespace weft
