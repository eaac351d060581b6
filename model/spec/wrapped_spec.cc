#include "weft/model/spec/wrapped_spec.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/spec_values.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kWraps = "wraps";

bool claims_type(const Spec& spec, const std::string& model_type) {
  const json::value* claims = spec.tree().if_contains("claims");
  const json::value* types =
      claims == nullptr ? nullptr : claims->get_object().if_contains("model_type");
  if (types == nullptr || spec.tree().contains(kWraps)) return false;
  const json::array& list = types->get_array();
  return std::ranges::find(list, json::value(model_type)) != list.end();
}

json::array joined_lists(const json::value* first, const json::value& second) {
  json::array items;
  for (const json::value* each : {first, &second}) {
    if (each == nullptr) continue;
    if (const json::array* list = each->if_array()) {
      items.insert(items.end(), list->begin(), list->end());
    } else {
      items.push_back(*each);
    }
  }
  return items;
}

/// The variables of both: those of the wrapper come first, so that the family's see them.
json::object joined_variables(const std::string& model_type, const json::object& family,
                              const json::object& wrapper) {
  json::object variables{{"model_type", model_type}};
  for (const json::object* tree : {&wrapper, &family}) {
    const json::value* let = tree->if_contains("let");
    if (let == nullptr) continue;
    for (const auto& [name, value] : let->get_object()) variables[name] = value;
  }
  return variables;
}

/// Ties a head without a weight of its own to the embedding. A config may state for the whole what
/// it does not state for the text model, or the other way round, so `tie_word_embeddings` is not
/// asked.
void tie_missing_head(json::object& tree) {
  json::value* const head = tree.if_contains("head");
  json::object* const table = head == nullptr ? nullptr : head->if_object();
  const json::value* const tensor = table == nullptr ? nullptr : table->if_contains("tensor");
  if (tensor == nullptr || !tensor->is_string()) return;
  const std::string name(tensor->get_string());
  if (name.starts_with('=')) return;
  (*table)["tied"] = "= not has('" + name + ".weight')";
}

json::object joined_trees(const std::string& model_type, const json::object& family,
                          const json::object& wrapper) {
  json::object over = wrapper;
  over["let"] = joined_variables(model_type, family, wrapper);
  for (const std::string_view key : {"optional_prefixes", "ignored_tensors", "requires"}) {
    json::value* own = over.if_contains(key);
    if (own != nullptr) *own = joined_lists(family.if_contains(key), *own);
  }
  json::object base = family;
  base.erase("let");
  json::object tree = merge_tables(base, over);
  tree.erase(kWraps);
  tree["name"] = family.at("name");
  tie_missing_head(tree);
  return tree;
}

}  // namespace

Result<Spec> unwrap_spec(const Spec& spec, const Checkpoint& checkpoint) {
  if (!spec.tree().contains(kWraps)) return spec;
  SpecScope scope(checkpoint);
  const std::string type = SpecTableReader(scope, &spec.tree(), "").text(kWraps, "");
  if (scope.error()) {
    Error error = *scope.error();
    error.detail = checkpoint.path().string() + " read by " + spec.file() + ": " + error.detail;
    return error;
  }
  const auto specs = builtin_specs();
  const auto family =
      std::ranges::find_if(specs, [&](const Spec& each) { return claims_type(each, type); });
  if (family == specs.end()) {
    return Error{ModelErrc::kUnknownModel,
                 checkpoint.path().string() + ", the text model's model_type \"" + type + "\""};
  }
  return Spec(family->name(), family->file() + " in " + spec.file(),
              joined_trees(type, family->tree(), spec.tree()));
}

}  // namespace weft
