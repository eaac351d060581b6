#include "weft/model/checkpoint/quantized/quantized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::is_bad;
using test::is_unsupported;

constexpr const char* kFile = "model.safetensors";

/// Tensors of one made-up checkpoint, by name.
struct Tensors {
  std::map<std::string, CheckpointTensor> by_name;

  template <class T>
  Tensors& put(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
               const std::vector<T>& numbers) {
    const auto bytes = std::as_bytes(std::span(numbers));
    by_name[name] = {name, dtype, std::move(shape), test::source_of(bytes, kFile), 0, bytes.size()};
    return *this;
  }
  /// All numbers are zero bytes.
  Tensors& zeros(const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    const auto size = static_cast<std::size_t>(tensor_bytes(dtype, shape).value());
    return put(name, dtype, std::move(shape), std::vector<std::byte>(size));
  }
  Tensors& f16(const std::string& name, std::vector<std::int64_t> shape, float each) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return put(name, DType::kF16, std::move(shape),
               std::vector<std::uint16_t>(count, to_f16(each)));
  }

  [[nodiscard]] Result<std::vector<CheckpointTensor>> assemble(std::string_view config) const {
    std::vector<CheckpointTensor> all;
    for (const auto& [name, tensor] : by_name) all.push_back(tensor);
    const auto fields =
        boost::json::parse(R"({"quantization_config":)" + std::string(config) + "}");
    return assemble_quantized(all, fields.as_object(), "config.json");
  }
};

constexpr std::string_view kGptq =
    R"({"quant_method":"gptq","bits":4,"group_size":32,"desc_act":false,"sym":false})";
constexpr std::string_view kOrdered =
    R"({"quant_method":"gptq","bits":4,"group_size":32,"desc_act":true})";
constexpr std::string_view kPacked =
    R"({"quant_method":"compressed-tensors","format":"pack-quantized"})";
constexpr std::string_view kFp8 =
    R"({"quant_method":"fp8","fmt":"e4m3","weight_block_size":[32,32]})";
constexpr std::string_view kMxfp4 = R"({"quant_method":"mxfp4"})";
constexpr std::string_view kBnb = R"({"quant_method":"bitsandbytes","load_in_4bit":true})";

std::vector<std::int32_t> groups_of(const std::vector<std::int32_t>& each) {
  std::vector<std::int32_t> all(64);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = each[i % each.size()];
  return all;
}

/// 8 outputs of 64 inputs in two groups.
Tensors gptq_tensors() {
  return Tensors()
      .zeros("m.qweight", DType::kI32, {8, 8})
      .zeros("m.qzeros", DType::kI32, {2, 1})
      .f16("m.scales", {2, 8}, 0.5F);
}

Tensors packed_tensors() {
  return Tensors()
      .zeros("m.weight_packed", DType::kI32, {4, 8})
      .f16("m.weight_scale", {4, 2}, 0.5F)
      .put<std::int64_t>("m.weight_shape", DType::kI64, {2}, {4, 64});
}

Tensors fp8_tensors() {
  return Tensors()
      .zeros("m.weight", DType::kF8_E4M3, {40, 64})
      .zeros("m.weight_scale_inv", DType::kF32, {2, 2});
}

Tensors mxfp4_tensors() {
  return Tensors()
      .zeros("m.down_proj_blocks", DType::kU8, {2, 3, 2, 16})
      .zeros("m.down_proj_scales", DType::kU8, {2, 3, 2});
}

Tensors& put_state(Tensors& tensors, const std::string& state) {
  return tensors.put("m.weight.quant_state.bitsandbytes__nf4", DType::kU8, {std::ssize(state)},
                     std::vector<char>(state.begin(), state.end()));
}

Tensors nf4_tensors() {
  Tensors tensors;
  tensors.zeros("m.weight", DType::kU8, {128, 1})
      .zeros("m.weight.absmax", DType::kF32, {4})
      .put("m.weight.quant_map", DType::kF32, {16},
           std::vector<float>(kNf4Values.begin(), kNf4Values.end()));
  return put_state(tensors, R"({"quant_type":"nf4","blocksize":64,"shape":[4,64]})");
}

const CheckpointTensor& only(const std::vector<CheckpointTensor>& tensors) {
  EXPECT_EQ(tensors.size(), 1u);
  return tensors.front();
}

