#include "weft/config/config.h"

#include <algorithm>
#include <limits>

#include "weft/config/config_error.h"
#include "weft/config/config_schema.h"
#include "weft/config/edit_distance.h"
#include "weft/config/toml_text.h"
#include "weft/core/file.h"

namespace weft {
namespace {

ConfigValue value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  return {};
}

bool is_table(std::string_view name) {
  return std::ranges::find(config_schema(), name, &ConfigKey::table) != config_schema().end();
}

/// The path of the key that was probably meant: its name mistyped, or put into another table.
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

/// Reads a document into a Config, table by table.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view file) : file_(file) {}

  Result<Config> read(const toml::table& document) {
    for (const auto& [name, node] : document) {
      const Result<void> done = read_table(name.str(), node);
      if (!done) return done.error();
    }
    const Result<void> valid = config_.validate();
    if (!valid) return Error{valid.error().code, file_ + ": " + valid.error().detail};
    return std::move(config_);
  }

 private:
  Result<void> read_table(std::string_view name, const toml::node& node) {
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
    const auto key = std::ranges::find_if(config_schema(), [&](const ConfigKey& one) {
      return one.table == table && one.name == name;
    });
    if (key == config_schema().end()) return unknown_key(node, table, name);
    const Complaint complaint = assign(key->setting, value_of(node), config_);
    if (complaint) return fail(node, ConfigErrc::kBadConfig, key->path() + " = " + *complaint);
    return {};
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

  std::string file_;
  Config config_;
};

}  // namespace

Result<Config> Config::load(const std::filesystem::path& file) {
  const Result<std::string> text = read_text_file(file, kMaxTomlBytes);
  if (!text) return text.error();
  return parse(*text, file.string());
}

Result<Config> Config::parse(std::string_view toml, std::string_view name) {
  const Result<toml::table> document = parse_toml(toml, name);
  if (!document) return document.error();
  return ConfigReader(name).read(*document);
}

Result<void> Config::validate() const {
  for (const ConfigKey& key : config_schema()) {
    const Complaint complaint = check(key.setting, *this);
    if (complaint) return Error{ConfigErrc::kBadConfig, key.path() + " = " + *complaint};
  }
  const std::int64_t advanced = std::int64_t{max_step_tokens} * decode_every;
  if (max_rows > advanced) {
    return Error{ConfigErrc::kBadConfig,
                 "memory.max_rows = " + std::to_string(max_rows) + ": must be at most " +
                     std::to_string(advanced) +
                     ", memory.max_step_tokens times scheduling.decode_every, or the rows cannot "
                     "all advance as often as that"};
  }
  return {};
}

}  // namespace weft
