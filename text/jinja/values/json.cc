#include "weft/text/jinja/values/json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <limits>
#include <string_view>

#include "weft/core/text/utf8.h"

namespace weft::jinja {
namespace {

namespace json = boost::json;

Value convert(Run& run, const json::value& value, std::size_t depth);

Value convert_text(Run& run, std::string_view text) {
  if (!is_utf8(text)) return run.fail("a string of the input is not UTF-8");
  return Text{text};
}

Value convert_array(Run& run, const json::array& array, std::size_t depth) {
  std::pmr::vector<Value> items(run.scratch());
  items.reserve(array.size());
  for (const json::value& item : array) items.push_back(convert(run, item, depth + 1));
  return run.list(items);
}

Value convert_object(Run& run, const json::object& object, std::size_t depth) {
  Dict* dict = run.make<Dict>(run.memory());
  for (const auto& entry : object) {
    const Value key = convert_text(run, entry.key());
    const Value value = convert(run, entry.value(), depth + 1);
    if (run.failed()) return {};
    dict->set(key, value);
  }
  return static_cast<const Dict*>(dict);
}

Value convert_unsigned(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value > kMost) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}

Value convert(Run& run, const json::value& value, std::size_t depth) {
  if (depth > kMaxDataDepth) return run.fail_limit("the input is nested too deep");
  switch (value.kind()) {
    case json::kind::null:
      return None{};
    case json::kind::bool_:
      return value.get_bool();
    case json::kind::int64:
      return value.get_int64();
    case json::kind::uint64:
      return convert_unsigned(value.get_uint64());
    case json::kind::double_:
      return value.get_double();
    case json::kind::string: {
      const json::string& text = value.get_string();
      return convert_text(run, {text.data(), text.size()});
    }
    case json::kind::array:
      return convert_array(run, value.get_array(), depth);
    case json::kind::object:
      return convert_object(run, value.get_object(), depth);
  }
  return {};
}

/// The recursion is as deep as convert() allows.
void add_texts(ClientText& client, const json::value& value) {
  if (const json::string* text = value.if_string()) {
    client.add({text->data(), text->size()});
  } else if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) add_texts(client, item);
  } else if (const json::object* members = value.if_object()) {
    for (const auto& member : *members) {
      client.add(member.key());
      add_texts(client, member.value());
    }
  }
}

}  // namespace

Value from_json(Run& run, const json::value& json) { return convert(run, json, 0); }

Value from_client_json(Run& run, const json::value& json) {
  const Value value = convert(run, json, 0);
  if (!run.failed()) add_texts(run.client(), json);
  return value;
}

}  // namespace weft::jinja
