#include "weft/model/adapters/adapter_config.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <utility>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace json = boost::json;
namespace dom = simdjson::dom;

constexpr std::size_t kMostAdapterDepth = 16;  // real files nest two levels deep
constexpr std::size_t kMostAdapterItems =
    65536;  // most entries of a list; the longest lists name the tokens of a vocabulary

/// Keys about the adapter's training, or about the origin of its base.
constexpr auto kOfTraining = std::to_array<std::string_view>(
    {"task_type", "auto_mapping", "inference_mode", "revision", "lora_dropout", "loftq_config",
     "eva_config", "corda_config", "megatron_config", "megatron_core", "lora_ga_config",
     "velora_config", "qalora_group_size", "runtime_config", "peft_version"});

struct RefusedKey {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array kRefusedKeys = {
    RefusedKey{"layer_replication", "repeats layers of the base, which changes its depth"},
    RefusedKey{"alora_invocation_tokens",
               "takes effect from an invocation on, so it cannot be merged into the weights"},
    RefusedKey{"use_qalora", "pools the inputs of A, which is not supported"},
    RefusedKey{"use_bdlora", "makes A or B block-diagonal, which is not supported"},
    RefusedKey{"arrow_config", "chooses among several adapters, which is not supported"},
    RefusedKey{"monteclora_config", "draws random weights, which is not supported"},
    RefusedKey{"kasa_config", "changes the base's weights too, which is not supported"},
    RefusedKey{"ensure_weight_tying",
               "changes the embedding and the head together, which is not supported"},
};

/// Values of init_lora_weights that change the base's weights too.
constexpr std::array<std::string_view, 5> kChangesBase = {"pissa", "olora", "corda", "loftq",
                                                          "lora_ga"};

/// Whether a value means that a key is not used.
bool is_off(const json::value& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.get_bool();
  if (value.is_object()) return value.get_object().empty();
  if (value.is_array()) return value.get_array().empty();
  return value.is_string() && value.get_string().empty();
}

/// Returns the path of a key that occurs twice in an object, because two readers could use
/// different ones. Empty if there is none.
std::string find_twice(dom::element element) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return {};
  std::vector<std::string_view> keys;
  for (const auto field : object) {
    keys.push_back(field.key);
    if (std::string inner = find_twice(field.value); !inner.empty())
      return std::string(field.key) + "." + inner;
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  return twice == keys.end() ? std::string() : std::string(*twice);
}

/// Reads the keys of one file, and takes each from the object.
class ConfigReader {
 public:
  ConfigReader(json::object fields, std::string_view file)
      : fields_(std::move(fields)), file_(file) {}

  Result<AdapterConfig> read() {
    check_type();
    read_scale();
    read_selections();
    read_extras();
    read_refused();
    read_rest();
    if (error_) return *error_;
    return std::move(config_);
  }

 private:
  void fail(std::string_view key, std::string_view what) {
    if (error_) return;
    std::string detail(file_);
    detail.append(": ").append(in_quotes(key)).append(" ").append(what);
    error_ = Error{ModelErrc::kBadAdapter, std::move(detail)};
  }

  void refuse(std::string_view key, std::string_view reason) {
    std::string text(key);
    text.append(": ").append(reason);
    config_.refused.push_back(std::move(text));
  }

  /// Returns the key's value, null if it is absent. The key counts as known from now on.
  json::value take(std::string_view key) {
    const auto found = fields_.find(key);
    if (found == fields_.end()) return nullptr;
    json::value value = std::move(found->value());
    fields_.erase(found);
    return value;
  }

  bool take_flag(std::string_view key) {
    const json::value value = take(key);
    if (!value.is_null() && !value.is_bool()) fail(key, "is neither true nor false");
    return value.is_bool() && value.get_bool();
  }

  std::string text_of(std::string_view key, const json::value& value) {
    if (!value.is_null() && !value.is_string()) fail(key, "is no text");
    return value.is_string() ? std::string(value.get_string()) : std::string();
  }

