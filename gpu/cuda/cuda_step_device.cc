// Size: one device in the order in which it carries out a plan; its parts are in step/.
#include "weft/gpu/cuda/cuda_step_device.h"

#include <algorithm>
#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "weft/core/actor/supervision.h"
#include "weft/core/error/internal_error.h"
#include "weft/gpu/cuda/step/cuda_page_memory.h"
#include "weft/gpu/cuda/step/device_sampling.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/read_activations.h"
#include "weft/gpu/step_options.h"
#include "weft/sampling/verify_guesses.h"

namespace weft::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// While the thread waits for a step, it sleeps for this share of the last step's time.
constexpr double kAsleep = 0.75;
constexpr std::chrono::microseconds kWakeUp{150};  // the greatest delay of a wake-up
// A step that was stopped together with its process is no measure for the next step.
constexpr std::chrono::microseconds kLongestSleep{50'000};
constexpr std::chrono::milliseconds kLookForErrors{2};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::byte* raw(void* memory) { return static_cast<std::byte*>(memory); }

[[noreturn]] void refuse_guesses(std::int32_t slot) {
  throw boost::system::system_error(DeviceErrc::kUnfit,
                                    "plan: guesses in slot " + std::to_string(slot) +
                                        ", whose choices depend on the guesses before them");
}

}  // namespace

struct CudaStepDevice::SlotSampler {
  // Constructed for the slot's first sequence whose tokens the host chooses, then kept. Few slots
  // ever need a sampler, and with long contexts one for every slot would take gigabytes.
  std::optional<Sampler> sampler;
  bool on_host = false;
  bool is_masked = false;  // whether the device chooses among the tokens that a mask allows

  [[nodiscard]] bool observes() const noexcept { return on_host || is_masked; }
};

CudaStepDevice::CudaStepDevice(std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
                               std::vector<TokenId> end_tokens)
    : device_(std::move(device)),
      limits_(limits),
      end_tokens_(std::move(end_tokens)),
      samples_(device_->program().gives_results),
      whole_(!limits.keeps_kv),
      hears_tokens_(device_->program().part.is_first_stage() && !samples_),
      reader_(limits, device_->options().encoder_pages),
      samplers_(at(limits.rows)),
      mask_workers_(at(limits.rows), mask_threads()),
      scratch_(at(limits.vocabulary)) {
  copies_.reserve(at(limits.pages));
  const HostNeighbours* host = device_->host_neighbours();
  if (host != nullptr && host->tokens) host_tokens_.emplace(*host->link, limits_);
}

CudaStepDevice::~CudaStepDevice() {
  if (files_) files_->close();  // before the memory that its thread copies is freed
  // Graphs and page-locked memory are given back on this thread.
  static_cast<void>(device_->runtime().use());
  device_->leave();
}

Result<std::unique_ptr<CudaStepDevice>> CudaStepDevice::make(std::unique_ptr<CudaDevice> device,
                                                             const DeviceLimits& limits,
                                                             std::vector<TokenId> end_tokens) {
  auto made = prepare(std::move(device), limits, std::move(end_tokens));
  if (!made) return made;
  if (auto recorded = (*made)->record(); !recorded) return recorded.error();
  return made;
}

