#include "weft/model/adapters/peft_adapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "weft/core/dtype.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/checkpoint_format.h"
#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"
#include "weft/model/checkpoint/safetensors.h"

namespace weft {
namespace {

constexpr std::size_t kMostAdapterConfigBytes = std::size_t{16} << 20U;  // real ones have a KiB
constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kWrapped = ".base_layer";

/// The role of a tensor in its module.
enum class Role : std::uint8_t { kA, kB, kBias, kMagnitude, kEmbeddingA, kEmbeddingB, kRows };

struct Ending {
  std::string_view text;
  Role role;
};
constexpr std::array kEndings = {
    Ending{".lora_A.weight", Role::kA},
    Ending{".lora_B.weight", Role::kB},
    Ending{".lora_B.bias", Role::kBias},
    Ending{".lora_magnitude_vector", Role::kMagnitude},
    Ending{".lora_magnitude_vector.weight", Role::kMagnitude},
    Ending{".lora_embedding_A", Role::kEmbeddingA},
    Ending{".lora_embedding_B", Role::kEmbeddingB},
    Ending{".token_adapter.trainable_tokens_delta", Role::kRows},
    Ending{".trainable_tokens_delta", Role::kRows},
};

const Ending* ending_of(std::string_view key) {
  const auto found = std::ranges::find_if(
      kEndings, [key](const Ending& ending) { return key.ends_with(ending.text); });
  return found == kEndings.end() ? nullptr : &*found;
}

using Parts = std::map<Role, CheckpointTensor>;

/// Sorts the tensors of one file.
class PeftSorter {
 public:
  PeftSorter(AdapterConfig config, std::string_view file) : file_(file) {
    adapter_.config = std::move(config);
  }

  Result<AdapterFile> sort(std::vector<CheckpointTensor> tensors) {
    adapter_.bytes = bytes_of_all(tensors);
    for (CheckpointTensor& tensor : tensors) {
      if (auto kept = keep(std::move(tensor)); !kept) return kept.error();
    }
    for (auto& [module, parts] : modules_) {
      auto added = parts.contains(Role::kRows) ? add_rows(module, parts) : add_pair(module, parts);
      if (!added) return added.error();
    }
    if (auto whole = check_saved(); !whole) return whole.error();
    if (adapter_.pairs.empty() && adapter_.whole.empty() && adapter_.rows.empty())
      return bad_adapter(file_, "holds no tensor");
    return std::move(adapter_);
  }

 private:
  [[nodiscard]] Error bad(std::string_view tensor, std::string_view what) const {
    return bad_adapter(file_, "tensor " + in_quotes(tensor) + ": " + std::string(what));
  }

  Result<void> keep(CheckpointTensor tensor) {
    const std::string key = tensor.name;
    if (!key.starts_with(kPrefix))
      return bad(key, "its name does not begin with " + std::string(kPrefix));
    if (!is_float(tensor.dtype) || is_encoded(tensor.dtype))
      return bad(key, "is " + std::string(to_string(tensor.dtype)) + ", no plain floating point");
    const std::string_view path = std::string_view(key).substr(kPrefix.size());
    const Ending* ending = ending_of(path);
    if (ending == nullptr) {
      if (path.find("lora_") != std::string_view::npos)
        return bad(key, "is of a kind of adapter that is not known");
      tensor.name = without_wrapping(path);
      adapter_.whole.push_back(std::move(tensor));
      return {};
    }
    const std::string module(path.substr(0, path.size() - ending->text.size()));
    if (!modules_[module].emplace(ending->role, std::move(tensor)).second)
      return bad(key, "stands there twice");
    return {};
  }

  static std::string without_wrapping(std::string_view path) {
    std::string name(path);
    for (std::size_t at = name.find(kWrapped); at != std::string::npos; at = name.find(kWrapped))
      name.erase(at, kWrapped.size());
    return name;
  }

  /// Whether a pair may be added to a parameter of this module.
  [[nodiscard]] bool has_target_parameter(std::string_view module) const {
    return std::ranges::any_of(
        adapter_.config.target_parameters, [module](const std::string& parameter) {
          const std::size_t dot = parameter.rfind('.');
          return dot != std::string::npos && ends_with_name(module, parameter.substr(0, dot));
        });
  }

  Result<void> add_pair(const std::string& path, Parts& parts) {
    const bool embedding = parts.contains(Role::kEmbeddingA) || parts.contains(Role::kEmbeddingB);
    const Role a = embedding ? Role::kEmbeddingA : Role::kA;
    const Role b = embedding ? Role::kEmbeddingB : Role::kB;
    const std::string& shown = parts.begin()->second.name;
    if (!parts.contains(a) || !parts.contains(b))
      return bad(shown, "its pair lacks " + std::string(parts.contains(a) ? "B" : "A"));
    if (embedding && (parts.contains(Role::kA) || parts.contains(Role::kB)))
      return bad(shown, "stands beside a pair of a linear layer");
    StoredPair pair;
    pair.module = without_wrapping(path);
    pair.a = parts.at(a);
    pair.b = parts.at(b);
    if (auto extras = add_extras(parts, pair, shown); !extras) return extras;
    if (embedding) pair.kind = PairKind::kEmbedding;
    if (has_target_parameter(pair.module)) pair.kind = PairKind::kParameter;
    if (auto fits = check_shapes(pair); !fits) return fits;
    if (pair.kind != PairKind::kParameter) {
      if (auto stated = take_settings(pair); !stated) return stated;
    }
    adapter_.pairs.push_back(std::move(pair));
    return {};
  }

