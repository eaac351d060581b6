#include "weft/model/convert/gguf_model.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/convert/gguf_blocks.h"
#include "weft/model/convert/gguf_tensors.h"
#include "weft/model/convert/gguf_tokenizer.h"
#include "weft/model/convert/mapped_tensor.h"
#include "weft/model/convert/weight_map.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/gguf_spec.h"
#include "weft/model/spec/spec_values.h"
#include "weft/text/tokenizer/gguf/gguf_form.h"

namespace weft {
namespace {

namespace json = boost::json;

// The divisor in GGUF files for the frequency of a pair that is not rotated.
constexpr float kNeverTurns = 1e30F;

/// A vector that is in no tensor of the model.
struct MadeVector {
  std::string name;
  std::vector<float> values;
};

CheckpointTensor tensor_of(const MadeVector& vector) {
  const auto bytes = std::as_bytes(std::span(vector.values));
  return {vector.name,
          DType::kF32,
          {static_cast<std::int64_t>(vector.values.size())},
          std::make_shared<MemorySource>(vector.name, std::vector(bytes.begin(), bytes.end())),
          0,
          bytes.size()};
}

std::string_view scaling_type(const json::value& scaling) {
  const json::object* fields = scaling.if_object();
  if (fields == nullptr) return {};
  for (const char* key : {"rope_type", "type"}) {
    const json::value* found = fields->if_contains(key);
    if (found != nullptr && found->is_string()) return found->get_string();
  }
  return {};
}

void add_factors(const json::object& scaling, const char* key, const char* name,
                 std::vector<MadeVector>& made) {
  const json::value* factors = scaling.if_contains(key);
  if (factors == nullptr || !factors->is_array()) return;
  MadeVector& vector = made.emplace_back(MadeVector{name, {}});
  for (const json::value& factor : factors->get_array()) {
    vector.values.push_back(factor.is_number() ? factor.to_number<float>() : 0);
  }
}

/// Adds the scale of each layer's output, which specs state as a number.
void add_layer_scales(const Architecture& model, std::vector<MadeVector>& made) {
  const auto& layers = model.decoder.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const float scale = layers[i].mlp_residual.sum_scale * layers[i].input.residual.sum_scale;
    if (scale == 1) continue;
    made.push_back({"blk." + std::to_string(i) + ".layer_output_scale.weight", {scale}});
  }
}

/// Returns the scaling that is a list of numbers in GGUF: Llama 3's divisors, LongRoPE's two sets,
/// and which pairs are rotated.
std::vector<MadeVector> rope_vectors(const Architecture& model, const Program& program) {
  std::vector<MadeVector> made;
  for (const RotaryBlock& rotary : model.decoder.rotary) {
    const std::string_view type = scaling_type(rotary.scaling);
    if (type == "longrope") {
      const json::object& scaling = rotary.scaling.get_object();
      add_factors(scaling, "long_factor", "rope_factors_long.weight", made);
      add_factors(scaling, "short_factor", "rope_factors_short.weight", made);
      return made;
    }
    if (type != "llama3" && type != "proportional") continue;
    const auto table = std::ranges::find_if(program.rotary, [&](const auto& frequencies) {
      return std::cmp_equal(frequencies.frequency.size(), rotary.size / 2);
    });
    if (table == program.rotary.end()) continue;
    MadeVector& vector = made.emplace_back(MadeVector{"rope_freqs.weight", {}});
    for (std::size_t i = 0; i < table->frequency.size(); ++i) {
      const double plain = std::pow(rotary.theta, -2.0 * static_cast<double>(i) / rotary.size);
      const float frequency = table->frequency[i];
      vector.values.push_back(frequency == 0 ? kNeverTurns
                                             : static_cast<float>(plain / double{frequency}));
    }
    return made;
  }
  return made;
}

/// The facts about a model before its numbers are searched.
struct Outline {
  std::string architecture;
  const Spec* reader = nullptr;
  json::object metadata;
  std::vector<GgufTensor> tensors;
  std::vector<MadeVector> made;
};

Result<Outline> outline_of(const Spec& spec, const Checkpoint& checkpoint, const Program& program,
                           bool states_windows) {
  SpecScope scope(checkpoint);
  const Architecture model = resolve_tree(scope, spec.tree(), spec.name());
  const auto target = gguf_target(spec, scope);
  if (!target) return target.error();
  scope.assume_tensors({"blk.", "dec.blk.", "enc.blk."});
  const Architecture names = resolve_tree(scope, gguf_naming(spec, *target->reader), spec.name());
  if (scope.error()) return *scope.error();
  for (const LayerBlock& layer : model.decoder.layers) {
    if (layer.attention() != nullptr) continue;
    return Error{ModelErrc::kUnsupportedFormat, "GGUF is not written of layers without attention"};
  }
  std::vector<json::object> blocks = gguf_blocks(model);
  for (json::object& block : blocks) block["states_windows"] = states_windows;
  Outline outline{target->architecture,
                  target->reader,
                  gguf_metadata(spec, *target->reader, scope, blocks),
                  {},
                  {}};
  if (scope.error()) return *scope.error();
  auto tensors = gguf_tensors(model, names, checkpoint);
  if (!tensors) return tensors.error();
  outline.tensors = std::move(*tensors);
  outline.made = rope_vectors(model, program);
  add_layer_scales(model, outline.made);
  return outline;
}

std::string key_of(const Outline& outline, std::string_view key) {
  const bool is_whole =
      key.starts_with("general.") || key.starts_with("tokenizer.") || key.starts_with("xielu.");
  return is_whole ? std::string(key) : outline.architecture + "." + std::string(key);
}

/// Returns the flat object that a reader of the file would get.
json::object config_of(const Outline& outline, const GgufTokenizer& tokenizer) {
  json::object config = tokenizer.values;
  config["general.architecture"] = outline.architecture;
  for (const auto& [key, value] : outline.metadata) {
    if (!value.is_null()) config[key_of(outline, key)] = value;
  }
  return config;
}

Result<Checkpoint> checkpoint_of(const Checkpoint& source, json::object config,
                                 std::vector<CheckpointTensor> tensors, const Outline& outline,
                                 const Vocabulary* vocabulary) {
  for (const MadeVector& vector : outline.made) tensors.push_back(tensor_of(vector));
  return Checkpoint::make(
      CheckpointFormat::kGguf, source.path(), std::move(config), std::move(tensors),
      vocabulary == nullptr ? nullptr : std::make_shared<const Vocabulary>(*vocabulary));
}

/// Returns the tensors with names and shapes alone, for a program that is never loaded.
std::vector<CheckpointTensor> drafts_of(const Outline& outline) {
  const auto nothing = std::make_shared<MemorySource>("GGUF", std::vector<std::byte>());
  std::vector<CheckpointTensor> drafts;
  for (const GgufTensor& tensor : outline.tensors) {
    const auto size = tensor_bytes(DType::kF32, tensor.shape);
    drafts.push_back({tensor.name, DType::kF32, tensor.shape, nothing, 0,
                      static_cast<std::uint64_t>(size.value_or(0))});
  }
  return drafts;
}

Result<Program> program_of(const Spec& reader, const Checkpoint& checkpoint) {
  const auto architecture = resolve_architecture(reader, checkpoint);
  if (!architecture) return architecture.error();
  return compile(*architecture, checkpoint);
}

Result<Program> program_without_head(const Spec& spec, const Checkpoint& checkpoint) {
  auto architecture = resolve_architecture(spec, checkpoint);
  if (!architecture) return architecture.error();
  architecture->head.present = false;
  return compile(*architecture, checkpoint);
}

std::vector<GgufPair> pairs_of(const Outline& outline, GgufTokenizer tokenizer) {
  std::vector<GgufPair> pairs = {
      gguf_pair("general.architecture", json::value(outline.architecture))};
  for (const auto& [key, value] : outline.metadata) {
    if (!value.is_null()) pairs.push_back(gguf_pair(key_of(outline, key), value));
  }
  for (const auto& [key, value] : tokenizer.values) pairs.push_back(gguf_pair(key, value));
  std::ranges::move(tokenizer.lists, std::back_inserter(pairs));
  return pairs;
}

/// Checks that a GGUF file can state the end tokens: it names two by id, and others by their text.
Result<void> check_end_tokens(const Program& program, const Program& back,
                              const Vocabulary* vocabulary) {
  for (const std::int64_t token : program.end_tokens) {
    if (std::ranges::find(back.end_tokens, token) != back.end_tokens.end()) continue;
    if (vocabulary != nullptr && ends_by_name(*vocabulary, static_cast<TokenId>(token))) continue;
    return Error{ModelErrc::kUnsupportedFormat, "GGUF has no form for all of this model: token " +
                                                    std::to_string(token) +
                                                    ", which ends a text besides others"};
  }
  return {};
}

class GgufModelMaker {
 public:
  GgufModelMaker(const Spec& spec, std::shared_ptr<const Checkpoint> source, const Program& program,
                 const Vocabulary* vocabulary)
      : spec_(spec), source_(std::move(source)), program_(program), vocabulary_(vocabulary) {}