TEST(QuantizedTest, LeavesTensorsAsTheyAreWithoutAConfiguration) {
  const Tensors tensors = gptq_tensors();
  const auto& [name, tensor] = *tensors.by_name.begin();
  const auto kept = assemble_quantized({tensor}, {}, "config.json");
  ASSERT_TRUE(kept);
  EXPECT_EQ(only(*kept).name, name);
  EXPECT_EQ(only(*kept).source, tensor.source);
}

TEST(QuantizedTest, MakesOneWeightOfAModulesTensorsAndLeavesPlainModules) {
  const auto weights =
      gptq_tensors().f16("n.weight", {2, 2}, 1).f16("m.bias", {8}, 1).assemble(kGptq);
  ASSERT_TRUE(weights) << to_string(weights.error());
  std::map<std::string, DType> types;
  for (const CheckpointTensor& tensor : *weights) types[tensor.name] = tensor.dtype;
  const std::map<std::string, DType> wanted = {
      {"m.weight", DType::kI4_32}, {"m.bias", DType::kF16}, {"n.weight", DType::kF16}};
  EXPECT_EQ(types, wanted);
}

TEST(QuantizedTest, ReadsAnyPartOfAWeightAsOfTheWhole) {
  std::vector<std::int32_t> words(64);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::int32_t>(i * 0x1234567);
  const auto weights = gptq_tensors().put("m.qweight", DType::kI32, {8, 8}, words).assemble(kGptq);
  ASSERT_TRUE(weights);
  const CheckpointTensor& weight = only(*weights);
  const auto whole = test::bytes_of(weight);
  for (std::size_t first = 0; first < whole.size(); first += 7) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{38}, whole.size() - first}) {
      if (first + count > whole.size()) continue;
      std::vector<std::byte> part(count);
      ASSERT_TRUE(weight.read(first, part));
      EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(first, count)))
          << first << " + " << count;
    }
  }
}

TEST(QuantizedTest, PutsInputsThatShareAGroupSideBySide) {
  std::vector<std::int32_t> words(64);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::int32_t>(i * 0x1234567);
  Tensors tensors = gptq_tensors().put("m.qweight", DType::kI32, {8, 8}, words);
  tensors.put("m.g_idx", DType::kI32, {64}, groups_of({1, 0}));
  const auto weights = tensors.assemble(kOrdered);
  ASSERT_TRUE(weights) << to_string(weights.error());
  const auto& order = only(*weights).input_order;
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->size(), 64u);
  EXPECT_EQ((*order)[0], 1);
  EXPECT_EQ((*order)[31], 63);
  EXPECT_EQ((*order)[32], 0);
  EXPECT_EQ((*order)[33], 2);
}

TEST(QuantizedTest, HasNoOrderWhereGroupsAreSideBySideAnyway) {
  std::vector<std::int32_t> groups(64);
  std::fill(groups.begin() + 32, groups.end(), 1);
  const auto weights = gptq_tensors().put("m.g_idx", DType::kI32, {64}, groups).assemble(kOrdered);
  ASSERT_TRUE(weights) << to_string(weights.error());
  EXPECT_EQ(only(*weights).input_order, nullptr);
}

TEST(QuantizedTest, WrapsZerosThatAreStoredLessOne) {
  // 15 + 1 is 16, of which four bits are 0.
  const auto tensors = gptq_tensors().put<std::int32_t>("m.qzeros", DType::kI32, {2, 1}, {-1, -1});
  const auto weights = tensors.assemble(kGptq);
  ASSERT_TRUE(weights);
  std::vector<float> numbers(512);
  ASSERT_TRUE(read_values(only(*weights), 0, 1, numbers));
  EXPECT_THAT(numbers, testing::Each(0.0F));
}

TEST(QuantizedTest, TakesGroupsLargerThanABlockInBlocksOfTheSameScale) {
  const auto weights = Tensors()
                           .zeros("m.qweight", DType::kI32, {96, 8})
                           .zeros("m.qzeros", DType::kI32, {1, 1})
                           .f16("m.scales", {1, 8}, 0.5F)
                           .assemble(R"({"quant_method":"gptq","bits":4,"group_size":-1})");
  ASSERT_TRUE(weights) << to_string(weights.error());
  EXPECT_EQ(only(*weights).dtype, DType::kI4_256);  // of 768 inputs
  std::vector<float> numbers(768);
  ASSERT_TRUE(read_values(only(*weights), 0, 1, numbers));
  EXPECT_THAT(numbers, testing::Each(-0.5F));
}

