#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_hash.h"
#include "weft/model/adapters/base_tensors.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

constexpr std::size_t kMostWarned = 4;  // most tensors that a warning names

std::vector<float> turned(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  std::vector<float> out(values.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column)
      out[static_cast<std::size_t>(column * rows + row)] =
          values[static_cast<std::size_t>(row * columns + column)];
  }
  return out;
}

std::vector<float> some_of(std::span<const float> values, std::int64_t first, std::int64_t count) {
  const auto part =
      values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  return {part.begin(), part.end()};
}

/// Binds one adapter.
class Binder {
 public:
  Binder(const AdapterFile& file, const Checkpoint& base, const Program& program,
         const Architecture& model)
      : file_(file), base_(base), tied_head_(model.head.tied), tensors_(base, program, model) {}

  Result<Adapter> bind() {
    if (auto able = check_whole(); !able) return able.error();
    for (const StoredPair& pair : file_.pairs) {
      if (auto bound = bind_pair(pair); !bound) return error_in(path(), bound.error());
    }
    for (const CheckpointTensor& tensor : file_.whole) {
      if (auto bound = bind_whole(tensor); !bound) return error_in(path(), bound.error());
    }
    for (const StoredRows& rows : file_.rows) {
      if (auto bound = bind_rows(rows); !bound) return error_in(path(), bound.error());
    }
    if (auto sorted = sort_targets(); !sorted) return sorted.error();
    warn();
    const auto hash = hash_of(adapter_);
    if (!hash) return hash.error();
    adapter_.hash = *hash;
    return std::move(adapter_);
  }

 private:
  [[nodiscard]] std::string path() const { return file_.path.string(); }

  [[nodiscard]] Error bad(const CheckpointTensor& tensor, std::string_view what) const {
    return bad_adapter(tensor.file(),
                       "tensor " + in_quotes(tensor.name) + ": " + std::string(what));
  }

  /// Whether adapter and base are of one kind, and the adapter has no refused key.
  [[nodiscard]] Result<void> check_whole() const {
    if (!file_.config.refused.empty()) return bad_adapter(path(), file_.config.refused.front());
    const bool gguf = base_.format() == CheckpointFormat::kGguf;
    if (file_.format == AdapterFormat::kPeft && gguf)
      return bad_adapter(path(),
                         "names the modules of a folder, and the base is a GGUF file: take "
                         "the base's folder, or an adapter written by llama.cpp's "
                         "convert_lora_to_gguf.py");
    if (file_.format == AdapterFormat::kPeft) return {};
    if (!gguf)
      return bad_adapter(path(),
                         "names the tensors of a GGUF file, and the base is none: take the "
                         "adapter's PEFT folder, or the base as GGUF");
    const auto* own = base_.config().as_object().if_contains("general.architecture");
    if (own != nullptr && own->is_string() && !file_.architecture.empty() &&
        file_.architecture != std::string_view(own->get_string()))
      return bad_adapter(path(), "general.architecture is " + in_quotes(file_.architecture) +
                                     ", and the base's is " +
                                     in_quotes(std::string_view(own->get_string())));
    return {};
  }

  /// Finds the base's tensor that an adapter's tensor changes.
  Result<const CheckpointTensor*> find(const std::string& name, const CheckpointTensor& why) {
    const CheckpointTensor* found = tensors_.find(name);
    if (found == nullptr) {
      std::string what = "the base has no tensor " + in_quotes(name);
      if (tied_head_) what += "; its head is its embedding";
      return bad(why, what);
    }
    if (!is_float(found->dtype))
      return bad(why, "the base's " + in_quotes(found->name) + " is " +
                          std::string(to_string(found->dtype)) + ", not floating-point");
    if (!tensors_.is_read(*found)) unread_.insert(found->name);
    return found;
  }