  Result<GgufModel> make(bool states_windows) {
    auto outline = outline_of(spec_, *source_, program_, states_windows);
    if (!outline) return outline.error();
    GgufTokenizer tokenizer = gguf_tokenizer(vocabulary_, program_.end_tokens);
    const json::object config = config_of(*outline, tokenizer);
    const auto draft = checkpoint_of(*source_, config, drafts_of(*outline), *outline, vocabulary_);
    if (!draft) return draft.error();
    const auto back = program_of(*outline->reader, *draft);
    if (!back) return in_context(back.error());
    auto map = map_weights(program_, *back);
    if (!map) return in_context(map.error());
    if (auto ends = check_end_tokens(program_, *back, vocabulary_); !ends) return ends.error();
    auto tensors = tensors_of(*outline, std::move(*map));
    if (!tensors) return tensors.error();
    auto made = checkpoint_of(*source_, config, std::move(*tensors), *outline, vocabulary_);
    if (!made) return made.error();
    GgufModel model;
    model.source = source_;
    model.checkpoint = std::make_shared<const Checkpoint>(std::move(*made));
    auto program = program_of(*outline->reader, *model.checkpoint);
    if (!program) return in_context(program.error());
    model.program = std::make_shared<const Program>(std::move(*program));
    model.metadata = pairs_of(*outline, std::move(tokenizer));
    return model;
  }

