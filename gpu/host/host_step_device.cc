#include "weft/gpu/host/host_step_device.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

// Below so many logits waking the team costs more than it saves (about 20 us against some ns each).
constexpr std::size_t kLogitsWorthATeam = 65'536;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

struct HostStepDevice::Row {
  explicit Row(const DeviceLimits& limits)
      : sampler(static_cast<std::size_t>(limits.vocabulary),
                static_cast<std::size_t>(limits.context) + 1),
        pages(at(limits.pages_per_row())) {
    // An encoder reads its input in one step.
    if (limits.cross_pages > 0) cross_pages.reserve(at(limits.pages_per_step()));
  }

  Sampler sampler;
  std::vector<std::int32_t> pages;  // whole tables; what lies behind the sequence is not looked at
  std::vector<std::int32_t> cross_pages;
  std::int32_t cross_context = 0;
  TokenId last_token = kNoToken;
  bool long_context = false;
};

HostStepDevice::HostStepDevice(std::unique_ptr<HostDevice> device, const DeviceLimits& limits,
                               std::vector<TokenId> end_tokens)
    : device_(std::move(device)), limits_(limits), end_tokens_(std::move(end_tokens)) {
  const std::size_t rows = at(limits.rows);
  rows_.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) rows_.push_back(std::make_unique<Row>(limits_));
  for (int i = 0; i < device_->threads(); ++i) {
    scratches_.emplace_back(static_cast<std::size_t>(limits_.vocabulary));
    copies_.emplace_back(static_cast<std::size_t>(limits_.vocabulary));
  }
  encoder_pages_.resize(at(device_->options().encoder_pages));
  std::iota(encoder_pages_.begin(), encoder_pages_.end(), 0);
  ids_.reserve(at(limits_.step_tokens));
  sequences_.reserve(rows);
  outputs_.reserve(rows);
  output_of_entry_.reserve(rows);
}

HostStepDevice::~HostStepDevice() = default;

Result<std::unique_ptr<HostStepDevice>> HostStepDevice::share_weights(const DeviceLimits& limits,
                                                                      DType kv_dtype,
                                                                      int threads) const {
  auto device = device_->share_weights(step_options(device_->program(), limits, kv_dtype, threads));
  if (!device) return device.error();
  return std::make_unique<HostStepDevice>(std::move(*device), limits, end_tokens_);
}

void HostStepDevice::run(const Plan& plan, StepResult& result) {
  change_rows(plan);
  encode(plan);
  decode(plan);
  choose(plan, result);
}

void HostStepDevice::change_rows(const Plan& plan) {
  for (const PlanCopy& copy : plan.slab_copies) device_->copy_page(copy.from, copy.to);
  for (const PlanMove& move : plan.moves) std::swap(rows_[at(move.from)], rows_[at(move.to)]);
  for (const PlanStart& one : plan.starts) start(plan, one);
  for (const PlanTable& table : plan.tables) {
    std::copy_n(plan.pages.begin() + table.first_page, table.count,
                row(table.row).pages.begin() + table.first);
  }
  for (const PlanCopy& copy : plan.copies) device_->copy_page(copy.from, copy.to);
}

void HostStepDevice::start(const Plan& plan, const PlanStart& start) {
  Row& place = row(start.row);
  place.last_token = kNoToken;
  place.long_context = start.long_context;
  const auto cross = plan.pages.begin() + start.first_cross_page;
  place.cross_pages.assign(cross, cross + start.cross_pages);
  place.cross_context = start.cross_context;
  place.sampler.start(start.sampling, end_tokens_, start.seed, at(start.prompt_tokens),
                      start.mirostat_mu);
  if (start.history_tokens == 0) return;
  place.sampler.observe(
      std::span(plan.ids).subspan(at(start.first_history), at(start.history_tokens)));
}

void HostStepDevice::encode(const Plan& plan) {
  if (plan.encodes.empty()) return;
  ids_.clear();
  sequences_.clear();
  std::size_t next_page = 0;
  for (const PlanEncode& one : plan.encodes) {
    Row& place = row(one.row);
    const auto from = plan.pages.begin() + one.first_page;
    place.cross_pages.assign(from, from + one.pages);
    place.cross_context = one.count;
    const auto pages = at(static_cast<std::int32_t>(limits_.pages_for(one.count)));
    const auto first = static_cast<std::int32_t>(ids_.size());
    const auto ids = std::span(plan.ids).subspan(at(one.first_id), at(one.count));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    sequences_.push_back({first, one.count, 0, std::span(encoder_pages_).subspan(next_page, pages),
                          place.cross_pages, one.count, place.long_context});
    next_page += pages;
  }
  device_->encode({ids_, sequences_, {}});
}

