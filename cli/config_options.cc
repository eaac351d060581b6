#include "weft/cli/config_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/config/adapters_text.h"
#include "weft/config/config_error.h"
#include "weft/config/config_print.h"

namespace weft::cli {
namespace {

constexpr const char* kFileVariable = "WEFT_CONFIG";

// The columns for a flag. A terminal's 100 columns hold the flags and their meaning; this is the
// longest flag with its value.
constexpr std::size_t kFlagColumns = 34;
constexpr std::size_t kTextColumns = 66;

/// The word behind a flag in the help.
struct Placeholder {
  const char* operator()(const TextSetting& /*setting*/) const { return "TEXT"; }
  const char* operator()(const FlagSetting& /*setting*/) const { return ""; }
  const char* operator()(const IntegerSetting& /*setting*/) const { return "N"; }
  const char* operator()(const NumberSetting& /*setting*/) const { return "X"; }
  const char* operator()(const TimeSetting& /*setting*/) const { return "X"; }
  const char* operator()(const ChoiceSetting& /*setting*/) const { return "NAME"; }
  const char* operator()(const PolicySetting& /*setting*/) const { return "NAME"; }
  const char* operator()(const ReplicasSetting& /*setting*/) const { return "DEVICES"; }
  const char* operator()(const AdaptersSetting& /*setting*/) const { return "NAME=PATH;..."; }
};

/// The key's range and default, where they are worth showing.
std::string key_facts(const ConfigKey& key) {
  const std::string standard = value_of(key.setting, FileConfig());
  const bool is_text = std::holds_alternative<TextSetting>(key.setting);
  if (is_text && standard == "\"\"") return "";
  if (is_text || std::holds_alternative<FlagSetting>(key.setting))
    return "[default " + standard + "]";
  return "[" + range_of(key.setting) + "; default " + standard + "]";
}

/// Breaks the help into lines, which CLI11 indents.
std::string help_of(const ConfigKey& key) {
  std::string help = wrapped(key.what, kTextColumns, "");
  const std::string facts = wrapped(key_facts(key), kTextColumns, "");
  if (facts.empty()) return help;
  const std::size_t last_line = help.size() - (help.rfind('\n') + 1);
  const bool fits = last_line + 1 + facts.size() <= kTextColumns;
  return help.append(fits ? " " : "\n").append(facts);
}

/// Leaves out relations between options, which CLI11 would print in the column of the value.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kFlagColumns); }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = option->get_type_name();
    return value.empty() ? "" : " " + value;
  }
};

std::string opposite_of(const std::string& flag) { return "--no-" + flag.substr(2); }

bool is_model(const ConfigKey& key) { return key.path() == "model.path"; }

/// Whether the key's flag may also name adapters, and so may stand more than once.
bool is_adapter(const ConfigKey& key) { return key.path() == "model.adapter"; }

/// Whether the key's flag may also name a draft model.
bool is_speculation(const ConfigKey& key) { return key.path() == "speculation.kind"; }

/// Sets the value of `--speculation`: a kind, or the path of a draft model.
Result<void> set_speculation(const ConfigKey& key, const std::string& text, ConfigDraft& draft) {
  const ConfigKey& model = *find_key("speculation", "model");
  FileConfig scratch;
  const ConfigValue kind = value_from_text(key.setting, text);
  std::error_code ignored;
  const bool is_path =
      text.find('/') != std::string::npos || std::filesystem::exists(text, ignored);
  if (!is_path || !assign(key.setting, kind, scratch)) return draft.set(key, kind, key.flag());
  return draft.set(model, value_from_text(model.setting, text), key.flag());
}

/// Sets the values of `--adapter`, one a line: NAME=PATH adds an adapter that requests can name, or
/// replaces the one of that name; a bare PATH is merged.
Result<void> set_adapters(const ConfigKey& key, std::string_view lines, ConfigDraft& draft) {
  std::vector<NamedAdapter> named = draft.config().engine.adapters;
  bool adds = false;
  bool merges = false;
  for (bool more = true; more;) {
    const std::size_t end = lines.find('\n');
    const std::string_view value = lines.substr(0, end);
    more = end != std::string_view::npos;
    if (more) lines.remove_prefix(end + 1);
    const std::size_t name_end = value.find('=');
    if (name_end == std::string_view::npos || !is_adapter_name(value.substr(0, name_end))) {
      if (std::exchange(merges, true)) {
        return Error{ConfigErrc::kBadConfig,
                     key.flag() + ": one adapter can be merged; give the others as NAME=PATH"};
      }
      if (auto done = draft.set(key, std::string(value), key.flag()); !done) return done;
      continue;
    }
    NamedAdapter adapter{std::string(value.substr(0, name_end)),
                         std::string(value.substr(name_end + 1))};
    std::erase_if(named, [&](const NamedAdapter& one) { return one.name == adapter.name; });
    named.push_back(std::move(adapter));
    adds = true;
  }
  if (!adds) return {};
  return draft.set(*find_key("adapters", "named"), adapters_text(named), key.flag());
}

}  // namespace

