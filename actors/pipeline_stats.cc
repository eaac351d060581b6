#include "weft/actors/pipeline_stats.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "weft/actors/model_label.h"

namespace weft {
namespace {

/// A metric that goes up and down, and the function that returns a scheduler's part of it.
struct LevelRow {
  PipelineLevel level;
  std::string_view name;
  std::string_view help;
  double (*of)(const SchedulerStats&, double);
};

/// A metric that only counts up.
struct CountRow {
  PipelineCount count;
  std::string_view name;
  std::string_view help;
  std::uint64_t (*of)(const SchedulerStats&);
  std::string_view drafter{};  ///< the source whose guesses it counts; empty: not about guesses
};

Labels labels_of(const CountRow& row, const std::string& model) {
  if (row.drafter.empty()) return with_model(model);
  return with_model(model, {{"drafter", std::string(row.drafter)}});
}

constexpr std::array kLevels = std::to_array<LevelRow>({
    {PipelineLevel::kRunning, "weft_num_requests_running", "Sequences that hold a row",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.running); }},
    {PipelineLevel::kWaiting, "weft_num_requests_waiting", "Requests that wait for rows or pages",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.waiting); }},
    // A replica that has not published yet uses no pages: `before_` begins with all pages free.
    {PipelineLevel::kPagesUsed, "weft_kv_pages_used", "Pages of the KV cache in use",
     [](const SchedulerStats& now, double) { return -static_cast<double>(now.pages_free); }},
    {PipelineLevel::kPrefixPages, "weft_prefix_cache_pages",
     "Pages of the KV cache that can be found by their tokens",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.prefixes.pages); }},
    {PipelineLevel::kPrefixBytes, "weft_prefix_cache_bytes",
     "Bytes of the pages that can be found by their tokens",
     [](const SchedulerStats& now, double page) { return now.prefixes.pages * page; }},
    {PipelineLevel::kEncoderPages, "weft_encoder_cache_pages",
     "Pages of an encoder's outputs that can be found by its input",
     [](const SchedulerStats& now, double) {
       return static_cast<double>(now.prefixes.encoder_pages);
     }},
    {PipelineLevel::kHostPages, "weft_host_cache_pages",
     "Pages of the KV cache that can be found in host memory",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.prefixes.on_host); }},
    {PipelineLevel::kFilePages, "weft_file_cache_pages",
     "Pages of the KV cache that can be found in files",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.files.pages); }},
    {PipelineLevel::kFileBytes, "weft_file_cache_bytes", "Bytes of the files in cache.folder",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.files.bytes); }},
    {PipelineLevel::kAdaptersRunning, "weft_lora_adapters_running",
     "Adapters that running requests use",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.adapters.running); }},
    {PipelineLevel::kAdaptersWaiting, "weft_lora_adapters_waiting", "Adapters of waiting requests",
     [](const SchedulerStats& now, double) { return static_cast<double>(now.adapters.waiting); }},
});

constexpr std::string_view kMadeHelp =
    "Tokens guessed and computed, by where the drafter found them: the sequence itself, the "
    "output that the request predicts, recent outputs of its client, or a draft model";
constexpr std::string_view kAcceptedHelp =
    "Tokens guessed that became output, each without a step of its own";
constexpr std::string_view kRejectedHelp =
    "Tokens guessed and computed that were not what the model chose";

template <GuessSource kSource, std::int64_t GuessCounts::* kCount>
std::uint64_t guesses(const SchedulerStats& now) {
  return static_cast<std::uint64_t>(now.guesses.of(kSource).*kCount);
}

