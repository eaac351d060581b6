#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The fields of one JSON object of a tokenizer file. The first field that is missing or of another
/// type is remembered in `error`, which all the objects of a file share, and reads as empty; a
/// loader looks at `error` before it uses what it read. Borrows the document. Owner only.
class JsonFields {
 public:
  JsonFields(simdjson::dom::element element, std::string path, std::optional<Error>& error);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] simdjson::dom::element element() const noexcept { return element_; }

  /// Whether the field is there and not null.
  [[nodiscard]] bool has(std::string_view name) const;

  [[nodiscard]] bool flag(std::string_view name, std::optional<bool> fallback = {}) const;
  [[nodiscard]] std::string_view text(std::string_view name,
                                      std::optional<std::string_view> fallback = {}) const;
  [[nodiscard]] std::int64_t number(std::string_view name,
                                    std::optional<std::int64_t> fallback = {}) const;
  [[nodiscard]] std::vector<simdjson::dom::element> array(std::string_view name) const;
  [[nodiscard]] std::vector<simdjson::dom::key_value_pair> object(std::string_view name) const;
  [[nodiscard]] JsonFields child(std::string_view name) const;

  /// Remembers `what` about the field `name`, or about the object itself when that is empty.
  void fail(std::string_view name, std::string_view what) const;
  void fail_unknown(std::string_view name, std::string_view what) const;

  [[nodiscard]] std::optional<Error>& error() const noexcept { return error_; }

 private:
  template <class T>
  [[nodiscard]] T read(std::string_view name, std::optional<T> fallback,
                       std::string_view type) const;

  simdjson::dom::element element_;
  std::string path_;
  std::optional<Error>& error_;
};

}  // namespace weft
