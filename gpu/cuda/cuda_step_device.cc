#include "weft/gpu/cuda/cuda_step_device.h"

#include <algorithm>
#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "weft/core/actor/supervision.h"
#include "weft/core/error/internal_error.h"
#include "weft/gpu/cuda/step/device_sampling.h"

namespace weft::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Steps of more rows than this, which prompts are part of, have a multiple of so many: fewer shapes
// for the library to prepare, and whole tiles.
constexpr std::int64_t kRowStep = 128;

// Waiting for a step: asleep for this share of what the last one took, since a wake-up comes late
// by up to kWakeUp, and looking at the stream for errors no more often than this.
constexpr double kAsleep = 0.75;
constexpr std::chrono::microseconds kWakeUp{150};
// A step that a stopped process has waited for is no measure of the next.
constexpr std::chrono::microseconds kLongestSleep{50'000};
constexpr std::chrono::milliseconds kLookForErrors{2};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::byte* raw(void* memory) { return static_cast<std::byte*>(memory); }

}  // namespace

struct CudaStepDevice::Slot {
  explicit Slot(const DeviceLimits& limits) : pages(at(limits.pages_per_row())) {}

  std::int32_t index = 0;
  std::vector<std::int32_t> pages;  // as in the device's table
  std::int32_t written_from = 0;    // of them, what this step writes
  std::int32_t written_to = 0;
  // Of a row that is chosen on the host. Made for the first such sequence and kept: few rows ever
  // are, and with long contexts one for each would take gigabytes.
  std::optional<Sampler> sampler;
  bool on_host = false;
  TokenId last_token = kNoToken;
  std::int32_t prompt_tokens = 0;
  std::int32_t observed = 0;
  std::int32_t cross_context = 0;
  bool long_context = false;
};

CudaStepDevice::CudaStepDevice(std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
                               std::vector<TokenId> end_tokens)
    : device_(std::move(device)),
      limits_(limits),
      end_tokens_(std::move(end_tokens)),
      slot_of_row_(at(limits.rows)),
      scratch_(at(limits.vocabulary)),
      encoder_pages_(at(device_->options().encoder_pages)) {
  for (std::int32_t i = 0; i < limits.rows; ++i) {
    slots_.push_back(std::make_unique<Slot>(limits_));
    slots_.back()->index = i;
  }
  std::iota(slot_of_row_.begin(), slot_of_row_.end(), 0);
  std::iota(encoder_pages_.begin(), encoder_pages_.end(), 0);
  copies_.reserve(at(limits.pages));
  output_of_entry_.reserve(at(limits.rows));
}

CudaStepDevice::~CudaStepDevice() {
  // Graphs and page-locked memory are given back on this thread.
  static_cast<void>(device_->runtime().use());
}

