#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace weft::jinja {

struct NumberLiteral {
  std::size_t bytes = 0;  ///< 0: there is no number here.
  /// monostate: an integer beyond 64 bits
  std::variant<std::monostate, std::int64_t, double> value;
};

/// Reads the number at the start of `text` like Jinja's lexer: 1_000, 0x1f, 1.5e3. A digit after a
/// dot does not begin a float (`after_dot`).
[[nodiscard]] NumberLiteral read_number(std::string_view text, bool after_dot);

/// Returns the bytes of the quoted string at the start of `text`, quotes included; 0 when it does
/// not end.
[[nodiscard]] std::size_t quoted_length(std::string_view text);

/// Replaces the escapes of a Python string; unknown escapes stay unchanged. Returns nothing when an
/// escape is incomplete, is a surrogate, or gives a character's name.
[[nodiscard]] std::optional<std::string> unescape(std::string_view body);

}  // namespace weft::jinja
