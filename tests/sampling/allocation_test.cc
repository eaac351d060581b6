// Checks that nothing is allocated once samplers are made. It replaces the global operator new, so
// it is a program of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "weft/sampling/beam_search.h"
#include "weft/sampling/sampler.h"

namespace {

std::atomic<int> allocations{0};

void* allocate(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weft {
namespace {

constexpr std::size_t kVocabulary = 2000;

std::vector<std::shared_ptr<const SamplingParams>> many_params() {
  SamplingParams everything{.logit_bias = {{1, 2}},
                            .bad_tokens = {2},
                            .min_tokens = 5,
                            .penalties = {.repetition = 1.1F, .frequency = 0.2F, .window = 30},
                            .dry = {.multiplier = 1, .breakers = {9}},
                            .dynamic_temperature = {.range = 0.5F},
                            .top_k = 1000,
                            .tfs_z = 0.99F,
                            .typical_p = 0.99F,
                            .top_p = 0.99F,
                            .min_p = 0.0001F,
                            .xtc = {.probability = 0.5F},
                            .mirostat = {.version = 1},
                            .top_logprobs = 20};
  everything.allowed_tokens.resize(1000);
  std::iota(everything.allowed_tokens.begin(), everything.allowed_tokens.end(), 100);
  SamplingParams after = everything;
  after.logprobs_after_samplers = true;
  after.allowed_tokens.clear();
  after.mirostat.version = 2;
  std::vector<std::shared_ptr<const SamplingParams>> result;
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 0}, SamplingParams{}, everything, after,
        SamplingParams{.top_k = 50, .top_p = 0.9F}, SamplingParams{.fsd = {.alpha = 0.5F}},
        SamplingParams{.beams = {.num_beams = 8}}}) {
    result.push_back(std::make_shared<const SamplingParams>(params));
  }
  return result;
}

TEST(SamplingAllocation, ASamplerAllocatesNothingOnceItIsMade) {
  const auto all = many_params();
  Sampler sampler(kVocabulary, 500);
  Sampler copy(kVocabulary, 500);
  SamplerScratch scratch(kVocabulary);
  const std::vector<TokenId> ends = {3};
  std::vector<float> model(kVocabulary);
  for (std::size_t i = 0; i < kVocabulary; ++i) model[i] = static_cast<float>(i * 7919 % 97) * 0.1F;
  std::vector<float> logits(kVocabulary);
  const int before = allocations;
  for (const auto& params : all) {
    sampler.start(params, ends, 1, 2);
    for (int i = 0; i < 200; ++i) {
      std::ranges::copy(model, logits.begin());
      const TokenId token = sampler.sample(logits, scratch).token;
      sampler.observe({&token, 1});
    }
    copy.start_as(sampler, 2);
    std::ranges::copy(model, logits.begin());
    static_cast<void>(copy.sample(logits, scratch));
  }
  EXPECT_EQ(allocations - before, 0);
}

TEST(SamplingAllocation, ABeamSearchAllocatesNothingOnceItIsMade) {
  constexpr std::size_t kBeams = 8;
  BeamSearch search(kBeams, 100);
  std::vector<TokenLogprob> list;
  for (TokenId token = 0; token < 16; ++token)
    list.push_back({token, -0.5F * static_cast<float>(token)});
  const std::vector<std::span<const TokenLogprob>> lists(kBeams, list);
  const std::vector<TokenId> ends = {3};
  const int before = allocations;
  for (int round = 0; round < 3; ++round) {
    search.start({.num_beams = kBeams, .early_stopping = EarlyStopping::kNever}, 100, ends);
    while (!search.done()) search.advance(std::span(lists).first(search.beams()));
  }
  EXPECT_EQ(allocations - before, 0);
  const int empty = allocations;
  EXPECT_FALSE(search.best(1).empty());
  EXPECT_GT(allocations - empty, 0) << "nothing is counted";
}

}  // namespace
}  // namespace weft
