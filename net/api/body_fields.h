#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/api_error.h"

namespace weft {

/// A client's JSON text, parsed: at most kMaxDepth levels deep, UTF-8, and an object. Owner only;
/// the parser and its memory are kept for the next text as long as they are small.
class BodyParser {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  /// 400 "invalid_json" that says what is wrong and, where simdjson knows, at which byte. The
  /// object borrows the parser, until its next parse().
  [[nodiscard]] ApiResult<simdjson::dom::object> parse(std::string_view text);

 private:
  simdjson::dom::parser parser_;
};

/// Takes the fields of one object of a body, one by one; what nobody took is unknown. A field that
/// is null counts as absent. The first mistake is remembered (a wrong type, a number that does not
/// fit), and everything after it reads as absent, so a decoder looks at error() once, at the end.
/// Owner only; borrows the object.
class BodyFields {
 public:
  /// `path` is put before the names in errors: "messages[2]".
  explicit BodyFields(simdjson::dom::object object, std::string path = {});

  [[nodiscard]] std::optional<simdjson::dom::element> any(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name);
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  /// Whole numbers; 3.0 is one. Beyond int64, or not whole, is a mistake.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                                    std::int64_t high);
  /// Finite.
  [[nodiscard]] std::optional<double> number(std::string_view name);
  [[nodiscard]] std::optional<simdjson::dom::array> array(std::string_view name);
  [[nodiscard]] std::optional<simdjson::dom::object> object(std::string_view name);

  /// Remembers a mistake of the caller's finding, unless there is one already.
  void fail(ApiError error);
  [[nodiscard]] const std::optional<ApiError>& error() const noexcept { return error_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  /// Fields that change no output: they count as taken.
  void ignore(std::initializer_list<std::string_view> names);
  /// error(), or else 400 "unknown_parameter" naming the first field that is not null and nobody
  /// took.
  [[nodiscard]] std::optional<ApiError> finish();

 private:
  simdjson::dom::object object_;
  std::string path_;
  std::vector<std::string_view> taken_;
  std::optional<ApiError> error_;
};

}  // namespace weft