TEST(QuantizedTest, HoldsSymmetricGroupsOf32AsGgufDoes) {
  const auto weights = packed_tensors().assemble(kPacked);
  ASSERT_TRUE(weights) << to_string(weights.error());
  EXPECT_EQ(only(*weights).dtype, DType::kQ4_0);
  std::vector<float> numbers(256);
  ASSERT_TRUE(read_values(only(*weights), 0, 1, numbers));
  EXPECT_THAT(numbers, testing::Each(-4.0F));
}

TEST(QuantizedTest, NamesWhatIsNotRead) {
  struct Row {
    const char* config;
    const char* about;
  };
  for (const Row& row : {
           Row{R"({"quant_method":"hqq"})", "config.json: quantization_config.quant_method is"},
           Row{R"({"bits":4})", "quant_method is absent"},
           Row{R"({"quant_method":"gptq","bits":5})", "bits is '5'"},
           Row{R"({"quant_method":"gptq","checkpoint_format":"marlin"})", "checkpoint_format is"},
           Row{R"({"quant_method":"gptq","format":"gptq_p"})", "quantization_config.format is"},
           Row{R"({"quant_method":"gptq","is_marlin_format":true})", "is_marlin_format is 'true'"},
           Row{R"({"quant_method":"awq","version":"gemv"})", "version is"},
           Row{R"({"quant_method":"awq","bits":3})", "bits is '3'"},
           Row{R"({"quant_method":"auto-round"})", "packing_format is absent"},
           Row{R"({"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"})",
               "format is"},
           Row{R"({"quant_method":"compressed-tensors","sparsity_config":{"format":"sparse"}})",
               "sparsity_config is"},
           Row{R"({"quant_method":"compressed-tensors",
                   "config_groups":{"g":{"weights":{"num_bits":6,"type":"int"}}}})",
               "config_groups.g.weights.num_bits is '6'"},
           Row{R"({"quant_method":"fp8","fmt":"e5m2"})", "fmt is"},
           Row{R"({"quant_method":"modelopt","quant_algo":"NVFP4"})", "quant_algo is"},
           Row{R"({"quant_method":"bitsandbytes","bnb_4bit_quant_type":"nf3"})",
               "bnb_4bit_quant_type is"},
       }) {
    EXPECT_THAT(Tensors().assemble(row.config), is_unsupported(row.about)) << row.config;
  }
}

TEST(QuantizedTest, NamesAKeyWhoseValueIsOfAnotherType) {
  using test::FailsWith;
  for (const char* config : {"7", R"({"quant_method":7})", R"({"quant_method":"gptq","bits":"4"})",
                             R"({"quant_method":"gptq","desc_act":1})",
                             R"({"quant_method":"fp8","weight_block_size":[128]})",
                             R"({"quant_method":"fp8","weight_block_size":[0,128]})",
                             R"({"quant_method":"compressed-tensors","config_groups":[]})"}) {
    EXPECT_THAT(Tensors().assemble(config),
                FailsWith(ModelErrc::kBadConfig, "config.json: quantization_config"))
        << config;
  }
}

/// A change to good tensors, and the error that it causes.
struct Spoiled {
  std::function<void(Tensors&)> spoil;
  const char* about;
};

void expect_bad(const std::function<Tensors()>& good, std::string_view config,
                const std::vector<Spoiled>& rows) {
  ASSERT_TRUE(good().assemble(config)) << to_string(good().assemble(config).error());
  for (const Spoiled& row : rows) {
    Tensors tensors = good();
    row.spoil(tensors);
    EXPECT_THAT(tensors.assemble(config), is_bad(row.about));
  }
}

