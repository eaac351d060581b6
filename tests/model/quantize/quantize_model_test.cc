// Tests which tensors are quantized and which stay, and that the written files have the right
// numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/output.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/checkpoint/safetensors.h"
#include "weft/model/checkpoint/safetensors_writer.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/model/open_model.h"
#include "weft/model/quantize/importance.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_tensors.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/files/gguf_writer.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using test::FailsWith;
using test::TempFolder;

const RandomLlama& wide_llama() {
  static const RandomLlama model({.layers = 2, .hidden = 64, .ffn = 96}, 3);
  return model;
}

std::map<std::string, DType> planned_types(const std::vector<PlannedTensor>& tensors) {
  std::map<std::string, DType> types;
  for (const PlannedTensor& tensor : tensors) types.emplace(tensor.source->name, tensor.dtype);
  return types;
}

Result<std::vector<PlannedTensor>> plan_for(DType dtype, std::vector<TypeRule> rules = {}) {
  return plan_quantization(*wide_llama().checkpoint(), *wide_llama().program(),
                           {dtype, std::move(rules)});
}

TEST(QuantizePlan, EncodesTheLayersMatricesAndNothingElse) {
  const auto tensors = plan_for(DType::kQ4_B32);
  ASSERT_TRUE(tensors) << to_string(tensors.error());
  EXPECT_EQ(tensors->size(), wide_llama().checkpoint()->tensors().size());
  for (const auto& [name, dtype] : planned_types(*tensors)) {
    EXPECT_EQ(dtype == DType::kQ4_B32, name.find("_proj.weight") != std::string::npos) << name;
  }
}

TEST(QuantizePlan, LeavesRowsThatAreNotWholeBlocks) {
  const auto tensors = plan_for(DType::kQ4_B64);
  ASSERT_TRUE(tensors) << to_string(tensors.error());
  auto types = planned_types(*tensors);
  EXPECT_EQ(types["model.layers.0.mlp.gate_proj.weight"], DType::kQ4_B64);
  // Its rows have 96 numbers.
  EXPECT_EQ(types["model.layers.0.mlp.down_proj.weight"], DType::kBF16);
}

TEST(QuantizePlan, TakesTheFirstRuleThatMatches) {
  const auto tensors = plan_for(DType::kQ4_B32, {{"*.1.*.v_proj.weight", DType::kF16},
                                                 {"*.v_proj.weight", DType::kQ8_0},
                                                 {"*embed_tokens*", DType::kQ6_B64},
                                                 {"*norm*", DType::kQ8_0}});
  ASSERT_TRUE(tensors) << to_string(tensors.error());
  auto types = planned_types(*tensors);
  EXPECT_EQ(types["model.layers.0.self_attn.v_proj.weight"], DType::kQ8_0);
  EXPECT_EQ(types["model.layers.1.self_attn.v_proj.weight"], DType::kF16);
  EXPECT_EQ(types["model.layers.1.self_attn.k_proj.weight"], DType::kQ4_B32);
  EXPECT_EQ(types["model.embed_tokens.weight"], DType::kQ6_B64);
  // Vectors are never encoded.
  EXPECT_EQ(types["model.norm.weight"],
            wide_llama().checkpoint()->find("model.norm.weight")->dtype);
}

TEST(QuantizePlan, MakesEveryMatrixOfAPlainType) {
  const auto tensors = plan_for(DType::kF16);
  ASSERT_TRUE(tensors);
  for (const PlannedTensor& tensor : *tensors) {
    EXPECT_EQ(tensor.dtype == DType::kF16, tensor.source->shape.size() == 2) << tensor.source->name;
  }
}

TEST(QuantizePlan, NamesTheTensorThatDoesNotFitItsRule) {
  EXPECT_THAT(plan_for(DType::kQ4_B32, {{"*down_proj*", DType::kQ4_B64}}),
              FailsWith(ModelErrc::kCannotQuantize,
                        "'model.layers.0.mlp.down_proj.weight': its rows of 96"));
  EXPECT_THAT(plan_for(DType::kQ4_K), FailsWith(ModelErrc::kCannotQuantize, "q4_k"));
}

TEST(QuantizePlan, LeavesMatricesThatTheFileHasTransposed) {
  const auto model = open_model(test::source_path("tests/model/data/goldens/gpt2"));
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_THAT(plan_quantization(*model->checkpoint, *model->program, {DType::kQ8_0, {}}),
              FailsWith(ModelErrc::kCannotQuantize, "q8_0: no tensor"));
  EXPECT_THAT(plan_quantization(*model->checkpoint, *model->program,
                                {DType::kF32, {{"*c_fc.weight", DType::kQ8_0}}}),
              FailsWith(ModelErrc::kCannotQuantize, "transposed"));
}