constexpr std::array kCounts = std::to_array<CountRow>({
    {PipelineCount::kTicks, "weft_ticks_total", "Ticks planned",
     [](const SchedulerStats& now) { return now.ticks; }},
    {PipelineCount::kPromptTokens, "weft_prompt_tokens_total", "Prompt tokens computed",
     [](const SchedulerStats& now) { return now.prompt_tokens; }},
    {PipelineCount::kOutputTokens, "weft_generation_tokens_total", "Tokens generated",
     [](const SchedulerStats& now) { return now.output_tokens; }},
    {PipelineCount::kForcedTokens, "weft_forced_tokens_total",
     "Tokens generated that a grammar left no choice about, and that were put in",
     [](const SchedulerStats& now) { return now.forced_tokens; }},
    {PipelineCount::kMadeOwnGuesses, "weft_speculation_guessed_tokens_total", kMadeHelp,
     guesses<GuessSource::kOwn, &GuessCounts::made>, to_string(GuessSource::kOwn)},
    {PipelineCount::kMadePredictions, "weft_speculation_guessed_tokens_total", kMadeHelp,
     guesses<GuessSource::kPrediction, &GuessCounts::made>, to_string(GuessSource::kPrediction)},
    {PipelineCount::kMadeRecent, "weft_speculation_guessed_tokens_total", kMadeHelp,
     guesses<GuessSource::kRecent, &GuessCounts::made>, to_string(GuessSource::kRecent)},
    {PipelineCount::kMadeDrafts, "weft_speculation_guessed_tokens_total", kMadeHelp,
     guesses<GuessSource::kModel, &GuessCounts::made>, to_string(GuessSource::kModel)},
    {PipelineCount::kAcceptedOwnGuesses, "weft_speculation_accepted_tokens_total", kAcceptedHelp,
     guesses<GuessSource::kOwn, &GuessCounts::accepted>, to_string(GuessSource::kOwn)},
    {PipelineCount::kAcceptedPredictions, "weft_speculation_accepted_tokens_total", kAcceptedHelp,
     guesses<GuessSource::kPrediction, &GuessCounts::accepted>,
     to_string(GuessSource::kPrediction)},
    {PipelineCount::kAcceptedRecent, "weft_speculation_accepted_tokens_total", kAcceptedHelp,
     guesses<GuessSource::kRecent, &GuessCounts::accepted>, to_string(GuessSource::kRecent)},
    {PipelineCount::kAcceptedDrafts, "weft_speculation_accepted_tokens_total", kAcceptedHelp,
     guesses<GuessSource::kModel, &GuessCounts::accepted>, to_string(GuessSource::kModel)},
    {PipelineCount::kRejectedOwnGuesses, "weft_speculation_rejected_tokens_total", kRejectedHelp,
     guesses<GuessSource::kOwn, &GuessCounts::rejected>, to_string(GuessSource::kOwn)},
    {PipelineCount::kRejectedPredictions, "weft_speculation_rejected_tokens_total", kRejectedHelp,
     guesses<GuessSource::kPrediction, &GuessCounts::rejected>,
     to_string(GuessSource::kPrediction)},
    {PipelineCount::kRejectedRecent, "weft_speculation_rejected_tokens_total", kRejectedHelp,
     guesses<GuessSource::kRecent, &GuessCounts::rejected>, to_string(GuessSource::kRecent)},
    {PipelineCount::kRejectedDrafts, "weft_speculation_rejected_tokens_total", kRejectedHelp,
     guesses<GuessSource::kModel, &GuessCounts::rejected>, to_string(GuessSource::kModel)},
    {PipelineCount::kPreemptions, "weft_num_preemptions_total", "Requests that gave way",
     [](const SchedulerStats& now) { return now.preemptions; }},
    {PipelineCount::kMovedRows, "weft_moved_rows_total", "Rows moved by the shuffle",
     [](const SchedulerStats& now) { return now.moved_rows; }},
    {PipelineCount::kPrefixLookups, "weft_prefix_cache_lookups_total",
     "Requests that looked for their beginning in the KV cache",
     [](const SchedulerStats& now) { return now.prefixes.lookups; }},
    {PipelineCount::kPrefixHits, "weft_prefix_cache_hits_total",
     "Requests that found some of it there",
     [](const SchedulerStats& now) { return now.prefixes.hits; }},
    {PipelineCount::kPrefixHollowHits, "weft_prefix_cache_hollow_hits_total",
     "Requests that found the end of a text whose beginning had been given up",
     [](const SchedulerStats& now) { return now.prefixes.hollow_hits; }},
    {PipelineCount::kPrefixTokens, "weft_prefix_cache_hit_tokens_total",
     "Tokens that were found and not computed",
     [](const SchedulerStats& now) { return now.prefixes.found; }},
    {PipelineCount::kPrefixEvictions, "weft_prefix_cache_evictions_total",
     "Pages of the KV cache given up for others",
     [](const SchedulerStats& now) { return now.prefixes.given_up; }},
    {PipelineCount::kHostPagesOut, "weft_host_cache_pages_out_total",
     "Pages of the KV cache copied to host memory",
     [](const SchedulerStats& now) { return now.prefixes.went_out; }},
    {PipelineCount::kHostPagesIn, "weft_host_cache_pages_in_total",
     "Pages of the KV cache copied back from host memory",
     [](const SchedulerStats& now) { return now.prefixes.came_in; }},
    {PipelineCount::kFilePagesWritten, "weft_file_cache_pages_written_total",
     "Pages of the KV cache written to files",
     [](const SchedulerStats& now) { return now.files.written; }},
    {PipelineCount::kFilePagesRead, "weft_file_cache_pages_read_total",
     "Pages of the KV cache read from files",
     [](const SchedulerStats& now) { return now.files.read; }},
    {PipelineCount::kFilePagesDropped, "weft_file_cache_pages_dropped_total",
     "Pages of the KV cache not written, as too many waited for the disk",
     [](const SchedulerStats& now) { return now.files.dropped; }},
    {PipelineCount::kFileFailures, "weft_file_cache_failures_total",
     "Files of pages that could not be written or read",
     [](const SchedulerStats& now) { return now.files.failures; }},
    {PipelineCount::kAdapterLoads, "weft_lora_loads_total", "Adapters put into a place of a device",
     [](const SchedulerStats& now) { return now.adapters.loads; }},
    {PipelineCount::kAdapterBytes, "weft_lora_load_bytes_total",
     "Bytes of the adapters put into a place of a device",
     [](const SchedulerStats& now) { return now.adapters.bytes; }},
    {PipelineCount::kTrainingIterations, "weft_training_iterations_total",
     "Iterations of training that have ended",
     [](const SchedulerStats& now) { return now.training.iterations; }},
    {PipelineCount::kTrainingPieces, "weft_training_pieces_total", "Pieces of training run",
     [](const SchedulerStats& now) { return now.training.pieces; }},
});

