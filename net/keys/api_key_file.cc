#include "weft/net/keys/api_key_file.h"

#include <algorithm>
#include <limits>

#include "weft/config/config_error.h"
#include "weft/config/toml_text.h"
#include "weft/core/io/file.h"
#include "weft/core/text/hex_value.h"

namespace weft {
namespace {

using Hash = std::array<unsigned char, 32>;

std::optional<Hash> hash_from_hex(std::string_view hex) {
  Hash hash{};
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return hash;
}

/// Reads one [[key]] and remembers the first mistake.
class KeyReader {
 public:
  KeyReader(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  Result<KeyFileEntry> read() {
    for (const auto& [name, node] : table_) read_field(name.str(), node);
    if (!error_ && entry_.name.empty()) fail(table_, "a key needs a name");
    if (!error_ && entry_.key.empty() == !entry_.sha256) {
      fail(table_, "a key needs either key or sha256");
    }
    if (error_) return *error_;
    return std::move(entry_);
  }

 private:
  void read_field(std::string_view name, const toml::node& node) {
    if (error_) return;
    if (name == "name") {
      entry_.name = text(name, node);
    } else if (name == "key") {
      entry_.key = text(name, node);
    } else if (name == "sha256") {
      entry_.sha256 = hash_from_hex(text(name, node));
      if (!entry_.sha256) fail(node, "sha256 must be 64 hexadecimal digits");
    } else if (name == "class") {
      read_class(node);
    } else if (name == "max_concurrent") {
      entry_.limits.max_concurrent =
          static_cast<std::int32_t>(number(name, node, std::numeric_limits<std::int32_t>::max()));
    } else if (name == "tokens_per_minute") {
      entry_.limits.tokens_per_minute = number(name, node, std::int64_t{1} << 50);
    } else if (name == "admin") {
      const auto* const value = node.as_boolean();
      if (value == nullptr) return fail(node, "admin must be true or false");
      entry_.limits.admin = value->get();
    } else {
      fail(node, "there is no field " + std::string(name), ConfigErrc::kUnknownConfigKey);
    }
  }

  void read_class(const toml::node& node) {
    const std::string name = text("class", node);
    for (const RequestClass cls : kRequestClasses) {
      if (name == to_string(cls)) {
        entry_.limits.class_ceiling = cls;
        return;
      }
    }
    fail(node, "class must be \"chat\" or \"batch\"");
  }

  std::string text(std::string_view name, const toml::node& node) {
    const auto* value = node.as_string();
    if (value != nullptr && !value->get().empty()) return value->get();
    fail(node, std::string(name) + " must be a text that is not empty");
    return {};
  }

  std::int64_t number(std::string_view name, const toml::node& node, std::int64_t most) {
    const auto* value = node.as_integer();
    if (value != nullptr && value->get() >= 0 && value->get() <= most) return value->get();
    fail(node, std::string(name) + " must be a whole number in 0 .. " + std::to_string(most));
    return 0;
  }

  void fail(const toml::node& node, const std::string& what,
            ConfigErrc code = ConfigErrc::kBadConfig) {
    if (!error_) error_ = Error{code, place_of(node, file_) + ": " + what};
  }

  const toml::table& table_;
  const std::string_view file_;
  KeyFileEntry entry_;
  std::optional<Error> error_;
};

/// Returns the file's [[key]] tables; the file may have nothing else.
Result<const toml::array*> keys_of(const toml::table& document, std::string_view name) {
  for (const auto& [key, node] : document) {
    if (key.str() != "key" || !node.is_array_of_tables()) {
      return Error{ConfigErrc::kUnknownConfigKey,
                   place_of(node, name) + ": a key file has [[key]] tables and nothing else"};
    }
  }
  const toml::array* const keys = document["key"].as_array();
  if (keys != nullptr) return keys;
  return Error{ConfigErrc::kBadConfig, std::string(name) + ": there is no [[key]] in it"};
}

}  // namespace

Result<std::vector<KeyFileEntry>> parse_key_file(std::string_view toml, std::string_view name) {
  const auto document = parse_toml(toml, name);
  if (!document) return document.error();
  const auto keys = keys_of(*document, name);
  if (!keys) return keys.error();
  std::vector<KeyFileEntry> entries;
  for (const toml::node& node : **keys) {
    auto entry = KeyReader(*node.as_table(), name).read();
    if (!entry) return std::move(entry).error();
    if (std::ranges::find(entries, entry->name, &KeyFileEntry::name) != entries.end()) {
      return Error{ConfigErrc::kBadConfig,
                   place_of(node, name) + ": there are two keys called " + entry->name};
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<std::vector<KeyFileEntry>> read_key_file(const std::filesystem::path& file) {
  const auto text = read_text_file(file, kMaxTomlBytes);
  if (!text) return text.error();
  return parse_key_file(*text, file.string());
}

}  // namespace weft
