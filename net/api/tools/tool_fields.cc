#include "weft/net/api/tools/tool_fields.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/tools/tool_choice.h"
#include "weft/net/api/tools/tool_list.h"

namespace weft {
namespace {

/// Takes the tools that items of `input` add: `additional_tools`, and tools that a search found.
void take_item_tools(const BodyFields& fields, ToolReader& reader) {
  const auto input = fields.any("input");
  simdjson::dom::array items;
  if (!input || input->get(items) != simdjson::SUCCESS) return;
  std::size_t index = 0;
  for (const simdjson::dom::element element : items) {
    const std::size_t place = index++;
    std::string_view type;
    if (element.at_key("type").get(type) != simdjson::SUCCESS) continue;
    if (type != "additional_tools" && type != "tool_search_output") continue;
    const BodyFields item(element.get_object(), indexed("input", place), fields);
    reader.read_again(item, "tools");
    if (fields.error()) return;
  }
}

/// Takes the tools that system messages of the Messages API add in the middle of a conversation.
void take_added_tools(const BodyFields& fields, ToolReader& reader) {
  const auto input = fields.any("messages");
  simdjson::dom::array messages;
  if (!input || input->get(messages) != simdjson::SUCCESS) return;
  std::size_t message = 0;
  for (const simdjson::dom::element element : messages) {
    const std::string path = indexed("messages", message++) + ".content";
    simdjson::dom::array blocks;
    if (element.at_key("content").get(blocks) != simdjson::SUCCESS) continue;
    std::size_t index = 0;
    for (const simdjson::dom::element block : blocks) {
      const std::size_t place = index++;
      std::string_view type;
      simdjson::dom::object definition;
      if (block.at_key("type").get(type) != simdjson::SUCCESS || type != "tool_addition") continue;
      const auto added = block.at_key("tool").at_key("definition");
      if (added.get(definition) != simdjson::SUCCESS) continue;
      reader.read_one(
          BodyFields(added.get_object(), indexed(path, place) + ".tool.definition", fields));
      if (fields.error()) return;
    }
  }
}

/// Returns the name of the field with a tool's schema.
std::string_view schema_name(ToolDialect dialect) {
  switch (dialect) {
    case ToolDialect::kResponses:
      return "parameters";
    case ToolDialect::kMessages:
      return "input_schema";
    case ToolDialect::kChat:
      break;
  }
  return "function.parameters";
}

void check_model(const BodyFields& fields, const ServedModel& model) {
  if (can_call_tools(model)) return;
  const bool knows = model.tokenizer.chat_templates().find("tools") != std::string::npos;
  fields.fail("tools",
              knows ? "cannot be used: how this model writes calls is not known"
                    : "are not known to this model's chat template",
              api_code::kUnsupported);
}

}  // namespace

bool can_call_tools(const ServedModel& model) {
  const OutputFormat& format = model.format->format;
  return model.tokenizer.chat_templates().find("tools") != std::string::npos &&
         (format.harmony || format.calls.body != CallBody::kNone);
}

ToolOrigins take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                       Request& request) {
  request.typed_output = true;
  ChosenTools chosen = take_tool_choice(fields, dialect, request);
  if (dialect != ToolDialect::kMessages) refuse_older_tools(fields);
  ToolList tools;
  ToolReader reader(dialect, tools);
  reader.read(fields, "tools");
  if (dialect == ToolDialect::kResponses) take_item_tools(fields, reader);
  if (dialect == ToolDialect::kMessages) take_added_tools(fields, reader);
  if (fields.error()) return {};
  if (!tools.functions.empty()) check_model(fields, model);
  check_tool_choice(fields, chosen, tools, request);
  if (!chosen.may_call) {
    request.tool_choice = {};
    return {};
  }
  request.tool_choice.strict = std::move(tools.strict);
  request.tool_choice.schema_name = schema_name(dialect);
  request.tool_choice.places = std::move(tools.places);
  if (!tools.functions.empty()) request.tools = std::move(tools.functions);
  return std::move(tools.origins);
}

}  // namespace weft