/// Whether the row of each enumerator stands at its number.
template <class Rows, class Key>
constexpr bool in_order(const Rows& rows, Key key) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].*key) != i) return false;
  }
  return true;
}
static_assert(kLevels.size() == kPipelineLevels && in_order(kLevels, &LevelRow::level));
static_assert(kCounts.size() == kPipelineCounts && in_order(kCounts, &CountRow::count));

}  // namespace

PipelineStats::Times::Times(MetricsRegistry& registry, RequestClass cls, const std::string& model) {
  const Labels labels = with_model(model, {{"class", std::string(to_string(cls))}});
  const auto histogram = [&](std::string_view name, std::string_view help) {
    return &registry.histogram(name, help, kLatencyBounds, labels);
  };
  queue = histogram("weft_request_queue_time_seconds", "From a request's arrival to its first row");
  first_token =
      histogram("weft_time_to_first_token_seconds", "From a request's arrival to its first token");
  whole = histogram("weft_e2e_request_latency_seconds", "From a request's arrival to its end");
  ended = &registry.counter("weft_requests_finished_total", "Requests that have ended", labels);
}

PipelineStats::PipelineStats(MetricsRegistry& registry, const DeviceLimits& limits,
                             std::size_t replicas, std::int64_t most_requests,
                             std::int64_t kv_bytes, const std::string& model)
    : limits_(limits),
      count_(replicas),
      most_requests_(most_requests),
      page_bytes_(static_cast<double>(kv_bytes) /
                  static_cast<double>(std::max<std::int64_t>(
                      static_cast<std::int64_t>(replicas) * limits.pages, 1))),
      before_(replicas),
      rows_(std::make_unique<Row[]>(replicas * static_cast<std::size_t>(limits.rows))),
      times_{Times(registry, RequestClass::kChat, model),
             Times(registry, RequestClass::kBatch, model)} {
  const Labels labels = with_model(model);
  for (std::size_t i = 0; i < kPipelineLevels; ++i) {
    levels_[i] = &registry.gauge(kLevels[i].name, kLevels[i].help, labels);
  }
  for (std::size_t i = 0; i < kPipelineCounts; ++i) {
    counts_[i] = &registry.counter(kCounts[i].name, kCounts[i].help, labels_of(kCounts[i], model));
  }
  for (SchedulerStats& before : before_) before.pages_free = limits.pages;
  const auto of_pages = static_cast<double>(kv_bytes);
  const double of_places = static_cast<double>(replicas) * limits.host_pages * page_bytes_;
  kv_bytes_ = {
      KvBytes{&registry.gauge("weft_kv_device_bytes",
                              "Bytes of the KV cache's pages in the devices' memory", labels),
              limits.kv_on_host ? 0 : of_pages},
      KvBytes{&registry.gauge("weft_kv_host_bytes",
                              "Bytes of host memory that the KV cache of GPUs takes, for "
                              "its pages or for those that leave them",
                              labels),
              limits.kv_on_host ? of_pages : of_places}};
  for (const KvBytes& one : kv_bytes_) one.gauge->add(one.bytes);
  adapter_places_ = &registry.gauge(
      "weft_lora_places", "Adapters that the rows of all devices can use at once", labels);
  adapter_places_->add(static_cast<double>(replicas) * limits.adapter_places);
}

