#include "weft/model/open_model.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/dtype.h"
#include "weft/model/adapters/adapted_checkpoint.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/adapters/gguf_adapter.h"
#include "weft/model/checkpoint/unit_rows.h"
#include "weft/model/model_error.h"
#include "weft/model/quantize/quantized_checkpoint.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/model/spec/tensor_names.h"
#include "weft/text/tokenizer/gguf/gguf_form.h"

namespace weft {

namespace {

/// Reads the architecture of the opened checkpoint, and compiles it.
Result<void> compile_opened(const std::filesystem::path& model, OpenedModel& opened) {
  auto architecture = resolve_architecture(*opened.family, *opened.checkpoint);
  if (!architecture) return error_in(model.string(), architecture.error());
  opened.architecture = std::make_shared<Architecture>(*std::move(architecture));
  auto program = compile(*opened.architecture, *opened.checkpoint);
  if (!program) return error_in(model.string(), program.error());
  opened.program = std::make_shared<Program>(std::move(*program));
  return {};
}

/// Returns whether a GGUF file is the part of a model that sees or hears (llama.cpp's mmproj).
bool is_projector(const boost::json::object& metadata) {
  const auto says = [&](std::string_view key, std::string_view what) {
    const boost::json::value* found = metadata.if_contains(key);
    return found != nullptr && found->is_string() && found->get_string() == what;
  };
  return says("general.type", "mmproj") || says("general.architecture", "clip");
}

/// Opens the checkpoint of MODEL. Distinguishes an adapter and a projector from a broken model.
Result<Checkpoint> open_base(const std::filesystem::path& model) {
  auto checkpoint = open_checkpoint(model);
  if (checkpoint && is_projector(checkpoint->config().as_object())) {
    return Error{ModelErrc::kUnsupportedFormat,
                 model.string() +
                     " is the part of a model that sees or hears (an mmproj file), "
                     "not its text model: name the text model's own file"};
  }
  const bool adapter =
      checkpoint ? is_gguf_adapter(checkpoint->config().as_object()) : is_adapter(model);
  if (!adapter) return checkpoint;
  return bad_adapter(model.string(),
                     "is an adapter: name its base as the model, and this path by "
                     "--adapter; weft inspect shows what it changes");
}

/// Divides the rows of a normalized head by their lengths, and compiles the model again.
Result<void> normalize_head(const std::filesystem::path& model, OpenedModel& opened) {
  if (!opened.architecture->head.present || !opened.architecture->head.normalized) return {};
  for (const std::string& name : opened.architecture->head.linear.tensor) {
    const CheckpointTensor* const found =
        find_tensor(*opened.checkpoint, name + ".weight", opened.architecture->optional_prefixes);
    if (found == nullptr) continue;
    if (is_encoded(found->dtype)) return {};  // the rows were divided before they were encoded
    auto made = with_unit_rows(*opened.checkpoint, found->name);
    if (!made) return made.error();
    opened.checkpoint = std::make_shared<Checkpoint>(*std::move(made));
    return compile_opened(model, opened);
  }
  return Error{ModelErrc::kMissingTensor, model.string() + ": the head, which is normalized"};
}

/// Merges an adapter into the checkpoint, whose shapes stay the same, and compiles it again.
Result<void> merge_opened(const std::filesystem::path& model, const std::filesystem::path& adapter,
                          bool encoded_later, OpenedModel& opened) {
  const auto file = read_adapter(adapter);
  if (!file) return file.error();
  auto bound = bind_adapter(*file, *opened.checkpoint, *opened.program, *opened.architecture);
  if (!bound) return bound.error();
  opened.adapter = std::make_shared<Adapter>(*std::move(bound));
  auto merged = adapted_checkpoint(*opened.checkpoint, opened.adapter,
                                   encoded_later ? AdaptedType::kF32 : AdaptedType::kStored);
  if (!merged) return merged.error();
  opened.checkpoint = std::make_shared<Checkpoint>(*std::move(merged));
  return compile_opened(model, opened);
}

}  // namespace

Result<OpenedModel> open_model(const std::filesystem::path& model,
                               const std::filesystem::path& spec, std::string_view weights,
                               const std::filesystem::path& adapter) {
  auto checkpoint = open_base(model);
  if (!checkpoint) return checkpoint.error();
  const auto found = spec.empty() ? find_spec(*checkpoint) : spec_from(spec, *checkpoint);
  if (!found) return found.error();
  OpenedModel opened;
  opened.spec = found->file();
  opened.family = std::make_shared<Spec>(*found);
  opened.checkpoint = std::make_shared<Checkpoint>(std::move(*checkpoint));
  if (auto compiled = compile_opened(model, opened); !compiled) return compiled.error();
  if (auto normalized = normalize_head(model, opened); !normalized) return normalized.error();
  if (!adapter.empty()) {
    if (auto merged = merge_opened(model, adapter, !weights.empty(), opened); !merged)
      return merged.error();
  }
  if (weights.empty()) return opened;
  // The model's use of matrices decides which are encoded, so it is compiled twice.
  auto encoded = quantized_checkpoint(*opened.checkpoint, *opened.program, *opened.family, weights);
  if (!encoded) return error_in(model.string(), encoded.error());
  opened.checkpoint = std::make_shared<Checkpoint>(*std::move(encoded));
  if (auto compiled = compile_opened(model, opened); !compiled) return compiled.error();
  return opened;
}

namespace {

/// Files that hold a tokenizer, or that mention one: a model with any of these files must have a
/// tokenizer that can be read.
constexpr auto kTokenizerFiles = std::to_array<std::string_view>(
    {"tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "merges.txt",
     "spiece.model", "tekken.json", "tiktoken.model", "added_tokens.json"});

/// Returns whether a model's folder, or its one file, has no trace of a tokenizer.
bool has_no_tokenizer(const std::filesystem::path& model) {
  std::error_code ignored;
  return !std::filesystem::is_directory(model, ignored) ||
         std::ranges::none_of(kTokenizerFiles, [&](std::string_view name) {
           return std::filesystem::exists(model / name, ignored);
         });
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  std::error_code ignored;
  if (model.extension() == ".json" || std::filesystem::exists(model / "tokenizer.json", ignored)) {
    return Tokenizer::load(model);
  }
  if (std::filesystem::exists(model / "sentencepiece.bpe.model", ignored))
    return Tokenizer::load(model);
  const auto checkpoint = open_checkpoint(model);
  if (!checkpoint) return checkpoint.error();
  const Vocabulary* vocabulary = checkpoint->vocabulary();
  if (vocabulary == nullptr && has_no_tokenizer(model)) return Tokenizer::none();
  // Tokenizer::load() reports best what is missing in a folder without tokenizer.json.
  if (vocabulary == nullptr) return Tokenizer::load(model);
  return Tokenizer::from_vocabulary(*vocabulary, model.string());
}

Result<std::shared_ptr<const Vocabulary>> gguf_vocabulary_of(const Checkpoint& checkpoint) {
  std::error_code ignored;
  if (!std::filesystem::exists(checkpoint.path() / "tokenizer.json", ignored)) {
    const Vocabulary* own = checkpoint.vocabulary();
    return own == nullptr ? nullptr : std::make_shared<const Vocabulary>(*own);
  }
  auto made = gguf_form(checkpoint.path());
  if (!made) return made.error();
  return std::make_shared<const Vocabulary>(std::move(*made));
}

}  // namespace weft
