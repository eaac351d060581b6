#include "weft/config/model_draft.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/config/adapters_text.h"
#include "weft/config/config_check.h"
#include "weft/config/config_error.h"

namespace weft {
namespace {

/// The table whose keys a model's own table has without a prefix, since it is about the model.
constexpr std::string_view kModelTable = "model";

Error bad_model(const std::string& place, const std::string& what) {
  return {ConfigErrc::kBadConfig, place + ": " + what};
}

/// Reads one [[models]] table and remembers the first mistake.
class ModelReader {
 public:
  ModelReader(const toml::table& table, std::string_view file) : table_(table), file_(file) {
    draft_.origin = place_of(table, file);
  }

  Result<ModelDraft> read() {
    for (const auto& [name, node] : table_) {
      if (!error_) read_entry(name.str(), node);
    }
    if (error_) return *error_;
    return std::move(draft_);
  }

 private:
  void read_entry(std::string_view name, const toml::node& node) {
    if (name == "name") return read_text(name, node, draft_.own.name);
    if (name == "aliases") return read_aliases(node);
    if (name == "load") return read_flag(node);
    if (name == "share") return read_share(node);
    const toml::table* const table = node.as_table();
    if (table == nullptr || name == kModelTable) return read_key(kModelTable, name, node);
    for (const auto& [key, value] : *table) {
      if (!error_) read_key(name, key.str(), value);
    }
  }

  void read_key(std::string_view table, std::string_view name, const toml::node& node) {
    const ConfigKey* const key = find_key(table, name);
    const auto engine = engine_schema();
    if (key == nullptr || key >= engine.data() + engine.size()) {
      const std::string path = (table == kModelTable ? "" : std::string(table) + ".");
      return fail(node,
                  path + std::string(name) + ": no key of a model, which are " +
                      std::string(kModelKeys) + ", path and those of an engine's tables",
                  ConfigErrc::kUnknownConfigKey);
    }
    ModelSetting setting{key, config_value_of(key->setting, node), place_of(node, file_)};
    FileConfig scratch;
    if (const Complaint complaint = assign(key->setting, setting.value, scratch)) {
      return fail(node, setting.path() + " = " + *complaint);
    }
    draft_.settings.push_back(std::move(setting));
  }

  void read_text(std::string_view name, const toml::node& node, std::string& to) {
    const auto* const value = node.as_string();
    if (value == nullptr) return fail(node, std::string(name) + " must be a text");
    to = value->get();
  }

  void read_aliases(const toml::node& node) {
    const toml::array* const list = node.as_array();
    if (list == nullptr) return fail(node, "aliases must be a list of texts");
    for (const toml::node& alias : *list) {
      if (draft_.own.aliases.size() == ModelsConfig::kMaxAliases) {
        return fail(node, "aliases: at most " + std::to_string(ModelsConfig::kMaxAliases));
      }
      read_text("an alias", alias, draft_.own.aliases.emplace_back());
    }
  }

  void read_flag(const toml::node& node) {
    const auto* const value = node.as_boolean();
    if (value == nullptr) return fail(node, "load must be true or false");
    draft_.own.load = value->get();
  }

  void read_share(const toml::node& node) {
    const auto number = node.value<double>();
    if (!number) return fail(node, "share must be a number");
    draft_.own.share = *number;
  }

  void fail(const toml::node& node, const std::string& what,
            ConfigErrc code = ConfigErrc::kBadConfig) {
    if (!error_) error_ = Error{code, place_of(node, file_) + ": models: " + what};
  }

