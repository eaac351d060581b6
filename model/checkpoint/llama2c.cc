#include "weft/model/checkpoint/llama2c.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/header_bytes.h"

namespace weft {
namespace {

constexpr std::uint32_t kLlama2cMagic = 0x616b3432;  // "ak42" in a hexadecimal constant
constexpr std::uint64_t kHeaderBytes1 = 256;         // bytes of version 1's header
constexpr std::int64_t kFloat = 4;                   // all weights are float32

// Ranges of every llama model, which distinguish a header from junk.
constexpr std::int64_t kMaxLlama2cWidth = 1 << 20;
constexpr std::int64_t kMaxLlama2cLayers = 1024;
constexpr std::int64_t kMaxLlama2cHeads = 1024;
constexpr std::int64_t kMaxLlama2cVocabulary = 1 << 21;
constexpr std::int64_t kMaxLength = 1 << 24;

struct Header {
  std::int64_t hidden = 0;        // dim
  std::int64_t feed_forward = 0;  // hidden_dim
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t length = 0;  // seq_len
  bool shared_classifier = true;

  [[nodiscard]] std::int64_t head_size() const { return hidden / heads; }
  [[nodiscard]] std::int64_t kv_hidden() const { return head_size() * kv_heads; }
};

Header read_header(FieldReader& fields) {
  Header header;
  header.hidden = fields.take<std::int32_t>("dim");
  header.feed_forward = fields.take<std::int32_t>("hidden_dim");
  header.layers = fields.take<std::int32_t>("n_layers");
  header.heads = fields.take<std::int32_t>("n_heads");
  header.kv_heads = fields.take<std::int32_t>("n_kv_heads");
  header.vocabulary = fields.take<std::int32_t>("vocab_size");
  header.length = fields.take<std::int32_t>("seq_len");
  return header;
}

/// Returns the first field that is out of range, or nothing.
std::optional<std::string_view> wrong_field(const Header& header) {
  const auto outside = [](std::int64_t value, std::int64_t most) {
    return value < 1 || value > most;
  };
  if (outside(header.hidden, kMaxLlama2cWidth)) return "dim";
  if (outside(header.feed_forward, kMaxLlama2cWidth)) return "hidden_dim";
  if (outside(header.layers, kMaxLlama2cLayers)) return "n_layers";
  if (outside(header.heads, kMaxLlama2cHeads) || header.hidden % header.heads != 0 ||
      header.head_size() % 2 != 0)
    return "n_heads";
  if (outside(header.kv_heads, header.heads) || header.heads % header.kv_heads != 0)
    return "n_kv_heads";
  if (outside(header.vocabulary, kMaxLlama2cVocabulary)) return "vocab_size";
  if (outside(header.length, kMaxLength)) return "seq_len";
  return std::nullopt;
}

/// Consecutive weights: one tensor, or one tensor of each layer.
struct Group {
  std::string_view name;  ///< For a layer's tensor, the name after "model.layers.N.".
  std::vector<std::int64_t> shape;
  bool per_layer = false;
  bool skipped = false;  ///< Tables of version 0 that can be computed instead of read.
};

std::vector<Group> matrices_of(const Header& header) {
  const std::int64_t h = header.hidden;
  const std::int64_t f = header.feed_forward;
  return {{"self_attn.q_proj.weight", {h, h}, true},
          {"self_attn.k_proj.weight", {header.kv_hidden(), h}, true},
          {"self_attn.v_proj.weight", {header.kv_hidden(), h}, true},
          {"self_attn.o_proj.weight", {h, h}, true},
          {"mlp.gate_proj.weight", {f, h}, true},
          {"mlp.down_proj.weight", {h, f}, true},
          {"mlp.up_proj.weight", {f, h}, true}};
}

/// Returns the groups after the header, in order.
std::vector<Group> groups_of(const Header& header, int version) {
  const std::int64_t h = header.hidden;
  const Group embedding{"model.embed_tokens.weight", {header.vocabulary, h}};
  const Group norm{"model.norm.weight", {h}};
  const Group attention_norm{"input_layernorm.weight", {h}, true};
  const Group mlp_norm{"post_attention_layernorm.weight", {h}, true};
  const std::vector<Group> matrices = matrices_of(header);
  std::vector<Group> groups;
  if (version == 0) {
    groups = {embedding, attention_norm};
    groups.insert(groups.end(), matrices.begin(), matrices.begin() + 4);
    groups.push_back(mlp_norm);
    groups.insert(groups.end(), matrices.begin() + 4, matrices.end());
    groups.push_back(norm);
    // cos and sin of the rotary embedding.
    for (const std::string_view table : {"freq_cis_real", "freq_cis_imag"})
      groups.push_back({table, {header.length, header.head_size() / 2}, false, true});
  } else {
    groups = {attention_norm, mlp_norm, norm, embedding};
    groups.insert(groups.end(), matrices.begin(), matrices.end());
  }
  if (!header.shared_classifier) groups.push_back({"lm_head.weight", {header.vocabulary, h}});
  return groups;
}

/// Returns the bytes of one tensor of the group. The ranges of wrong_field() keep it far from
/// overflow.
std::int64_t bytes_of_one(const Group& group) {
  std::int64_t bytes = kFloat;
  for (const std::int64_t dimension : group.shape) bytes *= dimension;
  return bytes;
}

std::int64_t bytes_of_all(const std::vector<Group>& groups, std::int64_t layers) {
  std::int64_t bytes = 0;
  for (const Group& group : groups) bytes += bytes_of_one(group) * (group.per_layer ? layers : 1);
  return bytes;
}

/// A header, the groups of weights after it, and where they begin.
struct Layout {
  Header header;
  int version = 0;
  std::uint64_t weights = 0;
};

bool has_magic(std::span<const std::byte> bytes) {
  return FieldReader(bytes).take<std::uint32_t>("magic") == kLlama2cMagic;
}

/// Returns the layout of a file of `size` bytes that begins with `begin`.
Result<Layout> read_layout(std::span<const std::byte> begin, std::uint64_t size,
                           std::string_view file) {
  ByteWindow window{begin, 0, size};
  FieldReader fields(window);
  Layout layout;
  if (has_magic(begin)) {
    fields.skip(sizeof kLlama2cMagic, "magic");
    layout.version = fields.take<std::int32_t>("version");
    if (!fields.failed() && layout.version != 1)
      return unsupported_checkpoint(file, "version " + std::to_string(layout.version) +
                                              " of llama2.c's format" +
                                              (layout.version == 2 ? " (quantized)" : ""));
  }
  layout.header = read_header(fields);
  if (layout.version == 0) {
    // A negative size means that the classifier has its own weights.
    layout.header.shared_classifier = layout.header.vocabulary > 0;
    layout.header.vocabulary = std::abs(layout.header.vocabulary);
  } else {
    const auto shared = fields.take<std::uint8_t>("shared_classifier");
    if (shared > 1) return bad_checkpoint(file, "shared_classifier is " + std::to_string(shared));
    layout.header.shared_classifier = shared == 1;
    fields.seek(kHeaderBytes1, "weights");
  }
  layout.weights = fields.offset();
  if (fields.failed()) return bad_checkpoint(file, fields.error().detail);
  if (const auto wrong = wrong_field(layout.header))
    return bad_checkpoint(file, std::string(*wrong) + " is out of range");
  return layout;
}

/// Checks that the file's size is exactly what its header describes.
Result<std::vector<Group>> read_groups(const Layout& layout, std::uint64_t size,
                                       std::string_view file) {
  std::vector<Group> groups = groups_of(layout.header, layout.version);
  const auto wanted =
      static_cast<std::uint64_t>(bytes_of_all(groups, layout.header.layers)) + layout.weights;
  if (wanted != size)
    return bad_checkpoint(file, "its header describes " + std::to_string(wanted) +
                                    " bytes, it has " + std::to_string(size));
  return groups;
}

boost::json::object config_of_header(const Header& header) {
  return {{"model_type", "llama"},
          {"architectures", boost::json::array{"LlamaForCausalLM"}},
          {"hidden_size", header.hidden},
          {"intermediate_size", header.feed_forward},
          {"num_hidden_layers", header.layers},
          {"num_attention_heads", header.heads},
          {"num_key_value_heads", header.kv_heads},
          {"vocab_size", header.vocabulary},
          {"max_position_embeddings", header.length},
          {"hidden_act", "silu"},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"rope_style", "interleaved"},
          {"tie_word_embeddings", header.shared_classifier},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"torch_dtype", "float32"}};
}

