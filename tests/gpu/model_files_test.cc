// Changes the files of a model under a device: once it is loaded nothing happens, and before that
// an error names the file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_weight_pool.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/part_reader.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/open_model.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/small_model.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kPlaces = 32;

struct Loader {
  std::string name;
  std::function<Result<std::unique_ptr<ModelDevice>>(const OpenedModel&, const DeviceOptions&,
                                                     const LoadProgress&)>
      load;
};

Loader host_loader() {
  return {"host",
          [](const OpenedModel& model, DeviceOptions options, const LoadProgress& progress) {
            options.threads = 2;
            auto made = HostDevice::load(model.checkpoint, model.program, options, progress);
            return made ? Result<std::unique_ptr<ModelDevice>>(*std::move(made)) : made.error();
          }};
}

Loader fake_gpu_loader() {
  return {"fake_gpu",
          [](const OpenedModel& model, DeviceOptions options, const LoadProgress& progress) {
            options.threads = 2;
            auto made =
                cuda::CudaDevice::load(std::make_unique<FakeRuntime>(std::make_shared<FakeGpu>()),
                                       model.checkpoint, model.program, options, {}, progress);
            return made ? Result<std::unique_ptr<ModelDevice>>(*std::move(made)) : made.error();
          }};
}

std::ostream& operator<<(std::ostream& out, const Loader& loader) { return out << loader.name; }

/// A copy of a golden model, for a test to change.
class ModelFilesTest : public testing::TestWithParam<Loader> {
 protected:
  void copy(const std::string& golden) {
    constexpr auto kHow = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(committed_golden(golden), folder_.path(), kHow);
    ASSERT_TRUE(fs::exists(weights()));
  }
  [[nodiscard]] fs::path weights() const { return folder_.path() / "model.safetensors"; }
  void cut(std::uintmax_t size) const { fs::resize_file(weights(), size); }

  [[nodiscard]] Result<OpenedModel> open() const { return open_model(folder_.path()); }

  [[nodiscard]] static Result<std::unique_ptr<ModelDevice>> load(
      const OpenedModel& model, const LoadProgress& progress = {}) {
    return GetParam().load(model, SequenceRunner::options_for(*model.program, kPlaces), progress);
  }

  /// The logits after each token of a prompt that reads rows all over the table.
  [[nodiscard]] static std::vector<float> logits(ModelDevice& device) {
    SequenceRunner runner(device);
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < 16; ++id) ids.push_back(id * 5 % 24);
    std::vector<float> numbers;
    runner
        .feed(
            ids,
            [&](ConstRows rows) {
              for (std::int64_t i = 0; i < rows.count; ++i)
                numbers.insert(numbers.end(), rows.row(i), rows.row(i) + rows.width);
            },
            false)
        .value();
    return numbers;
  }

  TempFolder folder_;
};

TEST_P(ModelFilesTest, ThatAreCutAfterTheLoadChangeNothing) {
  // The embedding's table is the weight of the head, memory of its own, and beside positions.
  for (const char* golden : {"gemma", "llama", "gpt2"}) {
    copy(golden);
    const auto model = open();
    ASSERT_TRUE(model) << to_string(model.error());
    const auto device = load(*model);
    ASSERT_TRUE(device) << to_string(device.error());
    const std::vector<float> before = logits(**device);
    cut(1000);
    EXPECT_EQ(logits(**device), before) << golden;
    cut(0);
    EXPECT_EQ(logits(**device), before) << golden;
  }
}

TEST_P(ModelFilesTest, ThatAreCutBeforeTheLoadAreNamed) {
  for (const char* golden : {"gemma", "llama", "gpt2"}) {
    copy(golden);
    const auto whole = fs::file_size(weights());
    const auto model = open();
    ASSERT_TRUE(model) << to_string(model.error());
    cut(whole / 2);
    const auto device = load(*model);
    ASSERT_THAT(device, FailsWith(FileErrc::kCut,
                                  weights().string() + " had " + std::to_string(whole) + " bytes"))
        << golden;
    EXPECT_THAT(to_string(device.error()),
                HasSubstr("the file is shorter than when it was opened"));
  }
}

TEST_P(ModelFilesTest, ThatEndOneByteTooEarlyAreNamedWhicheverTensorIsTheLast) {
  copy("llama");
  const auto model = open();
  ASSERT_TRUE(model) << to_string(model.error());
  for (const CheckpointTensor& tensor : model->checkpoint->tensors()) {
    copy("llama");
    const auto opened = open();
    ASSERT_TRUE(opened) << to_string(opened.error());
    cut(tensor.offset + tensor.size - 1);
    EXPECT_THAT(load(*opened), FailsWith(FileErrc::kCut, weights().string())) << tensor.name;
  }
}

TEST_P(ModelFilesTest, ThatAreReplacedByOthersChangeNothing) {
  copy("llama");
  const auto model = open();
  ASSERT_TRUE(model) << to_string(model.error());
  const auto first = load(*model);
  ASSERT_TRUE(first) << to_string(first.error());
  const std::vector<float> before = logits(**first);
  fs::rename(folder_.write("other", std::string(100, 'x')), weights());
  EXPECT_EQ(logits(**first), before);
  const auto second = load(*model);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_EQ(logits(**second), before);
  EXPECT_TRUE(open().has_error()) << "who opens it now gets the other";
}

TEST_P(ModelFilesTest, AreNotReadAnyMoreByALoadThatIsAskedToStop) {
  copy("llama");
  const auto model = open();
  ASSERT_TRUE(model) << to_string(model.error());
  std::stop_source stop;
  stop.request_stop();
  int told = 0;
  try {
    static_cast<void>(
        load(*model, {[&](std::int64_t, std::int64_t) { ++told; }, stop.get_token()}));
    ADD_FAILURE() << "it was loaded";
  } catch (const boost::system::system_error& failure) {
    EXPECT_EQ(failure.code(), boost::asio::error::operation_aborted);
  }
  EXPECT_EQ(told, 0) << "whole matrices were read";
}

