#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// The items that a request names by their ids (`item_reference`): input and output items of the
/// responses that its client may continue. Owner only.
class ReferencedItems {
 public:
  /// Responses that one request may refer to: each is read as a whole.
  static constexpr std::size_t kMostResponses = 16;

  explicit ReferencedItems(const ApiContext& context);

  /// Returns an item as JSON. Returns an error without a field when the item is not stored any
  /// more, was named before in this request, or belongs to one response too many.
  [[nodiscard]] ApiResult<std::string> take(std::string_view id);

 private:
  using Items = std::map<std::string, std::string, std::less<>>;  // items as JSON by id; an item is
                                                                  // empty once taken
  /// Returns the items of the response that made the item `id`; null when that response is not
  /// stored.
  [[nodiscard]] Items* items_around(std::string_view id);

  std::vector<std::shared_ptr<ResponseStore>> stores_;
  std::string owner_;
  std::map<std::string, Items, std::less<>> responses_;  // items of each response, by its id
};

}  // namespace weft
