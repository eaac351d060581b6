#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/messages.h"
#include "weft/actors/pipeline.h"
#include "weft/core/actor/supervision.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/actors/letter_fixture.h"
#include "weft/tests/fixture/deterministic_system.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/fixture/fake_ranks.h"

namespace weft::test {

/// Keeps everything that a request gets.
class KeepingSink final : public RequestSink {
 public:
  void admit(std::int32_t count) noexcept override {
    ++admitted;
    prompt_tokens = count;
  }
  void deliver(const DeltaView& delta) noexcept override {
    EXPECT_FALSE(end) << "something came after the end";
    const auto choice = static_cast<std::size_t>(delta.choice);
    if (texts.size() <= choice) texts.resize(choice + 1);
    if (tokens.size() <= choice) tokens.resize(choice + 1);
    texts[choice] += delta.text;
    if (typed.size() <= choice) typed.resize(choice + 1);
    typed[choice].append(delta.text, delta.marks);
    tokens[choice].insert(tokens[choice].end(), delta.tokens.begin(), delta.tokens.end());
    logprobs.insert(logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
    top.insert(top.end(), delta.top.begin(), delta.top.end());
    for (const TokenText& one : delta.token_texts) {
      token_texts.emplace_back(delta.text.substr(one.begin, one.size));
    }
  }
  void finish(Finish&& finish) noexcept override {
    EXPECT_FALSE(end) << "a second end";
    end = std::move(finish);
  }

  int admitted = 0;
  std::int32_t prompt_tokens = 0;
  std::vector<std::string> texts;
  std::vector<TypedText> typed;  // the same, by its marks
  std::vector<std::vector<TokenId>> tokens;
  std::vector<float> logprobs;
  std::vector<TokenLogprob> top;
  std::vector<std::string> token_texts;  // what each token made, with logprobs
  std::optional<Finish> end;
};

/// A request in the pipeline.
struct Sent {
  std::shared_ptr<ActiveRequest> active;
  std::shared_ptr<KeepingSink> sink;

  [[nodiscard]] boost::system::error_code error() const {
    return sink->end ? sink->end->error.code : boost::system::error_code();
  }
};

/// The real actors over a fake device, played message by message.
class PipelineFixture : public LetterFixture {
 public:
  // The actors' ids, in the order in which the pipeline declares them, with one replica.
  static constexpr ActorId kSchedulerId{1}, kExecutorId{2}, kDetokenizerId{3}, kWorkerId{4};
  static constexpr ActorId kLargeWorkerId{5}, kReceiverId{6};

  void start() {
    config.preprocess_workers = 1;
    DeviceRanks devices;
    if (ranks > 0) {
      cut =
          std::make_shared<FakeRanks>(FakeRanks::Options{device_options(), ranks, /*waits=*/false});
      devices = cut->devices();
    } else {
      device = std::make_shared<FakeDevice>(device_options());
      devices = {device};
    }
    PipelineOptions how;
    how.system = play.options_for_other();
    how.own_threads = false;
    how.messages_per_activation = 1;
    how.observer = std::make_shared<CheckingObserver>([this] {
      if (std::exchange(actor_fails, false)) throw ActorFailure(failure, "an actor fails");
    });
    how.before_preprocess = before_preprocess;
    how.before_device = before_device;
    how.notice = notice;
    std::vector<DeviceRanks> each{std::move(devices)};
    while (each.size() < replicas) {
      FakeDevice::Options other{.limits = limits};
      other.run = [this](const Plan& plan) {
        if (on_step_of_others) on_step_of_others(plan);
      };
      each.push_back({std::make_shared<FakeDevice>(std::move(other))});
    }
    ServedModel model = letter_model(limits.context);
    model.adapters = adapters;
    pipeline = std::make_unique<Pipeline>(play.context().get_executor(), config, std::move(model),
                                          std::move(each), how);
    play.context().run_all();
  }
  void TearDown() override {
    pipeline.reset();
    for (const Sent& one : all) EXPECT_TRUE(one.sink->end) << "a request has no end";
  }

  Sent send(Request request = LetterFixture::request()) {
    Sent one{nullptr, std::make_shared<KeepingSink>()};
    one.active = pipeline->make_request(std::move(request), one.sink);
    pipeline->submit(RequestTicket(one.active));
    all.push_back(one);
    return one;
  }
  /// Delivers the messages that were just sent to the scheduler.
  void enqueue() {
    ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
    ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
    ASSERT_TRUE(play.expect<EnqueueMsg>(kWorkerId, kSchedulerId));
  }
  void expect_nothing_held() const {
    const EngineStats stats = pipeline->stats();
    EXPECT_EQ(stats.requests, 0U);
    EXPECT_EQ(stats.running, 0U);
    EXPECT_EQ(stats.waiting, 0U);
    EXPECT_EQ(stats.pages_free, stats.pages);
  }
  /// Expects that a request sent now is served as ever.
  void expect_served() {
    const Sent one = send();
    play.run_all();
    ASSERT_TRUE(one.sink->end);
    EXPECT_EQ(one.sink->end->reason, FinishReason::kLength) << to_string(one.sink->end->error);
    EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  }
  [[nodiscard]] static std::vector<TokenId> expected(const Sent& one) {
    return LetterFixture::expected(one.active->request());
  }

  DeterministicSystem play;
  std::function<void(const Plan&)> on_step_of_others;  ///< of the replicas but the first
  std::function<ActorRef<PreprocessProtocol>(ActorSystem&, const PreprocessPool&)>
      before_preprocess;
  std::function<std::shared_ptr<StepDevice>(std::shared_ptr<StepDevice>)> before_device;
  std::function<void(const std::string&)> notice;
  bool actor_fails = false;  ///< the scheduler or the detokenizer, at its next message
  ExitKind failure = ExitKind::kException;
  std::size_t ranks = 0;  ///< of each stage; 0: one device is all stages
  std::size_t replicas = 1;
  std::shared_ptr<AdapterRegistry> adapters;  ///< null: the model takes none
  std::shared_ptr<FakeRanks> cut;
  std::unique_ptr<Pipeline> pipeline;
  std::vector<Sent> all;
};

}  // namespace weft::test
