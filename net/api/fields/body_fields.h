#pragma once

#include <simdjson.h>

#include <cstddef>
#include <string_view>

#include "weft/net/api/fields/api_error.h"
#include "weft/text/json/json_fields.h"

namespace weft {

/// Parses a client's JSON text. It accepts UTF-8 with at most kMaxDepth levels and an object at the
/// top; no object may have a field twice. Owner only; the parser keeps its memory for the next text
/// as long as it is small.
class BodyParser {
 public:
  /// Levels of objects and arrays; the body itself is level one.
  static constexpr std::size_t kMaxDepth = 64;

  /// Returns the body's object. 400 "invalid_json" says what is wrong and, where it is known, at
  /// which byte. "invalid_value" and "duplicate_parameter" have the path of a number, object or
  /// list that is too large, or of a repeated field. The object borrows the parser, until its next
  /// parse() or trim().
  [[nodiscard]] ApiResult<simdjson::dom::object> parse(std::string_view text);

  /// Frees the memory of a big body, some 15 bytes for each of its bytes. parse() also does this.
  void trim();

  /// Returns the size of the largest body for which there is memory now.
  [[nodiscard]] std::size_t capacity() const noexcept { return parser_.capacity(); }

 private:
  simdjson::dom::parser parser_;
};

/// A text that the thread's own parser has parsed. A thread may have one at a time; its destructor
/// frees the memory of a big text.
class ParsedBody {
 public:
  explicit ParsedBody(std::string_view text) : object_(parser().parse(text)) {}
  ParsedBody(const ParsedBody&) = delete;
  ParsedBody& operator=(const ParsedBody&) = delete;
  ~ParsedBody() { parser().trim(); }

  /// Returns the result of BodyParser::parse().
  [[nodiscard]] const ApiResult<simdjson::dom::object>& object() const noexcept { return object_; }

  /// Returns the calling thread's parser.
  [[nodiscard]] static BodyParser& parser() noexcept;

 private:
  ApiResult<simdjson::dom::object> object_;
};

/// Makes the errors for mistakes in a body: each is a 400 that names the field.
struct BodyWords {
  using Mistake = ApiError;
  using Code = std::string_view;

  static constexpr std::string_view kMissing = api_code::kMissing;
  static constexpr std::string_view kWrongType = api_code::kInvalidType;
  static constexpr std::string_view kInvalid = api_code::kInvalidValue;

  static ApiError about(std::string_view path, std::string_view what, std::string_view code) {
    return bad_field(path, what, code);
  }
  /// Makes the error "unknown_parameter"; the name is the client's own text and is cut.
  static ApiError unknown(std::string_view path);
};

/// The fields of a body, or of an object inside of it.
using BodyFields = JsonFields<BodyWords>;

/// Checks that a list has at most `most` entries, before any of them is read. Otherwise reports
/// "has more than 256 tools".
[[nodiscard]] bool has_at_most(const BodyFields& fields, std::string_view name,
                               simdjson::dom::array list, std::size_t most, std::string_view what);

}  // namespace weft
