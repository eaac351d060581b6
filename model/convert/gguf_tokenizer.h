#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// The keys of a GGUF file that begin with "tokenizer.".
struct GgufTokenizer {
  boost::json::object values;
  std::vector<GgufPair> lists;  ///< by token; also the merges
};

/// Returns the keys that read_gguf_vocabulary() reads, and the tokens that end a text. `end_tokens`
/// are the model's; a file names two. A null `vocabulary`: the file states that it has no
/// tokenizer.
[[nodiscard]] GgufTokenizer gguf_tokenizer(const Vocabulary* vocabulary,
                                           std::span<const std::int64_t> end_tokens);

}  // namespace weft