void HostStepDevice::decode(const Plan& plan) {
  ids_.clear();
  sequences_.clear();
  outputs_.clear();
  for (const PlanEntry& entry : plan.entries) {
    Row& place = row(entry.row);
    const auto first = static_cast<std::int32_t>(ids_.size());
    if (entry.first_id == kLastToken) {
      // Nothing could be chosen for the row, and the plan was made before that was known: its
      // sequence has failed, so any token does.
      ids_.push_back(place.last_token == kNoToken ? 0 : place.last_token);
    } else {
      const auto ids = std::span(plan.ids).subspan(at(entry.first_id), at(entry.count));
      ids_.insert(ids_.end(), ids.begin(), ids.end());
    }
    place.sampler.observe(std::span(ids_).subspan(at(first), at(entry.count)));
    const auto pages = at(static_cast<std::int32_t>(limits_.pages_for(entry.start + entry.count)));
    sequences_.push_back({first, entry.count, entry.start, std::span(place.pages).first(pages),
                          place.cross_pages, place.cross_context, place.long_context});
  }
  for (const PlanFork& fork : plan.forks) {
    Row& to = row(fork.to);
    const Row& from = row(fork.from);
    to.sampler.start_as(from.sampler, fork.seed, fork.mirostat_mu);
    to.long_context = from.long_context;
    to.cross_pages.assign(from.cross_pages.begin(), from.cross_pages.end());
    to.cross_context = from.cross_context;
  }
  output_of_entry_.assign(plan.entries.size(), -1);
  for (const PlanSample& sample : plan.samples) {
    std::int32_t& output = output_of_entry_[at(sample.entry)];
    if (output >= 0) continue;
    output = static_cast<std::int32_t>(outputs_.size());
    const StepSequence& sequence = sequences_[at(sample.entry)];
    outputs_.push_back(sequence.first + sequence.count - 1);
  }
  if (!ids_.empty()) device_->decode({ids_, sequences_, outputs_});
  for (const PlanFork& fork : plan.forks) {
    for (std::int32_t i = 0; i < fork.copied_pages; ++i) {
      device_->copy_page(row(fork.from).pages[at(i)], row(fork.to).pages[at(i)]);
    }
  }
}

// Rows that begin together draw from the same logits, which a sampler overwrites.
bool HostStepDevice::shares_logits(const Plan& plan, std::size_t index) const {
  const std::int32_t entry = plan.samples[index].entry;
  return (index > 0 && plan.samples[index - 1].entry == entry) ||
         (index + 1 < plan.samples.size() && plan.samples[index + 1].entry == entry);
}

void HostStepDevice::choose_one(const Plan& plan, StepResult& result, std::size_t index,
                                SamplerScratch& scratch, std::vector<float>& copy) {
  const PlanSample& sample = plan.samples[index];
  Row& place = row(sample.row);
  float* logits = device_->results().row(output_of_entry_[at(sample.entry)]);
  if (shares_logits(plan, index)) {
    std::copy_n(logits, copy.size(), copy.begin());
    logits = copy.data();
  }
  const SampleOutcome outcome = place.sampler.sample({logits, copy.size()}, scratch);
  const auto first = static_cast<std::int32_t>(index) * kMaxTopLogprobs;
  place.last_token = outcome.token;
  result.samples[index] = {outcome.token, outcome.logprob, outcome.mirostat_mu, first,
                           static_cast<std::int32_t>(outcome.top.size())};
  std::ranges::copy(outcome.top, result.top.begin() + first);
}

void HostStepDevice::choose(const Plan& plan, StepResult& result) {
  const std::size_t count = plan.samples.size();
  result.samples.resize(count);
  result.top.resize(count * kMaxTopLogprobs);
  if (count < 2 || count * static_cast<std::size_t>(limits_.vocabulary) < kLogitsWorthATeam) {
    for (std::size_t i = 0; i < count; ++i) {
      choose_one(plan, result, i, scratches_.front(), copies_.front());
    }
    return;
  }
  device_->team().run([&](Share share) {
    const auto thread = static_cast<std::size_t>(share.index);
    for (std::size_t i = thread; i < count; i += static_cast<std::size_t>(share.count)) {
      choose_one(plan, result, i, scratches_[thread], copies_[thread]);
    }
  });
}

}  // namespace weft
