#include "weft/actors/pipeline_stats.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "weft/actors/model_label.h"

namespace weft {

PipelineStats::Times::Times(MetricsRegistry& registry, RequestClass cls, const std::string& model)
    : queue(registry.histogram("weft_request_queue_time_seconds",
                               "From a request's arrival to its first row", kLatencyBounds,
                               with_model(model, {{"class", std::string(to_string(cls))}}))),
      first_token(registry.histogram("weft_time_to_first_token_seconds",
                                     "From a request's arrival to its first token", kLatencyBounds,
                                     with_model(model, {{"class", std::string(to_string(cls))}}))),
      whole(registry.histogram("weft_e2e_request_latency_seconds",
                               "From a request's arrival to its end", kLatencyBounds,
                               with_model(model, {{"class", std::string(to_string(cls))}}))),
      ended(registry.counter("weft_requests_finished_total", "Requests that have ended",
                             with_model(model, {{"class", std::string(to_string(cls))}}))) {}

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
             Times(registry, RequestClass::kBatch, model)},
      running_(registry.gauge("weft_num_requests_running", "Sequences that hold a row",
                              with_model(model))),
      waiting_(registry.gauge("weft_num_requests_waiting", "Requests that wait for rows or pages",
                              with_model(model))),
      pages_used_(
          registry.gauge("weft_kv_pages_used", "Pages of the KV cache in use", with_model(model))),
      ticks_(registry.counter("weft_ticks_total", "Ticks planned", with_model(model))),
      prompt_(registry.counter("weft_prompt_tokens_total", "Prompt tokens computed",
                               with_model(model))),
      output_(
          registry.counter("weft_generation_tokens_total", "Tokens generated", with_model(model))),
      preemptions_(registry.counter("weft_num_preemptions_total", "Requests that gave way",
                                    with_model(model))),
      moved_rows_(registry.counter("weft_moved_rows_total", "Rows moved by the shuffle",
                                   with_model(model))),
      prefix_lookups_(registry.counter("weft_prefix_cache_lookups_total",
                                       "Requests that looked for their beginning in the KV cache",
                                       with_model(model))),
      prefix_hits_(registry.counter("weft_prefix_cache_hits_total",
                                    "Requests that found some of it there", with_model(model))),
      prefix_tokens_(registry.counter("weft_prefix_cache_hit_tokens_total",
                                      "Tokens that were found and not computed",
                                      with_model(model))),
      prefix_evictions_(registry.counter("weft_prefix_cache_evictions_total",
                                         "Pages of the KV cache given up for others",
                                         with_model(model))),
      prefix_pages_(registry.gauge("weft_prefix_cache_pages",
                                   "Pages of the KV cache that can be found by their tokens",
                                   with_model(model))),
      prefix_bytes_(registry.gauge("weft_prefix_cache_bytes",
                                   "Bytes of the pages that can be found by their tokens",
                                   with_model(model))),
      host_pages_(registry.gauge("weft_host_cache_pages",
                                 "Pages of the KV cache that can be found in host memory",
                                 with_model(model))),
      host_pages_out_(registry.counter("weft_host_cache_pages_out_total",
                                       "Pages of the KV cache copied to host memory",
                                       with_model(model))),
      host_pages_in_(registry.counter("weft_host_cache_pages_in_total",
                                      "Pages of the KV cache copied back from host memory",
                                      with_model(model))),
      file_pages_(registry.gauge("weft_file_cache_pages",
                                 "Pages of the KV cache that can be found in files",
                                 with_model(model))),
      file_bytes_(registry.gauge("weft_file_cache_bytes", "Bytes of the files in cache.folder",
                                 with_model(model))),
      file_pages_written_(registry.counter("weft_file_cache_pages_written_total",
                                           "Pages of the KV cache written to files",
                                           with_model(model))),
      file_pages_read_(registry.counter("weft_file_cache_pages_read_total",
                                        "Pages of the KV cache read from files",
                                        with_model(model))),
      file_pages_dropped_(registry.counter(
          "weft_file_cache_pages_dropped_total",
          "Pages of the KV cache not written, as too many waited for the disk", with_model(model))),
      file_failures_(registry.counter("weft_file_cache_failures_total",
                                      "Files of pages that could not be written or read",
                                      with_model(model))) {
  for (SchedulerStats& before : before_) before.pages_free = limits.pages;
}