ConfigOptions::ConfigOptions(CLI::App& command, std::span<const ConfigKey> keys) : keys_(keys) {
  command.formatter(std::make_shared<HelpFormatter>());
  file_option_ = command.add_option(
      "--config", file_, wrapped("A TOML file; without: that of WEFT_CONFIG", kTextColumns, ""));
  file_option_->type_name("FILE");
  for (const ConfigKey& key : keys_) {
    if (std::holds_alternative<FlagSetting>(key.setting)) {
      add_switch(command, key);
    } else {
      add_value(command, key);
    }
  }
}

void ConfigOptions::add_value(CLI::App& command, const ConfigKey& key) {
  Flag& flag = flags_.emplace_back(Flag{&key, nullptr, {}});
  const std::string name = is_model(key) ? "MODEL," + key.flag() : key.flag();
  flag.option = command.add_option(name, flag.text, help_of(key));
  flag.option->type_name(std::visit(Placeholder{}, key.setting))->group(std::string(key.table));
  if (is_speculation(key)) flag.option->type_name("NAME|MODEL");
  if (!is_adapter(key)) return;
  flag.option->multi_option_policy(CLI::MultiOptionPolicy::Join);  // of lines
  flag.option->type_name("[NAME=]PATH");
}

void ConfigOptions::add_switch(CLI::App& command, const ConfigKey& key) {
  const std::string table(key.table);
  Flag& on = flags_.emplace_back(Flag{&key, nullptr, {}});  // a switch may be written --flag=false
  on.option = command.add_flag(key.flag(), on.text, help_of(key))->group(table);
  Flag& off = flags_.emplace_back(Flag{&key, nullptr, "false"});
  const std::string help = "The opposite of " + key.flag();
  off.option = command.add_flag(opposite_of(key.flag()), help);
  off.option->disable_flag_override()->excludes(on.option)->group(table);
}

std::string ConfigOptions::file_path(const Environment& environment) const {
  if (file_option_->count() > 0) return file_;
  const char* const file = environment(kFileVariable);
  return file == nullptr ? std::string() : file;
}

std::string ConfigOptions::peek(std::string_view path, const Environment& environment) const {
  for (const Flag& flag : flags_) {
    if (flag.key->path() == path && flag.option->count() > 0) return flag.text;
  }
  const auto key = std::ranges::find(keys_, path, &ConfigKey::path);
  if (key == keys_.end()) return {};
  const char* const text = environment(key->variable().c_str());
  if (text != nullptr && *text != '\0') return text;
  const std::string file = file_path(environment);
  return file.empty() ? std::string() : peek_text(file, *key);
}

Result<void> ConfigOptions::load_file(const Environment& environment, ConfigDraft& draft) const {
  const std::string file = file_path(environment);
  if (file_option_->count() == 0 && file.empty()) return {};
  Result<void> done = draft.load(file);
  if (done || file_option_->count() > 0) return done;
  return Error{done.error().code, done.error().detail + " (the file of " + kFileVariable + ")"};
}

Result<ConfigDraft> ConfigOptions::draft(const Environment& environment) const {
  ConfigDraft draft;
  if (const auto done = load_file(environment, draft); !done) return done.error();
  for (const ConfigKey& key : keys_) {
    const std::string variable = key.variable();
    const char* const text = environment(variable.c_str());
    if (text == nullptr || *text == '\0') continue;
    const auto done = draft.set(key, value_from_text(key.setting, text), variable);
    if (!done) return done.error();
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0 || is_adapter(*flag.key)) continue;
    const auto done =
        is_speculation(*flag.key)
            ? set_speculation(*flag.key, flag.text, draft)
            : draft.set(*flag.key, value_from_text(flag.key->setting, flag.text), flag.key->flag());
    if (!done) return done.error();
  }
  for (const Flag& flag : flags_) {  // last, since it adds to the other sources' adapters
    if (flag.option->count() == 0 || !is_adapter(*flag.key)) continue;
    if (const auto done = set_adapters(*flag.key, flag.text, draft); !done) return done.error();
  }
  return draft;
}

}  // namespace weft::cli