  Result<void> add_extras(Parts& parts, StoredPair& pair, std::string_view shown) const {
    const AdapterConfig& config = adapter_.config;
    if (parts.contains(Role::kBias)) pair.bias = parts.at(Role::kBias);
    if (parts.contains(Role::kMagnitude)) pair.magnitude = parts.at(Role::kMagnitude);
    if (pair.bias.has_value() != config.lora_bias)
      return bad(shown, config.lora_bias ? "lora_bias is true, and B has no bias"
                                         : "B has a bias, and lora_bias is not true");
    if (pair.magnitude.has_value() != config.dora)
      return bad(shown, config.dora ? "use_dora is true, and the pair has no magnitude"
                                    : "has a magnitude, and use_dora is not true");
    return {};
  }

  Result<void> check_shapes(const StoredPair& pair) const {
    const auto& a = pair.a.shape;
    const auto& b = pair.b.shape;
    if (a.size() != 2 || b.size() != 2 || a[0] < 1 || a[1] < 1 || b[0] < 1)
      return bad(pair.a.name, shape_text(a) + " and B " + shape_text(b) + " are no two matrices");
    if (a[0] != b[1])
      return bad(pair.a.name, "has rank " + std::to_string(a[0]) + ", and its B has rank " +
                                  std::to_string(b[1]));
    for (const auto* extra : {&pair.bias, &pair.magnitude}) {
      if (*extra && (*extra)->shape != std::vector{b[0]})
        return bad((*extra)->name, "is " + shape_text((*extra)->shape) + ", and B has " +
                                       std::to_string(b[0]) + " outputs");
    }
    return {};
  }

  /// Takes rank and scale from the config, and checks that the config selects the module.
  Result<void> take_settings(StoredPair& pair) const {
    const auto selected = is_adapted(adapter_.config, pair.module);
    if (!selected) return error_in(file_, selected.error());
    if (!*selected)
      return bad(pair.a.name, "target_modules and its companions do not select this module");
    const auto rank = rank_of(adapter_.config, pair.module);
    if (!rank) return error_in(file_, rank.error());
    const auto alpha = alpha_of(adapter_.config, pair.module);
    if (!alpha) return error_in(file_, alpha.error());
    if (*rank != pair.a.shape[0])
      return bad(pair.a.name, "has rank " + std::to_string(pair.a.shape[0]) +
                                  ", and adapter_config.json states " + std::to_string(*rank));
    pair.rank = *rank;
    pair.scale = adapter_scale(*alpha, *rank, adapter_.config.rank_stabilized);
    return {};
  }

  Result<void> add_rows(const std::string& path, Parts& parts) {
    const CheckpointTensor& values = parts.at(Role::kRows);
    if (parts.size() > 1) return bad(values.name, "stands beside a low-rank pair");
    const std::string module = without_wrapping(path);
    const auto& tokens = adapter_.config.tokens;
    const auto found = std::ranges::find_if(tokens, [&](const AdapterConfig::Tokens& each) {
      return ends_with_name(module, each.module);
    });
    // A list without a module means the input's embedding, whatever its name in the family.
    const bool only = tokens.size() == 1 && tokens.front().module == "embed_tokens";
    if (found == tokens.end() && !only)
      return bad(values.name, "trainable_token_indices does not name its module");
    const auto& rows = found == tokens.end() ? tokens.front().rows : found->rows;
    if (values.shape.size() != 2 || values.shape[0] != std::ssize(rows))
      return bad(values.name, "is " + shape_text(values.shape) +
                                  ", and trainable_token_indices has " +
                                  std::to_string(rows.size()) + " rows");
    adapter_.rows.push_back({module, rows, values});
    return {};
  }

  /// Whether the file has the tensors that modules_to_save and trainable_token_indices promise.
  [[nodiscard]] Result<void> check_saved() const {
    for (const std::string& module : adapter_.config.saved_modules) {
      const bool found =
          std::ranges::any_of(adapter_.whole, [&module](const CheckpointTensor& each) {
            const std::size_t dot = each.name.rfind('.');
            return dot != std::string::npos && each.name.substr(0, dot).ends_with(module);
          });
      if (!found)
        return bad_adapter(file_, "modules_to_save names " + in_quotes(module) +
                                      ", and the file has no tensor of it");
    }
    if (!adapter_.config.tokens.empty() && adapter_.rows.empty())
      return bad_adapter(file_, "trainable_token_indices is set, and the file has no such rows");
    return {};
  }

  std::string_view file_;
  AdapterFile adapter_;
  std::map<std::string, Parts> modules_;
};

Result<CheckpointFile> read_tensors(const std::filesystem::path& path) {
  const auto source = open_file_source(path);
  if (!source) return source.error();
  const auto format = format_of(**source);
  if (!format) return format.error();
  if (*format == CheckpointFormat::kPickle) return read_pickle_checkpoint(*source);
  if (*format == CheckpointFormat::kSafetensors) return read_safetensors(*source);
  return bad_adapter(path.string(), "is a " + std::string(to_string(*format)) + " file");
}

}  // namespace

Result<AdapterFile> sort_peft_tensors(AdapterConfig config, std::vector<CheckpointTensor> tensors,
                                      std::string_view file) {
  return PeftSorter(std::move(config), file).sort(std::move(tensors));
}

Result<AdapterFile> read_peft_adapter(const std::filesystem::path& config,
                                      const std::filesystem::path& weights) {
  const auto text = read_text_file(config, kMostAdapterConfigBytes);
  if (!text) return text.error();
  auto parsed = parse_adapter_config(*text, config.string());
  if (!parsed) return parsed.error();
  auto content = read_tensors(weights);
  if (!content) return content.error();
  return sort_peft_tensors(*std::move(parsed), std::move(content->tensors), weights.string());
}

}  // namespace weft
