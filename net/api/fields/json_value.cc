#include "weft/net/api/fields/json_value.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace weft {
namespace {

namespace dom = simdjson::dom;

boost::json::array list_of(dom::array list) {
  boost::json::array values;
  for (const dom::element one : list) values.push_back(to_json(one));
  return values;
}

boost::json::object object_of(dom::object object) {
  boost::json::object fields;
  for (const dom::key_value_pair field : object) fields.emplace(field.key, to_json(field.value));
  return fields;
}

}  // namespace

boost::json::value to_json(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return list_of(element);
    case dom::element_type::OBJECT:
      return object_of(element);
    case dom::element_type::STRING:
      return boost::json::value(std::string_view(element));
    case dom::element_type::INT64:
      return std::int64_t(element);
    case dom::element_type::UINT64:
      return std::uint64_t(element);
    case dom::element_type::DOUBLE:
      return double(element);
    case dom::element_type::BOOL:
      return bool(element);
    case dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

}  // namespace weft
