#include "weft/model/spec/spec.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "weft/config/builtin_specs.h"
#include "weft/config/toml_text.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/expression.h"
#include "weft/model/spec/gguf_spec.h"
#include "weft/model/spec/wrapped_spec.h"

namespace weft {
namespace {

namespace json = boost::json;

// TOML nests by dotted keys; no table of the schema is deeper.
constexpr int kMaxSpecDepth = 16;

Error bad_spec(const std::string& file, const std::string& what) {
  return {ModelErrc::kBadSpec, file + ": " + what};
}

Result<json::value> from_toml(const toml::node& node, const std::string& file, int depth);

// Keys keep the order of the file (toml++ sorts them), because a `let` may use earlier ones.
Result<json::value> from_table(const toml::table& table, const std::string& file, int depth) {
  std::vector<std::pair<std::string, const toml::node*>> entries;
  for (const auto& [key, item] : table) entries.emplace_back(key.str(), &item);
  std::ranges::stable_sort(entries, [](const auto& left, const auto& right) {
    const toml::source_position a = left.second->source().begin;
    const toml::source_position b = right.second->source().begin;
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  json::object fields;
  for (const auto& [key, item] : entries) {
    auto converted = from_toml(*item, file, depth + 1);
    if (!converted) return converted;
    fields[key] = std::move(*converted);
  }
  return json::value(std::move(fields));
}

Result<json::value> from_toml(const toml::node& node, const std::string& file, int depth) {
  if (depth > kMaxSpecDepth) return bad_spec(file, "nested too deeply");
  if (const auto* text = node.as_string()) return json::value(text->get());
  if (const auto* number = node.as_integer()) return json::value(number->get());
  if (const auto* real = node.as_floating_point()) return json::value(real->get());
  if (const auto* flag = node.as_boolean()) return json::value(flag->get());
  if (const auto* list = node.as_array()) {
    json::array items;
    for (const toml::node& item : *list) {
      auto converted = from_toml(item, file, depth + 1);
      if (!converted) return converted;
      items.push_back(std::move(*converted));
    }
    return json::value(std::move(items));
  }
  if (const auto* table = node.as_table()) {
    return from_table(*table, file, depth);
  }
  return bad_spec(place_of(node, file), "dates are not used in specs");
}

const SpecTable& table_named(std::string_view name) {
  return *std::ranges::find(spec_schema(), name, &SpecTable::name);
}

struct KeyRule {
  bool known = false;
  std::string_view table;  // empty: a value
  bool or_value = false;   // a table or a value
};

KeyRule rule_of(const SpecTable& table, std::string_view key) {
  for (const std::string_view entry : table.keys) {
    if (entry == "*") return {true, {}};
    if (entry.starts_with('^')) {
      const KeyRule inherited = rule_of(table_named(entry.substr(1)), key);
      if (inherited.known) return inherited;
    }
    const std::size_t mark = entry.find_first_of(":|");
    if (entry.substr(0, mark) != key) continue;
    if (mark == std::string_view::npos) return {true, {}};
    return {true, entry.substr(mark + 1), entry[mark] == '|'};
  }
  return {};
}

bool names_a_tensor(const SpecTable& table) {
  return std::ranges::find(table.keys, "tensor") != table.keys.end();
}

bool is_expression(const json::value& value) {
  return value.is_string() && value.get_string().starts_with('=');
}

// Parses expressions when the spec is read, so that a mistake shows at once and not only for a
// model that uses that branch.
Result<void> check_value(const json::value& value, const std::string& where,
                         const std::string& file) {
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) {
      auto checked = check_value(item, where, file);
      if (!checked) return checked;
    }
    return {};
  }
  if (!is_expression(value)) return {};
  const std::string_view text = value.get_string();
  const auto parsed = Expression::parse(text.substr(1));
  if (!parsed) return bad_spec(file, where + ": " + parsed.error().detail);
  return {};
}

Result<void> check_table(const json::object& fields, const SpecTable& table,
                         const std::string& where, const std::string& file) {
  for (const auto& [key, value] : fields) {
    const std::string path = where.empty() ? std::string(key) : where + "." + std::string(key);
    const KeyRule rule = rule_of(table, key);
    if (!rule.known) return bad_spec(file, path + " is not a key of a spec");
    Result<void> checked;
    if (!rule.table.empty() && value.is_object()) {
      checked = check_table(value.get_object(), table_named(rule.table), path, file);
    } else if (!rule.table.empty() && !rule.or_value && !names_a_tensor(table_named(rule.table))) {
      return bad_spec(file, path + " must be a table");
    } else if (rule.table.empty() && value.is_object()) {
      return bad_spec(file, path + " must be a value, not a table");
    } else {
      checked = check_value(value, path, file);
    }
    if (!checked) return checked;
  }
  return {};
}

Result<void> check_requirements(const json::object& fields, const std::string& file) {
  const json::value* found = fields.if_contains("requires");
  if (found == nullptr) return {};
  if (found->is_array() && std::ranges::all_of(found->get_array(), is_expression)) return {};
  return bad_spec(file, "requires must be a list of expressions");
}

bool lists(const json::object& claims, std::string_view key, const json::value* wanted) {
  if (wanted == nullptr || !wanted->is_string()) return false;
  const json::value* names = claims.if_contains(key);
  if (names == nullptr || !names->is_array()) return false;
  return std::ranges::find(names->get_array(), *wanted) != names->get_array().end();
}

const json::object* table_at(const json::object& tree, std::string_view key) {
  const json::value* found = tree.if_contains(key);
  return found == nullptr ? nullptr : found->if_object();
}

std::string describe_model(const Checkpoint& checkpoint) {
  const auto& config = checkpoint.config().get_object();
  std::string text = checkpoint.path().string();
  for (const char* key : {"model_type", "architectures", "general.architecture"}) {
    if (const json::value* found = config.if_contains(key)) {
      text.append(", ").append(key).append(" ").append(json::serialize(*found));
    }
  }
  return text;
}

}  // namespace

json::object merge_tables(const json::object& base, const json::object& over) {
  json::object merged = base;
  for (const auto& [key, value] : over) {
    json::value& place = merged[key];
    if (place.is_object() && value.is_object()) {
      place = merge_tables(place.get_object(), value.get_object());
    } else {
      place = value;
    }
  }
  return merged;
}

Result<Spec> Spec::parse(std::string_view toml_text, std::string file) {
  const Result<toml::table> document = parse_toml(toml_text, file);
  if (!document) return Error{ModelErrc::kBadSpec, document.error().detail};
  auto tree = from_toml(*document, file, 0);
  if (!tree) return tree.error();
  json::object fields = std::move(tree->get_object());
  auto checked = check_table(fields, table_named("top"), "", file);
  if (checked) checked = check_requirements(fields, file);
  if (!checked) return checked.error();
  const json::value* name = fields.if_contains("name");
  if (name == nullptr || !name->is_string()) return bad_spec(file, "name is missing");
  std::string own_name(name->get_string());
  return Spec(std::move(own_name), std::move(file), std::move(fields));
}

Result<Spec> Spec::load(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxTomlBytes);
  if (!text) return text.error();
  return parse(*text, path.string());
}

