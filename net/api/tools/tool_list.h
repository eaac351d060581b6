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

/// A tool that is not offered to the model, and the reason.
struct HiddenTool {
  std::string name{};    ///< the tool's name; without one, its type
  std::string type{};    ///< type of an API's own tool, which this server does not run
  std::string reason{};  ///< the reason, as in "is ..."
};

/// The functions that a request's tools define.
struct ToolList {
  boost::json::array functions{};     ///< the functions in the form that templates know
  std::vector<std::string> places{};  ///< the functions' places in the body: "tools[4].tools[0]"
  std::vector<std::string> strict{};  ///< names of functions whose schemas are strict
  ToolOrigins origins{};
  std::vector<HiddenTool> hidden{};

  /// Returns the hidden tool with this name or type; null: there is none.
  [[nodiscard]] const HiddenTool* hidden_tool(std::string_view name) const;
};

/// Reads lists of tools. Owner only.
class ToolReader {
 public:
  ToolReader(ToolDialect dialect, ToolList& tools) : dialect_(dialect), tools_(tools) {}

  /// Takes a field that is a list of tools. Two functions with one name are a mistake.
  void read(const BodyFields& owner, std::string_view name);
  /// Takes a list of tools that an item of a conversation adds; it may repeat a function.
  void read_again(const BodyFields& owner, std::string_view name);
  /// Takes one tool of such a list.
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

/// Returns the names of the functions that a list of tools defines, with commas between them.
[[nodiscard]] std::string function_names(simdjson::dom::array tools);

}  // namespace weft