std::vector<TensorEntry> entries_for(const std::vector<PlannedTensor>& tensors) {
  std::vector<TensorEntry> entries;
  for (const PlannedTensor& tensor : tensors) {
    entries.push_back({tensor.source->name, tensor.dtype, tensor.source->shape});
  }
  return entries;
}

std::vector<float> values_in(const CheckpointTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  read_values(tensor, 0, 1, numbers).value();
  return numbers;
}

Result<bool> write_file(const std::vector<PlannedTensor>& tensors, const TensorLayout& layout,
                        const fs::path& path, const ImportanceMap* importance = nullptr) {
  const auto file = OutputFile::create(path);
  if (!file) return file.error();
  QuantizeJob job;
  job.tensors = tensors;
  job.layout = &layout;
  job.file = &*file;
  job.importance = importance;
  job.threads = 2;
  return write_tensors(job);
}

/// Every tensor of the file is the plan's, near to what it was made of.
void expect_tensors(const CheckpointFile& file, const std::vector<PlannedTensor>& tensors) {
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const PlannedTensor& planned : tensors) {
    const auto found =
        std::ranges::find(file.tensors, planned.source->name, &CheckpointTensor::name);
    ASSERT_NE(found, file.tensors.end()) << planned.source->name;
    EXPECT_EQ(found->dtype, planned.dtype);
    EXPECT_EQ(found->shape, planned.source->shape);
    const auto before = values_in(*planned.source);
    const auto after = values_in(*found);
    if (planned.dtype == planned.source->dtype) {
      EXPECT_EQ(before, after) << found->name;
      continue;
    }
    double lost = 0;
    double all = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      lost += std::pow(static_cast<double>(before[i] - after[i]), 2);
      all += std::pow(static_cast<double>(before[i]), 2);
    }
    EXPECT_GT(lost, 0) << found->name;
    EXPECT_LT(lost, 0.01 * all) << found->name;
  }
}

TEST(QuantizeTensors, WritesASafetensorsFileThatIsReadAgain) {
  const TempFolder folder;
  const auto tensors =
      plan_for(DType::kQ4_B32, {{"*v_proj*", DType::kQ8_0}, {"*embed*", DType::kF16}}).value();
  const fs::path path = folder.path() / "model.safetensors";
  EXPECT_EQ(write_file(tensors, lay_out_safetensors(entries_for(tensors)), path).value(), true);
  const auto file = read_safetensors(open_file_source(path).value());
  ASSERT_TRUE(file) << to_string(file.error());
  expect_tensors(*file, tensors);
}

TEST(QuantizeTensors, WritesAGgufFileThatIsReadAgainWithItsMetadata) {
  const TempFolder folder;
  const auto header = test::GgufWriter()
                          .text("general.architecture", "llama")
                          .number<std::uint32_t>("general.file_type", test::GgufWriter::kU32, 1)
                          .number<std::uint32_t>("general.alignment", test::GgufWriter::kU32, 64)
                          .number<std::uint16_t>("split.count", 2, 1)
                          .texts("tokenizer.ggml.tokens", {"a", "\xff", "c"})
                          .number<float>("llama.rope.freq_base", test::GgufWriter::kF32, 1e4F)
                          .bytes();
  auto pairs = read_gguf_pairs(test::source_of(header, "old.gguf"));
  ASSERT_TRUE(pairs) << to_string(pairs.error());
  const auto tensors = plan_for(DType::kQ4_0).value();
  const fs::path path = folder.path() / "new.gguf";
  const TensorLayout layout =
      lay_out_gguf(metadata_after_quantizing(*pairs, 2), entries_for(tensors));
  EXPECT_EQ(write_file(tensors, layout, path).value(), true);
  EXPECT_EQ(fs::file_size(path), layout.size);
  EXPECT_EQ(layout.size % 32, 0U);
  const auto file = read_gguf(open_file_source(path).value());
  ASSERT_TRUE(file) << to_string(file.error());
  expect_tensors(*file, tensors);
  EXPECT_EQ(file->config.at("general.file_type"), 2);
  EXPECT_EQ(file->config.at("general.quantization_version"), 2);
  EXPECT_EQ(file->config.at("llama.rope.freq_base"), 1e4);
  EXPECT_FALSE(file->config.contains("general.alignment"));
  EXPECT_FALSE(file->config.contains("split.count"));
  const auto again = read_gguf_pairs(open_file_source(path).value()).value();
  const auto tokens = std::ranges::find(again, "tokenizer.ggml.tokens", &GgufPair::key);
  const auto before = std::ranges::find(*pairs, "tokenizer.ggml.tokens", &GgufPair::key);
  ASSERT_NE(tokens, again.end());
  EXPECT_EQ(tokens->value, before->value);
}

