#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Tells what a conversation says from what its template writes, when both have become one text:
/// "<|im_end|>" in a message is a text like any other, and ends no turn. What has to stay text is
/// marked in the values before they are rendered, and the marks are found in the prompt. Values
/// without the text of a special token, which is nearly all, are not touched, so templates that
/// compare or measure them see no difference.
class LiteralTexts {
 public:
  /// Marks the strings of `values`, keys of objects too. kTextTooLarge when they hold every
  /// character that could be a mark, 32 that are never written (Unicode 23.7, noncharacters).
  [[nodiscard]] static Result<LiteralTexts> mark(std::span<boost::json::value* const> values,
                                                 const Tokenizer& tokenizer);

  /// Whether anything was marked.
  [[nodiscard]] bool any() const noexcept { return !mark_.empty(); }

  /// Takes the marks out of a prompt, and gives the places where they were, in their order.
  [[nodiscard]] std::vector<std::size_t> take_marks(std::string& prompt) const;

 private:
  LiteralTexts() = default;

  std::string mark_;     ///< Empty when nothing was marked.
  std::string escaped_;  ///< The mark as JSON without other than ASCII writes it.
};

}  // namespace weft
