#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/convert/gguf_tensors.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/spec.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// A model as a GGUF file would have it: its checkpoint reads like the file's, and its tensors are
/// made from the tensors of the model's own files when they are read.
struct GgufModel {
  std::vector<GgufPair> metadata;  ///< of the architecture, and the tokenizer's
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Checkpoint> source;  ///< where the numbers are read
};

/// Puts a model into GGUF's form: names, metadata and the order of heads by the [gguf] tables of
/// its spec (docs/model-specs.md). `program` is compiled from the checkpoint by `spec`; with a null
/// `vocabulary` the file has no tokenizer. The spec reads the form back, and the result is compared
/// with `program`, so that a file never describes another model than the checkpoint. GGUF has no
/// names for the head of masked tokens: the file has the encoder alone. kUnsupportedFormat naming
/// what GGUF cannot express, kCannotQuantize for tensors whose encoding it lacks; errors of
/// reading.
[[nodiscard]] Result<GgufModel> make_gguf_model(const Spec& spec,
                                                std::shared_ptr<const Checkpoint> checkpoint,
                                                const Program& program,
                                                const Vocabulary* vocabulary);

/// A model's metadata and tensors by GGUF's names, whether or not GGUF can express the whole model.
struct GgufNames {
  boost::json::value config;  ///< the metadata, flat, without the tokenizer's
  std::vector<GgufTensor> tensors;
};

/// Error: kUnsupportedFormat where the spec has no [gguf] tables, or no name for a tensor.
[[nodiscard]] Result<GgufNames> gguf_names(const Spec& spec, const Checkpoint& checkpoint,
                                           const Program& program);

}  // namespace weft
