#include "weft/model/checkpoint/llama2c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::FailsWith;
using test::is_bad;
using test::source_of;
using testing::ElementsAre;
using Bytes = std::vector<std::byte>;

/// dim 8, hidden_dim 6, 2 layers, 2 heads, 1 kv head, 5 tokens, 3 positions.
using Header = std::array<std::int32_t, 7>;
constexpr Header kHeader = {8, 6, 2, 2, 1, 5, 3};
constexpr std::size_t kLayerWeights = 8 + 8 + 64 + 32 + 32 + 64 + 48 + 48 + 48;
constexpr std::size_t kWeights = 2 * kLayerWeights + 40 + 8;
constexpr std::size_t kTables = std::size_t{2} * 3 * 2;  // cos and sin of version 0

void put_counting(ByteWriter& out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out.put(static_cast<float>(i));
}

Bytes version_0(const Header& header, std::size_t weights) {
  ByteWriter out;
  for (const std::int32_t field : header) out.put(field);
  put_counting(out, weights);
  return out.bytes();
}

Bytes version_1(const Header& header, std::size_t weights, bool shared = true,
                std::int32_t version = 1) {
  ByteWriter out;
  out.text("24ka").put(version);
  for (const std::int32_t field : header) out.put(field);
  out.put<std::uint8_t>(shared ? 1 : 0).align(256);
  put_counting(out, weights);
  return out.bytes();
}

bool is_model(const Bytes& bytes) { return is_llama2c(bytes, bytes.size()); }

/// The first weight of a tensor, which says where it stands.
float first_of(const CheckpointFile& file, const std::string& name) {
  for (const CheckpointTensor& tensor : file.tensors) {
    if (tensor.name != name) continue;
    float first = 0;
    tensor.read(0, std::as_writable_bytes(std::span(&first, 1))).value();
    return first;
  }
  ADD_FAILURE() << "no tensor " << name;
  return -1;
}

std::vector<std::int64_t> shape_of(const CheckpointFile& file, const std::string& name) {
  for (const CheckpointTensor& tensor : file.tensors) {
    if (tensor.name == name) return tensor.shape;
  }
  return {};
}