  double number_of(std::string_view key, const json::value& value) {
    if (!value.is_number()) {
      fail(key, "is no number");
      return 1;
    }
    const auto number = value.to_number<double>();
    if (!std::isfinite(number)) fail(key, "is not finite");
    return number;
  }

  std::int64_t whole_of(std::string_view key, const json::value& value, std::int64_t low,
                        std::int64_t high) {
    const auto* number = value.if_int64();
    if (number != nullptr && *number >= low && *number <= high) return *number;
    fail(key, "is no whole number of " + std::to_string(low) + " .. " + std::to_string(high));
    return low;
  }

  std::vector<std::string> texts_of(std::string_view key, const json::value& value) {
    std::vector<std::string> texts;
    const auto* list = value.if_array();
    if (list == nullptr || list->size() > kMostAdapterItems) {
      fail(key, "is no list of names");
      return texts;
    }
    for (const json::value& item : *list) {
      texts.push_back(text_of(key, item));
      if (texts.back().empty()) fail(key, "has a name that is no text");
    }
    return texts;
  }

  std::vector<std::int64_t> wholes_of(std::string_view key, const json::value& value) {
    std::vector<std::int64_t> numbers;
    const auto* list = value.if_array();
    if (list == nullptr || list->size() > kMostAdapterItems) {
      fail(key, "is no list of whole numbers");
      return numbers;
    }
    for (const json::value& item : *list) numbers.push_back(whole_of(key, item, 0, kMostIndex));
    return numbers;
  }

  void check_type() {
    const json::value type = take("peft_type");
    const std::string name = text_of("peft_type", type);
    if (!type.is_null() && name != "LORA")
      refuse("peft_type", in_quotes(name) + " is not LORA, the only kind that is read");
  }

  void read_scale() {
    if (const auto rank = take("r"); !rank.is_null())
      config_.rank = whole_of("r", rank, 1, kMaxAdapterRank);
    if (const auto alpha = take("lora_alpha"); !alpha.is_null())
      config_.alpha = number_of("lora_alpha", alpha);
    config_.rank_stabilized = take_flag("use_rslora");
    config_.dora = take_flag("use_dora");
    config_.lora_bias = take_flag("lora_bias");
    config_.fan_in_fan_out = take_flag("fan_in_fan_out");
    config_.base_model = text_of("base_model_name_or_path", take("base_model_name_or_path"));
    config_.rank_pattern = take_patterns("rank_pattern");
    config_.alpha_pattern = take_patterns("alpha_pattern");
    for (const ModulePattern& each : config_.rank_pattern) {
      if (each.value < 1 || each.value > kMaxAdapterRank || each.value != std::floor(each.value))
        fail("rank_pattern",
             "has a rank that is no whole number of 1 .. " + std::to_string(kMaxAdapterRank));
    }
  }

  std::vector<ModulePattern> take_patterns(std::string_view key) {
    std::vector<ModulePattern> patterns;
    const json::value value = take(key);
    if (value.is_null()) return patterns;
    if (!value.is_object()) {
      fail(key, "is no object");
      return patterns;
    }
    for (const auto& [pattern, number] : value.get_object())
      patterns.push_back({std::string(pattern), number_of(key, number)});
    return patterns;
  }

  ModuleSelection take_selection(std::string_view key) {
    ModuleSelection selection;
    const json::value value = take(key);
    if (value.is_null()) return selection;
    if (!value.is_string()) {
      selection.names = texts_of(key, value);
    } else if (value.get_string() == "all-linear") {
      selection.all_linear = true;
    } else {
      selection.pattern = text_of(key, value);
    }
    return selection;
  }

