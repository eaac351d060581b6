#include "weft/net/api/tools/tool_origin.h"

#include <boost/json/value.hpp>

#include "weft/net/api/tools/call_history.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kInput = "input";
constexpr std::string_view kJoint = "__";

}  // namespace

ToolOrigin ToolOrigins::of(std::string_view function) const {
  const auto found = origins_.find(function);
  return found == origins_.end() ? ToolOrigin{.name = std::string(function)} : found->second;
}

std::size_t ToolOrigins::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [function, origin] : origins_) {
    bytes += sizeof(std::string) + sizeof(ToolOrigin) + function.size() + origin.name_space.size() +
             origin.name.size();
  }
  return bytes;
}

std::string function_name(std::string_view name_space, std::string_view name) {
  std::string joined(name_space);
  if (!joined.empty() && !joined.ends_with(kJoint)) joined += kJoint;
  return joined.append(name);
}

std::string custom_input(std::string_view arguments) {
  const json::value value = arguments_of(arguments);
  if (const json::object* const object = value.if_object()) {
    const json::value* input = object->if_contains(kInput);
    if (input == nullptr && object->size() == 1) input = &object->begin()->value();
    if (input != nullptr && input->is_string()) {
      return {input->get_string().data(), input->get_string().size()};
    }
  }
  return std::string(arguments);
}

json::object custom_arguments(std::string_view input) { return {{kInput, input}}; }

}  // namespace weft