TEST(QuantizedTest, RefusesTensorsOfGptqThatDoNotFit) {
  expect_bad(
      gptq_tensors, kGptq,
      {{[](Tensors& t) { t.by_name.erase("m.scales"); }, "'m.qweight' has no 'm.scales'"},
       {[](Tensors& t) { t.by_name.erase("m.qzeros"); }, "'m.qweight' has no 'm.qzeros'"},
       {[](Tensors& t) { t.zeros("m.qzeros", DType::kI32, {2, 2}); }, "'m.qzeros' is [2, 2]"},
       {[](Tensors& t) { t.zeros("m.qzeros", DType::kI32, {1, 1}); }, "'m.qzeros' is [1, 1]"},
       {[](Tensors& t) { t.zeros("m.qweight", DType::kI32, {8, 7}); }, "'m.qweight' is i32 [8, 7]"},
       {[](Tensors& t) { t.zeros("m.qweight", DType::kI8, {8, 8}); }, "'m.qweight' is i8"},
       {[](Tensors& t) { t.zeros("m.qweight", DType::kI32, {1LL << 61U, 0}); }, "no matrix"},
       {[](Tensors& t) { t.zeros("m.scales", DType::kI32, {2, 8}); }, "'m.scales' holds i32"},
       {[](Tensors& t) { t.zeros("m.qweight", DType::kI32, {16, 8}); },
        "'m.scales' has 2 groups for 128 inputs"},
       {[](Tensors& t) { t.put("m.g_idx", DType::kI32, {64}, groups_of({0, 2})); },
        "'m.g_idx' has the group 2 for input 1"},
       {[](Tensors& t) { t.put("m.g_idx", DType::kI32, {64}, groups_of({0, -1})); },
        "'m.g_idx' has the group -1"},
       {[](Tensors& t) { t.put("m.g_idx", DType::kI32, {64}, groups_of({0, 1, 1})); },
        "'m.g_idx' has groups that are not of 32 inputs"},
       {[](Tensors& t) { t.zeros("m.g_idx", DType::kI32, {63}); }, "'m.g_idx' is i32 [63]"}});
  EXPECT_THAT(gptq_tensors().assemble(kOrdered), is_bad("'m.qweight' has no 'g_idx'"));
}

TEST(QuantizedTest, RefusesGroupsThatNoEncodingHas) {
  const Tensors tensors = Tensors()
                              .zeros("m.qweight", DType::kI32, {6, 8})
                              .zeros("m.qzeros", DType::kI32, {3, 1})
                              .f16("m.scales", {3, 8}, 1);
  EXPECT_THAT(tensors.assemble(R"({"quant_method":"gptq","bits":4,"group_size":16})"),
              is_unsupported("'m.qweight' has codes of 4 bits in groups of 16 of 48 inputs"));
}

TEST(QuantizedTest, RefusesTensorsOfCompressedTensorsThatDoNotFit) {
  expect_bad(
      packed_tensors, kPacked,
      {{[](Tensors& t) { t.by_name.erase("m.weight_scale"); }, "has no 'm.weight_scale'"},
       {[](Tensors& t) { t.by_name.erase("m.weight_shape"); }, "has no 'm.weight_shape'"},
       {[](Tensors& t) { t.zeros("m.weight_shape", DType::kI64, {2}); }, "'m.weight_packed' is"},
       {[](Tensors& t) { t.put<std::int64_t>("m.weight_shape", DType::kI64, {2}, {5, 64}); },
        "'m.weight_packed' is [4, 8]"},
       {[](Tensors& t) { t.f16("m.weight_scale", {4, 3}, 1); }, "'m.weight_scale' is [4, 3]"},
       {[](Tensors& t) { t.zeros("m.weight_zero_point", DType::kI32, {4, 2}); },
        "'m.weight_zero_point' is i32 [4, 2]"}});
}

TEST(QuantizedTest, RefusesTensorsOfFp8ThatDoNotFit) {
  expect_bad(
      fp8_tensors, kFp8,
      {{[](Tensors& t) { t.by_name.erase("m.weight_scale_inv"); },
        "'m.weight' has neither 'weight_scale_inv' nor 'weight_scale'"},
       {[](Tensors& t) { t.zeros("m.weight_scale_inv", DType::kF32, {2, 3}); },
        "'m.weight_scale_inv' is [2, 3]"},
       {[](Tensors& t) { t.zeros("m.weight_scale_inv", DType::kU8, {2, 2}); },
        "'m.weight_scale_inv' holds u8"},
       {[](Tensors& t) { t.zeros("m.weight", DType::kF8_E4M3, {64}); }, "'m.weight' is [64]"}});
}

