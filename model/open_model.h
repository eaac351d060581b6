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

/// A model's files, opened and compiled, but not loaded.
struct OpenedModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::string spec;  ///< path of the spec that was used
  std::shared_ptr<const Architecture> architecture =
      {};                                   ///< the source from which parts for ranks are compiled
  std::shared_ptr<const Spec> family = {};  ///< the spec that was used
  /// The adapter that is merged into the checkpoint's numbers; or null.
  std::shared_ptr<const Adapter> adapter = {};
};

/// Opens a folder in Hugging Face layout, a GGUF file or a llama2.c file. `spec` is the file of a
/// spec; empty: the spec beside the model, or a built-in one. `weights` is the type to which
/// floating-point weights are converted when they are loaded (quantized_checkpoint()); empty: they
/// keep their type. `adapter` is merged into the weights before that (adapted_checkpoint()); empty:
/// none. Errors of the checkpoint, the spec, the adapter, the type and the compiler name file and
/// field; kBadAdapter if `model` is an adapter.
[[nodiscard]] Result<OpenedModel> open_model(const std::filesystem::path& model,
                                             const std::filesystem::path& spec = {},
                                             std::string_view weights = {},
                                             const std::filesystem::path& adapter = {});

/// Returns the tokenizer of an opened model: tokenizer.json, or the vocabulary in the model's file.
/// A model with neither, and without files of another tokenizer, gets Tokenizer::none().
[[nodiscard]] Result<Tokenizer> load_tokenizer(const std::filesystem::path& model);

/// Returns the tokenizer tables for a GGUF file of an opened model. For a folder they are made from
/// its tokenizer.json. Null if there is none. Errors of gguf_form() and of core/io/file.h.
[[nodiscard]] Result<std::shared_ptr<const Vocabulary>> gguf_vocabulary_of(
    const Checkpoint& checkpoint);

}  // namespace weft
