#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/responses/response_store.h"

/// The parts of a stored response that a client can read besides the response object.
namespace weft {

/// Returns the events of a stream of the response, as SSE, numbered from 0. They equal the events
/// of the original stream, except that the text comes as one delta.
[[nodiscard]] std::string replay_events(const StoredResponse& response);

/// The page of input items that a client asks for, as in OpenAI's lists.
struct InputItemsPage {
  static constexpr std::size_t kMostItems = 100;

  std::size_t limit = 20;
  bool ascending = false;  ///< oldest first; else newest first
  std::string after{};     ///< the page begins behind the item with this id; empty = none
};

/// Returns the model's messages without the instructions: {"object":"list","data":[...],
/// "first_id","last_id","has_more"}. 400 about `after` when there is no such item.
///
/// Source: OpenAI's API reference, "List input items".
[[nodiscard]] ApiResult<std::string> input_items(const StoredResponse& response,
                                                 const InputItemsPage& page);

/// Returns the input items and the output items as JSON, by their ids.
[[nodiscard]] std::map<std::string, std::string, std::less<>> items_by_id(
    const StoredResponse& response);

}  // namespace weft
