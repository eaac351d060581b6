// Real files of others, where they are at hand: all formats of one model hold the same numbers, and
// what was made to do harm is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/header_bytes.h"
#include "weft/model/checkpoint/pickle/pickle.h"
#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using test::bytes_of;
using test::FailsWith;
using testing::HasSubstr;
using testing::SizeIs;

fs::path shared() { return test::source_path("../shared"); }

/// Skips, visibly, where the data is not at hand.
class CheckpointDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(shared())) GTEST_SKIP() << "no data at " << shared();
  }

  static Checkpoint open(const std::string& path) {
    auto opened = open_checkpoint(shared() / path);
    if (!opened) ADD_FAILURE() << to_string(opened.error());
    return std::move(opened).value();
  }
};

/// Expects the same names, types, shapes and bytes.
void expect_equal(const Checkpoint& left, const Checkpoint& right) {
  ASSERT_EQ(left.tensors().size(), right.tensors().size());
  for (const CheckpointTensor& tensor : left.tensors()) {
    const CheckpointTensor* other = right.find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(tensor.dtype, other->dtype) << tensor.name;
    EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
    EXPECT_TRUE(bytes_of(tensor) == bytes_of(*other)) << tensor.name;
  }
}

TEST_F(CheckpointDataTest, PickleAndSafetensorsOfOneModelAreEqual) {
  const Checkpoint pickle = open("data/models/small_tensors/test.pth");
  EXPECT_EQ(pickle.format(), CheckpointFormat::kPickle);
  EXPECT_THAT(pickle.tensors(), SizeIs(20));
  expect_equal(pickle, open("data/models/small_tensors/test.safetensors"));
}

TEST_F(CheckpointDataTest, GoldenModelsOpen) {
  struct Row {
    const char* name;
    CheckpointFormat format;
    std::size_t tensors;
  };
  for (const Row& row :
       {Row{"gptj", CheckpointFormat::kPickle, 35}, Row{"bloom", CheckpointFormat::kPickle, 42},
        Row{"mistral", CheckpointFormat::kSafetensors, 30},
        Row{"m2m100", CheckpointFormat::kSafetensors, 131}}) {
    const Checkpoint model = open("golden/" + std::string(row.name));
    EXPECT_EQ(model.format(), row.format) << row.name;
    EXPECT_THAT(model.tensors(), SizeIs(row.tensors)) << row.name;
    EXPECT_TRUE(model.config().as_object().contains("model_type"));
    for (const CheckpointTensor& tensor : model.tensors())
      EXPECT_NE(tensor.size, 0u) << tensor.name;
  }
}

TEST_F(CheckpointDataTest, ShardsInBf16HaveTheShapesOfTheWhole) {
  const Checkpoint whole = open("data/models/stories260K/derived_hf");
  const Checkpoint shards = open("data/models/stories260K/derived_hf_sharded_bf16");
  ASSERT_EQ(whole.tensors().size(), shards.tensors().size());
  for (const CheckpointTensor& tensor : shards.tensors()) {
    EXPECT_EQ(tensor.dtype, DType::kBF16);
    ASSERT_NE(whole.find(tensor.name), nullptr);
    EXPECT_EQ(whole.find(tensor.name)->shape, tensor.shape);
  }
}

/// The name in llama.cpp's GGUF files of a tensor of Hugging Face's llama.
std::string gguf_name(const std::string& name) {
  static const std::map<std::string, std::string> names = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"input_layernorm.weight", "attn_norm.weight"},
      {"self_attn.q_proj.weight", "attn_q.weight"},
      {"self_attn.k_proj.weight", "attn_k.weight"},
      {"self_attn.v_proj.weight", "attn_v.weight"},
      {"self_attn.o_proj.weight", "attn_output.weight"},
      {"post_attention_layernorm.weight", "ffn_norm.weight"},
      {"mlp.gate_proj.weight", "ffn_gate.weight"},
      {"mlp.down_proj.weight", "ffn_down.weight"},
      {"mlp.up_proj.weight", "ffn_up.weight"}};
  const std::string_view prefix = "model.layers.";
  if (!name.starts_with(prefix)) return names.at(name);
  const auto dot = name.find('.', prefix.size());
  return "blk." + name.substr(prefix.size(), dot - prefix.size()) + "." +
         names.at(name.substr(dot + 1));
}

