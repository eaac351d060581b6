#include "weft/model/spec/spec_values.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/tensor_names.h"

namespace weft {
namespace {

namespace json = boost::json;

// The most numbers of a tensor that an expression may read: a few for each pair of a head.
constexpr std::int64_t kMaxNumbers = 1024;

// Finds "a.b" as the field "a.b" (GGUF's keys are flat) or as the field b of the object a. Returns
// null values too.
const json::value* look_up(const json::object& object, std::string_view name) {
  if (const json::value* found = object.if_contains(name)) return found;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    const json::value* outer = object.if_contains(name.substr(0, dot));
    if (outer != nullptr && outer->is_object()) {
      return look_up(outer->get_object(), name.substr(dot + 1));
    }
  }
  return nullptr;
}

// Prints 1024, not 1.024E3.
std::string number_text(double number) {
  constexpr double kReadable = 1e15;
  const bool whole = std::trunc(number) == number && std::abs(number) < kReadable;
  return whole ? std::to_string(static_cast<std::int64_t>(number))
               : json::serialize(json::value(number));
}

}  // namespace

const json::value* SpecScope::find(std::string_view name) const {
  for (const json::object* place : places()) {
    const json::value* found = place == nullptr ? nullptr : look_up(*place, name);
    if (found != nullptr && !found->is_null()) return found;
  }
  return nullptr;
}

bool SpecScope::states(std::string_view name) const {
  return std::ranges::any_of(places(), [&](const json::object* place) {
    return place != nullptr && look_up(*place, name) != nullptr;
  });
}

std::array<const json::object*, 4> SpecScope::places() const {
  return {&variables_, &config_, root_, &checkpoint_.config().get_object()};
}

const CheckpointTensor* SpecScope::tensor(std::string_view name) const {
  constexpr std::string_view kMark = "{layer}";
  std::string whole(name);
  const json::value* layer = variables_.if_contains("layer");
  const std::size_t at = whole.find(kMark);
  if (at != std::string::npos && layer != nullptr)
    whole.replace(at, kMark.size(), json::serialize(*layer));
  return find_tensor(checkpoint_, whole, prefixes_);
}

Result<json::value> SpecScope::numbers_of(std::string_view tensor) const {
  const CheckpointTensor* found = this->tensor(tensor);
  if (found == nullptr) return json::value();
  const std::int64_t count = found->shape.empty() ? 1 : found->shape[0];
  if (!is_float(found->dtype) || found->shape.size() > 1 || count > kMaxNumbers) {
    return Error{ModelErrc::kBadTensor, found->file() + ": " + found->name +
                                            " is no vector of at most " +
                                            std::to_string(kMaxNumbers) + " numbers"};
  }
  std::vector<float> numbers(static_cast<std::size_t>(count));
  if (const auto read = read_values(*found, 0, 1, numbers); !read) return read.error();
  tensors_read_.push_back(found->name);
  return json::value(json::array(numbers.begin(), numbers.end()));
}

std::vector<std::int64_t> SpecScope::shape_of(std::string_view tensor) const {
  const CheckpointTensor* found = this->tensor(tensor);
  if (found != nullptr) return found->shape;
  const bool assumed = std::ranges::any_of(
      assumed_, [&](const std::string& beginning) { return tensor.starts_with(beginning); });
  return assumed ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>();
}

void SpecScope::set(std::string_view name, json::value value) {
  variables_[name] = std::move(value);
}

json::value SpecScope::evaluate(const json::value& value, const std::string& where) {
  if (value.is_array()) {
    json::array items;
    for (const json::value& item : value.get_array()) items.push_back(evaluate(item, where));
    return items;
  }
  if (!value.is_string() || !value.get_string().starts_with('=')) return value;
  const std::string_view text = value.get_string();
  const auto expression = Expression::parse(text.substr(1));
  if (!expression) {
    fail({ModelErrc::kBadSpec, where + ": " + expression.error().detail});
    return nullptr;
  }
  auto result = expression->evaluate(*this);
  if (!result) {
    fail({result.error().code, where + " " + std::string(text) + ": " + result.error().detail});
    return nullptr;
  }
  return std::move(*result);
}

std::string SpecTableReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void SpecTableReader::fail(std::string_view key, const std::string& what) const {
  std::string where = path_of(key);
  const json::value* raw = fields_ == nullptr ? nullptr : fields_->if_contains(key);
  if (raw != nullptr && raw->is_string()) where.append(" ").append(raw->get_string());
  scope_.fail({ModelErrc::kBadConfig, where + ": " + what});
}

bool SpecTableReader::has(std::string_view key) const {
  return fields_ != nullptr && fields_->contains(key);
}

SpecTableReader SpecTableReader::table(std::string_view key) const {
  const json::value* found = fields_ == nullptr ? nullptr : fields_->if_contains(key);
  return {scope_, found == nullptr ? nullptr : found->if_object(), path_of(key)};
}

json::value SpecTableReader::value(std::string_view key) const {
  const json::value* found = fields_ == nullptr ? nullptr : fields_->if_contains(key);
  return found == nullptr ? json::value() : scope_.evaluate(*found, path_of(key));
}

bool SpecTableReader::flag(std::string_view key, bool otherwise) const {
  const json::value found = value(key);
  if (found.is_null()) return otherwise;
  if (found.is_bool()) return found.get_bool();
  fail(key, json::serialize(found) + " where true or false is needed");
  return otherwise;
}

std::string SpecTableReader::text(std::string_view key, std::string_view otherwise) const {
  const json::value found = value(key);
  if (found.is_null()) return std::string(otherwise);
  if (found.is_string()) return std::string(found.get_string());
  fail(key, json::serialize(found) + " where a string is needed");
  return std::string(otherwise);
}

std::vector<std::string> SpecTableReader::texts(std::string_view key) const {
  const json::value found = value(key);
  if (found.is_null()) return {};
  if (found.is_string()) return {std::string(found.get_string())};
  std::vector<std::string> all;
  if (const json::array* list = found.if_array()) {
    for (const json::value& item : *list) {
      if (item.is_string()) all.emplace_back(item.get_string());
    }
    if (all.size() == list->size()) return all;
  }
  fail(key, json::serialize(found) + " where a string or a list of strings is needed");
  return {};
}

double SpecTableReader::number(std::string_view key, std::optional<double> otherwise, double low,
                               double high) const {
  const json::value found = value(key);
  if (found.is_null()) {
    if (!otherwise) fail(key, "is missing");
    return otherwise.value_or(low);
  }
  if (!found.is_number()) {
    fail(key, json::serialize(found) + " where a number is needed");
    return low;
  }
  const double number = found.to_number<double>();
  if (std::isfinite(number) && number >= low && number <= high) return number;
  fail(key, json::serialize(found) + " is not in " + number_text(low) + " .. " + number_text(high));
  return low;
}

std::int64_t SpecTableReader::integer(std::string_view key, std::optional<std::int64_t> otherwise,
                                      std::int64_t low, std::int64_t high) const {
  const std::optional<double> standard =
      otherwise ? std::optional(static_cast<double>(*otherwise)) : std::nullopt;
  const double found = number(key, standard, static_cast<double>(low), static_cast<double>(high));
  if (std::trunc(found) != found) fail(key, number_text(found) + " is not a whole number");
  return static_cast<std::int64_t>(found);
}

}  // namespace weft