Result<std::unique_ptr<CudaStepDevice>> CudaStepDevice::make(std::unique_ptr<CudaDevice> device,
                                                             const DeviceLimits& limits,
                                                             std::vector<TokenId> end_tokens) {
  std::unique_ptr<CudaStepDevice> made(
      new CudaStepDevice(std::move(device), limits, std::move(end_tokens)));
  try {
    made->device_->use();
    made->take_memory();
    made->record();
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return made;
}

void CudaStepDevice::take_memory() {
  const auto cut = [&](Arena arena) {
    const auto rows = at(limits_.rows);
    flag_ = arena.take<std::uint64_t>(1);
    choices_ = arena.take<SampleChoice>(rows);
    settings_ = arena.take<SampleSettings>(rows);
    lists_ = arena.take<SampleLists>(rows);
    logits_ = arena.take<float>(at(limits_.vocabulary));
    return arena.used();
  };
  pinned_ = take_pinned(device_->runtime(), cut(Arena()));
  cut(Arena(pinned_.get()));
  *flag_ = 0;
}

// One graph for each bucket of rows. Steps of no sequence run first, so that nothing is set up
// while a graph is recorded.
void CudaStepDevice::record() {
  Runtime& runtime = device_->runtime();
  const OpList& decode = device_->program().decode;
  std::vector<std::int64_t> buckets;
  for (std::int64_t rows = 1; rows < limits_.rows; rows *= 2) buckets.push_back(rows);
  buckets.push_back(limits_.rows);
  for (const std::int64_t rows : buckets) {
    const StepView view{rows, rows, true, false};
    device_->writer().begin();
    device_->writer().upload(device_->stream(), rows, rows, false);
    device_->launch(decode, view);
    device_->synchronize();
    check(runtime, runtime.begin_capture(device_->stream()), "recording a step");
    device_->launch(decode, view);
    Graph graph = nullptr;
    check(runtime, runtime.end_capture(device_->stream(), graph), "recording a step");
    recorded_.push_back({rows, OwnedGraph(graph, {&runtime}), {}});
  }
}

CudaStepDevice::Slot& CudaStepDevice::slot_of_row(std::int32_t row) {
  return *slots_[at(slot_of_row_[at(row)])];
}

void CudaStepDevice::run(const Plan& plan, StepResult& result) {
  try {
    run_step(plan, result);
  } catch (const Failure& failure) {
    give_up(failure);
  }
}

// A context that has failed once answers every call with its error.
void CudaStepDevice::give_up(const Failure& failure) {
  if (device_->runtime().synchronize(device_->stream()) != Status::kSuccess) {
    throw ActorFailure(ExitKind::kDeviceLost, failure.what());
  }
  throw boost::system::system_error(error_of(failure).code, failure.what());
}

void CudaStepDevice::run_step(const Plan& plan, StepResult& result) {
  device_->use();
  change_rows(plan);
  encode(plan);
  write_entries(plan);
  Recorded* recorded = forward(plan);
  for (const PlanFork& one : plan.forks) fork(one);
  choose(plan);
  wait(recorded);
  tell(plan, result);
}

void CudaStepDevice::change_rows(const Plan& plan) {
  StepWriter& writer = device_->writer();
  set_copies(plan.slab_copies);
  copy_pages();
  for (const PlanMove& move : plan.moves) {
    std::swap(slot_of_row_[at(move.from)], slot_of_row_[at(move.to)]);
  }
  writer.begin();
  for (const PlanStart& one : plan.starts) start(plan, one);
  for (const PlanTable& table : plan.tables) {
    Slot& slot = slot_of_row(table.row);
    const auto pages = std::span(plan.pages).subspan(at(table.first_page), at(table.count));
    std::ranges::copy(pages, slot.pages.begin() + table.first);
    if (slot.written_to == 0) slot.written_from = table.first;
    slot.written_from = std::min(slot.written_from, table.first);
    slot.written_to = std::max(slot.written_to, table.first + table.count);
  }
  // One write a table: the device does several in no order, and a plan that was amended may say two
  // things of one place, the last of which holds.
  for (const PlanTable& table : plan.tables) write_pages(slot_of_row(table.row));
  writer.upload_tables(device_->stream(), device_->layout().page_tables);
  set_copies(plan.copies);
  copy_pages();
}

void CudaStepDevice::write_pages(Slot& slot) {
  const std::int32_t from = slot.written_from;
  const std::int32_t to = std::exchange(slot.written_to, 0);
  if (to == 0) return;
  device_->writer().write_table(device_->shape().self_table(slot.index), from,
                                std::span(slot.pages).subspan(at(from), at(to - from)));
}

void CudaStepDevice::set_copies(std::span<const PlanCopy> copies) {
  copies_.clear();
  for (const PlanCopy& copy : copies) copies_.push_back({copy.from, copy.to});
}

void CudaStepDevice::copy_pages() {
  if (copies_.empty()) return;
  device_->writer().copy_pages(device_->stream(), copies_, device_->layout());
}

void CudaStepDevice::start(const Plan& plan, const PlanStart& start) {
  Slot& slot = slot_of_row(start.row);
  slot.last_token = kNoToken;
  slot.long_context = start.long_context;
  slot.prompt_tokens = start.prompt_tokens;
  slot.observed = start.history_tokens;
  slot.cross_context = start.cross_context;
  slot.on_host = !samples_on_device(*start.sampling, end_tokens_);
  const auto history =
      std::span(plan.ids).subspan(at(start.first_history), at(start.history_tokens));
  if (start.cross_pages > 0) {
    device_->writer().write_table(
        device_->shape().cross_table(slot.index), 0,
        std::span(plan.pages).subspan(at(start.first_cross_page), at(start.cross_pages)));
  }
  if (slot.on_host) {
    Sampler& sampler = sampler_of(slot);
    sampler.start(start.sampling, end_tokens_, start.seed, at(start.prompt_tokens),
                  start.mirostat_mu);
    if (!history.empty()) sampler.observe(history);
    settings_[slot.index] = {};
  } else {
    settings_[slot.index] =
        sample_settings(*start.sampling, end_tokens_, start.seed, lists_[slot.index]);
  }
  upload_settings(slot.index);
  if (!settings_[slot.index].counts) return;
  device_->writer().start_counts(device_->stream(), slot.index, history, start.prompt_tokens,
                                 {device_->layout().token_counts, limits_.vocabulary});
}

Sampler& CudaStepDevice::sampler_of(Slot& slot) const {
  if (!slot.sampler) slot.sampler.emplace(at(limits_.vocabulary), at(limits_.context) + 1);
  return *slot.sampler;
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
  std::size_t next_page = 0;
  for (const PlanEncode& one : plan.encodes) {
    Slot& slot = slot_of_row(one.row);
    slot.cross_context = one.count;
    const std::size_t pages = at(limits_.pages_for(one.count));
    writer.write_table(device_->shape().encoder_table(slot.index), 0,
                       std::span(encoder_pages_).subspan(next_page, pages));
    writer.write_table(device_->shape().cross_table(slot.index), 0,
                       std::span(plan.pages).subspan(at(one.first_page), at(one.pages)));
    next_page += pages;
    StepEntry entry;
    entry.slot = slot.index;
    entry.ids = std::span(plan.ids).subspan(at(one.first_id), at(one.count));
    entry.long_context = slot.long_context;
    entry.cross_context = one.count;
    writer.add(entry);
  }
  writer.upload_tables(device_->stream(), device_->layout().page_tables);
  device_->encode_written();
  // The decoder's step is written to the same memory.
  device_->synchronize();
}

void CudaStepDevice::write_entries(const Plan& plan) {
  StepWriter& writer = device_->writer();
  if (!plan.encodes.empty()) writer.begin();
  for (const PlanEntry& one : plan.entries) {
    Slot& slot = slot_of_row(one.row);
    StepEntry entry;
    entry.slot = slot.index;
    entry.start = one.start;
    if (one.first_id != kLastToken) {
      entry.ids = std::span(plan.ids).subspan(at(one.first_id), at(one.count));
    } else if (slot.on_host) {
      // Nothing could be chosen for the row, and the plan was made before that was known: its
      // sequence has failed, so any token does.
      if (slot.last_token == kNoToken) slot.last_token = 0;
      entry.ids = {&slot.last_token, 1};
    }
    entry.long_context = slot.long_context;
    entry.cross_context = slot.cross_context;
    entry.observed = slot.observed;
    entry.prompt_tokens = slot.prompt_tokens;
    writer.add(entry);
    if (slot.on_host) slot.sampler->observe(entry.ids);
    slot.observed += one.count;
  }
  output_of_entry_.assign(plan.entries.size(), -1);
  for (const PlanSample& sample : plan.samples) {
    std::int32_t& output = output_of_entry_[at(sample.entry)];
    if (output < 0) output = writer.add_output(writer.last_row(sample.entry));
  }
  // What forks is known before the samples, which may be of rows that begin by it.
  for (const PlanFork& one : plan.forks) {
    Slot& to = slot_of_row(one.to);
    const Slot& from = slot_of_row(one.from);
    to.on_host = from.on_host;
    to.prompt_tokens = from.prompt_tokens;
    to.observed = from.observed;
    to.cross_context = from.cross_context;
    to.long_context = from.long_context;
  }
  for (const PlanSample& sample : plan.samples) {
    const Slot& slot = slot_of_row(sample.row);
    writer.add_sample({output_of_entry_[at(sample.entry)], slot.index, slot.observed,
                       std::max(slot.observed - slot.prompt_tokens, 0), slot.on_host});
  }
}

std::int64_t CudaStepDevice::bucket(std::int64_t rows) {
  const Recorded* recorded = rows <= kRowStep ? recorded_for(rows) : nullptr;
  if (recorded != nullptr) return recorded->rows;
  return std::min<std::int64_t>((rows + kRowStep - 1) / kRowStep * kRowStep, limits_.step_tokens);
}

CudaStepDevice::Recorded* CudaStepDevice::recorded_for(std::int64_t rows) {
  const auto found =
      std::ranges::find_if(recorded_, [&](const Recorded& one) { return one.rows >= rows; });
  return found == recorded_.end() ? nullptr : &*found;
}

CudaStepDevice::Recorded* CudaStepDevice::forward(const Plan& plan) {
  StepWriter& writer = device_->writer();
  Runtime& runtime = device_->runtime();
  if (plan.entries.empty()) {
    writer.upload(device_->stream(), 0, 0, false);
    return nullptr;
  }
  if (writer.decodes()) {
    Recorded* recorded = recorded_for(writer.tokens());
    if (recorded == nullptr) internal_error("more rows decode than there are");
    writer.upload(device_->stream(), recorded->rows, recorded->rows, false);
    check(runtime, runtime.launch(recorded->graph.get(), device_->stream()), "starting a step");
    return recorded;
  }
  const std::int64_t rows = bucket(writer.tokens());
  // In buckets too: a product of a size that the library has not seen asks it for its heuristics.
  const std::int64_t outputs = writer.outputs() == 0 ? 0 : recorded_for(writer.outputs())->rows;
  writer.upload(device_->stream(), rows, outputs, false);
  device_->launch(device_->program().decode, {rows, outputs, false, false});
  return nullptr;
}

void CudaStepDevice::fork(const PlanFork& fork) {
  Runtime& runtime = device_->runtime();
  const Layout& layout = device_->layout();
  Slot& to = slot_of_row(fork.to);
  const Slot& from = slot_of_row(fork.from);
  copies_.clear();
  for (std::int32_t i = 0; i < fork.copied_pages; ++i) {
    copies_.push_back({from.pages[at(i)], to.pages[at(i)]});
  }
  copy_pages();
  if (to.on_host) sampler_of(to).start_as(*from.sampler, fork.seed, fork.mirostat_mu);
  const CudaStepShape& shape = device_->shape();
  if (shape.cross_pages_per_slot > 0) {
    check(runtime,
          runtime.copy_on_device(raw(layout.page_tables + shape.cross_table(to.index)),
                                 raw(layout.page_tables + shape.cross_table(from.index)),
                                 at(shape.cross_pages_per_slot) * sizeof(std::int32_t),
                                 device_->stream()),
          "copying a page table");
  }
  settings_[to.index] = settings_[from.index];
  settings_[to.index].seed = fork.seed;
  lists_[to.index] = lists_[from.index];
  upload_settings(to.index);
  if (settings_[to.index].counts) {
    const auto row = limits_.vocabulary;
    check(runtime,
          runtime.copy_on_device(raw(layout.token_counts + to.index * row),
                                 raw(layout.token_counts + from.index * row),
                                 at(row) * sizeof(std::uint32_t), device_->stream()),
          "copying counts");
  }
}

void CudaStepDevice::choose(const Plan& plan) {
  Runtime& runtime = device_->runtime();
  const Layout& layout = device_->layout();
  if (!plan.samples.empty()) {
    CudaSampleParams params;
    params.items = layout.step.samples;
    params.item_count = &layout.step.head->samples;
    params.max_items = device_->writer().samples();
    params.logits = layout.buffers[at(device_->program().decode.result)];
    params.settings = layout.settings;
    params.lists = layout.lists;
    params.counts = {layout.token_counts, limits_.vocabulary};
    params.edited = layout.edited_logits;
    params.last_tokens = layout.last_tokens;
    params.choices = choices_;
    check(runtime, runtime.run(params, device_->stream()), "choosing tokens");
  }
  check(runtime, runtime.run(CudaSignalParams{&layout.step.head->number, flag_}, device_->stream()),
        "telling that a step is done");
}

void CudaStepDevice::wait(Recorded* recorded) {
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
    const Status status = runtime.query(device_->stream());
    if (status == kNotReady) continue;
    check(runtime, status, "running a step");
    if (!is_done()) throw Failure(kLaunchFailure, "running a step: it ended and did not say so");
  }
  if (recorded != nullptr) recorded->took = Clock::now() - began;
}