INSTANTIATE_TEST_SUITE_P(, ModelFilesTest, testing::Values(host_loader(), fake_gpu_loader()),
                         [](const auto& loader) { return loader.param.name; });

class HostWeightsTest : public testing::Test {
 protected:
  [[nodiscard]] Result<HostWeights> load(const Program& program) {
    return HostWeights::load(program, team_, {});
  }
  ThreadTeam team_{{.threads = 2}};
};

const CheckpointTensor* table_of(const Program& program) {
  return std::get<EmbedOp>(program.decode.ops.front()).table.tensor;
}

TEST_F(HostWeightsTest, HoldATableOnceWhereTheHeadIsTiedToIt) {
  const Program program = SmallSpec{}.compile(small_model()).value();
  EXPECT_EQ(HostWeights::bytes(program), program.weight_bytes());
  const HostWeights weights = load(program).value();
  const HostWeights::Table table = weights.table(table_of(program));
  EXPECT_EQ(table.rows, nullptr);
  ASSERT_NE(table.packed, nullptr);
  EXPECT_EQ(table.packed->outputs(), 6);
  EXPECT_EQ(table.packed->inputs(), 4);
}

TEST_F(HostWeightsTest, HoldATableAsItStandsWhereTheHeadIsAnother) {
  CheckpointBuilder builder = small_checkpoint();
  const Checkpoint checkpoint = builder.tensor("head.weight", {6, 4}).make();
  const Program program = SmallSpec{.head = "tensor = 'head'"}.compile(checkpoint).value();
  EXPECT_EQ(HostWeights::bytes(program), program.weight_bytes() + std::int64_t{6} * 4 * 4);
  const HostWeights weights = load(program).value();
  const HostWeights::Table table = weights.table(table_of(program));
  EXPECT_EQ(table.packed, nullptr);
  ASSERT_NE(table.rows, nullptr);
  EXPECT_EQ(std::vector(table.rows, table.rows + 96), bytes_of(*table_of(program)));
}

TEST_F(HostWeightsTest, HoldATableAsItStandsWhereTheHeadIsOfAnotherType) {
  Program program = SmallSpec{}.compile(small_model()).value();
  for (MatrixPlan& matrix : program.matrices) matrix.dtype = DType::kBF16;
  const HostWeights weights = load(program).value();
  EXPECT_EQ(weights.table(table_of(program)).packed, nullptr);
  EXPECT_NE(weights.table(table_of(program)).rows, nullptr);
}

TEST_F(HostWeightsTest, AreTheSameWhereOthersAreServedMeanwhile) {
  const RandomLlama llama({.layers = 1, .vocabulary = 50'000}, 3);  // a table of several pieces
  const Program& program = *llama.program();
  const HostWeights alone = load(program).value();
  const HostWeights beside = HostWeights::load(program, team_, {}, LoadBeside::kOthers).value();
  const CheckpointTensor* const tensor = table_of(program);
  const std::vector<std::byte> rows = bytes_of(*tensor);
  ASSERT_GT(rows.size(), 6U << 20U);
  for (const HostWeights* weights : {&alone, &beside}) {
    const std::byte* const own = weights->table(tensor).rows;
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), own));
  }
  for (std::size_t i = 0; i < program.matrices.size(); ++i) {
    const auto id = static_cast<MatrixId>(i);
    const PackedWeight& one = alone.matrix(id);
    EXPECT_TRUE(std::equal(one.data(), one.data() + one.bytes(), beside.matrix(id).data())) << i;
  }
}

TEST_F(HostWeightsTest, AreReadNoFurtherThanAPieceOnceTheLoadIsAskedToStop) {
  const Program program = SmallSpec{}.compile(small_model()).value();
  const MatrixPart& part = program.matrices.front().parts.front();
  for (const bool gives_way : {false, true}) {
    std::stop_source stop;
    PartReader reader(stop.get_token());
    if (gives_way) reader.give_way();
    ASSERT_TRUE(reader.read(part, {0, 1, 0, part.inputs}));
    ASSERT_TRUE(reader.read(part, {1, 1, 0, part.inputs}));
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(reader.read(part, {2, 1, 0, part.inputs})),
                 boost::system::system_error);
  }
}

TEST_F(HostWeightsTest, AreInAPoolForAsLongAsADeviceHasThem) {
  const RandomLlama llama({.layers = 1}, 3);
  HostWeightPool pool;
  EXPECT_FALSE(pool.has_any());
  auto entry = pool.add(*llama.program(),
                        std::make_shared<const HostWeights>(load(*llama.program()).value()), {});
  EXPECT_TRUE(pool.has_any());
  EXPECT_EQ(pool.find(*llama.program()), entry);
  entry = nullptr;
  EXPECT_FALSE(pool.has_any());
  EXPECT_EQ(pool.find(*llama.program()), nullptr);
}

TEST_F(HostWeightsTest, TellHowFarTheyAre) {
  CheckpointBuilder builder = small_checkpoint();
  const Checkpoint checkpoint = builder.tensor("head.weight", {6, 4}).make();
  const Program program = SmallSpec{.head = "tensor = 'head'"}.compile(checkpoint).value();
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> totals;
  ASSERT_TRUE(HostWeights::load(program, team_, [&](std::int64_t done, std::int64_t total) {
    all.push_back(done);
    totals.push_back(total);
  }));
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(all.back(), HostWeights::bytes(program));
  EXPECT_THAT(totals, testing::Each(HostWeights::bytes(program)));
}

}  // namespace
}  // namespace weft::test