TEST(QuantizedTest, RefusesTensorsOfMxfp4ThatDoNotFit) {
  expect_bad(mxfp4_tensors, kMxfp4,
             {{[](Tensors& t) { t.by_name.erase("m.down_proj_scales"); },
               "'m.down_proj_blocks' has no 'm.down_proj_scales'"},
              {[](Tensors& t) { t.zeros("m.down_proj_scales", DType::kU8, {2, 3, 1}); },
               "'m.down_proj_scales' is u8 [2, 3, 1]"},
              {[](Tensors& t) { t.zeros("m.down_proj_blocks", DType::kU8, {2, 3, 2, 8}); },
               "'m.down_proj_blocks' is u8 [2, 3, 2, 8]"}});
}

TEST(QuantizedTest, RefusesTensorsOfBitsandbytesThatDoNotFit) {
  expect_bad(nf4_tensors, kBnb,
             {{[](Tensors& t) { t.by_name.erase("m.weight.absmax"); }, "has no 'm.weight.absmax'"},
              {[](Tensors& t) { t.by_name.erase("m.weight"); }, "has no 'm.weight'"},
              {[](Tensors& t) { t.zeros("m.weight", DType::kU8, {64, 1}); }, "'m.weight' is u8"},
              {[](Tensors& t) { t.zeros("m.weight.absmax", DType::kF32, {3}); },
               "'m.weight.absmax' is f32 [3]"},
              {[](Tensors& t) { t.zeros("m.weight.absmax", DType::kU8, {4}); },
               "has no 'm.weight.nested_absmax'"},
              {[](Tensors& t) { put_state(t, "{"); }, "bitsandbytes__nf4' is no JSON"}});
  Tensors other = nf4_tensors();
  other.zeros("m.weight.quant_map", DType::kF32, {16});
  EXPECT_THAT(other.assemble(kBnb), is_unsupported("'m.weight.quant_map' has other numbers"));
  Tensors blocks = nf4_tensors();
  put_state(blocks, R"({"blocksize":32,"shape":[4,64]})");
  EXPECT_THAT(blocks.assemble(kBnb), is_unsupported("blocksize is '32'"));
}

TEST(QuantizedTest, NamesAScaleThatIsNoNumberWhenItIsRead) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> numbers(256);
  const auto read = [&](const Tensors& tensors, std::string_view config) {
    const auto weights = tensors.assemble(config);
    if (!weights) return Result<void>(weights.error());
    return read_values(only(*weights), 0, 1, numbers);
  };
  EXPECT_THAT(read(gptq_tensors().f16("m.scales", {2, 8}, none), kGptq),
              is_bad("tensor 'm.scales' has a scale that is not a finite number, for output 0"));
  EXPECT_THAT(read(fp8_tensors().put("m.weight_scale_inv", DType::kF32, {2, 2},
                                     std::vector<float>{1, infinite, 1, 1}),
                   kFp8),
              is_bad("tensor 'm.weight_scale_inv' has a scale"));
  EXPECT_THAT(
      read(nf4_tensors().put("m.weight.absmax", DType::kF32, {4}, std::vector<float>(4, none)),
           kBnb),
      is_bad("tensor 'm.weight.absmax' has a number that is not finite"));
  Tensors powers = mxfp4_tensors();
  powers.put("m.down_proj_scales", DType::kU8, {2, 3, 2}, std::vector<std::uint8_t>(12, 0xff));
  EXPECT_THAT(read(powers, kMxfp4), is_bad("tensor 'm.down_proj': the scale of block 0"));
  const std::vector<std::uint16_t> large(8, to_bf16(1e6F));
  EXPECT_THAT(read(packed_tensors().put("m.weight_scale", DType::kBF16, {4, 2}, large), kPacked),
              is_bad("tensor 'm.weight_scale' has a scale beyond f16's largest number"));
}

