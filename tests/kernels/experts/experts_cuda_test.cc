#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda {
namespace {

/// A routing on both sides.
struct RoutingPair {
  Mirror<std::int32_t> expert_of;
  Mirror<float> weight_of;
  Mirror<std::int32_t> starts;
  Mirror<std::int32_t> order;
  Mirror<std::int32_t> token_of;
  Mirror<std::int32_t> place_of;

  RoutingPair(std::int64_t choices, std::int32_t experts)
      : expert_of(poison<std::int32_t>(choices)),
        weight_of(poison<float>(choices)),
        starts(poison<std::int32_t>(experts + 1)),
        order(poison<std::int32_t>(choices)),
        token_of(poison<std::int32_t>(choices)),
        place_of(poison<std::int32_t>(choices)) {}

  DeviceRouting on(bool device) {
    const auto of = [device](auto& mirror) {
      return device ? mirror.device() : mirror.host.data();
    };
    return {of(expert_of), of(weight_of), of(starts), of(order), of(token_of), of(place_of)};
  }
  void expect_same() {
    EXPECT_EQ(expert_of.fetch(), expert_of.host);
    EXPECT_EQ(starts.fetch(), starts.host);
    EXPECT_EQ(order.fetch(), order.host);
    EXPECT_EQ(token_of.fetch(), token_of.host);
    EXPECT_EQ(place_of.fetch(), place_of.host);
    const auto weights = weight_of.fetch();
    for (std::size_t c = 0; c < weights.size(); ++c) {
      if (std::isnan(weights[c]) && std::isnan(weight_of.host[c])) continue;
      ASSERT_NEAR(weights[c], weight_of.host[c], 2e-6 * std::max(1.0F, weight_of.host[c]));
    }
  }

 private:
  template <class T>
  static std::vector<T> poison(std::int64_t count) {
    return std::vector<T>(static_cast<std::size_t>(count), T{-77});
  }
};

TEST_F(OpsCudaTest, RoutesInEveryWay) {
  for (const RouterKind kind : {RouterKind::kSoftmaxThenTopK, RouterKind::kTopKThenSoftmax,
                                RouterKind::kSoftmaxOfClose, RouterKind::kSigmoid}) {
    for (const auto& [experts, chosen, groups, chosen_groups] :
         std::vector<std::array<std::int32_t, 4>>{{2, 1, 1, 1},
                                                  {8, 2, 1, 1},
                                                  {128, 8, 1, 1},
                                                  {256, 8, 8, 4},
                                                  {60, 6, 4, 2},
                                                  {1024, 32, 64, 9},
                                                  {7, 7, 1, 1}}) {
      for (const std::int64_t rows : test_sizes<std::int64_t>({1, 5, 300}, {1, 9})) {
        SCOPED_TRACE(testing::Message() << experts << " experts, " << rows << " rows, kind "
                                        << static_cast<int>(kind));
        RowsPair scores = RowsPair::random(rows, experts, DType::kF32, engine_);
        // Ties go to the lower expert, and what is no number comes last.
        for (const DeviceRows& side : {scores.host()}) {
          if (rows < 5) break;
          for (std::int32_t e = 0; e < experts; ++e) reference::put(side, 1, e, 0.25);
          for (std::int32_t e = 0; e < experts; ++e) reference::put(side, 2, e, NAN);
          if (kind != RouterKind::kSoftmaxThenTopK) reference::put(side, 3, 0, NAN);
        }
        const auto* bytes = static_cast<const std::byte*>(scores.host().data);
        const Mirror<std::byte> mixed(
            std::vector<std::byte>(bytes, bytes + rows * scores.host().stride * 4));
        const Mirror<float> bias = floats(experts, -0.01F, 0.01F);
        RoutingPair routing(rows * chosen, experts);
        const auto params = [&](bool device) {
          CudaRouteParams made{.rows = rows,
                               .scores = scores.host(),
                               .experts = experts,
                               .spec = {.kind = kind,
                                        .chosen = chosen,
                                        .groups = groups,
                                        .chosen_groups = chosen_groups,
                                        .group_best = std::min(2, experts / groups),
                                        .margin = 0.2F,
                                        .normalize = experts % 16 == 0,
                                        .scale = 1.5F},
                               .routing = routing.on(device)};
          if (device) made.scores.data = mixed.device();
          if (groups > 1) made.selection_bias = device ? bias.device() : bias.host.data();
          if (experts % 3 == 2) made.weight_scales = device ? bias.device() : bias.host.data();
          return made;
        };
        expect_runs([&](Stream stream) { return route(params(true), stream); });
        reference::route(params(false));
        routing.expect_same();
      }
    }
  }
}

/// Experts' matrices of one shape, on both sides.
struct ExpertsPair {
  DeviceMatrix shape;
  std::vector<Mirror<std::byte>> data;
  std::vector<Mirror<std::byte>> scales;
  std::vector<Mirror<float>> biases;
  std::vector<Mirror<DeviceMatrix>> matrices;    // host, device
  std::vector<Mirror<const float*>> bias_lists;  // the same