  const toml::table& table_;
  const std::string_view file_;
  ModelDraft draft_;
  std::optional<Error> error_;
};

/// Returns the mistake in a name or an alias; nothing when it is valid.
std::optional<std::string> name_problem(const std::string& name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > ModelsConfig::kMaxNameBytes) {
    return "has more than " + std::to_string(ModelsConfig::kMaxNameBytes) + " bytes";
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(name, is_control)) return "has a control character";
  return std::nullopt;
}

/// Returns a table of paths by name as adapters_text() writes them.
ConfigValue adapters_value_of(const toml::table& table) {
  std::vector<NamedAdapter> adapters;
  for (const auto& [name, node] : table) {
    const auto* const path = node.as_string();
    if (path == nullptr) return {};
    adapters.push_back({std::string(name.str()), path->get()});
  }
  return adapters_text(adapters);
}

}  // namespace

std::string ModelSetting::path() const {
  return key->table == kModelTable ? std::string(key->name) : key->path();
}

Result<ModelConfig> ModelDraft::finish(const FileConfig& file) const {
  FileConfig merged = file;
  ModelConfig model = own;
  for (const ModelSetting& setting : settings) {
    if (const Complaint complaint = assign(setting.key->setting, setting.value, merged)) {
      return bad_model(setting.origin, "models: " + setting.path() + " = " + *complaint);
    }
    const std::string path = setting.key->path();
    if (path == "memory.fraction" || path == "memory.bytes") model.has_memory = true;
  }
  const auto mistakes = find_mistake(merged);
  if (!mistakes.empty()) {
    // A key that the model sets is blamed before a key that it has from the file.
    for (const ConfigMistake& mistake : mistakes) {
      const auto stated = std::ranges::find(settings, mistake.key, &ModelSetting::key);
      if (stated == settings.end()) continue;
      return bad_model(stated->origin, "models: " + stated->path() + " = " + mistake.complaint);
    }
    return bad_model(
        origin, "models: " + mistakes.front().key->path() + " = " + mistakes.front().complaint);
  }
  if (merged.engine.model.empty()) return bad_model(origin, "models: path is missing");
  model.config = std::move(merged.engine);
  return model;
}

ConfigValue config_value_of(const Setting& setting, const toml::node& node) {
  const toml::table* const table = node.as_table();
  if (table != nullptr && std::holds_alternative<AdaptersSetting>(setting)) {
    return adapters_value_of(*table);
  }
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  return {};
}

Result<std::vector<ModelDraft>> read_models(const toml::node& node, std::string_view file) {
  const toml::array* const list = node.as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    return bad_model(place_of(node, file), "models must be [[models]], a table for each model");
  }
  if (list->size() > ModelsConfig::kMaxModels) {
    return bad_model(place_of(node, file),
                     "models: at most " + std::to_string(ModelsConfig::kMaxModels));
  }
  std::vector<ModelDraft> drafts;
  for (const toml::node& table : *list) {
    auto draft = ModelReader(*table.as_table(), file).read();
    if (!draft) return draft.error();
    drafts.push_back(*std::move(draft));
  }
  return drafts;
}

Result<void> check_models(const std::vector<ModelConfig>& models,
                          const std::vector<std::string>& places) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelConfig& model = models[i];
    const auto check_name = [&](const char* field, const std::string& name) -> Result<void> {
      auto problem = name_problem(name);
      if (!problem && !names.insert(name).second) problem = "is another model's name, too";
      if (!problem) return {};
      return bad_model(places[i], std::string(field) + " = \"" + name + "\": " + *problem);
    };
    if (auto checked = check_name("name", model.name); !checked) return checked;
    for (const std::string& alias : model.aliases) {
      if (auto checked = check_name("aliases", alias); !checked) return checked;
    }
    if (models.size() > 1 && !model.config.speculation_model.empty()) {
      return bad_model(places[i], "speculation.model = \"" + model.config.speculation_model +
                                      "\": a draft model is for an engine of one model");
    }
    // NOLINTNEXTLINE(readability-simplify-boolean-expr): so that NaN is refused, too
    if (!(model.share >= ModelsConfig::kLowestShare &&
          model.share <= ModelsConfig::kHighestShare)) {
      return bad_model(places[i], "share = " + std::to_string(model.share) +
                                      ": must be a number in 0.001 .. 1000");
    }
  }
  return {};
}

}  // namespace weft