std::vector<CheckpointTensor> tensors_of(const std::vector<Group>& groups, std::int64_t layers,
                                         std::uint64_t offset, const SharedSource& source) {
  std::vector<CheckpointTensor> tensors;
  for (const Group& group : groups) {
    const auto size = static_cast<std::uint64_t>(bytes_of_one(group));
    const std::int64_t count = group.per_layer ? layers : 1;
    for (std::int64_t i = 0; i < count; ++i, offset += size) {
      if (group.skipped) continue;
      std::string name(group.name);
      if (group.per_layer) name.insert(0, "model.layers." + std::to_string(i) + ".");
      tensors.push_back({.name = std::move(name),
                         .dtype = DType::kF32,
                         .shape = group.shape,
                         .source = source,
                         .offset = offset,
                         .size = size});
    }
  }
  return tensors;
}

}  // namespace

bool is_llama2c(std::span<const std::byte> begin, std::uint64_t size) {
  if (has_magic(begin)) return true;
  const auto layout = read_layout(begin, size, {});
  return layout && read_groups(*layout, size, {});
}

Result<CheckpointFile> read_llama2c(const SharedSource& source) {
  const std::uint64_t size = source->size();
  const auto begin = read_held(*source, 0, std::min(size, kHeaderBytes1));
  if (!begin) return begin.error();
  const auto layout = read_layout(*begin, size, source->name());
  if (!layout) return layout.error();
  const auto groups = read_groups(*layout, size, source->name());
  if (!groups) return groups.error();
  CheckpointFile file;
  file.tensors = tensors_of(*groups, layout->header.layers, layout->weights, source);
  file.config = config_of_header(layout->header);
  return file;
}

}  // namespace weft
