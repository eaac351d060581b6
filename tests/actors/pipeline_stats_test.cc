#include "weft/actors/pipeline_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/core/prometheus.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(PipelineStatsTest, PublishesWhatBecameOfPagesInHostMemoryAndInFiles) {
  MetricsRegistry registry;
  {
    PipelineStats stats(registry, {.rows = 1, .pages = 8}, 1, 4, 800);
    SchedulerStats now;
    now.prefixes.on_host = 3;
    now.prefixes.went_out = 5;
    now.prefixes.came_in = 2;
    now.files = {.pages = 7, .bytes = 700, .written = 9, .read = 4, .dropped = 1, .failures = 6};
    stats.set(0, now);
    now.prefixes.on_host = 1;
    now.prefixes.came_in = 4;
    stats.set(0, now);
    const std::string text = prometheus_text(registry);
    EXPECT_THAT(text, HasSubstr("weft_host_cache_pages 1\n"));
    EXPECT_THAT(text, HasSubstr("weft_host_cache_pages_out_total 5\n"));
    EXPECT_THAT(text, HasSubstr("weft_host_cache_pages_in_total 4\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_pages 7\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_bytes 700\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_pages_written_total 9\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_pages_read_total 4\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_pages_dropped_total 1\n"));
    EXPECT_THAT(text, HasSubstr("weft_file_cache_failures_total 6\n"));
  }
  const std::string after = prometheus_text(registry);
  EXPECT_THAT(after, HasSubstr("weft_host_cache_pages 0\n")) << "a pipeline that has gone has none";
  EXPECT_THAT(after, HasSubstr("weft_file_cache_bytes 0\n"));
  EXPECT_THAT(after, HasSubstr("weft_file_cache_pages_read_total 4\n"));
}

TEST(PipelineStatsTest, PublishesWhatBecameOfGuesses) {
  MetricsRegistry registry;
  PipelineStats stats(registry, {.rows = 1, .pages = 8}, 2, 4, 800);
  SchedulerStats now;
  now.guesses.of(GuessSource::kOwn) = {.made = 8, .accepted = 6, .rejected = 1};
  now.guesses.of(GuessSource::kPrediction) = {.made = 3, .accepted = 1, .rejected = 1};
  now.guesses.of(GuessSource::kRecent) = {.made = 5, .accepted = 3, .rejected = 2};
  now.guesses.of(GuessSource::kModel) = {.made = 7, .accepted = 4, .rejected = 3};
  stats.set(0, now);
  stats.set(1, now);
  const std::string text = prometheus_text(registry);
  for (const char* line : {"guessed_tokens_total{drafter=\"suffix\"} 16\n",
                           "guessed_tokens_total{drafter=\"prediction\"} 6\n",
                           "guessed_tokens_total{drafter=\"recent\"} 10\n",
                           "guessed_tokens_total{drafter=\"model\"} 14\n",
                           "accepted_tokens_total{drafter=\"suffix\"} 12\n",
                           "accepted_tokens_total{drafter=\"model\"} 8\n",
                           "rejected_tokens_total{drafter=\"model\"} 6\n",
                           "accepted_tokens_total{drafter=\"prediction\"} 2\n",
                           "rejected_tokens_total{drafter=\"suffix\"} 2\n",
                           "rejected_tokens_total{drafter=\"prediction\"} 2\n"}) {
    EXPECT_THAT(text, HasSubstr(std::string("weft_speculation_") + line));
  }
  EXPECT_EQ(stats.read().accepted_guesses, 28U);
  EXPECT_EQ(stats.read().rejected_guesses, 14U);
}

TEST(PipelineStatsTest, PublishesWhatWasTrained) {
  MetricsRegistry registry;
  PipelineStats stats(registry, {.rows = 1, .pages = 8}, 1, 4, 800);
  SchedulerStats now;
  now.training = {.iterations = 3, .pieces = 14};
  stats.set(0, now);
  const std::string text = prometheus_text(registry);
  EXPECT_THAT(text, HasSubstr("weft_training_iterations_total 3\n"));
  EXPECT_THAT(text, HasSubstr("weft_training_pieces_total 14\n"));
}

TEST(PipelineStatsTest, PublishesWhichAdaptersRunAndWaitAndWhatLoadsThemTook) {
  MetricsRegistry registry;
  {
    PipelineStats stats(registry, {.rows = 1, .pages = 8, .adapter_places = 3}, 2, 4, 800);
    SchedulerStats now;
    now.adapters = {.running = 2, .waiting = 5, .loads = 7, .bytes = 900};
    stats.set(0, now);
    now.adapters.running = 1;
    stats.set(1, now);
    const std::string text = prometheus_text(registry);
    EXPECT_THAT(text, HasSubstr("weft_lora_places 6\n"));
    EXPECT_THAT(text, HasSubstr("weft_lora_adapters_running 3\n"));
    EXPECT_THAT(text, HasSubstr("weft_lora_adapters_waiting 10\n"));
    EXPECT_THAT(text, HasSubstr("weft_lora_loads_total 14\n"));
    EXPECT_THAT(text, HasSubstr("weft_lora_load_bytes_total 1800\n"));
  }
  const std::string after = prometheus_text(registry);
  EXPECT_THAT(after, HasSubstr("weft_lora_places 0\n"));
  EXPECT_THAT(after, HasSubstr("weft_lora_adapters_running 0\n"));
  EXPECT_THAT(after, HasSubstr("weft_lora_adapters_waiting 0\n"));
}

TEST(PipelineStatsTest, PublishesWhatLookUpsFound) {
  MetricsRegistry registry;
  PipelineStats stats(registry, {.rows = 1, .pages = 8}, 2, 4, 800);
  SchedulerStats now;
  now.prefixes = {
      .lookups = 9, .hits = 6, .found = 50, .hollow_hits = 2, .given_up = 7, .pages = 5};
  stats.set(0, now);
  stats.set(1, now);
  now.prefixes.hits = 8;
  now.prefixes.hollow_hits = 3;
  stats.set(1, now);
  const std::string text = prometheus_text(registry);
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_lookups_total 18\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_hits_total 14\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_hollow_hits_total 5\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_hit_tokens_total 100\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_evictions_total 14\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_pages 10\n"));
  EXPECT_THAT(text, HasSubstr("weft_prefix_cache_bytes 500\n"));
}

TEST(PipelineStatsTest, PublishesWhichMemoryTheKvCacheTakes) {
  MetricsRegistry registry;
  {
    const PipelineStats stats(registry, {.rows = 1, .pages = 8, .host_pages = 3}, 2, 4, 1600);
    const std::string text = prometheus_text(registry);
    EXPECT_THAT(text, HasSubstr("weft_kv_device_bytes 1600\n"));
    EXPECT_THAT(text, HasSubstr("weft_kv_host_bytes 600\n"));
    const PipelineStats there(registry, {.rows = 1, .pages = 8, .kv_on_host = true}, 1, 4, 800);
    const std::string both = prometheus_text(registry);
    EXPECT_THAT(both, HasSubstr("weft_kv_device_bytes 1600\n"));
    EXPECT_THAT(both, HasSubstr("weft_kv_host_bytes 1400\n"));
  }
  const std::string after = prometheus_text(registry);
  EXPECT_THAT(after, HasSubstr("weft_kv_device_bytes 0\n"));
  EXPECT_THAT(after, HasSubstr("weft_kv_host_bytes 0\n"));
}

}  // namespace
}  // namespace weft