void CudaStepDevice::tell(const Plan& plan, StepResult& result) {
  const std::size_t count = plan.samples.size();
  result.samples.resize(count);
  result.top.resize(count * std::size_t{kMaxTopLogprobs});
  for (std::size_t i = 0; i < count; ++i) {
    Slot& slot = slot_of_row(plan.samples[i].row);
    if (slot.on_host) {
      choose_on_host(plan, i, result);
      continue;
    }
    const SampleChoice& choice = choices_[i];
    const auto first = static_cast<std::int32_t>(i) * kMaxTopLogprobs;
    slot.last_token = choice.token;
    result.samples[i] = {choice.token, choice.logprob, 0, first, choice.top_count};
    for (std::int32_t j = 0; j < choice.top_count; ++j) {
      result.top[at(first + j)] = {choice.top[at(j)].token, choice.top[at(j)].logprob};
    }
  }
}

void CudaStepDevice::choose_on_host(const Plan& plan, std::size_t index, StepResult& result) {
  const PlanSample& sample = plan.samples[index];
  Slot& slot = slot_of_row(sample.row);
  Runtime& runtime = device_->runtime();
  const DeviceRows logits = device_->layout().buffers[at(device_->program().decode.result)];
  const auto vocabulary = at(limits_.vocabulary);
  const auto* row =
      static_cast<const float*>(logits.data) + output_of_entry_[at(sample.entry)] * logits.stride;
  check(runtime,
        runtime.copy_to_host(raw(logits_), reinterpret_cast<const std::byte*>(row),
                             vocabulary * sizeof(float), device_->stream()),
        "copying logits");
  device_->synchronize();
  const SampleOutcome outcome = slot.sampler->sample({logits_, vocabulary}, scratch_);
  const auto first = static_cast<std::int32_t>(index) * kMaxTopLogprobs;
  slot.last_token = outcome.token;
  result.samples[index] = {outcome.token, outcome.logprob, outcome.mirostat_mu, first,
                           static_cast<std::int32_t>(outcome.top.size())};
  std::ranges::copy(outcome.top, result.top.begin() + first);
}

}  // namespace weft::cuda
