#pragma once

#include <simdjson.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// Reads the fields of one JSON object and remembers the first mistake: a field that is missing, of
/// another type or out of its range. After a mistake every field reads as absent, so a decoder
/// checks error() once, at the end. A null field counts as absent; of several fields with one name
/// the first counts. Inner objects share the mistake of the outermost object. Owner only; borrows
/// the document.
///
/// `Words` makes the errors for mistakes:
///   Mistake, Code                           the error, and what distinguishes errors for programs
///   kMissing, kWrongType, kInvalid          codes of mistakes that are found here
///   about(std::string path, std::string_view what, Code) -> Mistake
///   unknown(std::string path) -> Mistake    where finish() is used
template <class Words>
class JsonFields {
 public:
  using Mistake = typename Words::Mistake;
  using Code = typename Words::Code;
  using Element = simdjson::dom::element;
  /// An object, or the result of an element's get_object(), which is an error where the element is
  /// no object.
  using Object = simdjson::simdjson_result<simdjson::dom::object>;

  /// The most fields of an object. No API and no tokenizer file has 100.
  static constexpr std::size_t kMaxFields = 256;

  /// Reads the outermost object. `path` precedes the names of fields in errors: "tokenizer.json".
  explicit JsonFields(Object object, std::string path = {})
      : path_(std::move(path)), error_(&own_error_) {
    open(object);
  }
  /// Reads an object inside `outer`, at `path`: "messages[2]".
  JsonFields(Object object, std::string path, const JsonFields& outer)
      : path_(std::move(path)), error_(outer.error_) {
    open(object);
  }
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;
  ~JsonFields() = default;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  /// Each of these functions takes a field: finish() then counts the field as known.
  [[nodiscard]] std::optional<Element> any(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return any(name).has_value(); }
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const {
    return read<std::string_view>(name, "a string");
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const {
    return read<bool>(name, "true or false");
  }
  /// Takes a whole number in low .. high; 3.0 counts as one.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                                    std::int64_t high) const;
  /// Takes a finite number. simdjson refuses numbers beyond double's range, and JSON has no others.
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return read<double>(name, "a number");
  }
  [[nodiscard]] std::optional<simdjson::dom::array> array(std::string_view name) const {
    return read<simdjson::dom::array>(name, "a list");
  }
  [[nodiscard]] std::optional<simdjson::dom::object> object(std::string_view name) const {
    return read<simdjson::dom::object>(name, "an object");
  }

  /// Take required fields; the result is empty or 0 where there is a mistake.
  [[nodiscard]] std::string_view needed_text(std::string_view name) const {
    return needed(name, text(name)).value_or(std::string_view());
  }
  [[nodiscard]] std::int64_t needed_integer(std::string_view name, std::int64_t low,
                                            std::int64_t high) const {
    return needed(name, integer(name, low, high)).value_or(0);
  }
  [[nodiscard]] std::vector<Element> needed_items(std::string_view name) const;
  [[nodiscard]] std::vector<simdjson::dom::key_value_pair> needed_members(
      std::string_view name) const;
  [[nodiscard]] JsonFields needed_child(std::string_view name) const {
    const auto element = any(name);
    return JsonFields(element ? element->get_object() : Object(simdjson::NO_SUCH_FIELD),
                      path_of(name), *this);
  }

  /// Notes a mistake that the caller found, unless one is noted already.
  void fail(Mistake mistake) const {
    if (!error()) *error_ = std::move(mistake);
  }
  /// Notes a mistake about the field `name`, or about the object itself where that is empty.
  void fail(std::string_view name, std::string_view what, Code code = Words::kInvalid) const {
    if (!error()) fail(Words::about(path_of(name), what, code));
  }
  [[nodiscard]] const std::optional<Mistake>& error() const noexcept { return *error_; }

  /// Takes fields that have no effect.
  void ignore(std::initializer_list<std::string_view> names) const;
  /// Reports the first field that is not null and was not taken; returns error().
  const std::optional<Mistake>& finish() const;

 private:
  void open(Object object);

  template <class T>
  [[nodiscard]] std::optional<T> read(std::string_view name, std::string_view type) const;

