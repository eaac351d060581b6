#include "weft/model/vectors/vector_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;

using Kind = VectorLayer::Kind;

VectorLayer dense(std::vector<float> weight, std::vector<float> bias) {
  VectorLayer layer{.kind = Kind::kDense, .inputs = 2};
  layer.outputs = static_cast<std::int64_t>(weight.size()) / 2;
  layer.weight = std::move(weight);
  layer.bias = std::move(bias);
  return layer;
}

TEST(VectorModel, RunsItsLayersInTheirOrder) {
  VectorModel model{.hidden = 2};
  model.layers.push_back(dense({1, 0, 0, 1, 1, 1}, {0, 0, -1}));
  model.layers.push_back({.kind = Kind::kUnit});
  EXPECT_EQ(model.size(), 3);
  EXPECT_TRUE(model.gives_unit_vectors());
  const float length = std::sqrt(9.0F + 16 + 36);
  EXPECT_THAT(model.embedding({3, 4}, true, 0),
              ElementsAre(FloatEq(3 / length), FloatEq(4 / length), FloatEq(6 / length)));
  EXPECT_THAT(model.embedding({3, 4}, false, 0), ElementsAre(3, 4, 6)) << "as was asked for";
}

TEST(VectorModel, CutsBeforeItMakesUnitVectors) {
  VectorModel model{.hidden = 3};
  model.layers.push_back({.kind = Kind::kUnit});
  EXPECT_THAT(model.embedding({3, 4, 100}, true, 2), ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
  EXPECT_THAT(model.embedding({3, 4, 100}, true, 9).size(), 3);
}

TEST(VectorModel, ZerosStayZeros) {
  VectorModel model{.hidden = 2};
  EXPECT_THAT(model.embedding({0, 0}, true, 0), ElementsAre(0, 0));
}

TEST(VectorModel, NormalizesALayersNumbers) {
  VectorModel model{.hidden = 2};
  model.layers.push_back({.kind = Kind::kLayerNorm, .weight = {2, 1}, .bias = {0, 5}, .eps = 0});
  EXPECT_THAT(model.embedding({1, 3}, false, 0), ElementsAre(FloatEq(-2), FloatEq(6)));
}

TEST(VectorModel, AppliesTheActivationToScores) {
  VectorModel model{.scores = true, .hidden = 2};
  model.layers.push_back(dense({1, 0, 0, 1}, {}));
  model.activation = ScoreActivation::kSoftmax;
  EXPECT_THAT(model.score({0, std::log(3.0F)}, false),
              ElementsAre(FloatNear(0.25F, 1e-6F), FloatNear(0.75F, 1e-6F)));
  EXPECT_THAT(model.score({1000, 0}, false), ElementsAre(FloatEq(1), FloatEq(0)));
  model.activation = ScoreActivation::kSigmoid;
  EXPECT_THAT(model.score({0, std::log(3.0F)}, false),
              ElementsAre(FloatNear(0.5F, 1e-6F), FloatNear(0.75F, 1e-6F)));
  EXPECT_THAT(model.score({7, -7}, true), ElementsAre(7, -7));
}

TEST(VectorModel, LayersHaveTheActivationsOfHeads) {
  VectorModel model{.hidden = 2};
  model.layers.push_back(dense({1, 0, 0, 1}, {}));
  model.layers[0].activation = Activation::kTanh;
  EXPECT_THAT(model.embedding({1, -2}, false, 0),
              ElementsAre(FloatEq(std::tanh(1.0F)), FloatEq(std::tanh(-2.0F))));
  model.layers[0].activation = Activation::kRelu;
  EXPECT_THAT(model.embedding({1, -2}, false, 0), ElementsAre(1, 0));
  model.layers[0].activation = Activation::kGelu;
  EXPECT_THAT(model.embedding({1, 0}, false, 0), ElementsAre(FloatNear(0.841345F, 1e-6F), 0));
}

}  // namespace
}  // namespace weft