/// Rows of q_proj and k_proj of each head, from Meta's order (pairs of neighbours turn together) to
/// Hugging Face's (first half with second half).
std::vector<std::byte> in_halves(const CheckpointTensor& tensor, std::size_t head_size) {
  const auto rows = static_cast<std::size_t>(tensor.shape[0]);
  const std::vector<std::byte> bytes = bytes_of(tensor);
  const std::size_t row_bytes = bytes.size() / rows;
  std::vector<std::byte> moved(bytes.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t in_head = row % head_size;
    const std::size_t to = row - in_head + in_head / 2 + in_head % 2 * (head_size / 2);
    std::ranges::copy(std::span(bytes).subspan(row * row_bytes, row_bytes),
                      moved.begin() + static_cast<std::ptrdiff_t>(to * row_bytes));
  }
  return moved;
}

TEST_F(CheckpointDataTest, AllFormatsOfStories260KHoldTheSameNumbers) {
  const Checkpoint llama2c = open("data/models/stories260K/stories260K.bin");
  const Checkpoint hf = open("data/models/stories260K/derived_hf");
  const Checkpoint gguf = open("data/models/stories260K/derived_gguf/stories260K-F32.gguf");
  EXPECT_EQ(llama2c.format(), CheckpointFormat::kLlama2C);
  EXPECT_EQ(gguf.format(), CheckpointFormat::kGguf);
  ASSERT_EQ(llama2c.tensors().size(), 47u);
  ASSERT_EQ(hf.tensors().size(), 47u);
  ASSERT_EQ(gguf.tensors().size(), 47u);
  for (const CheckpointTensor& tensor : llama2c.tensors()) {
    const CheckpointTensor* in_gguf = gguf.find(gguf_name(tensor.name));
    ASSERT_NE(in_gguf, nullptr) << tensor.name;
    EXPECT_EQ(tensor.shape, in_gguf->shape) << tensor.name;
    EXPECT_TRUE(bytes_of(tensor) == bytes_of(*in_gguf)) << tensor.name;
    const CheckpointTensor* in_hf = hf.find(tensor.name);
    ASSERT_NE(in_hf, nullptr) << tensor.name;
    EXPECT_EQ(tensor.shape, in_hf->shape) << tensor.name;
    const bool turns = tensor.name.find("q_proj") != std::string::npos ||
                       tensor.name.find("k_proj") != std::string::npos;
    EXPECT_TRUE((turns ? in_halves(tensor, 8) : bytes_of(tensor)) == bytes_of(*in_hf))
        << tensor.name;
  }
}

TEST_F(CheckpointDataTest, ConfigurationsOfStories260KAgree) {
  const Checkpoint llama2c = open("data/models/stories260K/stories260K.bin");
  const Checkpoint hf = open("data/models/stories260K/derived_hf");
  const Checkpoint gguf = open("data/models/stories260K/derived_gguf/stories260K-F32.gguf");
  for (const auto& [key, value] : llama2c.config().as_object()) {
    if (key == "rope_style") continue;
    EXPECT_EQ(value, hf.config().at(key)) << key;
  }
  EXPECT_EQ(gguf.config().at("general.architecture"), "llama");
  EXPECT_EQ(gguf.config().at("llama.block_count"), 5);
  EXPECT_EQ(gguf.config().at("llama.attention.head_count_kv"), 4);
  EXPECT_FALSE(gguf.config().as_object().contains("tokenizer.ggml.tokens"));
}

TEST_F(CheckpointDataTest, VocabulariesOfStories260KAreEqual) {
  const Checkpoint llama2c = open("data/models/stories260K/stories260K.bin");
  const Checkpoint gguf = open("data/models/stories260K/derived_gguf/stories260K-F32.gguf");
  ASSERT_NE(llama2c.vocabulary(), nullptr);
  ASSERT_NE(gguf.vocabulary(), nullptr);
  const Vocabulary& left = *llama2c.vocabulary();
  const Vocabulary& right = *gguf.vocabulary();
  EXPECT_EQ(left.model, right.model);
  EXPECT_EQ(left.tokens, right.tokens);
  EXPECT_EQ(left.scores, right.scores);
  EXPECT_EQ(left.types, right.types);
  EXPECT_EQ(left.special.bos, right.special.bos);
  EXPECT_EQ(left.special.eos, right.special.eos);
  EXPECT_EQ(left.add_bos, right.add_bos);
}

TEST_F(CheckpointDataTest, GgufInF16AndQ8HaveTheShapesOfF32) {
  const Checkpoint whole = open("data/models/stories260K/derived_gguf/stories260K-F32.gguf");
  for (const char* name : {"F16", "Q8_0"}) {
    const Checkpoint other =
        open("data/models/stories260K/derived_gguf/stories260K-" + std::string(name) + ".gguf");
    ASSERT_EQ(other.tensors().size(), whole.tensors().size());
    for (const CheckpointTensor& tensor : other.tensors()) {
      ASSERT_NE(whole.find(tensor.name), nullptr);
      EXPECT_EQ(tensor.shape, whole.find(tensor.name)->shape);
    }
    const DType dtype = std::string_view(name) == "F16" ? DType::kF16 : DType::kQ8_0;
    EXPECT_EQ(other.find("blk.0.attn_q.weight")->dtype, dtype);
  }
}