  ExpertsPair(const DeviceMatrix& wanted, std::int32_t experts, std::mt19937& engine)
      : shape(wanted) {
    std::vector<DeviceMatrix> host(static_cast<std::size_t>(experts), shape);
    std::vector<DeviceMatrix> device = host;
    std::vector<const float*> host_biases(host.size(), nullptr);
    std::vector<const float*> device_biases = host_biases;
    for (std::size_t e = 0; e < host.size(); ++e) {
      data.emplace_back(numbers(engine));
      scales.emplace_back(block_scales(engine));
      std::vector<float> bias(static_cast<std::size_t>(2 * shape.outputs));
      for (float& value : bias) value = std::normal_distribution<float>()(engine);
      biases.emplace_back(std::move(bias));
    }
    for (std::size_t e = 0; e < host.size(); ++e) {
      host[e].data = data[e].host.data();
      host[e].scales = scales[e].host.data();
      device[e].data = data[e].device();
      device[e].scales = scales[e].device();
      if (e % 3 == 2) continue;  // has no bias
      host_biases[e] = biases[e].host.data();
      device_biases[e] = biases[e].device();
    }
    matrices.emplace_back(host);
    matrices.emplace_back(device);
    bias_lists.emplace_back(host_biases);
    bias_lists.emplace_back(device_biases);
  }

 private:
  [[nodiscard]] std::vector<std::byte> numbers(std::mt19937& engine) const {
    const std::int64_t size =
        shape.dtype == DType::kF32 ? 4 : (shape.dtype == DType::kQ8_0 ? 1 : 2);
    std::vector<std::byte> bytes(static_cast<std::size_t>(shape.rows() * shape.stride * size));
    std::normal_distribution<float> normal(0, 0.1F);
    for (std::int64_t r = 0; r < shape.rows(); ++r) {
      for (std::int64_t k = 0; k < shape.inputs; ++k) {
        const std::int64_t at = r * shape.stride + k;
        if (shape.dtype == DType::kQ8_0) {
          bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(engine() & 0xffU);
        } else {
          reference::store(shape.dtype, bytes.data(), at, normal(engine));
        }
      }
    }
    return bytes;
  }
  [[nodiscard]] std::vector<std::byte> block_scales(std::mt19937& engine) const {
    const std::int64_t count = shape.rows() * std::max<std::int64_t>(shape.inputs / 32, 1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * count));
    std::uniform_real_distribution<float> uniform(5e-4F, 2e-3F);
    for (std::int64_t i = 0; i < count; ++i) {
      reference::store(DType::kF16, bytes.data(), i, uniform(engine));
    }
    return bytes;
  }
};

