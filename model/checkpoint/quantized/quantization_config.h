#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// A model's settings of quantization: a JSON object and its place, for messages. Borrows the
/// object. A null key counts as absent.
class QuantizationConfig {
 public:
  /// `where` is "FILE: KEY", which messages put before a key's name.
  QuantizationConfig(const boost::json::object& values, std::string where)
      : values_(values), where_(std::move(where)) {}

  /// kBadConfig if the key has a value of another type.
  [[nodiscard]] Result<std::optional<std::string>> text(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool otherwise) const;
  [[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> integers(
      std::string_view key) const;

  [[nodiscard]] const boost::json::value* find(std::string_view key) const noexcept;

  /// kUnsupportedFormat if the key exists and its value, in lower case, is not in `known`.
  [[nodiscard]] Result<void> expect(std::string_view key,
                                    std::initializer_list<std::string_view> known) const;

  /// Returns "WHERE.KEY is VALUE, WHAT" as kUnsupportedFormat.
  [[nodiscard]] Error unsupported(std::string_view key, std::string_view what) const;
  [[nodiscard]] Error bad(std::string_view key, std::string_view what) const;

 private:
  [[nodiscard]] std::string about(std::string_view key, std::string_view what) const;

  const boost::json::object& values_;
  std::string where_;
};

}  // namespace weft
