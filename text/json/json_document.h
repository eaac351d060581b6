#pragma once

#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// A parsed JSON text. Its depth is bounded, because its readers recurse. Owner only.
class JsonDocument {
 public:
  /// kBadTokenizer when `text` is not JSON; `name` is its name in the error.
  [[nodiscard]] static Result<JsonDocument> parse(std::string_view text, std::string_view name);

  [[nodiscard]] simdjson::dom::element root() const noexcept { return root_; }

 private:
  // tokenizer.json nests some ten levels deep.
  static constexpr std::size_t kMaxDepth = 64;

  JsonDocument() = default;

  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
};

}  // namespace weft