PipelineStats::~PipelineStats() {
  for (std::size_t replica = 0; replica < count_; ++replica) {
    SchedulerStats idle = before_[replica];
    idle.running = 0;
    idle.waiting = 0;
    idle.pages_free = limits_.pages;
    idle.prefixes.pages = 0;
    idle.prefixes.on_host = 0;
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
  since_arrival(times.queue, when.started);
  since_arrival(times.first_token, when.first_token);
  since_arrival(times.whole, when.ended);
  if (when.first_token != TimePoint{}) {
    note_first_token(std::chrono::duration<double>(when.first_token - when.arrived).count());
  }
  times.ended.add();
}

void PipelineStats::set(std::size_t replica, const SchedulerStats& stats) noexcept {
  SchedulerStats& before = before_[replica];
  const auto change = [](Gauge& gauge, auto was, auto now) {
    if (now != was) gauge.add(static_cast<double>(now) - static_cast<double>(was));
  };
  // A scheduler that was restarted counts from zero.
  const auto count = [](Counter& counter, std::uint64_t was, std::uint64_t now) {
    if (now > was) counter.add(now - was);
  };
  change(running_, before.running, stats.running);
  change(waiting_, before.waiting, stats.waiting);
  change(pages_used_, -before.pages_free, -stats.pages_free);
  count(ticks_, before.ticks, stats.ticks);
  count(prompt_, before.prompt_tokens, stats.prompt_tokens);
  count(output_, before.output_tokens, stats.output_tokens);
  count(preemptions_, before.preemptions, stats.preemptions);
  count(moved_rows_, before.moved_rows, stats.moved_rows);
  count(prefix_lookups_, before.prefixes.lookups, stats.prefixes.lookups);
  count(prefix_hits_, before.prefixes.hits, stats.prefixes.hits);
  count(prefix_tokens_, before.prefixes.found, stats.prefixes.found);
  count(prefix_evictions_, before.prefixes.given_up, stats.prefixes.given_up);
  change(prefix_pages_, before.prefixes.pages, stats.prefixes.pages);
  change(prefix_bytes_, before.prefixes.pages * page_bytes_, stats.prefixes.pages * page_bytes_);
  change(host_pages_, before.prefixes.on_host, stats.prefixes.on_host);
  count(host_pages_out_, before.prefixes.went_out, stats.prefixes.went_out);
  count(host_pages_in_, before.prefixes.came_in, stats.prefixes.came_in);
  change(file_pages_, before.files.pages, stats.files.pages);
  change(file_bytes_, before.files.bytes, stats.files.bytes);
  count(file_pages_written_, before.files.written, stats.files.written);
  count(file_pages_read_, before.files.read, stats.files.read);
  count(file_pages_dropped_, before.files.dropped, stats.files.dropped);
  count(file_failures_, before.files.failures, stats.files.failures);
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
  stats.waiting = static_cast<std::size_t>(std::max(waiting_.value(), 0.0));
  stats.running = static_cast<std::size_t>(std::max(running_.value(), 0.0));
  stats.rows = replicas * limits_.rows;
  stats.pages = replicas * limits_.pages;
  stats.pages_free = stats.pages - static_cast<std::int32_t>(pages_used_.value());
  stats.max_context = limits_.context;
  stats.ticks = ticks_.value();
  stats.prompt_tokens = prompt_.value();
  stats.output_tokens = output_.value();
  stats.preemptions = preemptions_.value();
  stats.prefix_lookups = prefix_lookups_.value();
  stats.prefix_hits = prefix_hits_.value();
  stats.prefix_tokens = prefix_tokens_.value();
  stats.prefix_evictions = prefix_evictions_.value();
  stats.prefix_pages = static_cast<std::int32_t>(prefix_pages_.value());
  stats.first_token_median = first_token_median();
  for (const Times& times : times_) stats.finished += times.ended.value();
  return stats;
}

}  // namespace weft
