#pragma once

#include <simdjson.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <memory>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/responses/response_store.h"

/// Finds the conversation that a request of the Responses API continues.
namespace weft {

/// Returns the response that the body continues. Null when the body names none, when the response
/// is not stored any more, or when it belongs to another client.
[[nodiscard]] std::shared_ptr<const StoredResponse> previous_response(simdjson::dom::object body,
                                                                      const ApiContext& context);

/// Takes `input` and `previous_response_id`, and returns the conversation: the earlier messages,
/// `previous` (null: none), and the messages of this request.
[[nodiscard]] boost::json::array take_conversation(BodyFields& fields, const ApiContext& context,
                                                   const StoredResponse* previous);

/// Returns the conversation with the instructions, a text or null, in front.
[[nodiscard]] boost::json::array with_instructions(const boost::json::value& instructions,
                                                   const boost::json::array& conversation);

}  // namespace weft