TEST(QuantizeTensors, HaveTheSameBytesWhateverTheThreads) {
  const TempFolder folder;
  const auto tensors = plan_for(DType::kQ4_B32).value();
  const TensorLayout layout = lay_out_safetensors(entries_for(tensors));
  std::vector<std::string> files;
  for (const int threads : {1, 3}) {
    const fs::path path = folder.path() / std::to_string(threads);
    const OutputFile file = OutputFile::create(path).value();
    QuantizeJob job;
    job.tensors = tensors;
    job.layout = &layout;
    job.file = &file;
    job.threads = threads;
    ASSERT_TRUE(write_tensors(job));
    files.push_back(read_text_file(path, kAnySize).value());
  }
  EXPECT_EQ(files[0], files[1]);
}

/// A tensor of one row of 64 numbers, one of which is `odd`.
CheckpointTensor odd_tensor(float odd) {
  std::vector<float> numbers(64, 1.0F);
  numbers[40] = odd;
  const auto bytes = std::as_bytes(std::span(numbers));
  return {"w", DType::kF32, {1, 64}, test::source_of(bytes, "m.safetensors"), 0, bytes.size()};
}

TEST(QuantizeTensors, NameTheRowWhoseNumberHasNoPlaceInTheType) {
  const TempFolder folder;
  int number = 0;
  for (const auto& [odd, dtype] :
       {std::pair{std::numeric_limits<float>::quiet_NaN(), DType::kQ4_B64},
        std::pair{1e30F, DType::kQ4_B64}, std::pair{1e30F, DType::kF16}}) {
    const CheckpointTensor tensor = odd_tensor(odd);
    const std::vector<PlannedTensor> tensors = {{&tensor, dtype}};
    const fs::path path = folder.path() / std::to_string(number++);
    EXPECT_THAT(write_file(tensors, lay_out_safetensors(entries_for(tensors)), path),
                FailsWith(ModelErrc::kCannotQuantize, "m.safetensors: tensor 'w': row 0"))
        << odd;
  }
}

TEST(QuantizeTensors, EndWhenTheyAreToldTo) {
  const TempFolder folder;
  const auto tensors = plan_for(DType::kQ4_B32).value();
  const TensorLayout layout = lay_out_safetensors(entries_for(tensors));
  const OutputFile file = OutputFile::create(folder.path() / "f").value();
  QuantizeJob job;
  job.tensors = tensors;
  job.layout = &layout;
  job.file = &file;
  std::int64_t total = 0;
  job.progress = [&](std::int64_t, std::int64_t all) {
    total = all;
    return false;
  };
  EXPECT_EQ(write_tensors(job).value(), false);
  EXPECT_GT(total, 0);
}

/// llama-imatrix's tensors for "w": sums of squares and a count of 4.
std::vector<std::byte> importance_file(const std::vector<float>& sums, float count) {
  using Tensor = test::GgufWriter::Tensor;
  const auto extent = static_cast<std::uint64_t>(sums.size());
  const std::uint64_t at = (sums.size() * sizeof(float) + 31) / 32 * 32;
  test::ByteWriter file = test::GgufWriter()
                              .text("general.type", "imatrix")
                              .tensor(Tensor{"w.in_sum2", {extent}, 0, 0})
                              .tensor(Tensor{"w.counts", {1}, at, 0})
                              .header();
  file.align(32);
  for (const float sum : sums) file.put(sum);
  file.align(32).put(count);
  return file.bytes();
}

TEST(Importance, IsTheMeanSquareOfEachInput) {
  const TempFolder folder;
  const auto path = folder.write("i.gguf", importance_file({4, 8, 0}, 4));
  const auto importance = read_importance(path);
  ASSERT_TRUE(importance) << to_string(importance.error());
  EXPECT_EQ(importance->at("w"), (std::vector<float>{1, 2, 0}));
}

