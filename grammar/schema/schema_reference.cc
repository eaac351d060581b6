#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "weft/core/text/hex_value.h"
#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;

/// Returns the JSON pointer in a URI's fragment, which has percent escapes.
std::string unescaped(std::string_view fragment) {
  std::string pointer;
  for (std::size_t i = 0; i < fragment.size(); ++i) {
    if (fragment[i] == '%' && i + 2 < fragment.size() && hex_value(fragment[i + 1]) >= 0 &&
        hex_value(fragment[i + 2]) >= 0) {
      pointer += static_cast<char>(hex_value(fragment[i + 1]) * 16 + hex_value(fragment[i + 2]));
      i += 2;
    } else {
      pointer += fragment[i];
    }
  }
  return pointer;
}

/// The schema that stands for an unknown target of a reference.
const Value& anything() {
  static const Value value = true;
  return value;
}

const Value* id_of(const Value& value) {
  const Object* const object = value.if_object();
  const Value* const id = object == nullptr ? nullptr : object->if_contains("$id");
  return id != nullptr && id->is_string() ? id : nullptr;
}

}  // namespace

Object without(const Object& object, std::string_view keyword) {
  Object rest;
  for (const auto& member : object) {
    if (member.key() != keyword && !is_annotation(member.key())) {
      rest.emplace(member.key(), member.value());
    }
  }
  return rest;
}

/// Whether references in a schema start at that schema, because it has an identity of its own. A
/// mere "#name" is an anchor of draft 7.
bool SchemaReader::is_resource(const Value& value) const {
  const Value* const id = id_of(value);
  const Value* const whole = id_of(root_);
  return id != nullptr && !id->get_string().starts_with('#') && (whole == nullptr || *id != *whole);
}

const SchemaReader::Value* SchemaReader::resolve(std::string_view reference,
                                                 const std::string& path) {
  const std::string where = below(path, "$ref");
  const std::string shown = "'" + std::string(cut_utf8(reference, 80)) + "'";
  const Value* const id = id_of(root_);
  if (id != nullptr && reference.starts_with(std::string_view(id->get_string()))) {
    const auto behind = reference.substr(id->get_string().size());
    if (behind.empty()) return &root_;
    if (behind.starts_with('#')) reference = behind;
  }
  if (reference == "#") return &root_;
  if (!reference.starts_with("#/")) {
    return lets_pass(where, shown + " is not a place in this schema") ? &anything() : nullptr;
  }
  const std::string pointer = unescaped(reference.substr(1));
  boost::system::error_code missing;
  const Value* const found = root_.find_pointer(pointer, missing);
  if (found == nullptr) {
    fail(where, shown + " is not there", false);
    return nullptr;
  }
  for (std::size_t at = pointer.find('/', 1); at != std::string::npos;
       at = pointer.find('/', at + 1)) {
    const Value* const on_the_way = root_.find_pointer(pointer.substr(0, at), missing);
    if (on_the_way == nullptr || !is_resource(*on_the_way)) continue;
    const std::string why =
        " leads through a schema with an $id of its own, which is not supported";
    return lets_pass(where, shown + why) ? &anything() : nullptr;
  }
  return found;
}

SchemaReader::Part SchemaReader::reference(const Object& object, const std::string& path) {
  const Value& ref = object.at("$ref");
  if (!ref.is_string()) return fail(below(path, "$ref"), "must be a string", false);
  const std::string text(ref.get_string());
  const Object rest = without(object, "$ref");
  if (!rest.empty()) {
    const Value* const where = resolve(text, path);
    if (where == nullptr) return {};
    return whole_schema(merged(*where, rest, path), path);
  }
  const auto [found, is_new] = references_.try_emplace(text);
  if (!is_new) return found->second;
  const Value* const where = resolve(text, path);
  if (where == nullptr) return {};
  const Part rule = found->second = builder_.reserve_rule();
  // The path says how the schema was reached, and stays short where references nest.
  const std::string at = name_ + "." + text;
  const std::size_t depth = std::exchange(depth_, 0);
  if (++reference_depth_ > defaults::kMaxGrammarDepth) {
    error_ = Error{GrammarErrc::kTooComplex, path + ": references nest too deeply"};
  } else {
    builder_.define(rule, schema(*where, at));
  }
  --reference_depth_;
  depth_ = depth;
  return rule;
}

SchemaReader::Part SchemaReader::whole_schema(const Value& whole, const std::string& path) {
  if (error_) return {};
  if (!whole.is_object()) return schema(whole, path);
  std::string text = boost::json::serialize(whole);
  if (!work(1 + text.size() / 256)) return {};
  const auto [found, is_new] = wholes_.try_emplace(std::move(text));
  Whole& entry = found->second;  // stays in place while others are added
  if (!is_new) {
    entry.leads_back = entry.leads_back || !entry.body;
    return entry.body.value_or(entry.rule);
  }
  entry.rule = builder_.reserve_rule();
  const Part body = schema(whole, path);
  builder_.define(entry.rule, body);
  entry.body = entry.leads_back ? entry.rule : body;
  return *entry.body;
}

}  // namespace weft::grammar