PipelineStats::~PipelineStats() {
  for (const KvBytes& one : kv_bytes_) one.gauge->add(-one.bytes);
  adapter_places_->sub(static_cast<double>(count_) * limits_.adapter_places);
  for (std::size_t replica = 0; replica < count_; ++replica) {
    SchedulerStats idle = before_[replica];
    idle.running = 0;
    idle.waiting = 0;
    idle.pages_free = limits_.pages;
    idle.prefixes.pages = 0;
    idle.prefixes.on_host = 0;
    idle.adapters.running = 0;
    idle.adapters.waiting = 0;
    idle.files.pages = 0;
    idle.files.bytes = 0;
    set(replica, idle);
  }
}

void PipelineStats::begin(std::int64_t prompt_tokens) noexcept {
  requests_.fetch_add(1);
  prompt_tokens_.fetch_add(prompt_tokens);
}

void PipelineStats::finish(std::int64_t prompt_tokens) noexcept {
  prompt_tokens_.fetch_sub(prompt_tokens);
  requests_.fetch_sub(1);
}

void PipelineStats::observe(RequestClass cls, const Finish& finish) noexcept {
  Times& times = times_[static_cast<std::size_t>(cls)];
  const RequestTimes& when = finish.times;
  const auto since_arrival = [&](Histogram& histogram, TimePoint moment) {
    if (moment == TimePoint{}) return;
    histogram.observe(std::chrono::duration<double>(moment - when.arrived).count());
  };
  since_arrival(*times.queue, when.started);
  since_arrival(*times.first_token, when.first_token);
  since_arrival(*times.whole, when.ended);
  if (when.first_token != TimePoint{}) {
    note_first_token(std::chrono::duration<double>(when.first_token - when.arrived).count());
  }
  times.ended->add();
}

void PipelineStats::set(std::size_t replica, const SchedulerStats& stats) noexcept {
  SchedulerStats& before = before_[replica];
  for (std::size_t i = 0; i < kPipelineLevels; ++i) {
    const double change = kLevels[i].of(stats, page_bytes_) - kLevels[i].of(before, page_bytes_);
    if (change != 0) levels_[i]->add(change);
  }
  for (std::size_t i = 0; i < kPipelineCounts; ++i) {
    const std::uint64_t was = kCounts[i].of(before);
    const std::uint64_t now = kCounts[i].of(stats);
    // A restarted scheduler counts from zero.
    if (now > was) counts_[i]->add(now - was);
  }
  before = stats;
}

