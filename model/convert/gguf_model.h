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

/// A model in the form of a GGUF file: its checkpoint reads like the file's. Its tensors are made
/// from the tensors of the model's own files when they are read.
struct GgufModel {
  std::vector<GgufPair> metadata;  ///< the architecture's and the tokenizer's
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Checkpoint> source;  ///< where the numbers are read
};

/// Converts a model to GGUF's form: names, metadata and the order of heads by the [gguf] tables of
/// its spec (docs/model-specs.md). `program` is compiled from the checkpoint by `spec`. With a null
/// `vocabulary` the file has no tokenizer. The spec reads the form back and the result is compared
/// with `program`, so that a file never describes another model than the checkpoint. GGUF has no
/// names for the head of masked tokens: the file has the encoder alone. kUnsupportedFormat names
/// what GGUF cannot express, kCannotQuantize a tensor whose encoding GGUF lacks; errors of reading.
[[nodiscard]] Result<GgufModel> make_gguf_model(const Spec& spec,
                                                std::shared_ptr<const Checkpoint> checkpoint,
                                                const Program& program,
                                                const Vocabulary* vocabulary);

/// A model's metadata and tensors by GGUF's names, even if GGUF cannot express the whole model.
struct GgufNames {
  boost::json::value config;  ///< the flat metadata, without the tokenizer's keys
  std::vector<GgufTensor> tensors;
};

/// Error: kUnsupportedFormat if the spec has no [gguf] tables, or no name for a tensor.
[[nodiscard]] Result<GgufNames> gguf_names(const Spec& spec, const Checkpoint& checkpoint,
                                           const Program& program);

}  // namespace weft
