#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/core/error/error.h"

namespace weft::jinja {

struct Token {
  enum class Type : std::uint8_t {
    kData,
    kOutputBegin,
    kOutputEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };

  Type type = Type::kEnd;
  std::size_t offset = 0;  ///< Byte of the source.
  std::uint32_t line = 1;
  std::string text;  ///< The name, the operator, the data, or the string with its escapes replaced.
  std::variant<std::monostate, std::int64_t, double> number;

  [[nodiscard]] bool is_operator(std::string_view which) const {
    return type == Type::kOperator && text == which;
  }
  [[nodiscard]] bool is_name(std::string_view which) const {
    return type == Type::kName && text == which;
  }
};

/// Writes line ends as "\n" and drops one at the very end, as Jinja does first.
[[nodiscard]] std::string normalize_newlines(std::string_view source);

/// Returns "line:column" of a byte of the source; both count from 1, columns in code points.
[[nodiscard]] std::string position(std::string_view source, std::size_t offset);

/// Splits a normalized source like Jinja with trim_blocks and lstrip_blocks on and
/// keep_trailing_newline off. White space that the tags remove, comments and raw tags are left out.
/// The last token is kEnd. Time and memory are linear. kBadTemplate with line and column.
[[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace weft::jinja
