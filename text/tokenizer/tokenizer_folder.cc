#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/text/json/json_text.h"
#include "weft/text/tokenizer/sentencepiece/m2m100_folder.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_load.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// The largest tokenizer.json in use has some 35 MB; the other files some kilobytes.
constexpr std::size_t kMaxTokenizerFile = std::size_t{256} << 20;
constexpr std::size_t kMaxConfigFile = std::size_t{8} << 20;
constexpr std::size_t kMaxConfigDepth = 32;

// Boost.JSON parses these files, because simdjson refuses the model_max_length of 10^30 that many
// of them have.

const json::value* find(const json::value& config, std::string_view key) {
  const json::object* fields = config.if_object();
  return fields == nullptr ? nullptr : fields->if_contains(key);
}

/// The text of a string, or of an object's "content", as added tokens are written.
std::string_view text_of(const json::value* from) {
  if (from != nullptr && from->is_object()) from = find(*from, "content");
  if (from == nullptr || !from->is_string()) return {};
  return {from->get_string().data(), from->get_string().size()};
}

void set_role(TokenId& role, const json::value& config, std::string_view key,
              const TokenTable& tokens) {
  const std::string_view text = text_of(find(config, key));
  if (role == kNoToken && !text.empty()) role = tokens.find(text);
}

/// Reads the tokens' roles by text, from tokenizer_config.json and special_tokens_map.json.
void read_role_texts(const json::value& config, const TokenTable& tokens, TokenRoles& roles) {
  set_role(roles.bos, config, "bos_token", tokens);
  set_role(roles.eos, config, "eos_token", tokens);
  set_role(roles.padding, config, "pad_token", tokens);
  set_role(roles.unknown, config, "unk_token", tokens);
  set_role(roles.mask, config, "mask_token", tokens);
}

/// Finds the mask token for files that name none: the class of BERT's or RoBERTa's tokenizer
/// implies it.
void guess_mask(TokenizerParts& parts) {
  if (parts.roles.mask != kNoToken) return;
  const auto is_mask = [](const AddedToken& token) {
    return token.special && (token.content == "[MASK]" || token.content == "<mask>");
  };
  const auto found = std::ranges::find_if(parts.added, is_mask);
  if (found != parts.added.end()) parts.roles.mask = found->id;
}

/// Returns kNoToken for a value that names no token.
TokenId id_of(const json::value& value, const TokenTable& tokens) {
  const std::int64_t* const number = value.if_int64();
  const bool known =
      number != nullptr && *number >= 0 && static_cast<std::uint64_t>(*number) < tokens.size();
  return known ? static_cast<TokenId>(*number) : kNoToken;
}

/// Returns one or several token ids. Anything else is an error, because a model without an end
/// token would write to the end of its context.
Result<std::vector<TokenId>> end_ids(const json::value& config, const TokenTable& tokens,
                                     const fs::path& file) {
  const json::value* const from = find(config, "eos_token_id");
  std::vector<TokenId> ids;
  if (from == nullptr || from->is_null()) return ids;
  const json::array one{*from};
  for (const json::value& value : from->is_array() ? from->get_array() : one) {
    ids.push_back(id_of(value, tokens));
    if (ids.back() != kNoToken) continue;
    return bad_tokenizer(file.string(), "eos_token_id: " + json::serialize(value) +
                                            " is not a token id in 0 .. " +
                                            std::to_string(tokens.size() - 1));
  }
  return ids;
}

/// Reads the tokens' roles by id, from generation_config.json and config.json; several tokens may
/// end a generation.
Result<void> read_role_ids(const json::value& config, const TokenTable& tokens,
                           const fs::path& file, TokenRoles& roles) {
  const json::value* const begin = find(config, "bos_token_id");
  if (roles.bos == kNoToken && begin != nullptr) roles.bos = id_of(*begin, tokens);
  const auto ends = end_ids(config, tokens, file);
  if (!ends) return ends.error();
  if (roles.eos == kNoToken && !ends->empty()) roles.eos = ends->front();
  roles.ends.insert(roles.ends.end(), ends->begin(), ends->end());
  return {};
}

/// Whether the class in a tokenizer_config.json builds its post-processor from add_bos_token and
/// add_eos_token. Other classes leave it as in tokenizer.json.
bool heeds_add_flags(std::string_view tokenizer_class) {
  constexpr std::array<std::string_view, 4> kFamilies = {"Llama", "CodeLlama", "Gemma", "Cohere"};
  return std::ranges::any_of(
      kFamilies, [&](std::string_view family) { return tokenizer_class.starts_with(family); });
}

void obey_flag(const json::value& config, std::string_view key, TokenId token,
               std::vector<TokenId>& side) {
  const json::value* flag = find(config, key);
  if (token == kNoToken || flag == nullptr || !flag->is_bool()) return;
  const bool has = std::ranges::find(side, token) != side.end();
  if (flag->get_bool() && !has) side.push_back(token);
  if (!flag->get_bool()) std::erase(side, token);
}

/// A model's templates by name. A model's only template is called "default".
struct ChatTemplates {
  std::string plain;  ///< "default"
  std::string tools;  ///< "tool_use", for conversations with tools

  void add(std::string_view name, std::string_view source) {
    if (name == "default") plain = source;
    if (name == "tool_use") tools = source;
  }
  /// Gives the templates to the tokenizer. Without a default, tool_use serves all conversations.
  void give(TokenizerParts& parts) && {
    if (plain.empty()) std::swap(plain, tools);
    parts.chat_template = std::move(plain);
    parts.tool_chat_template = std::move(tools);
  }
};

