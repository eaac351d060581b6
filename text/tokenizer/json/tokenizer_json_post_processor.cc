#include <algorithm>
#include <limits>

#include "weft/text/tokenizer/json/tokenizer_json.h"

namespace weft {
namespace {

using simdjson::dom::element;

/// An id as JSON has it; kNoToken, and an error, when it is none.
TokenId read_id(const JsonFields& fields, std::string_view name, element value) {
  std::int64_t id = -1;
  if (value.get(id) != simdjson::SUCCESS || id < 0 || id > std::numeric_limits<TokenId>::max()) {
    fields.fail(name, "has no token id");
    return kNoToken;
  }
  return static_cast<TokenId>(id);
}

/// ["[SEP]", 102]
TokenId read_pair(const JsonFields& fields, std::string_view name) {
  const auto items = fields.array(name);
  if (items.size() == 2) return read_id(fields, name, items[1]);
  fields.fail(name, "is no pair of text and id");
  return kNoToken;
}

std::vector<TokenId> ids_of_special(const JsonFields& fields, std::string_view name) {
  const JsonFields special = fields.child("special_tokens").child(name);
  std::vector<TokenId> ids;
  for (const element item : special.array("ids")) ids.push_back(read_id(special, "ids", item));
  return ids;
}

void read_template(const JsonFields& fields, PostProcessor& around) {
  PostProcessor own;
  bool seen = false;
  for (const element item : fields.array("single")) {
    const JsonFields part(item, fields.path() + ".single", fields.error());
    if (part.has("Sequence")) {
      if (seen || part.child("Sequence").text("id") != "A") {
        fields.fail("single", "has another sequence than one A");
      }
      seen = true;
      continue;
    }
    const std::string name(part.child("SpecialToken").text("id"));
    if (fields.error()) return;
    const std::vector<TokenId> ids = ids_of_special(fields, name);
    std::vector<TokenId>& side = seen ? own.after : own.before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!seen) fields.fail("single", "has no sequence");
  around.before.insert(around.before.begin(), own.before.begin(), own.before.end());
  around.after.insert(around.after.end(), own.after.begin(), own.after.end());
}

}  // namespace

void read_post_processor(const JsonFields& fields, PostProcessor& around) {
  const std::string_view type = fields.text("type");
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const element item : fields.array("processors")) {
      read_post_processor(
          {item, fields.path() + "[" + std::to_string(index++) + "]", fields.error()}, around);
    }
  } else if (type == "TemplateProcessing") {
    read_template(fields, around);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    around.before.insert(around.before.begin(), read_pair(fields, "cls"));
    around.after.push_back(read_pair(fields, "sep"));
  } else if (type != "ByteLevel") {  // which only moves offsets
    fields.fail_unknown("type", type);
  }
}

std::vector<AddedToken> read_added_tokens(const JsonFields& root) {
  std::vector<AddedToken> tokens;
  if (!root.has("added_tokens")) return tokens;
  for (const element item : root.array("added_tokens")) {
    const JsonFields fields(item, root.path() + ".added_tokens", root.error());
    AddedToken token;
    token.content = fields.text("content");
    if (token.content.empty()) fields.fail("content", "is empty");
    const std::int64_t id = fields.number("id");
    if (id < 0 || id > std::numeric_limits<TokenId>::max()) fields.fail("id", "is no token id");
    token.id = static_cast<TokenId>(id);
    token.single_word = fields.flag("single_word", false);
    token.left_strip = fields.flag("lstrip", false);
    token.right_strip = fields.flag("rstrip", false);
    token.special = fields.flag("special", false);
    token.normalized = fields.flag("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  std::ranges::stable_sort(tokens, {}, &AddedToken::id);
  return tokens;
}

}  // namespace weft
