#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// The bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A compiled pattern of a tokenizer. Thread-safe; copies share the compiled code.
class Regex {
 public:
  /// Compiles `pattern`, which is in the syntax of tokenizer.json; see regex_syntax.h.
  /// kUnknownTokenizerPart when it cannot be compiled.
  [[nodiscard]] static Result<Regex> compile(std::string_view pattern);

  /// Calls `on_match` for the matches that are not empty, from left to right, without overlaps.
  /// `text` is valid UTF-8. kTextTooLarge when the pattern backtracks past its bound.
  [[nodiscard]] Result<void> for_each_match(std::string_view text,
                                            const std::function<void(TextRange)>& on_match) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

  std::shared_ptr<const Code> code_;
};

}  // namespace weft