  void read_selections() {
    config_.targets = take_selection("target_modules");
    config_.excluded = take_selection("exclude_modules");
    if (config_.excluded.all_linear) fail("exclude_modules", "is \"all-linear\"");
    const json::value layers = take("layers_to_transform");
    if (layers.is_array()) {
      config_.layers = wholes_of("layers_to_transform", layers);
    } else if (!layers.is_null()) {
      config_.layers = {whole_of("layers_to_transform", layers, 0, kMostIndex)};
    }
    const json::value pattern = take("layers_pattern");
    if (pattern.is_string()) {
      config_.layers_pattern = {text_of("layers_pattern", pattern)};
    } else if (!pattern.is_null()) {
      config_.layers_pattern = texts_of("layers_pattern", pattern);
    }
    if (const auto names = take("target_parameters"); !names.is_null())
      config_.target_parameters = texts_of("target_parameters", names);
  }

  void read_extras() {
    if (const auto names = take("modules_to_save"); !names.is_null())
      config_.saved_modules = texts_of("modules_to_save", names);
    read_tokens(take("trainable_token_indices"));
    const std::string bias = text_of("bias", take("bias"));
    if (bias == "all") {
      config_.bias = AdapterBias::kAll;
    } else if (bias == "lora_only") {
      config_.bias = AdapterBias::kLoraOnly;
    } else if (!bias.empty() && bias != "none") {
      fail("bias", "is neither none, all nor lora_only");
    }
    const json::value start = take("init_lora_weights");
    if (start.is_string()) {
      const std::string name = text_of("init_lora_weights", start);
      for (const std::string_view each : kChangesBase) {
        if (name.starts_with(each))
          refuse("init_lora_weights", in_quotes(name) +
                                          " changes the base's weights too; save the adapter with "
                                          "path_initial_model_for_weight_conversion");
      }
    }
  }

  void read_tokens(const json::value& value) {
    constexpr std::string_view kKey = "trainable_token_indices";
    if (value.is_null()) return;
    if (!value.is_object()) {
      config_.tokens = {{"embed_tokens", wholes_of(kKey, value)}};
      return;
    }
    for (const auto& [module, rows] : value.get_object())
      config_.tokens.push_back({std::string(module), wholes_of(kKey, rows)});
  }

  void read_refused() {
    for (const RefusedKey& key : kRefusedKeys) {
      if (!is_off(take(key.name))) refuse(key.name, key.reason);
    }
  }

  void read_rest() {
    for (const std::string_view key : kOfTraining) static_cast<void>(take(key));
    for (const auto& [key, value] : fields_) {
      if (is_off(value)) {
        config_.passed_over.emplace_back(key);
      } else {
        refuse(in_quotes(key), "is an unknown key, which may change what the adapter computes");
      }
    }
  }

  // The highest layer or token that a list may name; the base limits it further.
  static constexpr std::int64_t kMostIndex = std::int64_t{1} << 31;

  json::object fields_;
  std::string_view file_;
  AdapterConfig config_;
  std::optional<Error> error_;
};

}  // namespace

Result<AdapterConfig> parse_adapter_config(std::string_view text, std::string_view file) {
  const auto bad = [file](std::string_view what) {
    return Error{ModelErrc::kBadAdapter, std::string(file) + ": " + std::string(what)};
  };
  std::string problem;
  json::value root = parse_json(text, kMostAdapterDepth, problem);
  if (!problem.empty()) return bad(problem);
  if (!root.is_object()) return bad("is no object");
  dom::parser parser;
  dom::element document;
  if (parser.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS)
    return bad("is no JSON of UTF-8");
  if (const std::string key = find_twice(document); !key.empty())
    return bad(in_quotes(key) + " stands there twice");
  return ConfigReader(std::move(root.as_object()), file).read();
}

double adapter_scale(double alpha, std::int64_t rank, bool rank_stabilized) noexcept {
  const auto r = static_cast<double>(rank);
  return alpha / (rank_stabilized ? std::sqrt(r) : r);
}

}  // namespace weft
