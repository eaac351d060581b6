#include "weft/model/vectors/sentence_modules.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/tensor_names.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxModuleFile = std::size_t{16}
                                       << 20U;  // tokenizer_config.json has some MiB
constexpr std::size_t kMaxModuleDepth = 32;
/// Known models have at most five.
constexpr std::size_t kMaxModules = 16;
/// Models with a prompt for each task of their training have some dozen prompts.
constexpr std::size_t kMaxPrompts = 1024;
/// A file that states more tokens for an input means that it has no limit.
constexpr std::int64_t kMostTokens = 100'000'000;

Error bad_module(const fs::path& file, const std::string& what) {
  return {ModelErrc::kBadConfig, file.string() + ": " + what};
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->begin(), text->end());
}

bool flag_of(const json::object& object, std::string_view key, bool otherwise) {
  const json::value* const value = object.if_contains(key);
  const bool* const flag = value == nullptr ? nullptr : value->if_bool();
  return flag == nullptr ? otherwise : *flag;
}

std::int64_t tokens_of(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  const std::int64_t* const number = value == nullptr ? nullptr : value->if_int64();
  return number != nullptr && *number > 0 && *number < kMostTokens ? *number : 0;
}

/// Whether a path stays inside the folder.
bool stays_inside(const fs::path& path) {
  if (path.is_absolute() || path.has_root_name()) return false;
  for (const fs::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

struct PoolingName {
  std::string_view name;  ///< value of pooling_mode, as written since version 6
  std::string_view flag;  ///< the field in older versions
  PoolingKind kind;
};

constexpr std::array kPoolingNames = {
    PoolingName{"cls", "pooling_mode_cls_token", PoolingKind::kCls},
    PoolingName{"mean", "pooling_mode_mean_tokens", PoolingKind::kMean},
    PoolingName{"max", "pooling_mode_max_tokens", PoolingKind::kMax},
    PoolingName{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens",
                PoolingKind::kMeanSqrt},
    PoolingName{"weightedmean", "pooling_mode_weightedmean_tokens", PoolingKind::kWeightedMean},
    PoolingName{"lasttoken", "pooling_mode_lasttoken", PoolingKind::kLast},
};

Result<PoolingKind> pooling_of(const json::object& config, const fs::path& file) {
  if (!flag_of(config, "include_prompt", true)) {
    return bad_module(file, "include_prompt: false is not supported");
  }
  if (const json::value* const mode = config.if_contains("pooling_mode")) {
    for (const PoolingName& one : kPoolingNames) {
      if (mode->is_string() && mode->get_string() == one.name) return one.kind;
    }
    return bad_module(file, "pooling_mode: " + json::serialize(*mode) + " is not supported");
  }
  const PoolingName* found = nullptr;
  for (const PoolingName& one : kPoolingNames) {
    if (!flag_of(config, one.flag, false)) continue;
    if (found != nullptr) {
      return bad_module(file, std::string(found->flag) + " and " + std::string(one.flag) +
                                  " together are not supported");
    }
    found = &one;
  }
  if (found == nullptr) return bad_module(file, "says no pooling mode that is known");
  return found->kind;
}

Result<Activation> activation_of(const json::object& config, const fs::path& file) {
  const std::string name = text_of(config, "activation_function");
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  if (name.empty() || last == "Tanh") return Activation::kTanh;
  if (last == "Identity") return Activation::kNone;
  if (last == "ReLU") return Activation::kRelu;
  if (last == "GELU") return Activation::kGelu;
  if (last == "SiLU") return Activation::kSilu;
  if (last == "Sigmoid") return Activation::kSigmoid;
  return bad_module(file, "activation_function: '" + name + "' is not supported");
}

/// Reads the modules after the transformer itself.
class ModuleReader {
 public:
  ModuleReader(fs::path folder, VectorModel& model) : folder_(std::move(folder)), model_(model) {}

  Result<void> read(const json::object& module, const fs::path& list) {
    const std::string type = text_of(module, "type");
    const std::string path = text_of(module, "path");
    if (!stays_inside(path))
      return bad_module(list, "path: '" + path + "' leads out of the folder");
    const std::string_view kind = std::string_view(type).substr(type.rfind('.') + 1);
    if (kind == "Transformer") return read_sentence_limits(folder_ / path, model_);
    if (kind == "Dropout") return {};
    if (kind == "Normalize") {
      model_.layers.push_back({.kind = VectorLayer::Kind::kUnit});
      return {};
    }
    if (kind == "Pooling") return pooling(folder_ / path / "config.json");
    if (kind == "Dense" || kind == "LayerNorm") return layer(folder_ / path, kind == "Dense");
    return bad_module(list, "type: '" + type + "' is not supported");
  }

 private:
  Result<void> pooling(const fs::path& file) {
    const auto config = read_json_beside(file);
    if (!config) return config.error();
    if (!*config) return bad_module(file, "is missing");
    const auto kind = pooling_of(**config, file);
    if (!kind) return kind.error();
    model_.pooling = *kind;
    return {};
  }

  Result<void> layer(const fs::path& folder, bool is_dense) {
    const fs::path file = folder / "config.json";
    const auto config = read_json_beside(file);
    if (!config) return config.error();
    if (!*config) return bad_module(file, "is missing");
    std::error_code ignored;
    const fs::path safe = folder / "model.safetensors";
    const auto tensors =
        open_checkpoint(fs::exists(safe, ignored) ? safe : folder / "pytorch_model.bin");
    if (!tensors) return tensors.error();
    const std::array<std::string, 1> name = {is_dense ? "linear" : "norm"};
    if (!is_dense) return norm(*tensors);
    const auto activation = activation_of(**config, file);
    if (!activation) return activation.error();
    auto read = read_dense(*tensors, name, {}, model_.size());
    if (!read) return error_in(folder.string(), read.error());
    read->activation = *activation;
    model_.layers.push_back(*std::move(read));
    return {};
  }

  Result<void> norm(const Checkpoint& tensors) {
    constexpr float kTorchEps = 1e-5F;  // torch.nn.LayerNorm's default
    const std::array<std::string, 1> name = {"norm"};
    auto read = read_norm(tensors, name, {}, model_.size(), kTorchEps);
    if (!read) return read.error();
    model_.layers.push_back(*std::move(read));
    return {};
  }

  const fs::path folder_;
  VectorModel& model_;
};

const CheckpointTensor* first_of(const Checkpoint& checkpoint, std::span<const std::string> names,
                                 std::span<const std::string> prefixes, std::string_view end) {
  for (const std::string& name : names) {
    if (const auto* const found = find_tensor(checkpoint, name + std::string(end), prefixes)) {
      return found;
    }
  }
  return nullptr;
}

Error bad_tensor(const CheckpointTensor& tensor, const std::string& wanted) {
  std::string shape;
  for (const std::int64_t size : tensor.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  }
  return {ModelErrc::kBadTensor, tensor.name + ": [" + shape + "], needed " + wanted};
}

Result<std::vector<float>> values_of(const CheckpointTensor& tensor, std::int64_t count) {
  if (is_encoded(tensor.dtype) || !is_float(tensor.dtype)) {
    return Error{ModelErrc::kBadTensor, tensor.name + ": is of type " +
                                            std::string(to_string(tensor.dtype)) +
                                            ", where f32, f16 or bf16 is needed"};
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  auto read = read_values(tensor, 0, 1, values);
  if (!read) return read.error();
  return values;
}

/// Returns a vector of `size`; empty if the tensor does not exist.
Result<std::vector<float>> optional_vector(const CheckpointTensor* tensor, std::int64_t size) {
  if (tensor == nullptr) return std::vector<float>();
  if (tensor->shape != std::vector<std::int64_t>{size}) {
    return bad_tensor(*tensor, "[" + std::to_string(size) + "]");
  }
  return values_of(*tensor, size);
}

}  // namespace

Result<std::optional<json::object>> read_json_beside(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::optional<json::object>();
  const auto text = read_text_file(file, kMaxModuleFile);
  if (!text) return text.error();
  std::string problem;
  json::value value = parse_json(*text, kMaxModuleDepth, problem);
  if (problem.empty() && !value.is_object()) problem = "is no object";
  if (!problem.empty()) return bad_module(file, problem);
  return std::optional(std::move(value.get_object()));
}

Result<void> read_sentence_limits(const fs::path& folder, VectorModel& model) {
  const auto own = read_json_beside(folder / "sentence_bert_config.json");
  if (!own) return own.error();
  if (*own) model.max_tokens = tokens_of(**own, "max_seq_length");
  if (model.max_tokens > 0) return {};
  const auto tokenizer = read_json_beside(folder / "tokenizer_config.json");
  if (!tokenizer) return tokenizer.error();
  if (*tokenizer) model.max_tokens = tokens_of(**tokenizer, "model_max_length");
  return {};
}

Result<void> read_sentence_prompts(const fs::path& folder, VectorModel& model) {
  const fs::path file = folder / "config_sentence_transformers.json";
  const auto config = read_json_beside(file);
  if (!config) return config.error();
  const json::value* const prompts = *config ? (*config)->if_contains("prompts") : nullptr;
  if (prompts == nullptr || prompts->is_null()) return {};
  if (!prompts->is_object()) return bad_module(file, "prompts: is no object");
  if (prompts->get_object().size() > kMaxPrompts) return bad_module(file, "prompts: has too many");
  for (const auto& [name, text] : prompts->get_object()) {
    if (!text.is_string()) return bad_module(file, "prompts." + std::string(name) + ": is no text");
    model.prompts.emplace_back(std::string(name), text_of(prompts->get_object(), name));
  }
  return {};
}

Result<bool> read_sentence_modules(const fs::path& folder, VectorModel& model) {
  const fs::path file = folder / "modules.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  const auto text = read_text_file(file, kMaxModuleFile);
  if (!text) return text.error();
  std::string problem;
  const json::value list = parse_json(*text, kMaxModuleDepth, problem);
  if (problem.empty() && !list.is_array()) problem = "is no list";
  if (problem.empty() && list.get_array().size() > kMaxModules) problem = "has too many modules";
  if (!problem.empty()) return bad_module(file, problem);
  VectorModel read = model;
  read.layers.clear();
  ModuleReader reader(folder, read);
  for (const json::value& module : list.get_array()) {
    if (!module.is_object()) return bad_module(file, "a module is no object");
    if (auto done = reader.read(module.get_object(), file); !done) return done.error();
  }
  model = std::move(read);
  return true;
}

Result<VectorLayer> read_dense(const Checkpoint& checkpoint, std::span<const std::string> names,
                               std::span<const std::string> prefixes, std::int64_t inputs) {
  const CheckpointTensor* const weight = first_of(checkpoint, names, prefixes, ".weight");
  if (weight == nullptr) {
    return Error{ModelErrc::kMissingTensor, (names.empty() ? "" : names.front()) + ".weight"};
  }
  if (weight->shape.size() != 2 || weight->shape[0] < 1 || weight->shape[1] != inputs) {
    return bad_tensor(*weight, "[..., " + std::to_string(inputs) + "]");
  }
  VectorLayer layer{.kind = VectorLayer::Kind::kDense, .inputs = inputs};
  layer.outputs = weight->shape[0];
  auto values = values_of(*weight, layer.outputs * inputs);
  if (!values) return values.error();
  layer.weight = *std::move(values);
  auto bias = optional_vector(first_of(checkpoint, names, prefixes, ".bias"), layer.outputs);
  if (!bias) return bias.error();
  layer.bias = *std::move(bias);
  return layer;
}

Result<VectorLayer> read_norm(const Checkpoint& checkpoint, std::span<const std::string> names,
                              std::span<const std::string> prefixes, std::int64_t size, float eps) {
  const CheckpointTensor* const weight = first_of(checkpoint, names, prefixes, ".weight");
  if (weight == nullptr) {
    return Error{ModelErrc::kMissingTensor, (names.empty() ? "" : names.front()) + ".weight"};
  }
  VectorLayer layer{.kind = VectorLayer::Kind::kLayerNorm, .inputs = size, .outputs = size};
  layer.eps = eps;
  auto values = optional_vector(weight, size);
  if (!values) return values.error();
  layer.weight = *std::move(values);
  auto bias = optional_vector(first_of(checkpoint, names, prefixes, ".bias"), size);
  if (!bias) return bias.error();
  layer.bias = *std::move(bias);
  return layer;
}

}  // namespace weft
