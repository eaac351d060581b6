#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/model/vectors/vector_model.h"

namespace weft {

class Checkpoint;

/// A small file of JSON beside a model: nothing where there is none. kBadConfig names the file
/// where it is no object.
[[nodiscard]] Result<std::optional<boost::json::object>> read_json_beside(
    const std::filesystem::path& file);

/// Fills in pooling, layers and max_tokens of a model that sentence-transformers wrote into
/// `folder`: modules.json, and the folder of each module that it lists. Returns false, with `model`
/// unchanged, where there is no modules.json. Errors as of read_vector_model().
[[nodiscard]] Result<bool> read_sentence_modules(const std::filesystem::path& folder,
                                                 VectorModel& model);

/// Fills in max_tokens alone: max_seq_length of sentence_bert_config.json, or model_max_length of
/// tokenizer_config.json, where version 6 of sentence-transformers writes it.
[[nodiscard]] Result<void> read_sentence_limits(const std::filesystem::path& folder,
                                                VectorModel& model);

/// Fills in the prompts of config_sentence_transformers.json, where the file exists. kBadConfig
/// where a prompt is no text.
[[nodiscard]] Result<void> read_sentence_prompts(const std::filesystem::path& folder,
                                                 VectorModel& model);

/// Reads a layer from the checkpoint's tensors NAME.weight and, if it exists, NAME.bias, with the
/// first of `names` that exists. `inputs`: the layer's inputs; its outputs are the tensor's.
/// kMissingTensor, kBadTensor.
[[nodiscard]] Result<VectorLayer> read_dense(const Checkpoint& checkpoint,
                                             std::span<const std::string> names,
                                             std::span<const std::string> prefixes,
                                             std::int64_t inputs);

/// Reads a layer norm of `size` numbers likewise.
[[nodiscard]] Result<VectorLayer> read_norm(const Checkpoint& checkpoint,
                                            std::span<const std::string> names,
                                            std::span<const std::string> prefixes,
                                            std::int64_t size, float eps);

}  // namespace weft