 private:
  [[nodiscard]] Error in_context(const Error& error) const {
    return {error.code, source_->path().string() + " as GGUF: " + error.detail};
  }

  /// Drops tensors that nothing reads.
  Result<std::vector<CheckpointTensor>> tensors_of(const Outline& outline, WeightMap map) const {
    std::vector<CheckpointTensor> tensors;
    for (const GgufTensor& tensor : outline.tensors) {
      const auto found = map.find(tensor.name);
      if (found == map.end()) continue;
      auto made = mapped_tensor(tensor, std::move(found->second), source_->path().string());
      if (!made) return made.error();
      tensors.push_back(std::move(*made));
    }
    return tensors;
  }

  const Spec& spec_;
  std::shared_ptr<const Checkpoint> source_;
  const Program& program_;
  const Vocabulary* vocabulary_;
};

}  // namespace

Result<GgufModel> make_gguf_model(const Spec& spec, std::shared_ptr<const Checkpoint> checkpoint,
                                  const Program& program, const Vocabulary* vocabulary) {
  if (program.fills_masks()) {
    const auto encoder = program_without_head(spec, *checkpoint);
    if (!encoder) return encoder.error();
    return make_gguf_model(spec, std::move(checkpoint), *encoder, vocabulary);
  }
  GgufModelMaker maker(spec, std::move(checkpoint), program, vocabulary);
  // Most architectures imply which layers have a window, and some readers fail on a file that
  // states it.
  auto model = maker.make(false);
  if (model) return model;
  auto stated = maker.make(true);
  return stated ? std::move(stated) : std::move(model);
}

Result<GgufNames> gguf_names(const Spec& spec, const Checkpoint& checkpoint,
                             const Program& program) {
  auto outline = outline_of(spec, checkpoint, program, false);
  if (!outline) return outline.error();
  return GgufNames{config_of(*outline, {}), std::move(outline->tensors)};
}

}  // namespace weft
