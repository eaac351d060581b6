#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "weft/core/file.h"
#include "weft/text/json_document.h"
#include "weft/text/json_fields.h"
#include "weft/text/tokenizer.h"
#include "weft/text/tokenizer_load.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;

// The largest tokenizer.json in use has some 35 MB; the other files some kilobytes.
constexpr std::size_t kMaxTokenizerFile = std::size_t{256} << 20;
constexpr std::size_t kMaxConfigFile = std::size_t{8} << 20;

/// The text of a string, or of an object's "content", as added tokens are written.
std::string_view text_of(element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return text;
  if (value["content"].get(text) == simdjson::SUCCESS) return text;
  return {};
}

void set_role(TokenId& role, element config, std::string_view key, const TokenTable& tokens) {
  element value;
  if (role == kNoToken && config[key].get(value) == simdjson::SUCCESS) {
    role = tokens.find(text_of(value));
  }
}

/// Roles by text, as tokenizer_config.json and special_tokens_map.json have them.
void read_role_texts(element config, const TokenTable& tokens, TokenRoles& roles) {
  set_role(roles.bos, config, "bos_token", tokens);
  set_role(roles.eos, config, "eos_token", tokens);
  set_role(roles.padding, config, "pad_token", tokens);
  if (roles.unknown == kNoToken) set_role(roles.unknown, config, "unk_token", tokens);
}

TokenId id_in(element value, const TokenTable& tokens) {
  std::int64_t id = -1;
  if (value.get(id) != simdjson::SUCCESS || id < 0) return kNoToken;
  return static_cast<std::uint64_t>(id) < tokens.size() ? static_cast<TokenId>(id) : kNoToken;
}

/// Roles by id, as generation_config.json and config.json have them; several tokens may end a
/// generation.
void read_role_ids(element config, const TokenTable& tokens, TokenRoles& roles) {
  element value;
  if (roles.bos == kNoToken && config["bos_token_id"].get(value) == simdjson::SUCCESS) {
    roles.bos = id_in(value, tokens);
  }
  if (config["eos_token_id"].get(value) != simdjson::SUCCESS) return;
  std::vector<TokenId> ends;
  simdjson::dom::array several;
  if (value.get(several) == simdjson::SUCCESS) {
    for (const element item : several) ends.push_back(id_in(item, tokens));
  } else {
    ends.push_back(id_in(value, tokens));
  }
  std::erase(ends, kNoToken);
  if (roles.eos == kNoToken && !ends.empty()) roles.eos = ends.front();
  roles.ends.insert(roles.ends.end(), ends.begin(), ends.end());
}

/// Whether the class of a tokenizer_config.json builds its post-processor from add_bos_token and
/// add_eos_token; the others leave it as tokenizer.json has it.
bool heeds_add_flags(std::string_view tokenizer_class) {
  constexpr std::array<std::string_view, 4> kFamilies = {"Llama", "CodeLlama", "Gemma", "Cohere"};
  return std::ranges::any_of(
      kFamilies, [&](std::string_view family) { return tokenizer_class.starts_with(family); });
}

void obey_flag(element config, std::string_view key, TokenId token, std::vector<TokenId>& side) {
  bool wanted = false;
  if (token == kNoToken || config[key].get(wanted) != simdjson::SUCCESS) return;
  const bool has = std::ranges::find(side, token) != side.end();
  if (wanted && !has) side.push_back(token);
  if (!wanted) std::erase(side, token);
}

/// A template, or the one called "default" of several.
std::string_view chat_template_of(element config) {
  element value;
  simdjson::dom::array several;
  if (config["chat_template"].get(value) != simdjson::SUCCESS) return {};
  if (value.get(several) != simdjson::SUCCESS) return text_of(value);
  for (const element item : several) {
    std::string_view name;
    std::string_view text;
    if (item["name"].get(name) == simdjson::SUCCESS && name == "default" &&
        item["template"].get(text) == simdjson::SUCCESS) {
      return text;
    }
  }
  return {};
}

/// Calls `use` with the root of a JSON file, when there is one.
template <class Use>
Result<void> with_json(const fs::path& path, Use use) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  Result<std::string> text = read_text_file(path, kMaxConfigFile);
  if (!text) return text.error();
  Result<JsonDocument> document = JsonDocument::parse(*text, path.string());
  if (!document) return document.error();
  use(document->root());
  return {};
}

void read_tokenizer_config(element config, TokenizerParts& parts) {
  read_role_texts(config, *parts.tokens, parts.roles);
  parts.chat_template = chat_template_of(config);
  element value;
  if (config["tokenizer_class"].get(value) != simdjson::SUCCESS) return;
  if (!heeds_add_flags(text_of(value))) return;
  obey_flag(config, "add_bos_token", parts.roles.bos, parts.post_processor.before);
  obey_flag(config, "add_eos_token", parts.roles.eos, parts.post_processor.after);
}

Result<void> read_beside(const fs::path& folder, TokenizerParts& parts) {
  const TokenTable& tokens = *parts.tokens;
  TokenRoles& roles = parts.roles;
  Result<void> done = with_json(folder / "tokenizer_config.json",
                                [&](element config) { read_tokenizer_config(config, parts); });
  if (!done) return done;
  done = with_json(folder / "special_tokens_map.json",
                   [&](element config) { read_role_texts(config, tokens, roles); });
  if (!done) return done;
  for (const std::string_view name : {"generation_config.json", "config.json"}) {
    done = with_json(folder / name,
                     [&](element config) { read_role_ids(config, tokens, roles); });
    if (!done) return done;
  }
  std::error_code ignored;
  const fs::path jinja = folder / "chat_template.jinja";
  if (!fs::exists(jinja, ignored)) return {};
  Result<std::string> text = read_text_file(jinja, kMaxConfigFile);
  if (!text) return text.error();
  parts.chat_template = std::move(*text);
  return {};
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  Result<std::string> text = read_text_file(file, kMaxTokenizerFile);
  if (!text) return text.error();
  Result<TokenizerParts> parts = read_tokenizer_json(*text, file.string());
  if (!parts) return parts.error();
  Result<void> done = read_beside(file.parent_path(), *parts);
  if (!done) return done.error();
  return assemble(std::move(*parts));
}

}  // namespace weft
