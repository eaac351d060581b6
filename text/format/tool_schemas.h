#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weft {

/// The facts about a request's functions that a parser of calls needs: their names, and which
/// parameters are texts, in forms where the model does not write quotes. Immutable.
class ToolSchemas {
 public:
  enum class Type : std::uint8_t {
    kUnknown,       ///< the schema does not say, or allows texts and other values
    kText,          ///< only texts
    kOptionalText,  ///< texts, and null
    kOther,         ///< other values than texts
  };

  ToolSchemas() = default;
  /// `tools` is Request::tools. Entries of another form are skipped.
  explicit ToolSchemas(const boost::json::value& tools);

  [[nodiscard]] bool empty() const noexcept { return functions_.empty(); }
  [[nodiscard]] bool knows(std::string_view function) const {
    return functions_.find(function) != functions_.end();
  }
  [[nodiscard]] Type type_of(std::string_view function, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, Type, std::less<>>;

  std::map<std::string, Parameters, std::less<>> functions_;
};

}  // namespace weft
