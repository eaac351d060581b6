#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/fields/api_error.h"

namespace weft {

/// A client's JSON text, parsed: at most kMaxDepth levels deep, UTF-8, and an object. Owner only;
/// the parser and its memory are kept for the next text as long as they are small.
class BodyParser {
 public:
  /// Levels of objects and arrays, the body itself the first.
  static constexpr std::size_t kMaxDepth = 64;

  /// 400 "invalid_json" that says what is wrong and, where that is known, at which byte. The object
  /// borrows the parser, until its next parse() or trim().
  [[nodiscard]] ApiResult<simdjson::dom::object> parse(std::string_view text);

  /// Gives the memory of a big body back, some 15 bytes for each of its own; parse() does it too.
  void trim();

  /// Of the largest body for which there is memory now.
  [[nodiscard]] std::size_t capacity() const noexcept { return parser_.capacity(); }

 private:
  simdjson::dom::parser parser_;
};

/// A text in its thread's parser: one at a time on a thread. The memory of a big one goes with it.
class ParsedBody {
 public:
  explicit ParsedBody(std::string_view text) : object_(parser().parse(text)) {}
  ParsedBody(const ParsedBody&) = delete;
  ParsedBody& operator=(const ParsedBody&) = delete;
  ~ParsedBody() { parser().trim(); }

  /// As of BodyParser::parse().
  [[nodiscard]] const ApiResult<simdjson::dom::object>& object() const noexcept { return object_; }

  /// The calling thread's.
  [[nodiscard]] static BodyParser& parser() noexcept;

 private:
  ApiResult<simdjson::dom::object> object_;
};

/// Takes the fields of one object of a body, one by one; what nobody took is unknown. A field that
/// is null counts as absent, and of several with one name the first counts. The first mistake is
/// remembered (a wrong type, a number that does not fit), and everything after it reads as absent,
/// so a decoder looks at it once, at the end. Owner only; borrows the object.
class BodyFields {
 public:
  /// `path` is put before the names in errors: "messages[2]". More than kMaxFields fields are a
  /// mistake.
  explicit BodyFields(simdjson::dom::object object, std::string path = {});

  [[nodiscard]] std::optional<simdjson::dom::element> any(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name);
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  /// Whole numbers; 3.0 is one. Not whole is a wrong type, not in low .. high a wrong value.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                                    std::int64_t high);
  /// Finite.
  [[nodiscard]] std::optional<double> number(std::string_view name);
  [[nodiscard]] std::optional<simdjson::dom::array> array(std::string_view name);
  [[nodiscard]] std::optional<simdjson::dom::object> object(std::string_view name);

  /// Remembers a mistake of the caller's finding, unless there is one already.
  void fail(ApiError error);
  /// The same, about the field `name`.
  void fail(std::string_view name, std::string_view what,
            std::string_view code = api_code::kInvalidValue);
  [[nodiscard]] const std::optional<ApiError>& error() const noexcept { return error_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  /// Fields that change no output: they count as taken.
  void ignore(std::initializer_list<std::string_view> names);
  /// error(), or else 400 "unknown_parameter" naming the first field that is not null and nobody
  /// took.
  [[nodiscard]] std::optional<ApiError> finish();

 private:
  struct Field {
    std::string_view name;
    simdjson::dom::element value;
    bool taken = false;
  };

  template <class T>
  [[nodiscard]] std::optional<T> read(std::string_view name, std::string_view type);

  std::string path_;
  std::vector<Field> fields_;
  std::optional<ApiError> error_;
};

/// The whole number that an element is; 3.0 is one. Nothing for all else.
[[nodiscard]] std::optional<std::int64_t> whole_number(simdjson::dom::element element) noexcept;

/// "messages" and 2 make "messages[2]".
[[nodiscard]] std::string indexed(std::string_view path, std::size_t index);

}  // namespace weft
