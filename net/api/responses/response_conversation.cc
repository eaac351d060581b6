#include "weft/net/api/responses/response_conversation.h"

#include <string>
#include <string_view>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/responses/input_items.h"
#include "weft/net/api/responses/referenced_items.h"

namespace weft {

namespace json = boost::json;

std::shared_ptr<const StoredResponse> previous_response(simdjson::dom::object body,
                                                        const ApiContext& context) {
  std::string_view id;
  if (body.at_key("previous_response_id").get(id) != simdjson::SUCCESS) return nullptr;
  for (const auto& store : {context.local, context.stored}) {
    auto found = store ? store->find(id, context.client) : nullptr;
    if (found) return found;
  }
  return nullptr;
}

json::array take_conversation(BodyFields& fields, const ApiContext& context,
                              const StoredResponse* previous) {
  constexpr std::string_view kPrevious = "previous_response_id";
  const json::array none;
  ReferencedItems items(context);
  json::array input =
      take_input(fields, *context.card.model, previous ? previous->conversation : none, items);
  const auto name = fields.text(kPrevious);
  if (!name) return input;
  if (previous == nullptr) {
    fields.fail(kPrevious, shown(*name) + " is not kept here", api_code::kPreviousNotFound);
    return input;
  }
  if (!previous->whole) {
    fields.fail(kPrevious, shown(*name) + " has not been completed");
    return input;
  }
  json::array all = previous->conversation;
  all.insert(all.end(), input.begin(), input.end());
  if (all.size() > defaults::kMaxMessages) {
    fields.fail("input", "and what went before are more than " +
                             std::to_string(defaults::kMaxMessages) + " messages");
  }
  return all;
}

json::array with_instructions(const json::value& instructions, const json::array& conversation) {
  if (instructions.is_null()) return conversation;
  json::array messages{message_of("system", instructions.as_string())};
  messages.insert(messages.end(), conversation.begin(), conversation.end());
  return messages;
}

}  // namespace weft
