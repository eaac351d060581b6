#include "weft/model/vectors/read_vector_model.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/vectors/sentence_modules.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// Returns the folder of a model's other files; empty if one file has everything.
fs::path folder_of(const Checkpoint& checkpoint) {
  std::error_code ignored;
  return fs::is_directory(checkpoint.path(), ignored) ? checkpoint.path() : fs::path();
}

std::string_view word_of(const json::object& config, std::string_view key) {
  const json::value* const value = config.if_contains(key);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

/// Returns the activation that sentence-transformers' CrossEncoder has written to config.json.
std::string_view noted_activation(const json::object& config) {
  const json::value* const own = config.if_contains("sentence_transformers");
  if (own != nullptr && own->is_object()) {
    const std::string_view noted = word_of(own->get_object(), "activation_fn");
    if (!noted.empty()) return noted;
  }
  return word_of(config, "sbert_ce_default_activation_function");
}

ScoreActivation score_activation(const json::object& config, std::size_t labels) {
  const std::string_view noted = noted_activation(config);
  if (noted.ends_with("Identity")) return ScoreActivation::kNone;
  if (noted.ends_with("Sigmoid")) return ScoreActivation::kSigmoid;
  const std::string_view problem = word_of(config, "problem_type");
  if (problem == "regression") return ScoreActivation::kNone;
  if (problem == "multi_label_classification" || labels == 1) return ScoreActivation::kSigmoid;
  return ScoreActivation::kSoftmax;
}

std::vector<std::string> labels_of(const json::object& config, std::int64_t count) {
  const json::value* const names = config.if_contains("id2label");
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    std::string_view name;
    if (names != nullptr && names->is_object()) name = word_of(names->get_object(), number);
    labels.push_back(name.empty() ? "LABEL_" + number : std::string(name));
  }
  return labels;
}

/// Returns the most tokens of an input, from the files of sentence-transformers and transformers.
Result<std::int64_t> noted_tokens(const fs::path& folder) {
  if (folder.empty()) return std::int64_t{0};
  VectorModel noted;
  const auto read = read_sentence_limits(folder, noted);
  if (!read) return read.error();
  return noted.max_tokens;
}

Result<void> add_score_layers(const Architecture& architecture, const Checkpoint& checkpoint,
                              VectorModel& model) {
  const ScoresBlock& scores = architecture.scores;
  const auto& prefixes = architecture.optional_prefixes;
  if (!scores.dense.empty()) {
    auto dense = read_dense(checkpoint, scores.dense, prefixes, model.hidden);
    if (!dense) return dense.error();
    dense->activation = scores.activation;
    model.layers.push_back(*std::move(dense));
  }
  if (scores.norm.present) {
    auto norm =
        read_norm(checkpoint, scores.norm.tensor, prefixes, model.size(), scores.norm.spec.eps);
    if (!norm) return norm.error();
    model.layers.push_back(*std::move(norm));
  }
  auto last = read_dense(checkpoint, scores.tensor, prefixes, model.size());
  if (!last) return last.error();
  model.layers.push_back(*std::move(last));
  return {};
}

/// Returns the pooling that a GGUF file states, by llama.cpp's numbers (enum llama_pooling_type).
PoolingKind gguf_pooling(const json::object& config, PoolingKind otherwise) {
  const std::string key = std::string(word_of(config, "general.architecture")) + ".pooling_type";
  const json::value* const value = config.if_contains(key);
  if (value == nullptr || !value->is_number()) return otherwise;
  switch (value->to_number<int>()) {
    case 1:
      return PoolingKind::kMean;
    case 2:
      return PoolingKind::kCls;
    case 3:
      return PoolingKind::kLast;
    default:
      return otherwise;
  }
}

}  // namespace

Result<std::shared_ptr<const VectorModel>> read_vector_model(const Architecture& architecture,
                                                             const Checkpoint& checkpoint) {
  if (architecture.kind == ModelKind::kEncoderDecoder) {
    return std::shared_ptr<const VectorModel>();
  }
  const json::object& config = checkpoint.config().get_object();
  const fs::path folder = folder_of(checkpoint);
  auto model = std::make_shared<VectorModel>();
  model->hidden = architecture.hidden;
  if (scores_labels(checkpoint)) {
    model->scores = true;
    model->pooling = architecture.scores.pooling;
    if (auto added = add_score_layers(architecture, checkpoint, *model); !added) {
      return added.error();
    }
    model->labels = labels_of(config, model->size());
    model->activation = score_activation(config, model->labels.size());
    const auto tokens = noted_tokens(folder);
    if (!tokens) return tokens.error();
    model->max_tokens = *tokens;
    return std::shared_ptr<const VectorModel>(std::move(model));
  }
  model->pooling = architecture.pooling.kind;
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    model->pooling = gguf_pooling(config, model->pooling);
  }
  if (architecture.pooling.normalize) model->layers.push_back({});
  if (!folder.empty()) {
    const auto read = read_sentence_modules(folder, *model);
    if (!read) return read.error();
    if (auto prompts = read_sentence_prompts(folder, *model); !prompts) return prompts.error();
  }
  return std::shared_ptr<const VectorModel>(std::move(model));
}

}  // namespace weft