TEST_F(CheckpointDataTest, VocabulariesOfLlamaCppOpen) {
  struct Row {
    const char* name;
    Vocabulary::Model model;
    std::size_t tokens;
    std::size_t merges;
    TokenId bos;
    bool add_bos;
  };
  for (const Row& row :
       {Row{"bert-bge", Vocabulary::Model::kWordPiece, 30522, 0, kNoToken, true},
        Row{"deepseek-coder", Vocabulary::Model::kByteLevelBpe, 32256, 31757, 32013, true},
        Row{"falcon", Vocabulary::Model::kByteLevelBpe, 65024, 64784, 11, false},
        Row{"gpt-2", Vocabulary::Model::kByteLevelBpe, 50257, 50000, 50256, false},
        Row{"llama-spm", Vocabulary::Model::kSentencePieceBpe, 32000, 0, 1, true},
        Row{"phi-3", Vocabulary::Model::kSentencePieceBpe, 32064, 0, 1, true}}) {
    const Checkpoint opened = open("data/ggml-vocab/ggml-vocab-" + std::string(row.name) + ".gguf");
    EXPECT_TRUE(opened.tensors().empty());
    ASSERT_NE(opened.vocabulary(), nullptr) << row.name;
    const Vocabulary& vocabulary = *opened.vocabulary();
    EXPECT_EQ(vocabulary.model, row.model) << row.name;
    EXPECT_THAT(vocabulary.tokens, SizeIs(row.tokens)) << row.name;
    EXPECT_THAT(vocabulary.merges, SizeIs(row.merges)) << row.name;
    EXPECT_THAT(vocabulary.types, SizeIs(row.tokens)) << row.name;
    EXPECT_EQ(vocabulary.special.bos, row.bos) << row.name;
    EXPECT_EQ(vocabulary.add_bos, row.add_bos) << row.name;
  }
}

TEST_F(CheckpointDataTest, AGgufFileThatATextFilterSpoiltIsRefused) {
  EXPECT_THAT(
      open_checkpoint(shared() / "data/malformed/gguf_utf8_mangled/ggml-vocab-bert-bge.gguf"),
      FailsWith(ModelErrc::kBadCheckpoint, "ggml-vocab-bert-bge.gguf"));
}

TEST_F(CheckpointDataTest, EveryMalformedPickleIsRefusedByName) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(shared() / "data/malformed/pickle")) {
    const std::string name = entry.path().filename().string();
    const auto file = open_file_source(entry.path());
    ASSERT_TRUE(file) << name;
    const auto bytes = read_held(**file, 0, (*file)->size()).value();
    ++files;
    const auto opened = open_checkpoint(entry.path());
    ASSERT_TRUE(opened.has_error()) << name;
    EXPECT_THAT(opened.error().detail, HasSubstr(name));
    const auto read = read_pickle_checkpoint(test::source_of(bytes, name));
    ASSERT_TRUE(read.has_error()) << name;
    EXPECT_THAT(read.error().detail, HasSubstr(name));
  }
  EXPECT_GE(files, 43u);
}

TEST_F(CheckpointDataTest, EveryMaliciousPickleIsRefusedForWhatItAsks) {
  std::size_t malicious = 0;
  for (const auto& entry : fs::directory_iterator(shared() / "data/malformed/pickle")) {
    const std::string name = entry.path().filename().string();
    const bool is_malicious = name.find("malicious") != std::string::npos ||
                              name.find("sploit") != std::string::npos ||
                              name.find("bypass") != std::string::npos;
    if (!is_malicious || entry.path().extension() == ".zip") continue;
    ++malicious;
    // Not as a checkpoint, which lacks more than that, but as the pickle inside one.
    const auto file = open_file_source(entry.path());
    ASSERT_TRUE(file) << name;
    PickleReader pickle(name);
    const auto bytes = read_held(**file, 0, (*file)->size()).value();
    ByteReader reader(bytes);
    auto read = pickle.read(reader);
    while (read && reader.remaining() > 0) read = pickle.read(reader);
    EXPECT_THAT(read, FailsWith(ModelErrc::kForbiddenPickle, name));
  }
  EXPECT_GE(malicious, 30u);
}

}  // namespace
}  // namespace weft
