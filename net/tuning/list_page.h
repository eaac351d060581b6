#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/fields/json_text.h"

namespace weft {

/// The part of a list that a client asks for, in OpenAI's words.
struct ListPage {
  std::size_t limit = 0;
  std::string after{};     ///< an id of the list; empty: from the beginning
  bool ascending = false;  ///< the oldest first
};

/// The bounds of a list's `limit`.
struct ListLimits {
  std::size_t standard = 0;
  std::size_t most = 0;
};

/// Reads `limit`, `after` and `order` of a query. 400 naming one that is wrong.
[[nodiscard]] ApiResult<ListPage> list_page_of(std::string_view query, const ListLimits& limits);

/// Returns the body of a page of a list whose newest entry is first; `object_of` makes the object
/// of an entry, and `id_of` its id. 400 naming `after` where the list has no such id.
template <class Entry, class ObjectOf, class IdOf>
[[nodiscard]] ApiResult<std::string> list_body(std::vector<Entry> entries, const ListPage& page,
                                               const ObjectOf& object_of, const IdOf& id_of) {
  if (page.ascending) std::ranges::reverse(entries);
  auto begin = entries.begin();
  if (!page.after.empty()) {
    begin = std::ranges::find_if(entries,
                                 [&](const Entry& entry) { return id_of(entry) == page.after; });
    if (begin == entries.end())
      return bad_field("after", shown(page.after) + " is not in the list");
    ++begin;
  }
  const auto left = static_cast<std::size_t>(entries.end() - begin);
  boost::json::array data;
  boost::json::value first;
  boost::json::value last;
  for (std::size_t i = 0; i < std::min(page.limit, left); ++i, ++begin) {
    last = id_of(*begin);
    if (i == 0) first = last;
    data.push_back(object_of(*begin));
  }
  return json_text(boost::json::object{{"object", "list"},
                                       {"data", std::move(data)},
                                       {"first_id", std::move(first)},
                                       {"last_id", std::move(last)},
                                       {"has_more", left > page.limit}});
}

}  // namespace weft