TEST(QuantizedTest, PassesOnThatAFileWasCut) {
  Tensors tensors = gptq_tensors();
  CheckpointTensor& codes = tensors.by_name.at("m.qweight");
  codes.source = std::make_shared<test::CutSource>(codes.source, 100);
  const auto weights = tensors.assemble(kGptq);
  ASSERT_TRUE(weights);
  std::vector<std::byte> bytes(only(*weights).size);
  EXPECT_THAT(only(*weights).read(0, bytes), test::FailsWith(FileErrc::kCut, kFile));
}

/// A folder of AutoGPTQ's, whose settings name bits that there are not.
class OldGptqFolder {
 public:
  OldGptqFolder() {
    folder_.write("config.json", R"({"model_type":"llama"})");
    folder_.write("quantize_config.json", R"({"bits":5,"group_size":32})");
  }

  [[nodiscard]] std::filesystem::path put_weights(const std::string& name) const {
    const std::string header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    return folder_.write(name, file + header);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

 private:
  test::TempFolder folder_;
};

constexpr const char* kNoSuchBits = "quantization_config.bits is '5'";

TEST(QuantizedTest, TakesTheSettingsOfOlderFilesFromBesideTheConfiguration) {
  const OldGptqFolder folder;
  const auto file = folder.put_weights("model.safetensors");
  EXPECT_THAT(open_checkpoint(folder.path()), is_unsupported(kNoSuchBits));
  EXPECT_THAT(open_checkpoint(file), is_unsupported(kNoSuchBits));
}

TEST(QuantizedTest, FindsTheWeightsOfOlderFilesByTheirNames) {
  const OldGptqFolder folder;
  const auto file = folder.put_weights("gptq_model-4bit-128g.safetensors");
  EXPECT_THAT(open_checkpoint(folder.path()), is_unsupported(kNoSuchBits));
  [[maybe_unused]] const auto other = folder.put_weights("gptq_model-8bit.safetensors");
  EXPECT_THAT(open_checkpoint(folder.path()), is_bad("holds several gptq_model-*.safetensors"));
  EXPECT_THAT(open_checkpoint(file), is_unsupported(kNoSuchBits));
  folder.write("gptq_model-4bit-128g.safetensors.index.json",
               R"({"weight_map":{"a":"gptq_model-4bit-128g.safetensors"}})");
  EXPECT_THAT(open_checkpoint(folder.path()), is_unsupported(kNoSuchBits));
  [[maybe_unused]] const auto standard = folder.put_weights("model.safetensors");
  EXPECT_THAT(open_checkpoint(folder.path()), is_unsupported(kNoSuchBits));
}

/// Bytes that 256 weights take in a file, with their scales and zeros, and in memory.
TEST(QuantizedTest, TakesAtMostThreePercentMoreThanTheFile) {
  struct Row {
    DType dtype;
    double bits, group, scale, zero;  // bits of each
  };
  for (const Row& row : {
           Row{DType::kI2_32, 2, 32, 16, 2},
           Row{DType::kI2_64, 2, 64, 16, 2},
           Row{DType::kI2_128, 2, 128, 16, 2},
           Row{DType::kI3_32, 3, 32, 16, 3},
           Row{DType::kI3_64, 3, 64, 16, 3},
           Row{DType::kI3_128, 3, 128, 16, 3},
           Row{DType::kI4_32, 4, 32, 16, 4},
           Row{DType::kI4_64, 4, 64, 16, 0},
           Row{DType::kI4_128, 4, 128, 16, 0},
           Row{DType::kI4_256, 4, 4096, 16, 0},
           Row{DType::kI8_64, 8, 64, 16, 8},
           Row{DType::kI8_128, 8, 128, 16, 0},
           Row{DType::kI8_256, 8, 4096, 16, 0},
           Row{DType::kQ4_0, 4, 32, 16, 0},
           Row{DType::kQ8_0, 8, 32, 16, 0},
           Row{DType::kF8_256, 8, 4096, 32, 0},
           Row{DType::kNF4_64, 4, 64, 32, 0},
           Row{DType::kMXFP4, 4, 32, 8, 0},
       }) {
    const double in_file = 32 * (row.bits + (row.scale + row.zero) / row.group);
    const auto held = static_cast<double>(bytes_of(row.dtype, 256).value());
    EXPECT_LE(held, 1.03 * in_file) << to_string(row.dtype);
  }
}

}  // namespace
}  // namespace weft
