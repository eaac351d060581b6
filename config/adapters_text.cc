#include "weft/config/adapters_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/config/models_config.h"
#include "weft/core/text/trimmed.h"

namespace weft {
namespace {

constexpr char kBetween = ';';

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == '/';
}

/// Returns the adapter of one entry; nothing where it has no name or no path.
std::optional<NamedAdapter> adapter_of(std::string_view entry) {
  const std::size_t end = entry.find('=');
  if (end == std::string_view::npos) return std::nullopt;
  NamedAdapter adapter;
  adapter.name = trimmed(entry.substr(0, end));
  adapter.path = trimmed(entry.substr(end + 1));
  if (!is_adapter_name(adapter.name) || adapter.path.empty()) return std::nullopt;
  return adapter;
}

bool has_name(const std::vector<NamedAdapter>& adapters, const std::string& name) {
  return std::ranges::find(adapters, name, &NamedAdapter::name) != adapters.end();
}

}  // namespace

bool is_adapter_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > ModelsConfig::kMaxNameBytes || name.back() == '/') return false;
  bool begins = true;  // a part between slashes
  for (const char c : name) {
    if (!is_name_character(c) || (begins && (c == '.' || c == '/'))) return false;
    begins = c == '/';
  }
  return true;
}

bool is_tuned_name(std::string_view name) noexcept {
  if (!name.starts_with("ft:")) return false;
  std::string plain(name);
  std::ranges::replace(plain, ':', '-');
  return is_adapter_name(plain);
}

std::optional<std::vector<NamedAdapter>> parse_adapters(std::string_view text) {
  std::vector<NamedAdapter> adapters;
  if (trimmed(text).empty()) return adapters;
  for (;;) {
    const std::size_t end = text.find(kBetween);
    auto adapter = adapter_of(text.substr(0, end));
    if (!adapter || has_name(adapters, adapter->name)) return std::nullopt;
    adapters.push_back(*std::move(adapter));
    if (end == std::string_view::npos) return adapters;
    text.remove_prefix(end + 1);
  }
}

std::string adapters_text(const std::vector<NamedAdapter>& adapters) {
  std::string text;
  for (const NamedAdapter& adapter : adapters) {
    text.append(text.empty() ? "" : "; ").append(adapter.name).append("=").append(adapter.path);
  }
  return text;
}

bool are_sound(const std::vector<NamedAdapter>& adapters) {
  const auto read = parse_adapters(adapters_text(adapters));
  return read && *read == adapters;
}

}  // namespace weft
