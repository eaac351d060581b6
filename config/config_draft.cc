#include "weft/config/config_draft.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/config/config_check.h"
#include "weft/config/config_error.h"
#include "weft/config/edit_distance.h"
#include "weft/config/toml_text.h"
#include "weft/core/io/file.h"

namespace weft {
namespace {

bool is_table(std::string_view name) {
  return std::ranges::find(config_schema(), name, &ConfigKey::table) != config_schema().end();
}

/// Returns the path of the key that was probably meant: its name is mistyped, or it was put into
/// another table.
std::string nearest_key(std::string_view table, std::string_view name) {
  const std::string path = std::string(table) + "." + std::string(name);
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigKey& key : config_schema()) {
    const std::size_t distance =
        std::min(edit_distance(path, key.path()), edit_distance(name, key.name) + 1);
    if (distance < least) {
      least = distance;
      nearest = key.path();
    }
  }
  return nearest;
}

std::string nearest_table(std::string_view name) {
  const auto distance = [&](const ConfigKey& key) { return edit_distance(name, key.table); };
  return std::string(std::ranges::min_element(config_schema(), {}, distance)->table);
}

/// Reads a document into a draft, table by table.
class ConfigReader {
 public:
  ConfigReader(std::string_view file, ConfigDraft& draft) : file_(file), draft_(draft) {}

  Result<void> read(const toml::table& document) {
    for (const auto& [name, node] : document) {
      Result<void> done = read_table(name.str(), node);
      if (!done) return done;
    }
    return {};
  }

 private:
  Result<void> read_table(std::string_view name, const toml::node& node) {
    if (name == "models") {
      auto models = read_models(node, file_);
      if (!models) return std::move(models).error();
      draft_.set_models(*std::move(models));
      return {};
    }
    const toml::table* const table = node.as_table();
    if (table == nullptr && is_table(name)) {
      return fail(node, ConfigErrc::kBadConfig, std::string(name) + " must be a table");
    }
    if (table == nullptr) return unknown_key(node, "", name);
    if (!is_table(name)) {
      return fail(node, ConfigErrc::kUnknownConfigKey,
                  "table " + std::string(name) + "; the nearest is " + nearest_table(name));
    }
    for (const auto& [key, value] : *table) {
      Result<void> done = read_key(name, key.str(), value);
      if (!done) return done;
    }
    return {};
  }

  Result<void> read_key(std::string_view table, std::string_view name, const toml::node& node) {
    const ConfigKey* const key = find_key(table, name);
    if (key == nullptr) return unknown_key(node, table, name);
    return draft_.set(*key, config_value_of(key->setting, node), place_of(node, file_));
  }

  Result<void> unknown_key(const toml::node& node, std::string_view table, std::string_view name) {
    const std::string path =
        table.empty() ? std::string(name) : std::string(table) + "." + std::string(name);
    return fail(node, ConfigErrc::kUnknownConfigKey,
                path + "; the nearest is " + nearest_key(table, name));
  }

  [[nodiscard]] Error fail(const toml::node& node, ConfigErrc code, const std::string& what) const {
    return {code, place_of(node, file_) + ": " + what};
  }

  std::string_view file_;
  ConfigDraft& draft_;
};

}  // namespace

std::string peek_text(const std::filesystem::path& file, const ConfigKey& key) {
  const Result<std::string> text = read_text_file(file, kMaxTomlBytes);
  if (!text) return {};
  const Result<toml::table> document = parse_toml(*text, file.string());
  if (!document) return {};
  return (*document)[key.table][key.name].value_or(std::string());
}

Result<void> ConfigDraft::load(const std::filesystem::path& file) {
  const Result<std::string> text = read_text_file(file, kMaxTomlBytes);
  if (!text) return text.error();
  return read(*text, file.string());
}

Result<void> ConfigDraft::read(std::string_view toml, std::string_view name) {
  const Result<toml::table> document = parse_toml(toml, name);
  if (!document) return document.error();
  return ConfigReader(name, *this).read(*document);
}

Result<void> ConfigDraft::set(const ConfigKey& key, const ConfigValue& value, std::string origin) {
  const Complaint complaint = assign(key.setting, value, config_);
  if (complaint) {
    return Error{ConfigErrc::kBadConfig, origin + ": " + key.path() + " = " + *complaint};
  }
  origins_.insert_or_assign(key.path(), std::move(origin));
  return {};
}

std::string_view ConfigDraft::origin(const ConfigKey& key) const {
  const auto found = origins_.find(key.path());
  return found == origins_.end() ? std::string_view() : found->second;
}

Result<FileConfig> ConfigDraft::finish() const {
  const auto mistakes = find_mistake(config_);
  if (mistakes.empty()) {
    auto models = finish_models();
    if (!models) return std::move(models).error();
    FileConfig config = config_;
    config.models = *std::move(models);
    return config;
  }
  // A key that no source has set is not to blame.
  auto mistake = std::ranges::find_if(
      mistakes, [this](const ConfigMistake& one) { return !origin(*one.key).empty(); });
  if (mistake == mistakes.end()) mistake = mistakes.begin();
  std::string place(origin(*mistake->key));
  if (!place.empty()) place += ": ";
  return Error{ConfigErrc::kBadConfig, place + mistake->key->path() + " = " + mistake->complaint};
}

Result<ModelsConfig> ConfigDraft::finish_models() const {
  ModelsConfig all;
  all.max_loaded = config_.server.max_loaded_models;
  all.memory_fraction = config_.engine.memory_fraction;
  all.memory_bytes = config_.engine.memory_bytes;
  if (models_.empty()) return all;
  for (const auto& [table, name] :
       {std::pair("model", "path"), std::pair("server", "model_name")}) {
    const ConfigKey& key = *find_key(table, name);
    if (origin(key).empty()) continue;
    return Error{ConfigErrc::kBadConfig, std::string(origin(key)) + ": " + key.path() +
                                             ": [[models]] says it of each model"};
  }
  std::vector<std::string> places;
  for (const ModelDraft& draft : models_) {
    auto model = draft.finish(config_);
    if (!model) return model.error();
    all.models.push_back(*std::move(model));
    places.push_back(draft.origin + ": models");
  }
  if (auto checked = check_models(all.models, places); !checked) return checked.error();
  return all;
}

}  // namespace weft