TEST(Llama2CTest, ReadsVersion0InItsOrder) {
  const Bytes bytes = version_0(kHeader, kWeights + kTables);
  EXPECT_TRUE(is_model(bytes));
  const auto file = read_llama2c(source_of(bytes, "m.bin"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->tensors.size(), 2u + 2 * 9);
  EXPECT_EQ(first_of(*file, "model.embed_tokens.weight"), 0);
  EXPECT_EQ(first_of(*file, "model.layers.0.input_layernorm.weight"), 40);
  EXPECT_EQ(first_of(*file, "model.layers.1.input_layernorm.weight"), 48);
  EXPECT_EQ(first_of(*file, "model.layers.0.self_attn.q_proj.weight"), 56);
  EXPECT_EQ(first_of(*file, "model.layers.0.self_attn.k_proj.weight"), 184);
  EXPECT_EQ(first_of(*file, "model.layers.0.self_attn.v_proj.weight"), 248);
  EXPECT_EQ(first_of(*file, "model.layers.0.self_attn.o_proj.weight"), 312);
  EXPECT_EQ(first_of(*file, "model.layers.0.post_attention_layernorm.weight"), 440);
  EXPECT_EQ(first_of(*file, "model.layers.0.mlp.gate_proj.weight"), 456);
  EXPECT_EQ(first_of(*file, "model.layers.1.mlp.down_proj.weight"), 456 + 96 + 48);
  EXPECT_EQ(first_of(*file, "model.layers.0.mlp.up_proj.weight"), 456 + 96 + 96);
  EXPECT_EQ(first_of(*file, "model.norm.weight"), 456 + 3 * 96);
  EXPECT_THAT(shape_of(*file, "model.embed_tokens.weight"), ElementsAre(5, 8));
  EXPECT_THAT(shape_of(*file, "model.layers.1.self_attn.k_proj.weight"), ElementsAre(4, 8));
  EXPECT_THAT(shape_of(*file, "model.layers.1.mlp.down_proj.weight"), ElementsAre(8, 6));
}

TEST(Llama2CTest, ReadsAClassifierOfItsOwn) {
  Header header = kHeader;
  header[5] = -5;
  const Bytes bytes = version_0(header, kWeights + kTables + 40);
  const auto file = read_llama2c(source_of(bytes, "m.bin"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(first_of(*file, "lm_head.weight"), kWeights + kTables);
  EXPECT_EQ(file->config.at("tie_word_embeddings"), false);
  EXPECT_EQ(file->config.at("vocab_size"), 5);
  const Bytes later = version_1(kHeader, kWeights + 40, false);
  const auto second = read_llama2c(source_of(later, "m.bin"));
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_EQ(first_of(*second, "lm_head.weight"), kWeights);
}

TEST(Llama2CTest, ReadsVersion1InItsOrder) {
  const Bytes bytes = version_1(kHeader, kWeights);
  EXPECT_TRUE(is_model(bytes));
  const auto file = read_llama2c(source_of(bytes, "m.bin"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(first_of(*file, "model.layers.0.input_layernorm.weight"), 0);
  EXPECT_EQ(first_of(*file, "model.layers.0.post_attention_layernorm.weight"), 16);
  EXPECT_EQ(first_of(*file, "model.norm.weight"), 32);
  EXPECT_EQ(first_of(*file, "model.embed_tokens.weight"), 40);
  EXPECT_EQ(first_of(*file, "model.layers.0.self_attn.q_proj.weight"), 80);
  EXPECT_EQ(first_of(*file, "model.layers.1.mlp.up_proj.weight"), kWeights - 48);
}

TEST(Llama2CTest, GivesItsConfigurationHuggingFacesKeys) {
  const auto config = read_llama2c(source_of(version_1(kHeader, kWeights), "m.bin"))->config;
  EXPECT_EQ(config.at("model_type"), "llama");
  EXPECT_EQ(config.at("hidden_size"), 8);
  EXPECT_EQ(config.at("intermediate_size"), 6);
  EXPECT_EQ(config.at("num_hidden_layers"), 2);
  EXPECT_EQ(config.at("num_attention_heads"), 2);
  EXPECT_EQ(config.at("num_key_value_heads"), 1);
  EXPECT_EQ(config.at("vocab_size"), 5);
  EXPECT_EQ(config.at("max_position_embeddings"), 3);
  EXPECT_EQ(config.at("rope_style"), "interleaved");
  EXPECT_EQ(config.at("tie_word_embeddings"), true);
}

TEST(Llama2CTest, IsToldFromJunkByRangesAndSize) {
  EXPECT_FALSE(is_model({}));
  EXPECT_FALSE(is_model(Bytes(28)));
  EXPECT_FALSE(is_model(version_0(kHeader, kWeights + kTables - 1)));
  EXPECT_FALSE(is_model(version_0(kHeader, kWeights + kTables + 1)));
  struct Row {
    std::size_t field;
    std::int32_t value;
    const char* name;
  };
  for (const Row& row :
       {Row{0, 0, "dim"}, Row{0, -8, "dim"}, Row{0, 1 << 21, "dim"}, Row{1, 0, "hidden_dim"},
        Row{2, 0, "n_layers"}, Row{2, 1025, "n_layers"}, Row{3, 0, "n_heads"}, Row{3, 3, "n_heads"},
        Row{3, 8, "n_heads"}, Row{4, 0, "n_kv_heads"}, Row{4, 3, "n_kv_heads"},
        Row{5, 0, "vocab_size"}, Row{5, INT32_MIN, "vocab_size"}, Row{6, 0, "seq_len"},
        Row{6, INT32_MAX, "seq_len"}}) {
    Header header = kHeader;
    header[row.field] = row.value;
    EXPECT_THAT(read_llama2c(source_of(version_0(header, kWeights + kTables), "m.bin")),
                is_bad(std::string("m.bin: ") + row.name + " is out of range"));
    EXPECT_FALSE(is_model(version_0(header, kWeights + kTables)));
  }
}

TEST(Llama2CTest, RefusesOtherSizesAndVersions) {
  EXPECT_THAT(read_llama2c(source_of(version_1(kHeader, kWeights - 1), "m")),
              is_bad("its header describes"));
  EXPECT_THAT(read_llama2c(source_of(version_1(kHeader, kWeights + 1), "m")),
              is_bad("its header describes"));
  EXPECT_THAT(
      read_llama2c(source_of(version_1(kHeader, kWeights, true, 2), "m")),
      FailsWith(ModelErrc::kUnsupportedFormat, "version 2 of llama2.c's format (quantized)"));
  EXPECT_THAT(read_llama2c(source_of(version_1(kHeader, kWeights, true, -1), "m")),
              FailsWith(ModelErrc::kUnsupportedFormat, "version -1"));
  const Bytes whole = version_1(kHeader, kWeights);
  for (std::size_t size = 0; size < 300; ++size) {
    EXPECT_TRUE(read_llama2c(source_of(std::span(whole).first(size), "m")).has_error());
  }
}

TEST(Llama2CTest, HoldsTheLargestHeaderWithoutOverflow) {
  const Header largest = {1 << 20, 1 << 20, 1024, 1024, 1024, -(1 << 21), 1 << 24};
  EXPECT_THAT(read_llama2c(source_of(version_0(largest, 1), "m")), is_bad("its header describes"));
}

// --- Its tokenizer.

ByteWriter llama2c_tokenizer(std::int32_t longest) { return ByteWriter().put(longest); }

void put_token(ByteWriter& out, float score, const std::string& text) {
  out.put(score).put(static_cast<std::int32_t>(text.size())).text(text);
}

Bytes five_tokens() {
  ByteWriter out = llama2c_tokenizer(7);
  put_token(out, 0, "<unk>");
  put_token(out, 0, "\n<s>\n");
  put_token(out, 0, "\n</s>\n");
  put_token(out, 0, "<0x0A>");
  put_token(out, -1, " a");
  return out.bytes();
}

TEST(Llama2CTokenizerTest, IsReadAsTheSentencePieceModelItWas) {
  const auto read = read_llama2c_tokenizer(five_tokens(), "tok.bin", 5);
  ASSERT_TRUE(read) << to_string(read.error());
  using Type = Vocabulary::TokenType;
  EXPECT_EQ(read->model, Vocabulary::Model::kSentencePieceBpe);
  EXPECT_THAT(read->tokens, ElementsAre("<unk>", "<s>", "</s>", "<0x0A>",
                                        "\xe2\x96\x81"
                                        "a"));
  EXPECT_THAT(read->scores, ElementsAre(0, 0, 0, 0, -1));
  EXPECT_THAT(read->types, ElementsAre(Type::kUnknown, Type::kControl, Type::kControl, Type::kByte,
                                       Type::kNormal));
  EXPECT_EQ(read->special.bos, 1);
  EXPECT_EQ(read->special.eos, 2);
  EXPECT_TRUE(read->add_bos);
}

TEST(Llama2CTokenizerTest, RefusesWhatDoesNotFit) {
  const Bytes five = five_tokens();
  EXPECT_THAT(read_llama2c_tokenizer(five, "tok", 4), is_bad("bytes are left behind 4 tokens"));
  EXPECT_THAT(read_llama2c_tokenizer(five, "tok", 6), is_bad("tok"));
  EXPECT_THAT(read_llama2c_tokenizer(five, "tok", 0), is_bad("0 tokens"));
  EXPECT_THAT(read_llama2c_tokenizer(five, "tok", INT64_MAX), is_bad("tokens"));
  EXPECT_THAT(read_llama2c_tokenizer(llama2c_tokenizer(-1).bytes(), "tok", 1), is_bad("-1 bytes"));
  EXPECT_THAT(read_llama2c_tokenizer(llama2c_tokenizer(65'537).bytes(), "tok", 1),
              is_bad("65537 bytes"));
  ByteWriter longer = llama2c_tokenizer(1);
  put_token(longer, 0, "ab");
  EXPECT_THAT(read_llama2c_tokenizer(longer.bytes(), "tok", 1), is_bad("token 0 has 2 bytes"));
  const auto negative = llama2c_tokenizer(1).put(0.0F).put<std::int32_t>(-1).bytes();
  EXPECT_THAT(read_llama2c_tokenizer(negative, "tok", 1), is_bad("token 0 has -1 bytes"));
  for (std::size_t size = 0; size < five.size(); ++size)
    EXPECT_THAT(read_llama2c_tokenizer(std::span(five).first(size), "tok", 5), is_bad("tok"));
}

TEST(Llama2CTokenizerTest, IsFoundBesideTheModelWhenItFits) {
  const test::TempFolder folder;
  const auto model = folder.write("model.bin", version_0(kHeader, kWeights + kTables));
  const auto has_vocabulary = [&] { return open_checkpoint(model)->vocabulary() != nullptr; };
  EXPECT_FALSE(has_vocabulary());
  folder.write("tokenizer.bin", std::string_view("not for this model"));
  EXPECT_FALSE(has_vocabulary());
  folder.write("tok-other.bin", five_tokens());
  EXPECT_TRUE(has_vocabulary());
  std::filesystem::remove(folder.path() / "tok-other.bin");
  folder.write("tok5.bin", five_tokens());
  const auto opened = open_checkpoint(model);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->format(), CheckpointFormat::kLlama2C);
  ASSERT_NE(opened->vocabulary(), nullptr);
  EXPECT_EQ(opened->vocabulary()->tokens.size(), 5u);
}

}  // namespace
}  // namespace weft
