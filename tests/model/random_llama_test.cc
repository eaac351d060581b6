#include "weft/model/random_llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/tests/fixture/files/tensor_bytes.h"

namespace weft {
namespace {

using testing::SizeIs;

std::vector<std::string> names() {
  std::vector<std::string> all;
  std::istringstream list(llama_shape_names());
  for (std::string name; std::getline(list >> std::ws, name, ',');) all.push_back(name);
  return all;
}

TEST(RandomLlamaTest, FindsEveryShapeThatItNames) {
  EXPECT_GE(names().size(), 5U);
  for (const std::string& name : names()) EXPECT_TRUE(find_llama_shape(name)) << name;
  EXPECT_EQ(find_llama_shape("llama-2-7b")->hidden, 4096);
}

TEST(RandomLlamaTest, FindsNoShapeOfAnotherName) {
  EXPECT_FALSE(find_llama_shape("llama-2"));
  EXPECT_FALSE(find_llama_shape(""));
}

TEST(RandomLlamaTest, HasTheSizesOfItsShape) {
  const LlamaShape shape{.layers = 3,
                         .hidden = 32,
                         .ffn = 48,
                         .heads = 4,
                         .kv_heads = 2,
                         .vocabulary = 50,
                         .context = 77};
  const RandomLlama llama(shape, 1);
  const Program& program = *llama.program();
  EXPECT_EQ(program.family, "llama");
  EXPECT_EQ(program.hidden, 32);
  EXPECT_EQ(program.vocabulary, 50);
  EXPECT_EQ(program.context, 77);
  ASSERT_THAT(program.self_kv, SizeIs(3));
  EXPECT_EQ(program.self_kv[2].kv_heads, 2);
  EXPECT_EQ(program.self_kv[2].head_size, 8);
  const std::int64_t layer = 2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32 + 2 * 32;
  const std::int64_t embeddings = std::int64_t{2} * 50 * 32;
  EXPECT_EQ(program.parameters, 3 * layer + embeddings + 32);
}

TEST(RandomLlamaTest, HasTheExpertsOfItsShape) {
  for (const auto& [family, name] : {std::pair(LlamaShape::Family::kMixtral, "mixtral"),
                                     std::pair(LlamaShape::Family::kQwen3Moe, "qwen3_moe")}) {
    const RandomLlama model({.layers = 1,
                             .hidden = 32,
                             .ffn = 16,
                             .vocabulary = 50,
                             .family = family,
                             .head_size = 16,
                             .experts = 4,
                             .chosen = 2},
                            1);
    const Program& program = *model.program();
    EXPECT_EQ(program.family, name);
    EXPECT_EQ(program.max_experts, 4);
    EXPECT_EQ(program.max_chosen, 2);
    EXPECT_EQ(program.self_kv[0].head_size, 16);
    const std::int64_t attention = 2 * 64 * 32 + 2 * 32 * 32;
    const std::int64_t experts = 4 * 3 * 16 * 32 + 4 * 32;
    const std::int64_t norms = 3 * 32 + (program.family == "qwen3_moe" ? 2 * 16 : 0);
    EXPECT_EQ(program.parameters, attention + experts + norms + std::int64_t{2} * 50 * 32) << name;
    EXPECT_THAT(program.unused_tensors, SizeIs(0));
  }
}

TEST(RandomLlamaTest, HasFalconsBlocks) {
  const RandomLlama model({.layers = 2,
                           .hidden = 32,
                           .ffn = 48,
                           .vocabulary = 50,
                           .family = LlamaShape::Family::kFalcon},
                          1);
  const Program& program = *model.program();
  EXPECT_EQ(program.family, "falcon");
  ASSERT_THAT(program.self_kv, SizeIs(2));
  EXPECT_EQ(program.self_kv[0].kv_heads, 2);
  const std::int64_t attention = (4 + 2 * 2) * 8 * 32 + 4 * 8 * 32;
  const std::int64_t mlp = std::int64_t{2} * 48 * 32;
  const std::int64_t norms = std::int64_t{2} * 2 * 32;
  EXPECT_EQ(program.parameters, 2 * (attention + mlp + norms) + std::int64_t{50} * 32 + 64);
  EXPECT_THAT(program.unused_tensors, SizeIs(0));
}

TEST(RandomLlamaTest, DrawsTheSameWeightsFromTheSameSeedAndOthersFromAnother) {
  const RandomLlama one({}, 1);
  const RandomLlama same({}, 1);
  const RandomLlama other({}, 2);
  const auto bytes = [](const RandomLlama& llama) {
    return test::bytes_of(llama.checkpoint()->tensors().front());
  };
  EXPECT_EQ(bytes(one), bytes(same));
  EXPECT_NE(bytes(one), bytes(other));
}

}  // namespace
}  // namespace weft
