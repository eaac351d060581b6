#include "weft/gpu/host/host_step_device.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/read_activations.h"
#include "weft/gpu/step_options.h"
#include "weft/sampling/verify_guesses.h"

namespace weft {
namespace {

// For fewer logits, waking the team costs more than it saves (about 20 us against some ns for each
// logit).
constexpr std::size_t kLogitsWorthATeam = 65'536;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

HostStepDevice::HostStepDevice(std::unique_ptr<HostDevice> device, const DeviceLimits& limits,
                               std::vector<TokenId> end_tokens)
    : device_(std::move(device)),
      limits_(limits),
      end_tokens_(std::move(end_tokens)),
      samples_(device_->program().gives_results),
      chooses_(samples_ && device_->program().generates()),
      hears_tokens_(device_->program().part.is_first_stage() && !samples_),
      reader_(limits, device_->options().encoder_pages),
      mask_workers_(at(limits.rows), mask_threads()) {
  const std::size_t rows = at(limits.rows);
  ids_.reserve(at(limits_.step_tokens));
  sequences_.reserve(rows);
  if (RankLink* const link = device_->link(); link != nullptr) tokens_.emplace(*link, limits_);
  if (!chooses_) return;
  samplers_.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    samplers_.emplace_back(static_cast<std::size_t>(limits.vocabulary),
                           static_cast<std::size_t>(limits.context) + 1);
  }
  for (int i = 0; i < device_->threads(); ++i) {
    scratches_.emplace_back(static_cast<std::size_t>(limits_.vocabulary));
    copies_.emplace_back(static_cast<std::size_t>(limits_.vocabulary));
  }
}

HostStepDevice::~HostStepDevice() {
  if (files_) files_->close();  // before the memory that its thread copies is freed
}

Result<std::unique_ptr<HostStepDevice>> HostStepDevice::share_weights(const DeviceLimits& limits,
                                                                      DType kv_dtype,
                                                                      int threads) const {
  auto device = device_->share_weights(step_options(device_->program(), limits, kv_dtype, threads));
  if (!device) return device.error();
  return std::make_unique<HostStepDevice>(std::move(*device), limits, end_tokens_);
}

Result<std::shared_ptr<const DeviceAdapter>> HostStepDevice::prepare_adapter(
    const Adapter& adapter) const {
  auto prepared = device_->prepare_adapter(adapter);
  if (!prepared) return prepared.error();
  return std::move(prepared->by_rank.front());
}

void HostStepDevice::run(const Plan& plan, StepResult& result) {
  RankLink* const link = device_->link();
  if (link == nullptr) return run_step(plan, result);
  const auto began = std::chrono::steady_clock::now();
  const Duration waited = link->waited();
  if (hears_tokens_) tokens_->hear(reader_);
  run_step(plan, result);
  if (samples_) tokens_->tell(reader_, result);
  result.took = std::chrono::steady_clock::now() - began - (link->waited() - waited);
}

void HostStepDevice::run_step(const Plan& plan, StepResult& result) {
  mask_workers_.take_back_all();  // workers of a step that failed
  change_rows(plan);
  place_adapters(plan, result);
  encode(plan);
  decode(plan);
  if (samples_) {
    choose(result);
    read_activations(reader_, *device_, result);
  } else if (device_->program().shares_head) {
    follow_activations(reader_, *device_);
  }
}

void HostStepDevice::change_rows(const Plan& plan) {
  copy_pages(plan.slab_copies);
  reader_.change_rows(plan);
  for (const PlanStart& one : plan.starts) start(plan, one);
  copy_pages(plan.copies);
}

void HostStepDevice::place_adapters(const Plan& plan, StepResult& result) {
  for (const PlanAdapter& one : plan.adapters) {
    device_->place_adapter(one.place, *one.adapter);
    if (samples_) result.adapters.push_back(one.place);
  }
}

void HostStepDevice::copy_pages(std::span<const PlanCopy> copies) {
  for (const PlanCopy& copy : copies) device_->copy_page(copy.from, copy.to);
}

void HostStepDevice::start(const Plan& plan, const PlanStart& start) {
  if (!chooses_) return;
  Sampler& sampler = samplers_[at(reader_.slot_of(start.row))];
  sampler.start(start.sampling, end_tokens_, start.seed, at(start.prompt_tokens),
                start.mirostat_mu);
  const std::span<const TokenId> history = PlanReader::history(plan, start);
  if (!history.empty()) sampler.observe(history);
}

/// Adds a sequence's tokens to the current step.
void HostStepDevice::add(const SlotTokens& tokens) {
  const SlotState& slot = reader_.slot(tokens.slot);
  const std::span<const TokenId> ids = reader_.known_ids(tokens);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ids_.insert(ids_.end(), tokens.guesses.begin(), tokens.guesses.end());
  sequences_.push_back({tokens.first, tokens.count, tokens.start, tokens.pages, slot.cross_pages,
                        slot.cross_context, slot.traits});
}

void HostStepDevice::encode(const Plan& plan) {
  if (plan.encodes.empty()) return;
  ids_.clear();
  sequences_.clear();
  for (const SlotTokens& tokens : reader_.read_encodes(plan)) add(tokens);
  device_->encode({ids_, sequences_, {}});
}

void HostStepDevice::decode(const Plan& plan) {
  ids_.clear();
  sequences_.clear();
  for (const SlotTokens& tokens : reader_.read_entries(plan)) {
    add(tokens);
    if (chooses_) samplers_[at(tokens.slot)].observe(reader_.known_ids(tokens));
  }
  for (const PlanFork& fork : plan.forks) {
    if (!chooses_) break;
    samplers_[at(reader_.slot_of(fork.to))].start_as(samplers_[at(reader_.slot_of(fork.from))],
                                                     fork.seed, fork.mirostat_mu);
  }
  prepare_choices();
  if (!ids_.empty()) device_->decode({ids_, sequences_, reader_.outputs(), reader_.needs()});
  for (const PlanFork& fork : plan.forks) copy_pages(reader_.forked_pages(fork));
}

void HostStepDevice::prepare_choices() {
  if (!chooses_) return;
  for (const SlotChoice& choice : reader_.choices()) {
    mask_workers_.prepare(samplers_[at(choice.slot)]);
  }
}

void HostStepDevice::choose_one(StepResult& result, std::size_t index, SamplerScratch& scratch,
                                std::vector<float>& copy) {
  const SlotChoice& choice = reader_.choices()[index];
  Sampler& sampler = samplers_[at(choice.slot)];
  mask_workers_.take_back(sampler);
  const auto choose = [&](std::size_t right, TokenId guess) {
    const std::int32_t output = choice.output + static_cast<std::int32_t>(right);
    float* logits = device_->results().row(output);
    // A sampler overwrites its logits.
    if (choice.shares_output) {
      std::copy_n(logits, copy.size(), copy.begin());
      logits = copy.data();
    }
    const SampleOutcome outcome = sampler.sample({logits, copy.size()}, scratch, guess);
    reader_.tell(result, index, outcome, device_->logprob_shift(output));
    return outcome.token;
  };
  verify_guesses(choice.guesses, choose, [&](TokenId guess) { sampler.observe({&guess, 1}); });
}

void HostStepDevice::choose(StepResult& result) {
  const std::size_t count = reader_.choices().size();
  reader_.begin_results(result);
  if (count < 2 || count * static_cast<std::size_t>(limits_.vocabulary) < kLogitsWorthATeam) {
    for (std::size_t i = 0; i < count; ++i) {
      choose_one(result, i, scratches_.front(), copies_.front());
    }
  } else {
    device_->team().run_pieces(static_cast<std::int32_t>(count), [&](Share share) {
      const auto thread = static_cast<std::size_t>(share.thread);
      choose_one(result, static_cast<std::size_t>(share.index), scratches_[thread],
                 copies_[thread]);
    });
  }
  reader_.end_results(result);
}

}  // namespace weft
