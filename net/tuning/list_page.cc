#include "weft/net/tuning/list_page.h"

#include <charconv>
#include <system_error>

#include "weft/net/http/header_values.h"

namespace weft {

ApiResult<ListPage> list_page_of(std::string_view query, const ListLimits& limits) {
  ListPage page{.limit = limits.standard, .after = query_value(query, "after")};
  const std::string order = query_value(query, "order");
  if (!order.empty() && order != "asc" && order != "desc")
    return bad_field("order", shown(order) + " is neither asc nor desc");
  page.ascending = order == "asc";
  const std::string limit = query_value(query, "limit");
  if (limit.empty()) return page;
  const char* const last = limit.data() + limit.size();
  const auto [end, failed] = std::from_chars(limit.data(), last, page.limit);
  if (failed != std::errc() || end != last || page.limit < 1 || page.limit > limits.most)
    return bad_field("limit", shown(limit) + " is not in 1 .. " + std::to_string(limits.most));
  return page;
}

}  // namespace weft
