#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// A model's files, looked through and compiled, not loaded.
struct OpenedModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::string spec;  ///< where the spec that was used stands
};

/// Opens a folder in Hugging Face layout, a GGUF file or a llama2.c file. `spec` is the file of a
/// spec, or empty: then the one beside the model or a built-in one. Errors of the checkpoint, the
/// spec and the compiler name file and field.
[[nodiscard]] Result<OpenedModel> open_model(const std::filesystem::path& model,
                                             const std::filesystem::path& spec = {});

/// The tokenizer of such a model: tokenizer.json, or the vocabulary in the model's file.
[[nodiscard]] Result<Tokenizer> load_tokenizer(const std::filesystem::path& model);

}  // namespace weft
