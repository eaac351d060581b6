#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/loading/generation_config.h"
#include "weft/config/config.h"
#include "weft/core/dtype.h"
#include "weft/core/token.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/grammar/grammar_cache.h"
#include "weft/text/chat/chat_encoder.h"
#include "weft/text/format/model_format.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

class Gauge;
struct VectorModel;

/// What people are told of a model. Nothing is computed by it.
struct ModelFacts {
  std::string family{};           ///< of its spec, "qwen2"; empty = not known
  std::string format{};           ///< of its files, "gguf"
  std::string weight_type{};      ///< in which most bytes of its files are, "q4_k"
  std::int64_t parameters = 0;    ///< 0, as of all numbers here: not known
  std::int64_t stored_bytes = 0;  ///< of its files' tensors
  std::int64_t hidden = 0;        ///< numbers of a token between two layers
  std::int64_t layers = 0;        ///< that have a KV cache, or of an encoder all
};

/// Which vectors a model gives.
struct VectorFacts {
  bool embeddings = false;
  bool scores = false;                ///< of labels
  std::int64_t size = 0;              ///< numbers of an embedding, or labels
  std::int64_t max_tokens = 0;        ///< of an input
  std::vector<std::string> labels{};  ///< of scores
  /// The prompts that may be put in front of a text, by name (VectorModel::prompts).
  std::vector<std::pair<std::string, std::string>> prompts{};
  bool mask_fills = false;  ///< tokens for mask tokens, each a Tokenizer::mask()
};

/// What the actors know of the model that is served. Immutable, shared by all of them.
struct ServedModel {
  Tokenizer tokenizer;
  ChatEncoder chat{tokenizer};  ///< by the tokenizer's template
  /// How it writes thoughts and calls: by that template, unless its spec says so. Never null.
  std::shared_ptr<const ModelFormat> format = ModelFormat::find(tokenizer);
  std::int64_t vocabulary = 0;        ///< of the logits; the tokenizer's may be smaller
  std::int64_t context = 0;           ///< positions of a sequence on the device
  DType kv_dtype = DType::kF32;       ///< of keys and values
  std::int64_t kv_bytes = 0;          ///< of the pages of all replicas
  bool kv_on_host = false;            ///< these are a GPU's, in host memory
  std::vector<TokenId> end_tokens{};  ///< sorted, each once
  bool has_encoder = false;
  bool generates = true;  ///< false: it gives vectors alone
  /// How it gives vectors; null: it does not. What clients may know of it is in `vector_facts`.
  std::shared_ptr<const VectorModel> vectors{};
  VectorFacts vector_facts{};
  TokenId start_token = kNoToken;  ///< which the decoder of an encoder-decoder model begins with
  GenerationDefaults defaults{};   ///< of requests that do not say it themselves
  /// Why it runs where it does, one reason a line, where that was chosen (device.partition "auto").
  std::vector<std::string> placement{};
  /// Warnings for the server's operator, one sentence each, about what the model's files lack.
  std::vector<std::string> warnings{};
  CacheShare cache_share = CacheShare::kKey;  ///< Config::cache_share
  GrammarCache grammars{tokenizer};           ///< of structured outputs
  std::int64_t long_from = 0;  ///< longer sequences use the long set of angles; 0 = there is none
  ModelFacts facts{};

  /// The angles of a sequence that may get so many tokens.
  [[nodiscard]] AngleSet angles_of(std::int64_t tokens) const noexcept {
    return long_from > 0 && tokens > long_from ? AngleSet::kLong : AngleSet::kShort;
  }
};

/// Sets what a configuration says of a model that has been loaded. `structured_bytes` shows what
/// its grammars hold; null: nothing does.
void apply_config(ServedModel& model, const Config& config,
                  std::shared_ptr<Gauge> structured_bytes = nullptr);

/// Returns tokens as end tokens are kept: sorted, each once.
[[nodiscard]] std::vector<TokenId> sorted_once(std::vector<TokenId> tokens);

}  // namespace weft