TEST_F(OpsCudaTest, MultipliesByExpertsAndCombinesThem) {
  constexpr std::int32_t kExperts = 6;
  constexpr std::int32_t kChosen = 2;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    for (const bool gated : {false, true}) {
      for (const auto& [rows, own] :
           {std::pair{std::int64_t{1}, ExpertRun{}}, {4, {}}, {70, {}}, {70, {2, 3}}}) {
        const std::int64_t inputs = dtype == DType::kQ8_0 ? 96 : 301;
        const std::int64_t outputs = 43;
        SCOPED_TRACE(testing::Message() << to_string(dtype) << (gated ? ", gated" : "") << ", rows "
                                        << rows << ", experts from " << own.first);
        const DType in_type = dtype == DType::kQ8_0 ? DType::kF32 : dtype;
        RowsPair scores = RowsPair::random(rows, kExperts, DType::kF32, engine_);
        RoutingPair routing(rows * kChosen, kExperts);
        DeviceMatrix shape;
        shape.dtype = dtype;
        shape.outputs = outputs;
        shape.inputs = inputs;
        shape.stride = (inputs + 63) / 64 * 64;
        shape.gated = gated;
        ExpertsPair experts(shape, kExperts, engine_);
        const bool gathers = rows != 4;
        RowsPair in = RowsPair::random(gathers ? rows : rows * kChosen, inputs, in_type, engine_);
        RowsPair out = RowsPair::poisoned(rows * kChosen, outputs);
        RowsPair residual = RowsPair::random(rows, outputs, DType::kF32, engine_);
        RowsPair sum = RowsPair::poisoned(rows, outputs);
        const auto route_params = [&](bool device) {
          return CudaRouteParams{.rows = rows,
                                 .scores = device ? scores.device() : scores.host(),
                                 .experts = kExperts,
                                 .spec = {.chosen = kChosen},
                                 .routing = routing.on(device)};
        };
        const auto linear_params = [&](bool device) {
          CudaExpertLinearParams made{
              .linear = {.rows = rows * kChosen,
                         .in = device ? in.device() : in.host(),
                         .weight = experts.shape,
                         .spec = {.activation = gated ? Activation::kSilu : Activation::kGelu,
                                  .soft_cap = gated ? 0.0F : 3.0F,
                                  .scale = 0.5F,
                                  .gate_limit = gated ? 2.0F : 0.0F,
                                  .up_offset = gated ? 1.0F : 0.0F,
                                  .gate_alpha = gated && rows == 4 ? 1.7F : 0.0F},
                         .out = device ? out.device() : out.host()},
              .experts = own.count > 0 ? own.count : kExperts,
              .first_expert = own.first,
              .gathers = gathers,
              .routing = routing.on(device)};
          auto& matrices = experts.matrices[device ? 1 : 0];
          auto& biases = experts.bias_lists[device ? 1 : 0];
          made.weights = (device ? matrices.device() : matrices.host.data()) + own.first;
          made.biases = (device ? biases.device() : biases.host.data()) + own.first;
          return made;
        };
        const auto combine_params = [&](bool device) {
          return CudaCombineParams{.rows = rows,
                                   .in = device ? out.device() : out.host(),
                                   .chosen = kChosen,
                                   .routing = routing.on(device),
                                   .experts = own,
                                   .residual = device ? residual.device() : residual.host(),
                                   .out = device ? sum.device() : sum.host()};
        };
        const char* error = test::run_as_graph([&](Stream stream) {
          Status status = route(route_params(true), stream);
          if (status == Status::kSuccess) status = expert_linear(linear_params(true), stream);
          return status == Status::kSuccess ? combine(combine_params(true), stream) : status;
        });
        ASSERT_EQ(error, nullptr) << error;
        reference::route(route_params(false));
        reference::expert_linear(linear_params(false));
        reference::combine(combine_params(false));
        routing.expect_same();
        if (own.count == 0) out.expect_close(1e-4);  // of others' experts nothing is written
        sum.expect_close(2e-4);
      }
    }
  }
}

}  // namespace
}  // namespace weft::cuda