Result<std::unique_ptr<CudaStepDevice>> CudaStepDevice::prepare(std::unique_ptr<CudaDevice> device,
                                                                const DeviceLimits& limits,
                                                                std::vector<TokenId> end_tokens) {
  std::unique_ptr<CudaStepDevice> made(
      new CudaStepDevice(std::move(device), limits, std::move(end_tokens)));
  try {
    made->device_->use();
    made->take_memory();
    made->take_told();
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return made;
}

Result<void> CudaStepDevice::record() {
  try {
    device_->use();
    connect_tokens();
    // Encoded sequences differ in length, so their steps are launched op by op.
    const std::int32_t verified = limits_.guesses > 0 ? limits_.step_outputs() : 0;
    if (!whole_) recorded_.record(*device_, limits_.rows, verified);
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return {};
}

Result<std::unique_ptr<PageMemory>> CudaStepDevice::page_memory(
    std::unique_ptr<Runtime> runtime) const {
  auto memory = CudaPageMemory::make(std::move(runtime), device_->layout(), limits_.pages);
  if (!memory) return memory.error();
  return *std::move(memory);
}

void CudaStepDevice::take_memory() {
  const auto cut = [&](Arena arena) {
    const auto rows = at(limits_.rows);
    flag_ = arena.take<std::uint64_t>(1);
    choices_ = arena.take<SampleChoice>(at(device_->shape().choices));
    settings_ = arena.take<SampleSettings>(rows);
    lists_ = arena.take<SampleLists>(rows);
    return arena.used();
  };
  pinned_ = take_pinned(device_->runtime(), cut(Arena()));
  cut(Arena(pinned_.get()));
  *flag_ = 0;
  const Program& program = device_->program();
  if (samples_ && program.generates()) {
    const Layout& layout = device_->layout();
    host_logits_.emplace(device_->runtime(), layout,
                         layout.buffers[static_cast<std::size_t>(program.decode.result)]);
    masks_.emplace(device_->runtime(), limits_.vocabulary, limits_.rows, layout.masks);
  }
  if (limits_.host_pages > 0) swapper_.emplace(device_->runtime(), device_->layout(), limits_);
}

void CudaStepDevice::take_told() {
  if (!samples_ || host_tokens_ || device_->program().part.is_whole()) return;
  Runtime& runtime = device_->runtime();
  const std::int64_t copies = limits_.stages + 1;
  told_ = cuda::take_memory(runtime, at(copies * limits_.rows) * sizeof(TokenId));
  telling_ = make_stream(runtime);
  chosen_ = make_event(runtime);
}

// NCCL connects a group's ranks in their first exchange, which waits for all of them. A plan's
// tokens are received only with the next plan. So the ranks exchange meaningless tokens first.
void CudaStepDevice::connect_tokens() {
  Runtime& runtime = device_->runtime();
  if (told_) {
    const CudaTokensParams params{reinterpret_cast<TokenId*>(told_.get()), limits_.rows};
    check(runtime, runtime.run(params, telling_.get()), "connecting ranks");
    check(runtime, runtime.synchronize(telling_.get()), "connecting ranks");
  } else if (hears_tokens_ && !host_tokens_) {
    const CudaTokensParams params{device_->layout().last_tokens, limits_.rows};
    check(runtime, runtime.run(params, device_->stream()), "connecting ranks");
    device_->synchronize();
  }
}

void CudaStepDevice::run(const Plan& plan, StepResult& result) {
  const HostNeighbours* host = device_->host_neighbours();
  const auto began = Clock::now();
  const Duration waited = host == nullptr ? Duration{} : host->link->waited();
  try {
    run_step(plan, result);
  } catch (const Failure& failure) {
    give_up(failure);
  }
  if (host != nullptr) result.took = Clock::now() - began - (host->link->waited() - waited);
}

// A context that has failed once answers every later call with its error.
void CudaStepDevice::give_up(const Failure& failure) {
  // The other ranks of the step wait for results that this rank will not give.
  if (device_->is_rank()) throw ActorFailure(ExitKind::kDeviceLost, failure.what());
  if (device_->runtime().synchronize(device_->stream()) != Status::kSuccess) {
    throw ActorFailure(ExitKind::kDeviceLost, failure.what());
  }
  throw boost::system::system_error(error_of(failure).code, failure.what());
}

void CudaStepDevice::run_step(const Plan& plan, StepResult& result) {
  device_->use();
  mask_workers_.take_back_all();  // workers of a step that failed
  if (swapper_) swapper_->begin(device_->stream());
  if (hears_tokens_) hear_tokens();
  change_rows(plan);
  encode(plan);
  write_entries(plan);
  RecordedSteps::Step* recorded = forward(plan);
  for (const PlanFork& one : plan.forks) fork(one);
  prepare_masks();
  choose();
  if (swapper_) swapper_->end(device_->stream());
  wait(recorded);
  device_->send_stream();
  if (swapper_ && files_) swapper_->finish();
  if (swapper_) swapper_->tell(result);
  if (samples_) {
    tell(result);
    read_activations(reader_, *device_, result);
  } else if (device_->program().shares_head) {
    follow_activations(reader_, *device_);
  }
  if (device_->adapter_loads() != nullptr) device_->adapter_loads()->tell(result.adapters);
}

/// Receives the tokens of all earlier plans that the next plan may rely on.
void CudaStepDevice::hear_tokens() {
  if (host_tokens_) return host_tokens_->hear(reader_);
  Runtime& runtime = device_->runtime();
  ++plans_;
  while (heard_ + static_cast<std::uint64_t>(limits_.stages) < plans_) {
    check(runtime,
          runtime.run(CudaTokensParams{device_->layout().last_tokens, limits_.rows},
                      device_->stream()),
          "hearing tokens");
    ++heard_;
  }
}

// A copy is reused only by a plan that relies on the copy's tokens.
void CudaStepDevice::tell_tokens() {
  Runtime& runtime = device_->runtime();
  const auto copies = static_cast<std::uint64_t>(limits_.stages) + 1;
  const std::size_t bytes = at(limits_.rows) * sizeof(TokenId);
  std::byte* const copy = told_.get() + bytes * (plans_++ % copies);
  check(runtime,
        runtime.copy_on_device(copy, raw(device_->layout().last_tokens), bytes, device_->stream()),
        "telling tokens");
  check(runtime, runtime.record(chosen_.get(), device_->stream()), "telling tokens");
  check(runtime, runtime.wait(telling_.get(), chosen_.get()), "telling tokens");
  check(
      runtime,
      runtime.run(CudaTokensParams{reinterpret_cast<TokenId*>(copy), limits_.rows}, telling_.get()),
      "telling tokens");
}

void CudaStepDevice::change_rows(const Plan& plan) {
  StepWriter& writer = device_->writer();
  copy_pages(plan.slab_copies);
  reader_.change_rows(plan);
  writer.begin();
  for (const PlanStart& one : plan.starts) start(plan, one);
  // One write for each table, because the device does several writes in no fixed order.
  for (const SlotTable& table : reader_.tables()) {
    writer.write_table(device_->shape().self_table(table.slot), table.first, table.pages);
  }
  writer.upload_tables(device_->stream(), device_->layout().page_tables);
  if (swapper_ && swapper_->is_for(plan)) {
    swapper_->copy(plan, device_->stream());
  } else {
    copy_pages(plan.copies);
  }
  load_adapters(plan);
}

Result<std::shared_ptr<const DeviceAdapter>> CudaStepDevice::prepare_adapter(
    const Adapter& adapter) const {
  auto prepared = device_->prepare_adapter(adapter);
  if (!prepared) return prepared.error();
  return std::move(prepared->by_rank.front());
}

void CudaStepDevice::load_adapters(const Plan& plan) {
  AdapterLoads* const loads = device_->adapter_loads();
  if (loads == nullptr) return;
  for (const PlanAdapter& one : plan.adapters) loads->begin(one.place, one.adapter);
  if (plan.entries.empty()) loads->finish();
}

/// Returns the place of a slot's adapter, or -1 if the slot has none. The adapter is there when the
/// next step begins.
std::int32_t CudaStepDevice::use_adapter(const SlotState& slot) {
  const AdapterId& adapter = slot.traits.kv.adapter;
  if (!adapter) return -1;
  const auto all = reader_.adapters();
  const auto place = static_cast<std::int32_t>(std::ranges::find(all, adapter) - all.begin());
  if (place == limits_.adapter_places) internal_error("an encoder's adapter is in no place");
  device_->adapter_loads()->wait_for(place, device_->stream());
  return place;
}

void CudaStepDevice::copy_pages(std::span<const PlanCopy> copies) {
  if (copies.empty()) return;
  copies_.clear();
  for (const PlanCopy& copy : copies) copies_.push_back({copy.from, copy.to});
  device_->writer().copy_pages(device_->stream(), copies_, device_->layout());
}

void CudaStepDevice::start(const Plan& plan, const PlanStart& start) {
  const std::int32_t slot = reader_.slot_of(start.row);
  if (!samples_) {
    device_->writer().write_table(device_->shape().cross_table(slot), 0,
                                  reader_.slot(slot).cross_pages);
    return;
  }
  const std::span<const TokenId> history = PlanReader::history(plan, start);
  SlotSampler& own = samplers_[at(slot)];
  own.on_host = !samples_on_device(*start.sampling, end_tokens_);
  own.is_masked = !own.on_host && start.sampling->constraint != nullptr;
  device_->writer().write_table(device_->shape().cross_table(slot), 0,
                                reader_.slot(slot).cross_pages);
  if (own.observes()) {
    Sampler& sampler = sampler_of(slot);
    sampler.start(start.sampling, end_tokens_, start.seed, at(start.prompt_tokens),
                  start.mirostat_mu);
    if (!history.empty()) sampler.observe(history);
  }
  settings_[slot] = {};
  if (!own.on_host) {
    settings_[slot] = sample_settings(*start.sampling, end_tokens_, start.seed, lists_[slot]);
  }
  upload_settings(slot);
  if (!settings_[slot].counts) return;
  device_->writer().start_counts(device_->stream(), slot, history, start.prompt_tokens,
                                 {device_->layout().token_counts, limits_.vocabulary});
}

Sampler& CudaStepDevice::sampler_of(std::int32_t slot) {
  std::optional<Sampler>& sampler = samplers_[at(slot)].sampler;
  if (!sampler) sampler.emplace(at(limits_.vocabulary), at(limits_.context) + 1);
  return *sampler;
}

void CudaStepDevice::upload_settings(std::int32_t slot) {
  Runtime& runtime = device_->runtime();
  const Layout& layout = device_->layout();
  const SampleSettings& settings = settings_[slot];
  check(runtime,
        runtime.copy_to_device(raw(layout.settings + slot), raw(settings_ + slot),
                               sizeof(SampleSettings), device_->stream()),
        "uploading sampling");
  if (settings.biases + settings.bad + settings.allowed + settings.stops == 0) return;
  check(runtime,
        runtime.copy_to_device(raw(layout.lists + slot), raw(lists_ + slot), sizeof(SampleLists),
                               device_->stream()),
        "uploading sampling");
}

void CudaStepDevice::encode(const Plan& plan) {
  if (plan.encodes.empty()) return;
  StepWriter& writer = device_->writer();
  device_->synchronize();
  writer.begin();
  for (const SlotTokens& tokens : reader_.read_encodes(plan)) {
    const SlotState& slot = reader_.slot(tokens.slot);
    writer.write_table(device_->shape().encoder_table(tokens.slot), 0, tokens.pages);
    writer.write_table(device_->shape().cross_table(tokens.slot), 0, slot.cross_pages);
    writer.add({.slot = tokens.slot,
                .ids = tokens.ids,
                .traits = slot.traits,
                .cross_context = slot.cross_context,
                .adapter_place = use_adapter(slot)});
  }
  writer.upload_tables(device_->stream(), device_->layout().page_tables);
  // Waits, since the decoder's step is written to the same memory.
  device_->encode_written();
}

void CudaStepDevice::write_entries(const Plan& plan) {
  StepWriter& writer = device_->writer();
  if (whole_) device_->synchronize();  // page tables are written to memory that the last step reads
  if (whole_ || !plan.encodes.empty()) writer.begin();
  for (const SlotTokens& tokens : reader_.read_entries(plan)) {
    const SlotState& slot = reader_.slot(tokens.slot);
    SlotSampler& own = samplers_[at(tokens.slot)];
    if (!tokens.guesses.empty() && (own.is_masked || settings_[tokens.slot].counts)) {
      refuse_guesses(tokens.slot);
    }
    // The device knows the last token if it made exactly one choice for the slot, or if another GPU
    // sent the token.
    const bool is_known_here =
        own.on_host || limits_.guesses > 0 || (hears_tokens_ && host_tokens_);
    const std::span<const TokenId> ids = is_known_here ? reader_.known_ids(tokens) : tokens.ids;
    if (whole_) {
      writer.write_table(device_->shape().encoder_table(tokens.slot), 0, tokens.pages);
    }
    writer.add({.slot = tokens.slot,
                .start = tokens.start,
                .ids = ids,
                .guesses = tokens.guesses,
                .traits = slot.traits,
                .cross_context = slot.cross_context,
                .observed = tokens.observed,
                .prompt_tokens = slot.prompt_tokens,
                .adapter_place = use_adapter(slot)});
    if (own.observes()) own.sampler->observe(reader_.known_ids(tokens));
  }
  if (whole_) writer.upload_tables(device_->stream(), device_->layout().page_tables);
  for (const std::int32_t row : reader_.outputs()) writer.add_output(row);
  write_choices(plan);
}

void CudaStepDevice::write_choices(const Plan& plan) {
  // Forks are prepared before the choices, because a choice may be for a row that a fork begins.
  for (const PlanFork& one : plan.forks) {
    const SlotSampler& from = samplers_[at(reader_.slot_of(one.from))];
    SlotSampler& to = samplers_[at(reader_.slot_of(one.to))];
    to.on_host = from.on_host;
    to.is_masked = from.is_masked;
  }
  std::int32_t masks = 0;
  for (const SlotChoice& choice : reader_.choices()) {
    const SlotState& slot = reader_.slot(choice.slot);
    const SlotSampler& own = samplers_[at(choice.slot)];
    const std::int32_t mask = own.is_masked ? masks++ : -1;
    const auto guesses = static_cast<std::int32_t>(choice.guesses.size());
    for (std::int32_t right = 0; right <= guesses; ++right) {
      const std::int32_t observed = slot.observed + right;
      device_->writer().add_sample({choice.output + right, choice.slot, observed,
                                    std::max(observed - slot.prompt_tokens, 0), own.on_host, mask});
    }
  }
}

RecordedSteps::Step* CudaStepDevice::forward(const Plan& plan) {
  StepWriter& writer = device_->writer();
  const OpList& decode = device_->program().decode;
  Runtime& runtime = device_->runtime();
  // All ranks that share the head decide alike.
  tells_ = device_->layout().told.can_tell() &&
           std::ranges::find(reader_.needs(), LogitNeeds::kAll) == reader_.needs().end();
  if (plan.entries.empty()) {
    writer.upload(device_->stream(), 0, 0, whole_);
    return nullptr;
  }
  RecordedSteps::Step* recorded = nullptr;
  if (writer.decodes() && !whole_) {
    recorded = recorded_.fitting(writer.tokens());
    if (recorded == nullptr) internal_error("more rows decode than there are");
  } else if (writer.wants_all() && !whole_) {
    recorded = recorded_.verifying(writer.tokens());
  }
  if (recorded != nullptr) {
    writer.upload(device_->stream(), recorded->rows, recorded->rows, false);
    device_->receive_stream(decode, writer.tokens());
    const OwnedGraph& graph = recorded->graph(writer.adapts(), tells_);
    check(runtime, runtime.launch(graph.get(), device_->stream()), "starting a step");
    device_->take_stream(decode, writer.tokens());
    return recorded;
  }
  const std::int64_t rows = recorded_.bucket(writer.tokens(), limits_.step_tokens);
  // Outputs are rounded up to buckets too: cuBLASLt asks its heuristics for each new size.
  const std::int64_t outputs = output_bucket();
  writer.upload(device_->stream(), rows, outputs, whole_);
  device_->receive_stream(decode, writer.tokens());
  device_->launch(decode, {.rows = rows,
                           .outputs = outputs,
                           .encodes = whole_,
                           .tells = tells_,
                           .adapts = writer.adapts()});
  device_->take_stream(decode, writer.tokens());
  return nullptr;
}

/// Returns the outputs of a step that is launched op by op. Only guesses can make outputs exceed
/// rows.
std::int64_t CudaStepDevice::output_bucket() {
  const std::int64_t outputs = device_->writer().outputs();
  if (outputs == 0) return 0;
  const RecordedSteps::Step* step = recorded_.fitting(outputs);
  return step != nullptr ? step->rows : recorded_.bucket(outputs, device_->shape().outputs);
}

void CudaStepDevice::fork(const PlanFork& fork) {
  Runtime& runtime = device_->runtime();
  const Layout& layout = device_->layout();
  const std::int32_t to = reader_.slot_of(fork.to);
  const std::int32_t from = reader_.slot_of(fork.from);
  copy_pages(reader_.forked_pages(fork));
  if (samplers_[at(to)].observes()) {
    sampler_of(to).start_as(sampler_of(from), fork.seed, fork.mirostat_mu);
  }
  const CudaStepShape& shape = device_->shape();
  if (shape.cross_pages_per_slot > 0) {
    check(runtime,
          runtime.copy_on_device(raw(layout.page_tables + shape.cross_table(to)),
                                 raw(layout.page_tables + shape.cross_table(from)),
                                 at(shape.cross_pages_per_slot) * sizeof(std::int32_t),
                                 device_->stream()),
          "copying a page table");
  }
  if (!samples_) return;
  settings_[to] = settings_[from];
  settings_[to].seed = fork.seed;
  lists_[to] = lists_[from];
  upload_settings(to);
  if (settings_[to].counts) {
    const auto row = limits_.vocabulary;
    check(runtime,
          runtime.copy_on_device(raw(layout.token_counts + to * row),
                                 raw(layout.token_counts + from * row),
                                 at(row) * sizeof(std::uint32_t), device_->stream()),
          "copying counts");
  }
}

bool CudaStepDevice::chooses_on_host() const {
  return std::ranges::any_of(reader_.choices(), [&](const SlotChoice& choice) {
    return samplers_[at(choice.slot)].on_host;
  });
}

void CudaStepDevice::prepare_masks() {
  for (const SlotChoice& choice : reader_.choices()) {
    SlotSampler& own = samplers_[at(choice.slot)];
    if (own.observes()) mask_workers_.prepare(*own.sampler);
  }
}

// Copies masks while the device computes. The device waits for masks that take longer.
void CudaStepDevice::bring_masks() {
  std::int32_t masks = 0;
  for (const SlotChoice& choice : reader_.choices()) {
    SlotSampler& own = samplers_[at(choice.slot)];
    if (!own.is_masked) continue;
    mask_workers_.take_back(*own.sampler);
    own.sampler->write_mask(masks_->mask(masks++));
  }
  if (masks > 0) masks_->bring(masks, device_->stream());
}

void CudaStepDevice::choose() {
  Runtime& runtime = device_->runtime();
  const Layout& layout = device_->layout();
  if (samples_ && !reader_.choices().empty()) {
    bring_masks();
    CudaSampleParams params;
    params.items = layout.step.samples;
    params.item_count = &layout.step.head->samples;
    params.max_items = device_->writer().samples();
    params.logits = layout.buffers[static_cast<std::size_t>(device_->program().decode.result)];
    if (tells_) {
      const auto ranks = static_cast<std::int32_t>(layout.told.rows.size());
      params.told = {layout.told.parts, ranks, device_->shape().outputs};
    }
    params.settings = layout.settings;
    params.lists = layout.lists;
    params.counts = {layout.token_counts, limits_.vocabulary};
    params.masks = {layout.masks};
    params.edited = layout.edited_logits;
    params.last_tokens = layout.last_tokens;
    params.choices = choices_;
    check(runtime, runtime.run(params, device_->stream()), "choosing tokens");
  }
  check(runtime, runtime.run(CudaSignalParams{&layout.step.head->number, flag_}, device_->stream()),
        "telling that a step is done");
  if (told_ && !chooses_on_host()) tell_tokens();
}

void CudaStepDevice::wait(RecordedSteps::Step* recorded) {
  const auto began = Clock::now();
  const std::uint64_t number = device_->writer().number();
  const std::atomic_ref<std::uint64_t> flag(*flag_);
  if (recorded != nullptr) {
    const auto asleep =
        std::chrono::duration_cast<std::chrono::microseconds>(recorded->took * kAsleep - kWakeUp);
    if (asleep > kWakeUp) std::this_thread::sleep_for(std::min(asleep, kLongestSleep));
  }
  auto look = began + kLookForErrors;
  const auto is_done = [&] { return flag.load(std::memory_order_acquire) == number; };
  while (!is_done()) {
    if (Clock::now() < look) continue;
    look = Clock::now() + kLookForErrors;
    Runtime& runtime = device_->runtime();
    check(runtime, runtime.ranks_state(), "running a step");
    const Status status = runtime.query(device_->stream());
    if (status == kNotReady) continue;
    check(runtime, status, "running a step");
    if (!is_done()) throw Failure(kLaunchFailure, "running a step: it ended and did not say so");
  }
  if (recorded != nullptr) recorded->took = Clock::now() - began;
}

void CudaStepDevice::tell(StepResult& result) {
  const std::span<const SlotChoice> choices = reader_.choices();
  reader_.begin_results(result);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    std::optional<Sampler>& sampler = samplers_[at(choices[i].slot)].sampler;
    const bool on_host = samplers_[at(choices[i].slot)].on_host;
    if (on_host) mask_workers_.take_back(*sampler);
    const auto choose = [&](std::size_t right, TokenId guess) {
      return on_host ? choose_on_host(i, right, guess, result) : tell_one(i, right, result);
    };
    const auto take = [&](TokenId guess) {
      if (on_host) sampler->observe({&guess, 1});
    };
    verify_guesses(choices[i].guesses, choose, take);
  }
  reader_.end_results(result);
  if (told_ && chooses_on_host()) tell_tokens();
  if (host_tokens_) host_tokens_->tell(reader_, result);
}

/// Passes on the token that the device has chosen behind `right` right guesses of choice `index`,
/// and returns it.
TokenId CudaStepDevice::tell_one(std::size_t index, std::size_t right, StepResult& result) {
  const SampleChoice& choice = choices_[reader_.choices()[index].first_result + right];
  const std::span<TokenLogprob> top = reader_.tell(
      result, index, SampleResult{choice.token, choice.logprob, 0, 0, choice.top_count});
  std::transform(choice.top.begin(), choice.top.begin() + choice.top_count, top.begin(),
                 [](const DeviceTop& one) { return TokenLogprob{one.token, one.logprob}; });
  return choice.token;
}

TokenId CudaStepDevice::choose_on_host(std::size_t index, std::size_t right, TokenId guess,
                                       StepResult& result) {
  const SlotChoice& choice = reader_.choices()[index];
  const std::int32_t output = choice.output + static_cast<std::int32_t>(right);
  Runtime& runtime = device_->runtime();
  const HostLogits::Row row =
      host_logits_->bring(output, reader_.needs()[at(output)], tells_, device_->stream());
  Sampler& sampler = *samplers_[at(choice.slot)].sampler;
  const SampleOutcome outcome = sampler.sample(row.logits, scratch_, guess);
  reader_.tell(result, index, outcome, row.shift);
  if (!told_) return outcome.token;
  TokenId& told = choices_[choice.first_result + right].token;
  told = outcome.token;
  check(runtime,
        runtime.copy_to_device(raw(device_->layout().last_tokens + choice.slot), raw(&told),
                               sizeof(TokenId), device_->stream()),
        "telling tokens");
  return outcome.token;
}

}  // namespace weft::cuda
