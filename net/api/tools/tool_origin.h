#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft {

/// The kind of tool that the client sees; the model sees each as a function.
enum class ToolKind : std::uint8_t {
  kFunction,
  kCustom,  ///< takes a text, which the model writes as its one argument `input`
  kSearch,  ///< the client's search for more tools
};

/// A tool as a client names it.
struct ToolOrigin {
  ToolKind kind = ToolKind::kFunction;
  std::string name_space{};  ///< namespace of the Responses API; empty: none
  std::string name{};
};

/// The tools of a request, by the names of their functions. A function that is missing here has the
/// same name for the client and for the model. Owner only.
class ToolOrigins {
 public:
  void add(std::string_view function, ToolOrigin origin) {
    origins_.insert_or_assign(std::string(function), std::move(origin));
  }
  [[nodiscard]] ToolOrigin of(std::string_view function) const;
  /// Returns the approximate size of the tools in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  std::map<std::string, ToolOrigin, std::less<>> origins_;
};

/// Returns the function name of a tool in a namespace: "mcp__calc" and "add" make
/// "mcp__calc__add", the name that models know for tools of MCP servers.
[[nodiscard]] std::string function_name(std::string_view name_space, std::string_view name);

/// Returns the text of a custom tool's call: the call's only text argument `input`. Where a model
/// has written anything else, returns all of the arguments.
[[nodiscard]] std::string custom_input(std::string_view arguments);

/// Returns arguments as a model writes them for that text: {"input": text}.
[[nodiscard]] boost::json::object custom_arguments(std::string_view input);

}  // namespace weft