void PipelineStats::set_row(std::size_t replica, std::int32_t row, RowHolder holder) noexcept {
  const std::size_t place =
      replica * static_cast<std::size_t>(limits_.rows) + static_cast<std::size_t>(row);
  const std::uint64_t word = holder.request.value() << 1U | (holder.decodes ? 1U : 0U);
  rows_[place].store(word, std::memory_order_relaxed);
}

std::vector<RowHolder> PipelineStats::rows() const {
  std::vector<RowHolder> rows(count_ * static_cast<std::size_t>(limits_.rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t word = rows_[i].load(std::memory_order_relaxed);
    rows[i] = {RequestId(word >> 1U), (word & 1U) != 0};
  }
  return rows;
}

void PipelineStats::note_first_token(double seconds) noexcept {
  const std::size_t place = recent_count_.fetch_add(1, std::memory_order_relaxed);
  recent_[place % kRecent].store(seconds, std::memory_order_relaxed);
}

double PipelineStats::first_token_median() const noexcept {
  const std::size_t count = std::min(recent_count_.load(std::memory_order_relaxed), kRecent);
  if (count == 0) return 0;
  std::array<double, kRecent> times{};
  for (std::size_t i = 0; i < count; ++i) times[i] = recent_[i].load(std::memory_order_relaxed);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(times.begin(), middle, times.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

EngineStats PipelineStats::read() const noexcept {
  const auto replicas = static_cast<std::int32_t>(count_);
  EngineStats stats;
  stats.requests = static_cast<std::size_t>(std::max<std::int64_t>(requests_.load(), 0));
  stats.queued_prompt_tokens = prompt_tokens_.load();
  stats.waiting = static_cast<std::size_t>(std::max(level(PipelineLevel::kWaiting), 0.0));
  stats.running = static_cast<std::size_t>(std::max(level(PipelineLevel::kRunning), 0.0));
  stats.rows = replicas * limits_.rows;
  stats.pages = replicas * limits_.pages;
  stats.pages_free = stats.pages - static_cast<std::int32_t>(level(PipelineLevel::kPagesUsed));
  stats.max_context = limits_.context;
  stats.ticks = count(PipelineCount::kTicks);
  stats.prompt_tokens = count(PipelineCount::kPromptTokens);
  stats.output_tokens = count(PipelineCount::kOutputTokens);
  stats.accepted_guesses =
      count(PipelineCount::kAcceptedOwnGuesses) + count(PipelineCount::kAcceptedPredictions) +
      count(PipelineCount::kAcceptedRecent) + count(PipelineCount::kAcceptedDrafts);
  stats.rejected_guesses =
      count(PipelineCount::kRejectedOwnGuesses) + count(PipelineCount::kRejectedPredictions) +
      count(PipelineCount::kRejectedRecent) + count(PipelineCount::kRejectedDrafts);
  stats.preemptions = count(PipelineCount::kPreemptions);
  stats.prefix_lookups = count(PipelineCount::kPrefixLookups);
  stats.prefix_hits = count(PipelineCount::kPrefixHits);
  stats.prefix_tokens = count(PipelineCount::kPrefixTokens);
  stats.prefix_evictions = count(PipelineCount::kPrefixEvictions);
  stats.prefix_pages = static_cast<std::int32_t>(level(PipelineLevel::kPrefixPages));
  stats.host_pages = static_cast<std::int32_t>(level(PipelineLevel::kHostPages));
  stats.file_pages = static_cast<std::int64_t>(level(PipelineLevel::kFilePages));
  stats.first_token_median = first_token_median();
  for (const Times& times : times_) stats.finished += times.ended->value();
  return stats;
}

}  // namespace weft
