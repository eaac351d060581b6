#include "weft/model/spec/gguf_spec.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "weft/config/builtin_specs.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/spec.h"
#include "weft/model/spec/spec_values.h"

namespace weft {
namespace {

namespace json = boost::json;

const Spec& common_gguf_spec() {
  // A test parses it, so only a broken build throws.
  static const Spec spec = Spec::parse(builtin_gguf_text(), "gguf.toml").value();
  return spec;
}

std::string_view architecture_of(const Checkpoint& checkpoint) {
  const json::value* found = checkpoint.config().get_object().if_contains("general.architecture");
  return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                : std::string_view();
}

/// Returns the fields that begin with the architecture's name, without that name: "block_count".
json::object own_fields(const Checkpoint& checkpoint) {
  const std::string prefix = std::string(architecture_of(checkpoint)) + ".";
  json::object fields;
  for (const auto& [key, value] : checkpoint.config().get_object()) {
    if (key.starts_with(prefix)) fields[key.substr(prefix.size())] = value;
  }
  return fields;
}

/// Replaces keys of `base` by the same keys of `common`, and adds no other keys. A tensor's name
/// replaces the name in the table of that key.
json::object replace_present(const json::object& base, const json::object& common) {
  json::object replaced = base;
  for (const auto& [key, value] : common) {
    json::value* place = replaced.if_contains(key);
    if (place == nullptr) continue;
    if (!place->is_object()) {
      *place = value;
    } else if (value.is_object()) {
      *place = replace_present(place->get_object(), value.get_object());
    } else if (json::value* tensor = place->get_object().if_contains("tensor")) {
      *tensor = value;
    }
  }
  return replaced;
}

// Keys of tables whose values are names of tensors.
constexpr std::array<std::string_view, 6> kNameKeys = {"tensor",         "types", "sinks",
                                                       "selection_bias", "bias",  "weight_scales"};

bool is_name_key(std::string_view key) {
  return std::ranges::find(kNameKeys, key) != kNameKeys.end();
}

/// Whether a key may have a tensor's name instead of a table with the key `tensor`.
bool may_be_name(std::string_view key) {
  constexpr std::array<std::string_view, 19> kTables = {
      "q",          "k",          "v",      "qkv",    "out",        "gate",     "up",
      "gate_up",    "down",       "q_norm", "k_norm", "norm_in",    "norm_out", "norm_sum",
      "norm_inner", "final_norm", "norm",   "v_norm", "router_norm"};
  constexpr std::array<std::string_view, 5> kOthers = {"projection", "token_norm", "router_tensor",
                                                       "gate_tensor", "relative_bias"};
  return std::ranges::find(kTables, key) != kTables.end() ||
         std::ranges::find(kOthers, key) != kOthers.end();
}

/// Returns `base` with the tensor names of `over`, and nothing else of `over`.
json::object rename_tensors(const json::object& base, const json::object& over) {
  json::object renamed = base;
  for (const auto& [key, value] : over) {
    json::value* place = renamed.if_contains(key);
    const bool is_name = is_name_key(key);
    if (!is_name && value.is_object()) {
      if (place != nullptr && !place->is_object()) *place = json::object{{"tensor", *place}};
      const json::object inside = place == nullptr ? json::object() : place->get_object();
      json::object made = rename_tensors(inside, value.get_object());
      if (place != nullptr || made.contains("tensor")) renamed[key] = std::move(made);
    } else if (!is_name && may_be_name(key) && place != nullptr && place->is_object()) {
      place->get_object()["tensor"] = value;
    } else if (is_name || may_be_name(key)) {
      renamed[key] = value;
    }
  }
  return renamed;
}

const json::object* table_of(const json::object& tree, std::string_view name,
                             std::string_view inner) {
  const json::value* outer = tree.if_contains(name);
  if (outer == nullptr || !outer->is_object()) return nullptr;
  const json::value* found = outer->get_object().if_contains(inner);
  return found == nullptr ? nullptr : found->if_object();
}

bool names_architecture(const Spec& spec, const std::string& architecture) {
  const json::value* gguf = spec.tree().if_contains("gguf");
  const json::value* names =
      gguf == nullptr ? nullptr : gguf->get_object().if_contains("architectures");
  if (names == nullptr) return false;
  return std::ranges::find(names->get_array(), json::value(architecture)) !=
         names->get_array().end();
}

/// Returns one value if all are equal, else a list; null if there is none.
json::value in_short(json::array values) {
  if (values.empty()) return nullptr;
  const bool alike = std::ranges::all_of(values, [&](const auto& one) { return one == values[0]; });
  return alike ? values[0] : json::value(std::move(values));
}

}  // namespace

bool claims_gguf(const Spec& spec, const Checkpoint& checkpoint) {
  SpecScope scope(checkpoint);
  const SpecTableReader gguf = SpecTableReader(scope, &spec.tree(), "").table("gguf");
  if (!gguf.present()) return false;
  const std::vector<std::string> names = gguf.texts("architectures");
  if (std::ranges::find(names, architecture_of(checkpoint)) == names.end()) return false;
  scope.set("arch", own_fields(checkpoint));
  return gguf.flag("where", true) && !scope.error();
}

json::object apply_gguf(const Spec& spec, SpecScope& scope) {
  scope.set("arch", own_fields(scope.checkpoint()));
  if (!spec.tree().contains("gguf")) return spec.tree();
  json::object tree = replace_present(spec.tree(), common_gguf_spec().tree());
  json::object config;
  for (const Spec* each : {&common_gguf_spec(), &spec}) {
    const SpecTableReader gguf = SpecTableReader(scope, &each->tree(), "").table("gguf");
    const SpecTableReader fields = gguf.table("config");
    if (fields.present()) {
      for (const auto& [key, unused] : *fields.fields()) {
        json::value value = fields.value(key);
        // A field that the file lacks stays unstated, which differs from null.
        if (!value.is_null()) config[key] = std::move(value);
      }
    }
    scope.set_config(config);
    const SpecTableReader over = gguf.table("override");
    if (over.present()) tree = merge_tables(tree, *over.fields());
  }
  return tree;
}

Result<GgufTarget> gguf_target(const Spec& spec, SpecScope& scope) {
  const SpecTableReader gguf = SpecTableReader(scope, &spec.tree(), "").table("gguf");
  const std::vector<std::string> own = gguf.texts("architectures");
  GgufTarget target{gguf.text("write_as", own.empty() ? "" : own.front()), nullptr};
  if (target.architecture.empty()) {
    return Error{ModelErrc::kUnsupportedFormat,
                 spec.name() + ": GGUF has no architecture for this family"};
  }
  if (names_architecture(spec, target.architecture)) {
    target.reader = &spec;
    return target;
  }
  const auto specs = builtin_specs();
  const auto found = std::ranges::find_if(
      specs, [&](const Spec& other) { return names_architecture(other, target.architecture); });
  if (found == specs.end()) {
    return Error{ModelErrc::kBadSpec,
                 spec.file() + ": gguf.write_as: no spec reads " + target.architecture};
  }
  target.reader = &*found;
  return target;
}

json::object gguf_naming(const Spec& spec, const Spec& reader) {
  // Names of gguf.toml apply only where the family has the key; names of overrides always apply.
  json::object tree =
      rename_tensors(spec.tree(), replace_present(spec.tree(), common_gguf_spec().tree()));
  for (const Spec* each : {&common_gguf_spec(), &reader}) {
    if (const json::object* over = table_of(each->tree(), "gguf", "override")) {
      tree = rename_tensors(tree, *over);
    }
  }
  return tree;
}

json::object gguf_metadata(const Spec& spec, const Spec& reader, SpecScope& scope,
                           const std::vector<json::object>& layers) {
  json::object metadata;
  std::vector<const Spec*> sources = {&common_gguf_spec(), &reader};
  if (&spec != &reader) sources.push_back(&spec);
  for (const Spec* each : sources) {
    const json::object* keys = table_of(each->tree(), "gguf", "metadata");
    if (keys == nullptr) continue;
    for (const auto& [key, value] : *keys) {
      json::array values;
      for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        scope.set("layer", layer);
        scope.set("model", layers[layer]);
        json::value one = scope.evaluate(value, "gguf.metadata." + std::string(key));
        if (!one.is_null()) values.push_back(std::move(one));
      }
      metadata[key] = in_short(std::move(values));
    }
  }
  return metadata;
}

}  // namespace weft