ChatTemplates chat_templates_of(const json::value& config) {
  ChatTemplates templates;
  const json::value* found = find(config, "chat_template");
  if (found == nullptr || !found->is_array()) {
    templates.plain = text_of(found);
    return templates;
  }
  for (const json::value& item : found->get_array()) {
    templates.add(text_of(find(item, "name")), text_of(find(item, "template")));
  }
  return templates;
}

/// Passes the value of a JSON file to `use` and returns its result, when there is such a file.
template <class Use>
Result<void> with_json(const fs::path& path, Use use) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  Result<std::string> text = read_text_file(path, kMaxConfigFile);
  if (!text) return text.error();
  std::string problem;
  const json::value config = parse_json(*text, kMaxConfigDepth, problem);
  if (!problem.empty()) return bad_tokenizer(path.string(), "is not valid JSON: " + problem);
  return use(config);
}

void read_tokenizer_config(const json::value& config, TokenizerParts& parts) {
  read_role_texts(config, *parts.tokens, parts.roles);
  chat_templates_of(config).give(parts);
  if (!heeds_add_flags(text_of(find(config, "tokenizer_class")))) return;
  obey_flag(config, "add_bos_token", parts.roles.bos, parts.post_processor.before);
  obey_flag(config, "add_eos_token", parts.roles.eos, parts.post_processor.after);
}

Result<void> read_template_file(const fs::path& file, std::string& source) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  Result<std::string> text = read_text_file(file, kMaxConfigFile);
  if (!text) return text.error();
  source = std::move(*text);
  return {};
}

/// Reads the templates that stand in files of their own, as transformers writes them. They replace
/// the templates in tokenizer_config.json.
Result<void> read_template_files(const fs::path& folder, TokenizerParts& parts) {
  const fs::path plain = folder / "chat_template.jinja";
  const fs::path tools = folder / "additional_chat_templates" / "tool_use.jinja";
  ChatTemplates templates;
  if (const auto done = read_template_file(plain, templates.plain); !done) return done;
  if (const auto done = read_template_file(tools, templates.tools); !done) return done;
  if (templates.plain.empty() && templates.tools.empty()) return {};
  parts.chat_template_file = (templates.plain.empty() ? tools : plain).string();
  std::move(templates).give(parts);
  return {};
}

Result<void> read_beside(const fs::path& folder, TokenizerParts& parts) {
  const TokenTable& tokens = *parts.tokens;
  TokenRoles& roles = parts.roles;
  Result<void> done = with_json(folder / "tokenizer_config.json", [&](const json::value& config) {
    read_tokenizer_config(config, parts);
    parts.chat_template_file = (folder / "tokenizer_config.json").string();
    return Result<void>();
  });
  if (!done) return done;
  done = with_json(folder / "special_tokens_map.json", [&](const json::value& config) {
    read_role_texts(config, tokens, roles);
    return Result<void>();
  });
  if (!done) return done;
  guess_mask(parts);
  for (const std::string_view name : {"generation_config.json", "config.json"}) {
    const fs::path file = folder / name;
    done = with_json(file, [&](const json::value& config) {
      return read_role_ids(config, tokens, file, roles);
    });
    if (!done) return done;
  }
  return read_template_files(folder, parts);
}

Result<TokenizerParts> load_m2m100(const fs::path& folder) {
  const auto vocabulary = read_m2m100_folder(folder);
  if (!vocabulary) return vocabulary.error();
  auto parts = read_vocabulary(*vocabulary, (folder / "vocab.json").string());
  if (!parts) return parts;
  if (const auto done = read_beside(folder, *parts); !done) return done.error();
  std::string language = "en";  // M2M100Tokenizer's default, where none is named
  const auto done = with_json(folder / "tokenizer_config.json", [&](const json::value& config) {
    const std::string_view named = text_of(find(config, "src_lang"));
    if (!named.empty()) language = named;
    return Result<void>();
  });
  if (!done) return done.error();
  const TokenId first = parts->tokens->find("__" + language + "__");
  if (first == kNoToken)
    return bad_tokenizer((folder / "tokenizer_config.json").string(),
                         "src_lang: there is no token __" + language + "__");
  parts->post_processor.before = {first};
  parts->post_processor.after = {parts->roles.eos};
  return parts;
}

}  // namespace

Result<LoadedTokenizer> load_tokenizer_parts(const std::filesystem::path& path) {
  std::error_code ignored;
  if (is_m2m100_folder(path)) {
    auto parts = load_m2m100(path);
    if (!parts) return parts.error();
    return LoadedTokenizer{{}, std::move(*parts)};
  }
  const fs::path file = fs::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  Result<std::string> text = read_text_file(file, kMaxTokenizerFile);
  if (!text) return text.error();
  if (text->starts_with("version https://git-lfs.github.com/spec/")) {
    return bad_tokenizer(file.string(), "is a git-lfs pointer: the file itself was not downloaded");
  }
  Result<TokenizerParts> parts = read_tokenizer_json(*text, file.string());
  if (!parts) return parts.error();
  Result<void> done = read_beside(file.parent_path(), *parts);
  if (!done) return done.error();
  return LoadedTokenizer{std::move(*text), std::move(*parts)};
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  auto loaded = load_tokenizer_parts(path);
  if (!loaded) return loaded.error();
  const std::string file = loaded->parts.name;
  auto tokenizer = assemble(std::move(loaded->parts));
  if (!tokenizer) return error_in(file, tokenizer.error());
  return tokenizer;
}

}  // namespace weft
