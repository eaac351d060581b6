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

/// Reads a small JSON file beside a model; nothing if it does not exist. kBadConfig names the file
/// if it is no object.
[[nodiscard]] Result<std::optional<boost::json::object>> read_json_beside(
    const std::filesystem::path& file);

/// Fills in pooling, layers and max_tokens of a model that sentence-transformers wrote into
/// `folder`: from modules.json, and the folder of each module that it lists. Returns false, with
/// `model` unchanged, if there is no modules.json. Errors as in read_vector_model().
[[nodiscard]] Result<bool> read_sentence_modules(const std::filesystem::path& folder,
                                                 VectorModel& model);

/// Fills in max_tokens alone, from max_seq_length of sentence_bert_config.json, or model_max_length
/// of tokenizer_config.json, where version 6 of sentence-transformers writes it.
[[nodiscard]] Result<void> read_sentence_limits(const std::filesystem::path& folder,
                                                VectorModel& model);

/// Fills in the prompts of config_sentence_transformers.json, if the file exists. kBadConfig if a
/// prompt is no text.
[[nodiscard]] Result<void> read_sentence_prompts(const std::filesystem::path& folder,
                                                 VectorModel& model);

/// Reads a layer from the checkpoint's tensors NAME.weight and, if it exists, NAME.bias. NAME is
/// the first of `names` that exists. The layer has `inputs` inputs; its outputs are the tensor's.
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
