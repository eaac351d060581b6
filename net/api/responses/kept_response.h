#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/responses/response_store.h"

/// What a client can read of a response that is kept, beside the response object itself.
namespace weft {

/// The events of a stream of the response, as SSE: those of its own stream, but for the text, which
/// comes as one delta. They are numbered from 0.
[[nodiscard]] std::string replay_events(const StoredResponse& response);

/// Which of the input items are asked for, as OpenAI's lists have it.
struct InputItemsPage {
  static constexpr std::size_t kMostItems = 100;

  std::size_t limit = 20;
  bool ascending = false;  ///< else the newest first
  std::string after{};     ///< the id of the item behind which the page begins; empty = none
};

/// The messages that the model was given, without the instructions: {"object":"list","data":[...],
/// "first_id","last_id","has_more"}. 400 about `after` when there is no such item.
///
/// Source: OpenAI's API reference, "List input items".
[[nodiscard]] ApiResult<std::string> input_items(const StoredResponse& response,
                                                 const InputItemsPage& page);

/// The items by their ids, as JSON: those of input_items() and those of the output.
[[nodiscard]] std::map<std::string, std::string, std::less<>> items_by_id(
    const StoredResponse& response);

}  // namespace weft
