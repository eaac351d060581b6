#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/sampling/sampler.h"
#include "weft/sampling/token_constraint.h"
#include "weft/tests/sampling/reference_sampler.h"
#include "weft/tests/sampling/sampler_fixture.h"

namespace weft::test {
namespace {

constexpr std::size_t kMaskTokens = 300;

/// Allows always the same.
class FixedState final : public ConstraintState {
 public:
  explicit FixedState(const AllowedTokens& allowed) : allowed_(allowed) {}
  void advance(std::span<const TokenId> /*tokens*/) noexcept override {}
  bool roll_back(std::size_t /*tokens*/) noexcept override { return true; }
  AllowedTokens allowed() noexcept override { return allowed_; }
  std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<FixedState>(allowed_);
  }

 private:
  const AllowedTokens allowed_;
};

class FixedConstraint final : public TokenConstraint {
 public:
  explicit FixedConstraint(const AllowedTokens& allowed) : allowed_(allowed) {}
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<FixedState>(allowed_);
  }

 private:
  const AllowedTokens allowed_;
};

/// A token's bit is set if and only if it is chosen where it is the best of all.
void expect_mask_of(const ReferenceCase& sample) {
  Sampler sampler = sampler_of(sample, kMaskTokens);
  std::vector<std::uint32_t> mask((kMaskTokens + 31) / 32, 0xabcdef01);
  sampler.write_mask(mask);
  SamplerScratch scratch(kMaskTokens);
  std::vector<float> logits(kMaskTokens);
  for (std::size_t token = 0; token < kMaskTokens; ++token) {
    logits.assign(kMaskTokens, 0);
    logits[token] = 1;
    const bool is_chosen = sampler.sample(logits, scratch).token == static_cast<TokenId>(token);
    EXPECT_EQ((mask[token / 32] >> (token % 32) & 1U) != 0, is_chosen) << "token " << token;
  }
  EXPECT_EQ(mask.back() >> (kMaskTokens % 32), 0U) << "tokens that there are not";
}

TEST(SamplerMask, IsWhatAConstraintAndMinTokensLeave) {
  const std::vector<TokenId> list{0, 2, 7, 8, 31, 32, 64, 290, 299, 300, 1000};
  std::vector<std::uint32_t> bits(12, 0xf0a5a50f);
  const std::vector<AllowedTokens> all = {
      {.tokens = list, .count = 11},
      {.tokens = list, .may_end = true, .count = 11},
      {.bits = bits, .count = 100},
      {.bits = bits, .may_end = true, .count = 100},
      {.bits = std::span(bits).first(3), .may_end = true, .count = 100},
      {.may_end = true},
      {},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::int32_t min_tokens : {0, 3, 4}) {
      SCOPED_TRACE(testing::Message() << "constraint " << i << ", min_tokens " << min_tokens);
      expect_mask_of({.params = {.constraint = std::make_shared<FixedConstraint>(all[i]),
                                 .min_tokens = min_tokens,
                                 .temperature = 0,
                                 .stop_tokens = {8, 33}},
                      .tokens = {3, 1, 5, 6, 7},
                      .prompt_tokens = 2,
                      .end_tokens = {2, 299}});
    }
  }
}

}  // namespace
}  // namespace weft::test
