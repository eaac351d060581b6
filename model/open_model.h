#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

struct Adapter;
struct Architecture;
class Spec;

/// A model's files, looked through and compiled, not loaded.
struct OpenedModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::string spec;  ///< where the spec that was used stands
  std::shared_ptr<const Architecture> architecture =
      {};                                       ///< what parts for ranks are compiled from
  std::shared_ptr<const Spec> family = {};      ///< that spec
  std::shared_ptr<const Adapter> adapter = {};  ///< that the checkpoint's numbers include; or null
};

/// Opens a folder in Hugging Face layout, a GGUF file or a llama2.c file. `spec` is the file of a
/// spec, or empty: then the one beside the model or a built-in one. `weights` is the type that
/// floating-point weights get when they are loaded (quantized_checkpoint()), or empty: their own.
/// `adapter` is merged into the weights before that (adapted_checkpoint()), or empty: there is
/// none. Errors of the checkpoint, the spec, the adapter, the type and the compiler name file and
/// field; kBadAdapter where `model` is an adapter.
[[nodiscard]] Result<OpenedModel> open_model(const std::filesystem::path& model,
                                             const std::filesystem::path& spec = {},
                                             std::string_view weights = {},
                                             const std::filesystem::path& adapter = {});

/// Returns the tokenizer of an opened model: tokenizer.json, or the vocabulary in the model's file.
/// A model with neither, and without files of another tokenizer, gets Tokenizer::none().
[[nodiscard]] Result<Tokenizer> load_tokenizer(const std::filesystem::path& model);

/// The tokenizer tables for a GGUF file of an opened model; for a folder they are made from its
/// tokenizer.json; null where there is none. Errors of gguf_form() and of core/io/file.h.
[[nodiscard]] Result<std::shared_ptr<const Vocabulary>> gguf_vocabulary_of(
    const Checkpoint& checkpoint);

}  // namespace weft
