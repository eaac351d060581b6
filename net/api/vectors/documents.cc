#include "weft/net/api/vectors/documents.h"

#include <span>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Takes `rank_fields`; absent means "text".
std::vector<std::string_view> take_rank_fields(const BodyFields& fields) {
  const auto list = fields.array("rank_fields");
  if (!list) return {"text"};
  std::vector<std::string_view> names;
  for (const dom::element entry : *list) {
    std::string_view name;
    if (names.size() == defaults::kMaxRankFields) {
      fields.fail("rank_fields", "has more than " + std::to_string(names.size()) + " names");
    } else if (entry.get(name) != simdjson::SUCCESS) {
      fields.fail(indexed("rank_fields", names.size()), "must be a string", api_code::kInvalidType);
    }
    if (fields.error()) return {};
    names.push_back(name);
  }
  if (names.empty()) return {"text"};
  return names;
}

/// Returns a field's value as a text; nothing where there is none.
std::string value_text(dom::object document, std::string_view name) {
  dom::element value;
  if (document.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) return {};
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(value);
}

std::string ranked_text(dom::object document, std::span<const std::string_view> names) {
  if (names.size() == 1) return value_text(document, names.front());
  std::string lines;
  for (const std::string_view name : names) {
    const std::string value = value_text(document, name);
    if (value.empty()) continue;
    lines.append(lines.empty() ? "" : "\n").append(name).append(": ").append(value);
  }
  return lines;
}

/// Returns the text by which one document is ranked. A document without text is a mistake.
std::string text_of(const BodyFields& fields, const std::string& path, dom::element document,
                    std::span<const std::string_view> names) {
  std::string_view text;
  dom::object object;
  std::string ranked;
  if (document.get(text) == simdjson::SUCCESS) {
    ranked = text;
  } else if (document.get(object) != simdjson::SUCCESS) {
    fields.fail(path, "must be a string or an object", api_code::kInvalidType);
  } else if (ranked = ranked_text(object, names); ranked.empty()) {
    const std::string known = names.size() == 1 && names.front() == "text"
                                  ? "must be a string, or an object with a \"text\""
                                  : "has none of the rank_fields";
    fields.fail(path, known, api_code::kInvalidType);
  }
  if (ranked.empty()) fields.fail(path, "is empty");
  return ranked;
}

/// Returns the document as an answer repeats it: an object unchanged, a text as {"text": ...}.
std::string shown_document(dom::element document) {
  std::string_view text;
  if (document.get(text) != simdjson::SUCCESS) return simdjson::minify(document);
  std::string object = "{\"text\":";
  append_json_string(object, text);
  object.push_back('}');
  return object;
}

}  // namespace

Documents take_documents(const BodyFields& fields, std::size_t most, bool repeated) {
  constexpr std::string_view kName = "documents";
  const std::vector<std::string_view> names = take_rank_fields(fields);
  Documents documents;
  const auto value = fields.any(kName);
  if (!value) {
    fields.fail(kName, "is missing", api_code::kMissing);
    return documents;
  }
  const auto add = [&](const std::string& path, dom::element document) {
    documents.texts.push_back(text_of(fields, path, document, names));
    if (repeated && !fields.error()) documents.json.push_back(shown_document(document));
  };
  dom::array list;
  if (value->get(list) != simdjson::SUCCESS) {
    add(std::string(kName), *value);
    return documents;
  }
  if (!has_at_most(fields, kName, list, most, "texts")) return documents;
  for (const dom::element document : list) {
    if (fields.error()) break;
    add(indexed(kName, documents.texts.size()), document);
  }
  if (documents.texts.empty()) fields.fail(kName, "is empty");
  return documents;
}

}  // namespace weft
