#include "weft/actors/pipeline_stats.h"

#include <utility>

namespace weft {

PipelineStats::PipelineStats(MetricsRegistry& registry, const DeviceLimits& limits)
    : limits_(limits),
      running_(registry.gauge("weft_num_requests_running", "Sequences that hold a row")),
      waiting_(registry.gauge("weft_num_requests_waiting", "Requests that wait for rows or pages")),
      pages_used_(registry.gauge("weft_kv_cache_usage_perc", "Part of the KV pages in use, 0 to 1")),
      ticks_(registry.gauge("weft_ticks", "Ticks planned since the start")),
      prompt_(registry.counter("weft_prompt_tokens_total", "Prompt tokens computed")),
      output_(registry.counter("weft_generation_tokens_total", "Tokens generated")),
      preemptions_(registry.counter("weft_num_preemptions_total", "Requests that gave way")),
      ended_(registry.counter("weft_requests_finished_total", "Requests that have ended")) {}

void PipelineStats::begin(std::int64_t prompt_tokens) noexcept {
  requests_.fetch_add(1);
  prompt_tokens_.fetch_add(prompt_tokens);
}

void PipelineStats::finish(std::int64_t prompt_tokens) noexcept {
  prompt_tokens_.fetch_sub(prompt_tokens);
  requests_.fetch_sub(1);
  finished_.fetch_add(1, std::memory_order_relaxed);
  ended_.add();
}

void PipelineStats::set(const SchedulerStats& stats) noexcept {
  running_.set(static_cast<double>(stats.running));
  waiting_.set(static_cast<double>(stats.waiting));
  const double pages = limits_.pages > 0 ? limits_.pages : 1;
  pages_used_.set(1.0 - static_cast<double>(stats.pages_free) / pages);
  ticks_.set(static_cast<double>(stats.ticks));
  const auto count = [](Counter& counter, std::uint64_t& counted, std::uint64_t now) {
    // A scheduler that was restarted counts from zero.
    const std::uint64_t before = std::exchange(counted, now);
    if (now > before) counter.add(now - before);
  };
  count(prompt_, counted_prompt_tokens_, stats.prompt_tokens);
  count(output_, counted_output_tokens_, stats.output_tokens);
  count(preemptions_, counted_preemptions_, stats.preemptions);
}

EngineStats PipelineStats::read() const noexcept {
  EngineStats stats;
  stats.requests = static_cast<std::size_t>(requests_.load());
  stats.queued_prompt_tokens = prompt_tokens_.load();
  stats.waiting = static_cast<std::size_t>(waiting_.value());
  stats.running = static_cast<std::size_t>(running_.value());
  stats.rows = limits_.rows;
  stats.pages = limits_.pages;
  stats.pages_free =
      limits_.pages - static_cast<std::int32_t>(pages_used_.value() * limits_.pages + 0.5);
  stats.max_context = limits_.context;
  stats.ticks = static_cast<std::uint64_t>(ticks_.value());
  stats.prompt_tokens = prompt_.value();
  stats.output_tokens = output_.value();
  stats.preemptions = preemptions_.value();
  stats.finished = finished_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace weft
