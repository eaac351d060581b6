#include "weft/tests/actors/played_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <utility>

#include "weft/gpu/forwarding_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {
namespace {

/// A word for each token: golden models come without texts.
Tokenizer number_tokenizer(std::int64_t vocabulary) {
  namespace json = boost::json;
  json::object words;
  for (std::int64_t token = 0; token < vocabulary; ++token) {
    words["<" + std::to_string(token) + ">"] = token;
  }
  const json::object model = {{"type", "WordLevel"}, {"vocab", words}, {"unk_token", "<0>"}};
  return Tokenizer::from_json(json::serialize(json::object{{"model", model}}), "numbers").value();
}

ServedModel served(const Program& program, const DeviceLimits& limits) {
  ServedModel model{.tokenizer = number_tokenizer(program.vocabulary)};
  model.vocabulary = program.vocabulary;
  model.context = limits.context;
  model.end_tokens.assign(program.end_tokens.begin(), program.end_tokens.end());
  std::ranges::sort(model.end_tokens);
  model.has_encoder = program.has_encoder;
  model.start_token = static_cast<TokenId>(program.start_token);
  for (const RotaryFrequencies& rotary : program.rotary) {
    if (!rotary.long_frequency.empty()) model.long_from = rotary.long_from;
  }
  return model;
}

DeviceLimits limits_of(const Program& program, const PipelineShape& shape) {
  DeviceLimits limits;
  limits.rows = shape.rows;
  limits.page_tokens = shape.page_tokens;
  limits.context = std::min(shape.context, program.context);
  limits.vocabulary = program.vocabulary;
  limits.pages = shape.pages > 0 ? shape.pages : limits.rows * limits.pages_per_row();
  limits.step_tokens = shape.step_tokens;
  limits.guesses = shape.guesses;
  limits.chooses_at_once = shape.chooses_at_once;
  if (shape.drafts) limits.draft_context = static_cast<std::int32_t>(limits.context);
  if (program.has_encoder) {
    limits.step_tokens = std::max(limits.step_tokens, static_cast<std::int32_t>(limits.context));
    limits.cross_pages = limits.rows * limits.pages_per_row();
  }
  return limits;
}

/// Notes what runs on another device, and says what it took.
class NotedDevice final : public ForwardingDevice {
 public:
  NotedDevice(std::unique_ptr<StepDevice> device, PlanSizes& sizes)
      : ForwardingDevice(std::move(device)), sizes_(sizes) {}

  void run(const Plan& plan, StepResult& result) override {
    device().run(plan, result);
    std::int32_t guesses = 0;
    for (const PlanEntry& entry : plan.entries) guesses += entry.guesses;
    // Guesses are cheap, as where a step mostly reads weights.
    result.took = std::chrono::microseconds(100 * (tokens_of(plan) - guesses) + guesses);
    const bool has_drafted = result.drafting.total() > Duration{};
    result.drafting = {.drafting = Duration{has_drafted ? 1 : 0}};
    sizes_.most_tokens = std::max(sizes_.most_tokens, tokens_of(plan));
    sizes_.most_entries = std::max(sizes_.most_entries, plan.entries.size());
    for (const PlanEntry& entry : plan.entries) {
      sizes_.longest_entry = std::max(sizes_.longest_entry, entry.count);
    }
  }

 private:
  PlanSizes& sizes_;
};

class Sink final : public RequestSink {
 public:
  explicit Sink(const Request& request) {
    played.outputs.resize(static_cast<std::size_t>(request.sampling.n));
  }
  void deliver(const DeltaView& delta) noexcept override {
    auto& output = played.outputs.at(static_cast<std::size_t>(delta.choice));
    output.insert(output.end(), delta.tokens.begin(), delta.tokens.end());
  }
  void finish(Finish&& finish) noexcept override {
    EXPECT_FALSE(played.end) << "a second end";
    played.end = std::move(finish);
  }

  PlayedRequest played;
};

}  // namespace

PlayedPipeline::PlayedPipeline(const MakeDevice& make_device, const Program& program,
                               const PipelineShape& shape, std::uint64_t seed)
    : random_(seed) {
  const DeviceLimits limits = limits_of(program, shape);
  Config config;
  config.kv_layout = shape.layout;
  config.admission = shape.admission;
  config.decode_every = shape.decode_every;
  config.target_inter_token = shape.target_inter_token;
  config.preprocess_workers = 1;
  if (limits.guesses > 0) config.speculation = SpeculationKind::kSuffix;
  PipelineOptions how;
  how.system = system_.options_for_other();
  how.own_threads = false;
  how.messages_per_activation = 1;
  how.observer = std::make_shared<CheckingObserver>();
  auto device = make_device(limits);
  pipeline_ = std::make_unique<Pipeline>(
      system_.context().get_executor(), config, served(program, limits),
      std::vector<DeviceRanks>{{std::make_shared<NotedDevice>(std::move(device), sizes_)}}, how);
  system_.context().run_all();
}

std::vector<PlayedRequest> PlayedPipeline::play(std::span<const Request> requests,
                                                std::size_t between) {
  std::vector<std::shared_ptr<Sink>> sinks;
  for (const Request& request : requests) {
    sinks.push_back(std::make_shared<Sink>(request));
    pipeline_->submit(RequestTicket(pipeline_->make_request(request, sinks.back())));
    for (std::size_t i = 0; i < between && system_.run_random(random_); ++i) {
    }
  }
  while (system_.run_random(random_)) {
  }
  std::vector<PlayedRequest> played;
  for (const auto& sink : sinks) {
    EXPECT_TRUE(sink->played.end) << "a request waits for ever";
    played.push_back(std::move(sink->played));
  }
  return played;
}

MakeDevice host_devices(const OpenedModel& model, DType kv_dtype) {
  const PipelineShape least{.rows = 1, .step_tokens = 1, .page_tokens = 1, .context = 1};
  const DeviceLimits few = limits_of(*model.program, least);
  const auto options = step_options(*model.program, few, kv_dtype, 1);
  // The first of the weights, which runs nothing itself.
  const auto weights = std::make_shared<const HostStepDevice>(
      HostDevice::load(model.checkpoint, model.program, options).value(), few,
      std::vector<TokenId>(model.program->end_tokens.begin(), model.program->end_tokens.end()));
  return [weights, kv_dtype](const DeviceLimits& limits) {
    return weights->share_weights(limits, kv_dtype, 1).value();
  };
}

MakeDevice devices_of(const DeviceKind& kind, const OpenedModel& model) {
  return [kind, model](const DeviceLimits& limits) {
    return kind.load_steps(model.checkpoint, model.program, limits);
  };
}

}  // namespace weft::test