TEST(Importance, IsReadFromOlderFilesToo) {
  const TempFolder folder;
  const auto file = [](std::int32_t values, std::int32_t chunks) {
    test::ByteWriter bytes;
    bytes.put(std::int32_t{1}).put(std::int32_t{1}).text("w").put(chunks).put(values);
    return bytes.put(8.0F).put(4.0F).put(0.0F).bytes();
  };
  const auto importance = read_importance(folder.write("old.dat", file(3, 4)));
  ASSERT_TRUE(importance) << to_string(importance.error());
  EXPECT_EQ(importance->at("w"), (std::vector<float>{2, 1, 0}));
  EXPECT_THAT(read_importance(folder.write("cut.dat", file(4, 4))),
              FailsWith(ModelErrc::kBadCheckpoint, "values"));
  EXPECT_THAT(read_importance(folder.write("few.dat", file(-3, 4))),
              FailsWith(ModelErrc::kBadCheckpoint, "'w' has -3 values of 4 chunks"));
}

TEST(Importance, OfStackedExpertsIsThatOfEach) {
  const TempFolder folder;
  std::vector<float> numbers(128);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
  const auto bytes = std::as_bytes(std::span(numbers));
  const CheckpointTensor stack = {"w", DType::kF32, {2, 1, 64}, test::source_of(bytes, "m"),
                                  0,   bytes.size()};
  const std::vector<PlannedTensor> tensors = {{&stack, DType::kQ4_B64}};
  const TensorLayout layout = lay_out_safetensors(entries_for(tensors));
  const auto codes = [&](const char* name, const ImportanceMap& importance) {
    EXPECT_TRUE(write_file(tensors, layout, folder.path() / name, &importance));
    const auto read = read_safetensors(open_file_source(folder.path() / name).value()).value();
    return test::bytes_of(read.tensors[0]);
  };
  std::vector<float> second(64, 1);
  for (std::size_t i = 0; i < second.size(); i += 7) second[i] = 50;
  std::vector<float> both(64, 1);
  both.insert(both.end(), second.begin(), second.end());
  const auto plain = codes("plain", {{"w", std::vector<float>(64, 1)}});
  const auto expert = codes("expert", {{"w", both}});
  const std::size_t row = plain.size() / 2;
  EXPECT_TRUE(std::equal(plain.begin(), plain.begin() + std::ptrdiff_t(row), expert.begin()));
  EXPECT_NE(plain, expert);
}

TEST(Importance, IsRefusedWhereItHoldsNoSumsOrHasAnotherLength) {
  const TempFolder folder;
  EXPECT_THAT(read_importance(folder.write("n.gguf", importance_file({4, -8}, 4))),
              FailsWith(ModelErrc::kBadCheckpoint, "'w.in_sum2' holds what is no sum"));
  EXPECT_THAT(read_importance(folder.write("e.gguf", test::GgufWriter().bytes())),
              FailsWith(ModelErrc::kBadCheckpoint, "holds no importance"));
  EXPECT_THAT(read_importance(test::source_path("examples/demo_model/model/model.safetensors")),
              FailsWith(ModelErrc::kUnsupportedFormat, "is no importance matrix"));
  const CheckpointTensor tensor = odd_tensor(2);
  const std::vector<PlannedTensor> tensors = {{&tensor, DType::kQ4_B64}};
  const ImportanceMap importance = {{"w", {1, 2, 3}}};
  EXPECT_THAT(write_file(tensors, lay_out_safetensors(entries_for(tensors)), folder.path() / "f",
                         &importance),
              FailsWith(ModelErrc::kCannotQuantize, "'w' has 64 inputs and an importance of 3"));
}

TEST(Importance, ChangesTheCodesOfItsTensor) {
  const TempFolder folder;
  const auto tensors = plan_for(DType::kQ4_B32).value();
  const TensorLayout layout = lay_out_safetensors(entries_for(tensors));
  ImportanceMap importance;
  auto& weights = importance["model.layers.1.mlp.up_proj.weight"];
  for (int i = 0; i < 64; ++i) weights.push_back(i % 7 == 0 ? 50.0F : 1.0F);
  ASSERT_TRUE(write_file(tensors, layout, folder.path() / "a"));
  ASSERT_TRUE(write_file(tensors, layout, folder.path() / "b", &importance));
  const auto a = read_safetensors(open_file_source(folder.path() / "a").value()).value();
  const auto b = read_safetensors(open_file_source(folder.path() / "b").value()).value();
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(test::bytes_of(a.tensors[i]) != test::bytes_of(b.tensors[i]),
              importance.contains(a.tensors[i].name))
        << a.tensors[i].name;
  }
}

}  // namespace
}  // namespace weft
