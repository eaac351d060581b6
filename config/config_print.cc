#include "weft/config/config_print.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kWidth = 98;  // leaves room for "# " in a line of 100 characters

void append_comment(std::string_view text, std::string& out) {
  out.append("# ").append(wrapped(text, kWidth, "# ")).append("\n");
}

std::string facts_of(const ConfigKey& key, const ConfigDraft& draft) {
  std::string facts = range_of(key.setting) + "; default " + value_of(key.setting, FileConfig());
  const std::string_view origin = draft.origin(key);
  if (!origin.empty()) facts.append("; set by ").append(origin);
  std::ranges::replace(facts, '\n', '?');  // a file may be called anything
  return facts;
}

void append_key(const ConfigKey& key, const ConfigDraft& draft, std::string& out) {
  const std::string what = std::string(key.what) + ". " + std::string(key.why) + ".";
  out += '\n';
  append_comment(what, out);
  append_comment(facts_of(key, draft), out);
  const bool hidden = is_secret(key.setting) &&
                      toml_of(key.setting, draft.config()) != toml_of(key.setting, FileConfig());
  out.append(hidden ? "# " : "").append(key.name).append(" = ");
  out.append(hidden ? "... is set, and not shown" : toml_of(key.setting, draft.config()));
  out += '\n';
}

/// Writes a text as a TOML string.
std::string toml_text(const std::string& text) {
  FileConfig config;
  config.engine.model = text;
  return toml_of(find_key("model", "path")->setting, config);
}

void append_model(const ModelDraft& model, std::string& out) {
  out.append(out.empty() ? "[[models]]\n" : "\n[[models]]\n");
  out.append("name = ").append(toml_text(model.own.name)).append("\n");
  std::string aliases;
  for (const std::string& alias : model.own.aliases) {
    aliases.append(aliases.empty() ? "" : ", ").append(toml_text(alias));
  }
  if (!aliases.empty()) out.append("aliases = [").append(aliases).append("]\n");
  if (!model.own.load) out.append("load = false\n");
  FileConfig share;
  share.engine.memory_fraction = model.own.share;  // memory_fraction's setting prints any number,
                                                   // so this copy holds the share
  out.append("share = ")
      .append(toml_of(find_key("memory", "fraction")->setting, share))
      .append("\n");
  for (const ModelSetting& setting : model.settings) {
    FileConfig config;
    // always true, because the value was assigned once when it was read
    if (assign(setting.key->setting, setting.value, config)) continue;
    out.append(setting.path()).append(" = ");
    out.append(toml_of(setting.key->setting, config)).append("\n");
  }
}

}  // namespace

std::string print_config(const ConfigDraft& draft, PrintedKeys keys) {
  const FileConfig standard;
  std::string out;
  std::string_view table;
  for (const ConfigKey& key : config_schema()) {
    const bool changed = toml_of(key.setting, draft.config()) != toml_of(key.setting, standard);
    if (keys == PrintedKeys::kChanged && !changed) continue;
    if (key.table != table) {
      out.append(out.empty() ? "[" : "\n[").append(key.table).append("]\n");
      table = key.table;
    }
    append_key(key, draft, out);
  }
  for (const ModelDraft& model : draft.models()) append_model(model, out);
  return out;
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    out.append(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!text.empty()) out.append("\n").append(indent);
  }
  return out.append(text);
}

}  // namespace weft