bool Spec::claims(const Checkpoint& checkpoint) const {
  const auto& config = checkpoint.config().get_object();
  if (checkpoint.format() == CheckpointFormat::kGguf) return claims_gguf(*this, checkpoint);
  const json::object* claimed = table_at(tree_, "claims");
  if (claimed == nullptr) return false;
  const json::value* architectures = config.if_contains("architectures");
  const bool named = architectures != nullptr && architectures->is_array() &&
                     std::ranges::any_of(architectures->get_array(), [&](const json::value& one) {
                       return lists(*claimed, "architectures", &one);
                     });
  return named || lists(*claimed, "model_type", config.if_contains("model_type"));
}

std::span<const Spec> builtin_specs() {
  static const std::vector<Spec> specs = [] {
    std::vector<Spec> parsed;
    for (const BuiltinSpec& text : builtin_spec_texts()) {
      auto spec = Spec::parse(text.toml, std::string(text.name) + ".toml");
      // A test parses each, so only a broken build throws.
      parsed.push_back(std::move(spec).value());
    }
    return parsed;
  }();
  return specs;
}

Result<Spec> find_spec(const Checkpoint& checkpoint) {
  namespace fs = std::filesystem;
  const fs::path& path = checkpoint.path();
  std::error_code ignored;
  const fs::path own = fs::is_directory(path, ignored)
                           ? path / "weft.toml"
                           : fs::path(path).replace_extension(".weft.toml");
  if (fs::exists(own, ignored)) return spec_from(own, checkpoint);
  const auto specs = builtin_specs();
  const auto found =
      std::ranges::find_if(specs, [&](const Spec& spec) { return spec.claims(checkpoint); });
  if (found == specs.end()) return Error{ModelErrc::kUnknownModel, describe_model(checkpoint)};
  return unwrap_spec(*found, checkpoint);
}

Result<Spec> spec_from(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const auto spec = Spec::load(path);
  return spec ? unwrap_spec(*spec, checkpoint) : spec;
}

}  // namespace weft
