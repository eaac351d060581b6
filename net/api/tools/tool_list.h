#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/tools/tool_fields.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {

/// A tool that the model is not offered, and why.
struct HiddenTool {
  std::string name{};    ///< of a tool without a name its type
  std::string type{};    ///< of an API's own tool, which nobody here runs
  std::string reason{};  ///< "is ..."
};

/// What a request's tools come to.
struct ToolList {
  boost::json::array functions{};     ///< as templates know them
  std::vector<std::string> places{};  ///< of the functions in the body: "tools[4].tools[0]"
  std::vector<std::string> strict{};  ///< names of functions
  ToolOrigins origins{};
  std::vector<HiddenTool> hidden{};

  /// Returns the hidden tool of this name or type; null: there is none.
  [[nodiscard]] const HiddenTool* hidden_tool(std::string_view name) const;
};

/// Reads lists of tools. Owner only.
class ToolReader {
 public:
  ToolReader(ToolDialect dialect, ToolList& tools) : dialect_(dialect), tools_(tools) {}

  /// Takes a field that is a list of tools. Functions of one name are a mistake.
  void read(const BodyFields& owner, std::string_view name);
  /// Takes a list of tools that an item of a conversation brings, where a function may come again.
  void read_again(const BodyFields& owner, std::string_view name);
  /// Takes one such tool.
  void read_one(const BodyFields& tool);

 private:
  void read_list(const BodyFields& owner, std::string_view name, std::string_view name_space);
  void take_tool(const BodyFields& tool, std::string_view name_space);
  void take_namespace(const BodyFields& tool);
  void take_function(const BodyFields& tool, std::string_view name_space);
  void take_chat_function(const BodyFields& tool);
  void take_message_function(const BodyFields& tool);
  void take_custom(const BodyFields& tool, std::string_view name_space);
  void take_search(const BodyFields& tool);
  void hide(const BodyFields& tool, std::string_view type);
  void add(const BodyFields& tool, std::optional<bool> strict, boost::json::object function,
           ToolOrigin origin);

  ToolDialect dialect_;
  ToolList& tools_;
  std::set<std::string, std::less<>> names_;
  bool again_ = false;
};

/// Returns the names of the functions that a list of tools comes to, with commas between them.
[[nodiscard]] std::string function_names(simdjson::dom::array tools);

}  // namespace weft
