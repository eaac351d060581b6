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

class AdapterRegistry;
class Gauge;
struct VectorModel;

/// Facts about a model to show to people; computations do not use them.
struct ModelFacts {
  std::string family{};           ///< of its spec, "qwen2"; empty = not known
  std::string format{};           ///< of its files, "gguf"
  std::string weight_type{};      ///< in which most bytes of its files are, "q4_k"
  std::int64_t parameters = 0;    ///< 0: unknown, as for all numbers here
  std::int64_t stored_bytes = 0;  ///< the bytes of the tensors in its files
  std::int64_t hidden = 0;        ///< the size of a hidden state
  std::int64_t layers = 0;        ///< layers with a KV cache; all layers of an encoder
};

/// The kinds of vectors that a model gives.
struct VectorFacts {
  bool embeddings = false;
  bool scores = false;                ///< it gives scores of labels
  std::int64_t size = 0;              ///< the size of an embedding, or the number of labels
  std::int64_t max_tokens = 0;        ///< the most tokens of an input
  std::vector<std::string> labels{};  ///< the labels of scores
  /// The prompts that may be put in front of a text, by name (VectorModel::prompts).
  std::vector<std::pair<std::string, std::string>> prompts{};
  bool mask_fills = false;  ///< tokens for mask tokens, each a Tokenizer::mask()
};

/// The served model as the actors know it. Immutable, shared by all actors.
struct ServedModel {
  Tokenizer tokenizer;
  ChatEncoder chat{tokenizer};  ///< uses the tokenizer's template
  /// How it writes thoughts and calls, by its spec or else by that template. Never null.
  std::shared_ptr<const ModelFormat> format = ModelFormat::find(tokenizer);
  std::int64_t vocabulary = 0;        ///< the number of logits; the tokenizer may have fewer tokens
  std::int64_t context = 0;           ///< positions of a sequence on the device
  DType kv_dtype = DType::kF32;       ///< of keys and values
  std::int64_t kv_bytes = 0;          ///< the bytes of the pages of all replicas
  bool kv_on_host = false;            ///< the model runs on a GPU, but its pages are in host memory
  std::vector<TokenId> end_tokens{};  ///< sorted, each once
  bool has_encoder = false;
  bool generates = true;  ///< false: it only gives vectors
  /// How it gives vectors; null: it does not. `vector_facts` has the facts for clients.
  std::shared_ptr<const VectorModel> vectors{};
  VectorFacts vector_facts{};
  TokenId start_token = kNoToken;  ///< the first token of an encoder-decoder model's decoder
  GenerationDefaults defaults{};   ///< for requests that leave these values open
  /// The reasons for the choice of devices (device.partition "auto"), one a line.
  std::vector<std::string> placement{};
  /// Warnings for the server's operator, one sentence each, about what the model's files lack.
  std::vector<std::string> warnings{};
  CacheShare cache_share = CacheShare::kKey;  ///< Config::cache_share
  bool guesses_unasked = true;                ///< Config::guesses_unasked()
  bool takes_predictions = true;              ///< Config::speculation_prediction
  GrammarCache grammars{tokenizer};           ///< for structured outputs
  std::int64_t long_from = 0;  ///< longer sequences use the long set of angles; 0 = no such set
  ModelFacts facts{};
  /// The adapters that requests can name; null: it takes none.
  std::shared_ptr<AdapterRegistry> adapters{};

  /// The set of angles for a sequence of at most so many tokens.
  [[nodiscard]] AngleSet angles_of(std::int64_t tokens) const noexcept {
    return long_from > 0 && tokens > long_from ? AngleSet::kLong : AngleSet::kShort;
  }
};

/// Applies a configuration to a loaded model. `structured_bytes`, if not null, shows the memory of
/// its grammars.
void apply_config(ServedModel& model, const Config& config,
                  std::shared_ptr<Gauge> structured_bytes = nullptr);

/// Returns the tokens sorted, each once, as end tokens are kept.
[[nodiscard]] std::vector<TokenId> sorted_once(std::vector<TokenId> tokens);

}  // namespace weft
