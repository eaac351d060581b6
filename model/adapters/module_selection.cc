#include <algorithm>
#include <charconv>

#include "weft/model/adapters/adapter_config.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"
#include "weft/text/tokenizer/split/regex.h"

namespace weft {
namespace {

constexpr std::size_t kMaxPatternBytes = 4096;

/// Whether a regular expression matches a whole path.
Result<bool> matches_whole(std::string_view pattern, std::string_view path) {
  const auto bad = [pattern](const Error& error) {
    return Error{ModelErrc::kBadAdapter, "pattern " + in_quotes(pattern) + ": " + to_string(error)};
  };
  if (pattern.size() > kMaxPatternBytes)
    return Error{ModelErrc::kBadAdapter, "pattern " + in_quotes(pattern) + ": is too long"};
  std::string whole("\\A(?:");
  whole.append(pattern).append(")\\z");
  const auto regex = Regex::compile(whole);
  if (!regex) return bad(regex.error());
  bool found = false;
  const auto searched = regex->for_each_match(path, [&found](TextRange) { found = true; });
  if (!searched) return bad(searched.error());
  return found;
}

/// Whether a pattern matches the end of a path, from a dot on (PEFT, get_pattern_key()).
Result<bool> matches_end(std::string_view pattern, std::string_view path) {
  std::string whole(pattern.starts_with('^') ? "(?:" : "(?:.*\\.)?(?:");
  whole.append(pattern).append(")");
  return matches_whole(whole, path);
}

Result<bool> selects(const ModuleSelection& selection, std::string_view module) {
  if (!selection.pattern.empty()) return matches_whole(selection.pattern, module);
  // BaseTensors knows from the shapes which modules are linear.
  if (selection.all_linear) return true;
  return std::ranges::any_of(
      selection.names, [module](const std::string& name) { return ends_with_name(module, name); });
}

/// A number between two dots of a path.
struct LayerNumber {
  std::int64_t value = 0;
  std::size_t begin = 0;
};

/// Returns the numbers in a path that have a name before and after them, the last one first.
std::vector<LayerNumber> numbers_in(std::string_view path) {
  std::vector<LayerNumber> numbers;
  for (std::size_t begin = path.find('.'); begin != std::string_view::npos;
       begin = path.find('.', begin + 1)) {
    const std::size_t end = path.find('.', begin + 1);
    if (end == std::string_view::npos) break;
    LayerNumber number{0, begin + 1};
    const char* const last = path.data() + end;
    const auto parsed = std::from_chars(path.data() + number.begin, last, number.value);
    if (parsed.ec == std::errc() && parsed.ptr == last && number.value >= 0)
      numbers.push_back(number);
  }
  std::ranges::reverse(numbers);
  return numbers;
}

/// Returns a module's layer: the last number after a name that the patterns match. Without patterns
/// it is the last number after any name below the top.
Result<std::optional<std::int64_t>> layer_of(const AdapterConfig& config, std::string_view module) {
  using Layer = std::optional<std::int64_t>;
  const std::vector<LayerNumber> numbers = numbers_in(module);
  if (config.layers_pattern.empty()) {
    for (const LayerNumber& number : numbers) {
      if (module.substr(0, number.begin - 1).find('.') != std::string_view::npos)
        return Layer(number.value);
    }
    return Layer();
  }
  for (const std::string& pattern : config.layers_pattern) {
    for (const LayerNumber& number : numbers) {
      const auto found =
          matches_whole("(?:.*\\.)(?:" + pattern + ")", module.substr(0, number.begin - 1));
      if (!found) return found.error();
      if (*found) return Layer(number.value);
    }
  }
  return Layer();
}

/// Returns the value of the first pattern that matches a module.
Result<std::optional<double>> value_for(const std::vector<ModulePattern>& patterns,
                                        std::string_view module) {
  for (const ModulePattern& each : patterns) {
    const auto found = matches_end(each.pattern, module);
    if (!found) return found.error();
    if (*found) return std::optional(each.value);
  }
  return std::optional<double>();
}

}  // namespace

bool ends_with_name(std::string_view path, std::string_view name) noexcept {
  if (!path.ends_with(name)) return false;
  return path.size() == name.size() || path[path.size() - name.size() - 1] == '.';
}

Result<bool> is_adapted(const AdapterConfig& config, std::string_view module) {
  if (!config.excluded.empty()) {
    const auto excluded = selects(config.excluded, module);
    if (!excluded) return excluded.error();
    if (*excluded) return false;
  }
  auto selected = selects(config.targets, module);
  if (!selected || !*selected || !config.layers || !config.targets.pattern.empty()) return selected;
  if (std::ranges::find(config.targets.names, module) != config.targets.names.end()) return true;
  const auto layer = layer_of(config, module);
  if (!layer) return layer.error();
  return *layer && std::ranges::find(*config.layers, **layer) != config.layers->end();
}

Result<std::int64_t> rank_of(const AdapterConfig& config, std::string_view module) {
  const auto own = value_for(config.rank_pattern, module);
  if (!own) return own.error();
  return *own ? static_cast<std::int64_t>(**own) : config.rank;
}

Result<double> alpha_of(const AdapterConfig& config, std::string_view module) {
  const auto own = value_for(config.alpha_pattern, module);
  if (!own) return own.error();
  return own->value_or(config.alpha);
}

}  // namespace weft
