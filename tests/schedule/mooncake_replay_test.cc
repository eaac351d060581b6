// Mooncake's trace, whose prompts are told in blocks of 512 tokens that have a number, against the
// hits that an LRU of whole blocks would have if requests came one after the other.

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/scheduler.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {
namespace {

constexpr std::int32_t kBlock = 512;
// Under sanitizers a part that takes a second, with room for a part of it.
#if defined(WEFT_ABORT_ON_INTERNAL_ERROR)
constexpr std::size_t kRequests = 300;
constexpr std::int32_t kPages = 3'000;
#else
constexpr std::size_t kRequests = 100'000;
constexpr std::int32_t kPages = 10'000;
#endif

struct TracedRequest {
  TimePoint at{};
  std::int32_t prompt = 0;
  std::int32_t output = 0;
  std::vector<std::int32_t> blocks;

  /// Blocks that can be found: whole ones before the last token.
  [[nodiscard]] std::size_t whole() const {
    return static_cast<std::size_t>((prompt - 1) / kBlock);
  }
};

std::vector<TracedRequest> read_mooncake(const std::filesystem::path& path) {
  simdjson::dom::parser parser;
  std::vector<TracedRequest> requests;
  for (simdjson::dom::element line : parser.load_many(path.string())) {
    if (requests.size() == kRequests) break;
    TracedRequest& one = requests.emplace_back();
    one.at = TimePoint(std::chrono::milliseconds(std::int64_t{line["timestamp"]}));
    one.prompt = static_cast<std::int32_t>(std::int64_t{line["input_length"]});
    one.output =
        std::max<std::int32_t>(1, static_cast<std::int32_t>(std::int64_t{line["output_length"]}));
    for (const std::int64_t id : line["hash_ids"].get_array()) {
      one.blocks.push_back(static_cast<std::int32_t>(id));
    }
  }
  return requests;
}

std::vector<TokenId> tokens_of(const TracedRequest& request) {
  std::vector<TokenId> tokens;
  for (const std::int32_t block : request.blocks) {
    for (std::int32_t i = 0; i < kBlock; ++i) tokens.push_back(block * kBlock + i);
  }
  tokens.resize(static_cast<std::size_t>(request.prompt), TokenId{0});
  return tokens;
}

/// Returns the share of all prompts' tokens that are in whole blocks which an LRU of so many finds.
double hits_of_lru(const std::vector<TracedRequest>& requests, std::int32_t size) {
  std::int32_t last = 0;
  for (const auto& one : requests) last = std::max(last, std::ranges::max(one.blocks));
  IdlePages lru(last + 1);
  std::int64_t found = 0;
  std::int64_t all = 0;
  for (const TracedRequest& one : requests) {
    const auto whole = std::span(one.blocks).first(std::min(one.whole(), one.blocks.size()));
    const auto missing =
        std::ranges::find_if_not(whole, [&](std::int32_t block) { return lru.contains(block); });
    found += std::int64_t{kBlock} * (missing - whole.begin());
    all += one.prompt;
    for (auto block = whole.rbegin(); block != whole.rend(); ++block) {
      if (lru.contains(*block)) lru.remove(*block);
      lru.add(*block);
    }
    while (lru.size() > size) lru.remove(lru.oldest());
  }
  return static_cast<double>(found) / static_cast<double>(all);
}

class Counting final : public SchedulerListener {
 public:
  void on_begin(Group& /*group*/) override {}
  void on_token(Group& /*group*/, std::int32_t /*sequence*/, const SampleResult& /*result*/,
                std::span<const TokenLogprob> /*top*/, SequenceEnd /*end*/) override {}
  void on_end(Group& group, GroupEnd /*how*/, const Error& /*error*/) override {
    ++ended;
    cached += group.cached;
  }
  std::size_t ended = 0;
  std::int64_t cached = 0;
};

std::unique_ptr<Group> group_of(const TracedRequest& request, std::uint64_t order) {
  GroupSpec spec;
  spec.prompt = tokens_of(request);
  spec.sampling = std::make_shared<const SamplingParams>();
  spec.max_tokens = request.output;
  auto group = std::make_unique<Group>(std::move(spec));
  group->order = order;
  return group;
}

TEST(MooncakeReplay, FindsNearlyWhatAnLruOfTheSameSizeFinds) {
  const auto path = source_path("../shared/data/traces/mooncake_synthetic_trace.jsonl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const std::vector<TracedRequest> requests = read_mooncake(path);
  SchedulerOptions options;
  options.limits = {.rows = 64,
                    .pages = kPages,
                    .page_tokens = kBlock,
                    .step_tokens = 8192,
                    .context = 1 << 18,
                    .cross_pages = 0,
                    .vocabulary = 1 << 30};
  options.target_inter_token = std::chrono::milliseconds(50);
  FakeDevice::Options how{.limits = options.limits, .remembers = false};
  // A device that computes more than twice what the trace brings, if nothing were found.
  how.took = [](const Plan& plan) {
    return std::chrono::microseconds(2000 + 6 * weft::test::tokens_of(plan));
  };
  FakeDevice device(std::move(how));
  Counting counting;
  Scheduler scheduler(options, counting);
  Tick tick;
  tick.reserve(options.limits);
  TimePoint now{};
  std::size_t sent = 0;
  std::int64_t prompt_tokens = 0;
  while (counting.ended < requests.size()) {
    for (; sent < requests.size() && requests[sent].at <= now; ++sent) {
      prompt_tokens += requests[sent].prompt;
      scheduler.submit(group_of(requests[sent], sent + 1), now);
    }
    if (!scheduler.plan(now, tick)) {
      ASSERT_LT(sent, requests.size()) << "somebody waits for ever";
      now = requests[sent].at;
      continue;
    }
    device.run(tick.plan, tick.result);
    now += tick.result.took;
    scheduler.complete(tick);
  }
  const double ours = static_cast<double>(counting.cached) / static_cast<double>(prompt_tokens);
  const double lru = hits_of_lru(requests, kPages);
  std::cout << requests.size() << " requests, " << kPages << " pages: " << ours
            << " of the tokens found, by an LRU " << lru << ", ratio " << ours / lru << ", "
            << scheduler.stats().prefixes.given_up << " pages given up, "
            << scheduler.stats().preemptions << " preemptions\n";
  EXPECT_GE(ours, 0.95 * lru);
}

}  // namespace
}  // namespace weft::test