  template <class T>
  [[nodiscard]] std::optional<T> needed(std::string_view name, std::optional<T> value) const {
    if (!value) fail(name, "is missing", Words::kMissing);
    return value;
  }

  std::string path_;
  std::optional<simdjson::dom::object> object_{};  ///< empty where there is a mistake
  // Reading does not change an object's contents; the taken fields are noted here.
  mutable std::bitset<kMaxFields> taken_{};  ///< in the order of the fields
  mutable std::optional<Mistake> own_error_{};
  std::optional<Mistake>* error_;
};

/// Returns an element's whole number; 3.0 counts as one. Returns nothing for other elements.
[[nodiscard]] std::optional<std::int64_t> whole_number(simdjson::dom::element element) noexcept;

/// Whether an element is a whole number of any size.
[[nodiscard]] bool is_whole(simdjson::dom::element element) noexcept;

/// "messages" and 2 make "messages[2]".
[[nodiscard]] std::string indexed(std::string_view path, std::size_t index);

template <class Words>
void JsonFields<Words>::open(Object object) {
  simdjson::dom::object opened;
  const simdjson::error_code status = std::move(object).get(opened);
  if (status == simdjson::NO_SUCH_FIELD) {
    fail({}, "is missing", Words::kMissing);
  } else if (status != simdjson::SUCCESS) {
    fail({}, "must be an object", Words::kWrongType);
  } else if (opened.size() > kMaxFields) {
    fail({}, "has more than " + std::to_string(kMaxFields) + " fields");
  } else {
    object_ = opened;
  }
}

template <class Words>
std::string JsonFields<Words>::path_of(std::string_view name) const {
  std::string path = path_;
  if (!path.empty() && !name.empty()) path += '.';
  return path.append(name);
}

template <class Words>
auto JsonFields<Words>::any(std::string_view name) const -> std::optional<Element> {
  if (!object_) return std::nullopt;
  std::optional<Element> first;
  std::size_t index = 0;
  for (const simdjson::dom::key_value_pair field : *object_) {
    if (field.key == name) {
      taken_.set(index);
      if (!first) first = field.value;
    }
    ++index;
  }
  if (error() || (first && first->is_null())) return std::nullopt;
  return first;
}

template <class Words>
template <class T>
std::optional<T> JsonFields<Words>::read(std::string_view name, std::string_view type) const {
  const auto element = any(name);
  if (!element) return std::nullopt;
  T value{};
  if (element->get(value) == simdjson::SUCCESS) return value;
  fail(name, "must be " + std::string(type), Words::kWrongType);
  return std::nullopt;
}

template <class Words>
std::optional<std::int64_t> JsonFields<Words>::integer(std::string_view name, std::int64_t low,
                                                       std::int64_t high) const {
  const auto element = any(name);
  if (!element) return std::nullopt;
  const auto value = whole_number(*element);
  if (value && *value >= low && *value <= high) return value;
  if (!value && !is_whole(*element)) {
    fail(name, "must be a whole number", Words::kWrongType);
  } else {
    fail(name, (value ? std::to_string(*value) + " " : std::string()) + "is not in " +
                   std::to_string(low) + " .. " + std::to_string(high));
  }
  return std::nullopt;
}

template <class Words>
auto JsonFields<Words>::needed_items(std::string_view name) const -> std::vector<Element> {
  const auto items = needed(name, array(name));
  if (!items) return {};
  return {items->begin(), items->end()};
}

template <class Words>
std::vector<simdjson::dom::key_value_pair> JsonFields<Words>::needed_members(
    std::string_view name) const {
  const auto members = needed(name, object(name));
  if (!members) return {};
  return {members->begin(), members->end()};
}

template <class Words>
void JsonFields<Words>::ignore(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) static_cast<void>(any(name));
}

template <class Words>
auto JsonFields<Words>::finish() const -> const std::optional<Mistake>& {
  if (!object_ || error()) return error();
  std::size_t index = 0;
  for (const simdjson::dom::key_value_pair field : *object_) {
    if (!taken_.test(index++) && !field.value.is_null()) fail(Words::unknown(path_of(field.key)));
  }
  return error();
}

}  // namespace weft
