#include "weft/actors/models/turn_order.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "weft/core/time/virtual_clock.h"

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Models on one device that take steps of a time each as long as they have requests, and ask for
/// the next one a moment after they have had one.
class TurnOrderTest : public testing::Test {
 public:
  struct Model {
    std::shared_ptr<ModelUse> use = std::make_shared<ModelUse>();
    std::size_t member = 0;
    Duration step{};
    Duration had{};
    std::optional<TimePoint> asks{};  // when it asks for its next step
  };
  static constexpr Duration kMoment = microseconds(50);

  std::size_t add(double share, Duration step, RequestClass cls = RequestClass::kChat) {
    Model& model = models[count];
    model.use->of(cls) = 1;
    model.member = order.add(share, model.use);
    model.step = step;
    model.asks = clock.now();
    return count++;
  }
  void finish(std::size_t model) {
    for (const RequestClass cls : kRequestClasses) models[model].use->of(cls) = 0;
    models[model].asks.reset();
  }
  /// Lets the device run for so long.
  void run(Duration time) {
    const TimePoint until = clock.now() + time;
    while (clock.now() < until) {
      for (std::size_t i = 0; i < count; ++i) ask_if_due(models[i]);
      const TurnOrder::Choice choice = order.choose(clock.now());
      if (choice.member) {
        step(of(*choice.member));
      } else {
        idle += next_event(choice.again) - clock.now();
        clock.advance(next_event(choice.again) - clock.now());
      }
    }
  }
  [[nodiscard]] double share_of(std::size_t model) const {
    Duration all{};
    for (const Model& one : models) all += one.had;
    return static_cast<double>(models[model].had.count()) / static_cast<double>(all.count());
  }
  void forget_times() {
    for (Model& model : models) model.had = {};
    idle = {};
  }

  VirtualClock clock;
  TurnOrder order;
  std::array<Model, 4> models;
  std::size_t count = 0;
  Duration idle{};

 private:
  void ask_if_due(Model& model) {
    if (!model.asks || *model.asks > clock.now()) return;
    model.asks.reset();
    order.want(model.member);
  }
  void step(Model& model) {
    order.begin(model.member);
    clock.advance(model.step);
    order.end(model.member, clock.now(), model.step);
    model.had += model.step;
    if (model.use->most_urgent()) model.asks = clock.now() + kMoment;
  }
  Model& of(std::size_t member) {
    for (Model& model : models) {
      if (model.member == member) return model;
    }
    return models[0];
  }
  [[nodiscard]] TimePoint next_event(std::optional<TimePoint> again) const {
    TimePoint next = again.value_or(clock.now() + milliseconds(1));
    for (const Model& model : models) {
      if (model.asks) next = std::min(next, *model.asks);
    }
    return std::max(next, clock.now() + microseconds(1));
  }
};

TEST_F(TurnOrderTest, DividesTheTimeByShareWhateverAStepTakes) {
  add(1, milliseconds(20));
  add(3, milliseconds(5));
  run(std::chrono::seconds(10));
  EXPECT_NEAR(share_of(0), 0.25, 0.01);
  EXPECT_NEAR(share_of(1), 0.75, 0.01);
}

TEST_F(TurnOrderTest, GivesAModelThatIsAloneAllOfTheTime) {
  add(1, milliseconds(10));
  add(1, milliseconds(10));
  finish(0);
  run(std::chrono::seconds(1));
  EXPECT_EQ(share_of(1), 1);
  // It waits for nobody but itself.
  EXPECT_LT(idle, milliseconds(6));
}

TEST_F(TurnOrderTest, LetsChatOfAnyModelGoBeforeBatchOfAny) {
  const std::size_t batch = add(100, milliseconds(10), RequestClass::kBatch);
  const std::size_t chat = add(1, milliseconds(10));
  run(std::chrono::seconds(1));
  EXPECT_EQ(share_of(chat), 1) << "batch has had its turn between two steps of chat";
  finish(chat);
  forget_times();
  run(std::chrono::seconds(1));
  EXPECT_EQ(share_of(batch), 1);
}

TEST_F(TurnOrderTest, OwesNothingToAModelThatWasAway) {
  const std::size_t first = add(1, milliseconds(10));
  const std::size_t second = add(1, milliseconds(10));
  finish(second);
  run(std::chrono::seconds(10));
  forget_times();
  models[second].use->of(RequestClass::kChat) = 1;
  models[second].asks = clock.now();
  run(std::chrono::seconds(1));
  EXPECT_NEAR(share_of(first), 0.5, 0.03);
}

TEST_F(TurnOrderTest, WaitsForAModelThatIsDueForABoundedTimeOnce) {
  const std::size_t slow = add(1'000, milliseconds(1));
  const std::size_t other = add(1, milliseconds(1));
  run(milliseconds(100));
  EXPECT_GT(share_of(slow), 0.9);
  models[slow].asks.reset();  // it has requests, and does not come back
  forget_times();
  run(std::chrono::seconds(1));
  EXPECT_EQ(share_of(other), 1);
  EXPECT_LE(idle, TurnOrder::kGrace + 1'000 * kMoment);
}

TEST_F(TurnOrderTest, GivesTheNumberOfAModelThatHasGoneToAnother) {
  const std::size_t first = order.add(1, std::make_shared<ModelUse>());
  const std::size_t second = order.add(1, std::make_shared<ModelUse>());
  EXPECT_NE(first, second);
  order.remove(first);
  EXPECT_EQ(order.add(2, std::make_shared<ModelUse>()), first);
  EXPECT_FALSE(order.choose(clock.now()).member);
  EXPECT_FALSE(order.choose(clock.now()).again);
}

}  // namespace
}  // namespace weft
