#include "weft/text/json/json_fields.h"

#include <utility>

#include "weft/text/text_error.h"

namespace weft {

JsonFields::JsonFields(simdjson::dom::element element, std::string path,
                       std::optional<Error>& error)
    : element_(element), path_(std::move(path)), error_(error) {
  if (!element_.is_object()) fail("", "is no object");
}

void JsonFields::fail(std::string_view name, std::string_view what) const {
  if (error_) return;
  std::string detail = path_;
  if (!name.empty()) detail.append(".").append(name);
  error_ = Error{make_error_code(TextErrc::kBadTokenizer), detail.append(" ").append(what)};
}

void JsonFields::fail_unknown(std::string_view name, std::string_view what) const {
  if (error_) return;
  error_ = Error{make_error_code(TextErrc::kUnknownTokenizerPart),
                 path_ + "." + std::string(name) + " \"" + std::string(what) + "\""};
}

bool JsonFields::has(std::string_view name) const {
  simdjson::dom::element value;
  return element_[name].get(value) == simdjson::SUCCESS && !value.is_null();
}

template <class T>
T JsonFields::read(std::string_view name, std::optional<T> fallback, std::string_view type) const {
  if (!has(name)) {
    if (!fallback) fail(name, "is missing");
    return fallback.value_or(T{});
  }
  T value{};
  if (element_[name].get(value) != simdjson::SUCCESS) fail(name, "is no " + std::string(type));
  return value;
}

bool JsonFields::flag(std::string_view name, std::optional<bool> fallback) const {
  return read<bool>(name, fallback, "boolean");
}

std::string_view JsonFields::text(std::string_view name,
                                  std::optional<std::string_view> fallback) const {
  return read<std::string_view>(name, fallback, "string");
}

std::int64_t JsonFields::number(std::string_view name, std::optional<std::int64_t> fallback) const {
  return read<std::int64_t>(name, fallback, "whole number");
}

std::vector<simdjson::dom::element> JsonFields::array(std::string_view name) const {
  simdjson::dom::array items;
  if (!has(name)) {
    fail(name, "is missing");
  } else if (element_[name].get(items) != simdjson::SUCCESS) {
    fail(name, "is no array");
  } else {
    return {items.begin(), items.end()};
  }
  return {};
}

std::vector<simdjson::dom::key_value_pair> JsonFields::object(std::string_view name) const {
  simdjson::dom::object fields;
  if (!has(name)) {
    fail(name, "is missing");
  } else if (element_[name].get(fields) != simdjson::SUCCESS) {
    fail(name, "is no object");
  } else {
    return {fields.begin(), fields.end()};
  }
  return {};
}

JsonFields JsonFields::child(std::string_view name) const {
  simdjson::dom::element value;
  if (element_[name].get(value) != simdjson::SUCCESS) {
    fail(name, "is missing");
    value = element_;
  }
  return {value, path_ + "." + std::string(name), error_};
}

}  // namespace weft
