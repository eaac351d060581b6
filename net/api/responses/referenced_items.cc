#include "weft/net/api/responses/referenced_items.h"

#include "weft/net/api/responses/kept_response.h"
#include "weft/net/api/responses/response_store.h"

namespace weft {
namespace {

/// Returns the id of the response that an item belongs to: "resp_7" for "msg_7_2" and "fc_7".
std::string response_of(std::string_view id) {
  const std::size_t begin = id.find('_');
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = id.substr(begin + 1);
  return "resp_" + std::string(rest.substr(0, rest.find('_')));
}

}  // namespace

ReferencedItems::ReferencedItems(const ApiContext& context) : owner_(context.client) {
  for (const auto& store : {context.local, context.stored}) {
    if (store) stores_.push_back(store);
  }
}

ApiResult<std::string> ReferencedItems::take(std::string_view id) {
  const bool is_new = !responses_.contains(response_of(id));
  if (is_new && responses_.size() == kMostResponses) {
    return bad_field({}, "is of one response too many: a request may refer to items of " +
                             std::to_string(kMostResponses));
  }
  Items* const items = items_around(id);
  const auto found = items == nullptr ? Items::iterator() : items->find(id);
  if (items == nullptr || found == items->end()) {
    return bad_field({}, shown(id) + " is no item of a response that is kept here");
  }
  if (found->second.empty()) return bad_field({}, shown(id) + " is referred to twice");
  return std::exchange(found->second, {});
}

ReferencedItems::Items* ReferencedItems::items_around(std::string_view id) {
  const std::string name = response_of(id);
  if (const auto known = responses_.find(name); known != responses_.end()) return &known->second;
  for (const auto& store : stores_) {
    if (const auto response = store->find(name, owner_)) {
      return &responses_.emplace(name, items_by_id(*response)).first->second;
    }
  }
  return nullptr;
}

}  // namespace weft