  [[nodiscard]] Result<std::vector<float>> values_of(const CheckpointTensor& tensor) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor.shape) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    if (auto read = read_values(tensor, 0, 1, values); !read) return read.error();
    const auto odd =
        std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
    if (odd != values.end())
      return bad(tensor, "its number " + std::to_string(odd - values.begin()) +
                             " is infinite or not a number");
    return values;
  }

  Result<void> bind_pair(const StoredPair& pair) {
    auto a = values_of(pair.a);
    if (!a) return a.error();
    auto b = values_of(pair.b);
    if (!b) return b.error();
    switch (pair.kind) {
      case PairKind::kLinear:
        return bind_linear(pair, *std::move(a), *std::move(b));
      case PairKind::kStack:
        return bind_stack(pair, *a, *b);
      case PairKind::kParameter:
        return bind_parameter(pair, *a, *b);
      case PairKind::kEmbedding:
      case PairKind::kTable:
        break;
    }
    return bind_table(pair, *std::move(a), *std::move(b));
  }

  [[nodiscard]] std::string weight_of(const StoredPair& pair) const {
    return file_.format == AdapterFormat::kGguf ? pair.module : pair.module + ".weight";
  }

  Result<void> check_scale(const StoredPair& pair, double scale) const {
    if (std::isfinite(static_cast<float>(scale))) return {};
    return bad(pair.a, "its scale is not finite");
  }

  /// Whether a tensor of the base has a matrix of this size.
  [[nodiscard]] Result<void> check_size(const StoredPair& pair, const CheckpointTensor& tensor,
                                        const AdapterTarget& target) const {
    std::vector<std::int64_t> shape = tensor.shape;
    if (target.expert >= 0 && shape.size() == 3) shape.erase(shape.begin());
    const auto wanted = target.transposed ? std::vector{target.inputs, target.outputs}
                                          : std::vector{target.outputs, target.inputs};
    if (shape == wanted) return {};
    return bad(pair.b, "changes a matrix of " + std::to_string(target.outputs) + " outputs and " +
                           std::to_string(target.inputs) + " inputs, and the base's " +
                           in_quotes(tensor.name) + " is " + shape_text(tensor.shape));
  }

  Result<void> add(const StoredPair& pair, const CheckpointTensor& tensor, AdapterTarget target) {
    target.tensor = tensor.name;
    target.transposed = tensors_.is_transposed(tensor);
    if (auto fits = check_size(pair, tensor, target); !fits) return fits;
    if (auto fits = check_scale(pair, target.scale); !fits) return fits;
    adapter_.targets.push_back(std::move(target));
    return {};
  }

  Result<void> bind_linear(const StoredPair& pair, std::vector<float> a, std::vector<float> b) {
    const auto tensor = find(weight_of(pair), pair.a);
    if (!tensor) return tensor.error();
    AdapterTarget target;
    target.outputs = pair.b.shape[0];
    target.inputs = pair.a.shape[1];
    target.rank = pair.rank;
    target.scale = static_cast<float>(pair.scale);
    target.a = std::move(a);
    target.b = std::move(b);
    if (tensors_.is_tied(**tensor))
      return bad(pair.a,
                 "changes the head, which is the embedding too: merged it would change both");
    if (pair.magnitude) {
      auto magnitude = values_of(*pair.magnitude);
      if (!magnitude) return magnitude.error();
      target.magnitude = *std::move(magnitude);
    }
    if (auto added = add(pair, **tensor, std::move(target)); !added) return added;
    return pair.bias ? bind_bias(pair) : Result<void>();
  }

  Result<void> bind_bias(const StoredPair& pair) {
    if (pair.magnitude) return bad(*pair.bias, "lora_bias and use_dora do not go together");
    const auto tensor = find(pair.module + ".bias", *pair.bias);
    if (!tensor) return tensor.error();
    auto values = values_of(*pair.bias);
    if (!values) return values.error();
    if ((*tensor)->shape != pair.bias->shape)
      return bad(*pair.bias, "the base's bias is " + shape_text((*tensor)->shape));
    for (float& value : *values) value *= static_cast<float>(pair.scale);
    adapter_.biases.push_back({(*tensor)->name, *std::move(values)});
    return {};
  }

  Result<void> bind_table(const StoredPair& pair, std::vector<float> a, std::vector<float> b) {
    const auto tensor = find(weight_of(pair), pair.a);
    if (!tensor) return tensor.error();
    if (pair.magnitude) return bad(*pair.magnitude, "use_dora is not supported for an embedding");
    if (pair.bias) return bad(*pair.bias, "lora_bias is not supported for an embedding");
    if (tensors_.is_tied(**tensor))
      return bad(pair.a,
                 "changes the embedding, which is the head too: merged it would change both");
    const std::int64_t rank = pair.rank;
    AdapterTarget target;
    target.inputs = pair.b.shape[0];
    target.rank = rank;
    target.scale = static_cast<float>(pair.scale);
    target.a = turned(b, target.inputs, rank);
    if (pair.kind == PairKind::kTable) {
      target.outputs = pair.a.shape[0];
      target.b = std::move(a);
    } else {
      target.outputs = pair.a.shape[1];
      target.b = turned(a, rank, target.outputs);
    }
    return add(pair, **tensor, std::move(target));
  }

  Result<void> bind_stack(const StoredPair& pair, std::span<const float> a,
                          std::span<const float> b) {
    const auto tensor = find(weight_of(pair), pair.a);
    if (!tensor) return tensor.error();
    const std::int64_t experts = pair.a.shape[0];
    if ((*tensor)->shape.size() != 3 || (*tensor)->shape[0] != experts)
      return bad(pair.a, "has " + std::to_string(experts) + " experts, and the base's " +
                             in_quotes((*tensor)->name) + " is " + shape_text((*tensor)->shape));
    AdapterTarget target;
    target.outputs = pair.b.shape[1];
    target.inputs = pair.a.shape[2];
    target.rank = pair.rank;
    target.scale = static_cast<float>(pair.scale);
    for (target.expert = 0; target.expert < experts; ++target.expert) {
      const std::int64_t a_size = target.rank * target.inputs;
      const std::int64_t b_size = target.outputs * target.rank;
      target.a = some_of(a, target.expert * a_size, a_size);
      target.b = some_of(b, target.expert * b_size, b_size);
      if (auto added = add(pair, **tensor, target); !added) return added;
    }
    return {};
  }

  // Parameters of modules that hold all experts (target_parameters).

  /// Returns the parameter of the pair's module that has the pair's size. Nested wrappers do not
  /// name it.
  [[nodiscard]] Result<ExpertParameter> parameter_of(const StoredPair& pair) const {
    std::vector<ExpertParameter> fitting;
    for (const std::string& stated : file_.config.target_parameters) {
      const std::size_t dot = stated.rfind('.');
      if (dot == std::string::npos || !ends_with_name(pair.module, stated.substr(0, dot))) continue;
      const std::string name = stated.substr(dot + 1);
      auto parameter = tensors_.find_parameter(pair.module, name);
      if (parameter && parameter->outputs == pair.b.shape[0] &&
          parameter->inputs == pair.a.shape[1])
        fitting.push_back(*std::move(parameter));
    }
    if (fitting.empty())
      return bad(pair.b, "no parameter of target_parameters in the base has " +
                             std::to_string(pair.b.shape[0]) + " outputs and " +
                             std::to_string(pair.a.shape[1]) + " inputs");
    if (fitting.size() > 1)
      return bad(pair.b,
                 "target_parameters has several parameters of this size, and the file does "
                 "not say which this is");
    return std::move(fitting.front());
  }

  Result<void> bind_parameter(const StoredPair& pair, std::span<const float> a,
                              std::span<const float> b) {
    if (pair.magnitude)
      return bad(*pair.magnitude, "use_dora is not supported for target_parameters");
    if (pair.bias) return bad(*pair.bias, "lora_bias is not supported for target_parameters");
    const auto parameter = parameter_of(pair);
    if (!parameter) return parameter.error();
    const auto rank = rank_of(file_.config, parameter->name);
    if (!rank) return rank.error();
    const auto alpha = alpha_of(file_.config, parameter->name);
    if (!alpha) return alpha.error();
    if (pair.a.shape[0] != *rank * parameter->experts)
      return bad(pair.a, "has " + std::to_string(pair.a.shape[0]) + " rows, not rank " +
                             std::to_string(*rank) + " for each of " +
                             std::to_string(parameter->experts) + " experts");
    const double scale = adapter_scale(*alpha, *rank, file_.config.rank_stabilized);
    for (const ExpertParameter::Piece& piece : parameter->pieces) {
      for (std::int64_t expert = 0; expert < parameter->experts; ++expert) {
        AdapterTarget target;
        target.outputs = piece.outputs;
        target.inputs = parameter->inputs;
        target.rank = *rank;
        target.scale = static_cast<float>(scale);
        target.a = some_of(a, expert * *rank * target.inputs, *rank * target.inputs);
        target.b = expert_outputs(b, piece, *parameter, expert, *rank);
        const bool stack = piece.tensors.size() == 1 && piece.tensors[0]->shape.size() == 3;
        if (stack) target.expert = expert;
        const CheckpointTensor& tensor =
            *piece.tensors[stack ? 0 : static_cast<std::size_t>(expert)];
        const auto usable = find(tensor.name, pair.b);
        if (!usable) return usable.error();
        if (auto added = add(pair, tensor, std::move(target)); !added) return added;
      }
    }
    return {};
  }

  /// Returns B of one expert: in the file the experts of each rank are contiguous.
  static std::vector<float> expert_outputs(std::span<const float> b,
                                           const ExpertParameter::Piece& piece,
                                           const ExpertParameter& parameter, std::int64_t expert,
                                           std::int64_t rank) {
    std::vector<float> own;
    own.reserve(static_cast<std::size_t>(piece.outputs * rank));
    for (std::int64_t output = 0; output < piece.outputs; ++output) {
      for (std::int64_t k = 0; k < rank; ++k) {
        const std::int64_t row = piece.first + output;
        own.push_back(b[static_cast<std::size_t>((row * rank + k) * parameter.experts + expert)]);
      }
    }
    return own;
  }

  Result<void> bind_whole(const CheckpointTensor& tensor) {
    const auto base = find(tensor.name, tensor);
    if (!base) return base.error();
    if ((*base)->shape != tensor.shape)
      return bad(tensor, "is " + shape_text(tensor.shape) + ", and the base's is " +
                             shape_text((*base)->shape));
    if (tensors_.is_tied(**base))
      return bad(tensor, "replaces the embedding or the head, which are one tensor of the base");
    if (auto values = values_of(tensor); !values) return values.error();
    adapter_.whole.push_back(tensor);
    adapter_.whole.back().name = (*base)->name;
    return {};
  }

  Result<void> bind_rows(const StoredRows& rows) {
    const auto base = find(rows.module + ".weight", rows.values);
    if (!base) return base.error();
    const auto& shape = (*base)->shape;
    if (shape.size() != 2 || shape[1] != rows.values.shape[1])
      return bad(rows.values, "is " + shape_text(rows.values.shape) + ", and the base's " +
                                  in_quotes((*base)->name) + " is " + shape_text(shape));
    for (const std::int64_t row : rows.rows) {
      if (row >= shape[0])
        return bad(rows.values, "trainable_token_indices names token " + std::to_string(row) +
                                    ", and the base has " + std::to_string(shape[0]));
    }
    auto values = values_of(rows.values);
    if (!values) return values.error();
    adapter_.rows.push_back({(*base)->name, rows.rows, *std::move(values)});
    return {};
  }

  Result<void> sort_targets() {
    const auto key = [](const AdapterTarget& target) {
      return std::tuple(std::string_view(target.tensor), target.expert);
    };
    std::ranges::sort(adapter_.targets, {}, key);
    std::ranges::sort(adapter_.biases, {}, &AdapterBiasTarget::tensor);
    std::ranges::sort(adapter_.whole, {}, &CheckpointTensor::name);
    std::ranges::sort(adapter_.rows, {}, &AdapterRows::tensor);
    const auto twice = std::ranges::adjacent_find(adapter_.targets, {}, key);
    const auto again = std::ranges::adjacent_find(adapter_.whole, {}, &CheckpointTensor::name);
    const auto rows = std::ranges::adjacent_find(adapter_.rows, {}, &AdapterRows::tensor);
    std::string name;
    if (twice != adapter_.targets.end()) name = twice->tensor;
    if (again != adapter_.whole.end()) name = again->name;
    if (rows != adapter_.rows.end()) name = rows->tensor;
    if (name.empty()) return {};
    return bad_adapter(path(), "changes the base's tensor " + in_quotes(name) + " twice");
  }

  void warn() {
    warn_of_base();
    if (!unread_.empty()) {
      std::string text = "the adapter changes tensors that the model is not computed with: ";
      std::size_t told = 0;
      for (const std::string& name : unread_) {
        if (told++ == kMostWarned) break;
        text.append(told > 1 ? ", " : "").append(name);
      }
      if (unread_.size() > kMostWarned) text += ", ...";
      adapter_.warnings.push_back(std::move(text));
    }
  }

  /// Warns if the adapter was trained on a base of another name.
  void warn_of_base() {
    const auto last_part = [](std::string_view name) {
      while (name.ends_with('/')) name.remove_suffix(1);
      return std::string(name.substr(name.rfind('/') + 1));
    };
    const std::string trained = last_part(file_.config.base_model);
    if (trained.empty()) return;
    const auto* stated = base_.config().as_object().if_contains("_name_or_path");
    const std::string own =
        stated != nullptr && stated->is_string() ? last_part(stated->get_string()) : "";
    const std::string folder = last_part(base_.path().string());
    if (trained == folder || trained == own) return;
    // The hub's cache: models--OWNER--NAME/snapshots/COMMIT.
    if (base_.path().string().find("--" + trained + "/snapshots/") != std::string::npos) return;
    adapter_.warnings.push_back("the adapter was trained on " + in_quotes(file_.config.base_model) +
                                ", and the base is " + in_quotes(base_.path().string()));
  }

  const AdapterFile& file_;
  const Checkpoint& base_;
  const bool tied_head_;
  const BaseTensors tensors_;
  std::set<std::string> unread_;
  Adapter adapter_;
};

}  // namespace

std::int64_t Adapter::bytes() const noexcept {
  std::size_t floats = 0;
  for (const AdapterTarget& each : targets)
    floats += each.a.size() + each.b.size() + each.magnitude.size();
  return static_cast<std::int64_t>(floats * sizeof(float));
}

Result<Adapter> bind_adapter(const AdapterFile& file, const Checkpoint& base,
                             const Program& program, const Architecture& architecture) {
  return Binder(file, base, program, architecture).bind();
}

}  // namespace weft
