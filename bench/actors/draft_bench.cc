// Tokens a second with a draft model of a tenth of the model's size, over those without, in turn
// within one run, on the host: the shape of TinyLlama-1.1B in q8_0 with random weights, and
// llama-110m beside it. Random models never agree, so the draft model's guesses are forced: it
// computes its steps, and then each guess is right with the probability of the argument, in
// percent.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/stepper/stepper.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/drafting/model_drafter.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kDraftedTokens = 96;
constexpr std::int64_t kDraftedContext = 256;
constexpr int kDraftedPairs = 7;

/// A draft model whose guesses are right with a given probability. The text that it knows is of the
/// only sequence.
class ForcedDraft final : public ModelDevice {
 public:
  ForcedDraft(std::unique_ptr<HostDevice> device, const std::vector<TokenId>& text, double chance)
      : device_(std::move(device)), text_(text), chance_(chance) {}

  void decode(const Step& step) override {
    device_->decode(step);
    if (step.outputs.empty()) return;
    const StepSequence& one = step.sequences.front();
    const auto next = static_cast<std::size_t>(one.start) + static_cast<std::size_t>(one.count);
    const TokenId right = next < text_.size() ? text_[next] : 0;
    const bool is_right = std::bernoulli_distribution(chance_)(random_);
    const auto token = is_right ? right : (right + 1) % device_->program().vocabulary;
    constexpr float kMost = 1e9F;
    device_->results().row(0)[token] = kMost;
  }
  void encode(const Step& step) override { device_->encode(step); }
  [[nodiscard]] Rows results() override { return device_->results(); }
  [[nodiscard]] Rows hidden_states(std::int32_t first, std::int32_t count) override {
    return device_->hidden_states(first, count);
  }
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> rows) override {
    return device_->logits_of(rows);
  }
  [[nodiscard]] const Program& program() const override { return device_->program(); }
  [[nodiscard]] const DeviceOptions& options() const override { return device_->options(); }

 private:
  std::unique_ptr<HostDevice> device_;
  const std::vector<TokenId>& text_;
  const double chance_;
  std::mt19937 random_{1};
};

/// A model of random weights.
OpenedModel random_model(std::string_view name) {
  LlamaShape shape = find_llama_shape(name).value();
  shape.weights = DType::kQ8_0;
  return RandomLlama(shape, 1).opened();
}

DeviceWishes wishes_for(const OpenedModel* draft) {
  DeviceWishes wishes;
  wishes.capacity.rows = 1;
  wishes.capacity.context = kDraftedContext;
  if (draft == nullptr) return wishes;
  wishes.capacity.guesses = Config().speculation_max_tokens;
  wishes.draft = std::make_shared<const OpenedModel>(*draft);
  wishes.looks_up = false;
  return wishes;
}

Stepper stepper_on(const OpenedModel& model, std::shared_ptr<StepDevice> device) {
  Config config;
  config.speculation = SpeculationKind::kSuffix;        // the device has its drafter
  config.target_inter_token = std::chrono::seconds(1);  // a step takes longer than the usual 50 ms
  ServedModel served{.tokenizer = Tokenizer::none()};
  served.vocabulary = model.program->vocabulary;
  served.context = kDraftedContext;
  return {config, std::move(served), std::move(device)};
}

/// Runs a request; returns the seconds, and the tokens by `output`.
double run_drafted(Stepper& stepper, const std::vector<TokenId>& prompt,
                   std::vector<TokenId>& output) {
  output = prompt;
  return seconds([&] {
    Request request;
    request.prompt_tokens = prompt;
    request.max_tokens = kDraftedTokens;
    request.sampling.temperature = 0;
    request.sampling.ignore_eos = true;
    stepper.add(std::move(request)).value();
    while (!stepper.idle()) {
      for (const StepOutput& one : stepper.infer()) {
        for (const Delta& delta : one.deltas) {
          output.insert(output.end(), delta.tokens.begin(), delta.tokens.end());
        }
      }
    }
  });
}

void drafting(benchmark::State& state) {
  const OpenedModel model = random_model("tinyllama-1.1b");
  const OpenedModel draft = random_model("llama-110m");
  const std::vector<TokenId> prompt = {1, 500, 17, 2000, 4, 9, 11, 30000};
  std::vector<TokenId> text;
  auto plain = load_step_devices(model, wishes_for(nullptr), {}).value();
  auto drafted = load_step_devices(model, wishes_for(&draft), {}).value();
  auto& device = dynamic_cast<HostStepDevice&>(*drafted.devices.front().front());
  const DeviceOptions options =
      ModelDrafter::options_for(*draft.program, drafted.limits, DType::kF32, 0);
  auto forced = std::make_unique<ForcedDraft>(
      HostDevice::load(draft.checkpoint, draft.program, options).value(), text,
      static_cast<double>(state.range(0)) / 100);
  device.use(std::make_unique<ModelDrafter>(std::move(forced), drafted.limits, nullptr));
  Stepper without = stepper_on(model, plain.devices.front().front());
  Stepper with = stepper_on(model, drafted.devices.front().front());
  static_cast<void>(run_drafted(without, prompt, text));  // so that the text is known
  std::vector<TokenId> output;
  compare(
      state, kDraftedTokens, [&] { return run_drafted(with, prompt, output); },
      [&] { return run_drafted(without, prompt, text); });
  if (output != text) return state.SkipWithError("another text");
  add_inverse(state, "tokens_over_plain");
  const EngineStats stats = with.stats();
  const auto guessed = static_cast<double>(stats.accepted_guesses + stats.rejected_guesses);
  state.counters["accepted"] =
      guessed > 0 ? static_cast<double>(stats.accepted_guesses) / guessed : 0;
  state.counters["steps_over_plain"] =
      static_cast<double>(stats.ticks) / static_cast<double>(without.stats().ticks);
}

BENCHMARK(drafting)
    ->Arg(90)
    ->Arg(70)
    ->Arg(30)
    ->Arg(0)
    ->Iterations(kDraftedPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::bench
