#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/tokenizer/json/tokenizer_json.h"

namespace weft {
namespace {

using simdjson::dom::element;

/// The most token types that a template may name; only 0 and 1 distinguish texts.
constexpr std::int64_t kMostTypes = 255;

/// Returns an id; kNoToken, and a mistake, when the element is none.
TokenId read_id(const TokenizerFields& fields, std::string_view name, element value) {
  std::int64_t id = -1;
  if (value.get(id) != simdjson::SUCCESS || id < 0 || id > std::numeric_limits<TokenId>::max()) {
    fields.fail(name, "has no token id");
    return kNoToken;
  }
  return static_cast<TokenId>(id);
}

/// ["[SEP]", 102]
TokenId read_pair(const TokenizerFields& fields, std::string_view name) {
  const auto items = fields.needed_items(name);
  if (items.size() == 2) return read_id(fields, name, items[1]);
  fields.fail(name, "is no pair of text and id");
  return kNoToken;
}

std::vector<TokenId> ids_of_special(const TokenizerFields& fields, std::string_view name) {
  const TokenizerFields special = fields.needed_child("special_tokens").needed_child(name);
  std::vector<TokenId> ids;
  for (const element item : special.needed_items("ids"))
    ids.push_back(read_id(special, "ids", item));
  return ids;
}

void read_template(const TokenizerFields& fields, PostProcessor& around) {
  PostProcessor own;
  bool seen = false;
  for (const element item : fields.needed_items("single")) {
    const TokenizerFields part(item.get_object(), fields.path_of("single"), fields);
    if (part.has("Sequence")) {
      if (seen || part.needed_child("Sequence").needed_text("id") != "A") {
        fields.fail("single", "has another sequence than one A");
      }
      seen = true;
      continue;
    }
    const std::string name(part.needed_child("SpecialToken").needed_text("id"));
    if (fields.error()) return;
    const std::vector<TokenId> ids = ids_of_special(fields, name);
    std::vector<TokenId>& side = seen ? own.after : own.before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!seen) fields.fail("single", "has no sequence");
  around.before.insert(around.before.begin(), own.before.begin(), own.before.end());
  around.after.insert(around.after.end(), own.after.begin(), own.after.end());
}

/// Puts a post-processor's tokens for two texts around the tokens of an earlier post-processor.
void wrap_pair(PairForm own, PostProcessor& around) {
  if (!around.pair) return;
  PairForm& pair = *around.pair;
  pair.before.insert(pair.before.begin(), own.before.begin(), own.before.end());
  pair.between.insert(pair.between.end(), own.between.begin(), own.between.end());
  pair.after.insert(pair.after.end(), own.after.begin(), own.after.end());
  pair.types_differ = pair.types_differ || own.types_differ;
}

/// Reads the template of two texts. It must be a first text followed by a second, and types may
/// change only where the second begins; no other template is known.
void read_pair_template(const TokenizerFields& fields, PostProcessor& around) {
  if (!fields.has("pair")) {
    around.pair.reset();
    return;
  }
  PairForm own;
  std::vector<TokenId>* side = &own.before;
  bool known = true;
  for (const element item : fields.needed_items("pair")) {
    const TokenizerFields part(item.get_object(), fields.path_of("pair"), fields);
    const bool is_text = part.has("Sequence");
    const TokenizerFields said = part.needed_child(is_text ? "Sequence" : "SpecialToken");
    const std::int64_t type = said.integer("type_id", 0, kMostTypes).value_or(0);
    const std::string id(said.needed_text("id"));
    if (fields.error()) return;
    if (!is_text) {
      known = known && type == (side == &own.after && own.types_differ ? 1 : 0);
      const std::vector<TokenId> ids = ids_of_special(fields, id);
      side->insert(side->end(), ids.begin(), ids.end());
    } else if (id == "A" && side == &own.before) {
      known = known && type == 0;
      side = &own.between;
    } else if (id == "B" && side == &own.between) {
      own.types_differ = type == 1;
      side = &own.after;
    } else {
      known = false;
    }
  }
  if (known && side == &own.after) return wrap_pair(std::move(own), around);
  around.pair.reset();
}

}  // namespace

void read_post_processor(const TokenizerFields& fields, PostProcessor& around) {
  const std::string_view type = fields.needed_text("type");
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const element item : fields.needed_items("processors")) {
      read_post_processor({item.get_object(), indexed(fields.path(), index++), fields}, around);
    }
  } else if (type == "TemplateProcessing") {
    read_template(fields, around);
    read_pair_template(fields, around);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const TokenId first = read_pair(fields, "cls");
    const TokenId last = read_pair(fields, "sep");
    around.before.insert(around.before.begin(), first);
    around.after.push_back(last);
    const bool is_bert = type == "BertProcessing";
    PairForm pair{{first}, {last}, {last}, is_bert};
    if (!is_bert) pair.between.push_back(last);
    wrap_pair(std::move(pair), around);
  } else if (type != "ByteLevel") {  // it only moves offsets
    fail_unknown(fields, "type", type);
  }
}

std::vector<AddedToken> read_added_tokens(const TokenizerFields& root) {
  std::vector<AddedToken> tokens;
  if (!root.has("added_tokens")) return tokens;
  for (const element item : root.needed_items("added_tokens")) {
    const TokenizerFields fields(item.get_object(), root.path_of("added_tokens"), root);
    AddedToken token;
    token.content = fields.needed_text("content");
    if (token.content.empty()) fields.fail("content", "is empty");
    token.id =
        static_cast<TokenId>(fields.needed_integer("id", 0, std::numeric_limits<TokenId>::max()));
    token.single_word = fields.flag("single_word").value_or(false);
    token.left_strip = fields.flag("lstrip").value_or(false);
    token.right_strip = fields.flag("rstrip").value_or(false);
    token.special = fields.flag("special").value_or(false);
    token.normalized = fields.flag("normalized").value_or(!token.special);
    tokens.push_back(std::move(token));
  }
  std::ranges::stable_sort(tokens, {}, &AddedToken::id);
  return tokens;
}

}  // namespace weft
