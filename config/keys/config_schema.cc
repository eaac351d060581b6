#include "weft/config/keys/config_schema.h"

#include <algorithm>
#include <array>

#include "weft/config/keys/engine_keys.h"
#include "weft/config/keys/server_keys.h"

namespace weft {
namespace {

template <std::size_t... kFirst, std::size_t... kSecond>
constexpr auto joined(std::index_sequence<kFirst...> /*engine*/,
                      std::index_sequence<kSecond...> /*server*/) {
  return std::array{engine_keys::kKeys[kFirst]..., server_keys::kKeys[kSecond]...};
}

constexpr auto kSchema = joined(std::make_index_sequence<engine_keys::kKeys.size()>(),
                                std::make_index_sequence<server_keys::kKeys.size()>());

std::string replaced(std::string text, char old, char by) {
  std::ranges::replace(text, old, by);
  return text;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const ConfigKey> config_schema() noexcept { return kSchema; }

std::span<const ConfigKey> engine_schema() noexcept {
  return config_schema().first(engine_keys::kKeys.size());
}

const ConfigKey* find_key(std::string_view table, std::string_view name) noexcept {
  const auto* found = std::ranges::find_if(
      kSchema, [&](const ConfigKey& key) { return key.table == table && key.name == name; });
  return found == kSchema.end() ? nullptr : found;
}

std::string ConfigKey::path() const { return std::string(table) + "." + std::string(name); }

std::string ConfigKey::flag() const {
  return "--" + replaced(std::string(flag_name.empty() ? name : flag_name), '_', '-');
}

std::string ConfigKey::variable() const {
  std::string all = "WEFT_" + replaced(path(), '.', '_');
  std::ranges::transform(all, all.begin(), upper);
  return all;
}

}  // namespace weft
