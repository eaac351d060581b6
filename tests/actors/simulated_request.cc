#include "weft/tests/actors/simulated_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {
namespace {

/// The expected output.
struct Expected {
  std::vector<TokenId> tokens;  ///< without the end token
  std::string text;
  FinishReason reason = FinishReason::kLength;
};

Expected expected_output(const Request& request, std::uint64_t seed, std::int32_t max_tokens,
                         const FakeModel& model) {
  Expected expected;
  std::vector<TokenId> context = request.prompt_tokens;
  if (model.encoder) context.push_back(SimulatedRequest::kStart);
  while (std::cmp_less(expected.tokens.size(), max_tokens)) {
    const std::uint64_t state = model.state ? fake_state(context) : 0;
    const TokenId token =
        fake_token(seed ^ model.weights ^ state, seen_by(context, model.window), kLetters);
    if (token == SimulatedRequest::kEnd && !request.sampling.ignore_eos) {
      expected.reason = FinishReason::kStop;
      break;
    }
    expected.tokens.push_back(token);
    expected.text += letters_of(token);
    context.push_back(token);
    std::size_t hit = std::string::npos;
    for (const std::string& stop : request.stop) hit = std::min(hit, expected.text.find(stop));
    if (hit == std::string::npos) continue;
    expected.text.resize(hit);
    expected.reason = FinishReason::kStop;
    return expected;
  }
  return expected;
}

}  // namespace

std::uint64_t seed_of_choice(const Request& request, std::size_t choice) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  return *request.sampling.seed + choice * kGolden;
}

SimulatedRequest::SimulatedRequest(Request what, std::uint64_t its_adapter)
    : request(std::move(what)), adapter(its_adapter) {
  choices.resize(static_cast<std::size_t>(request.sampling.n));
}

void SimulatedRequest::deliver(const DeltaView& delta) noexcept {
  const NoFailingAllocation own;
  EXPECT_FALSE(finish_) << "something came after the end";
  Choice& choice = choices.at(static_cast<std::size_t>(delta.choice));
  choice.text += delta.text;
  choice.tokens.insert(choice.tokens.end(), delta.tokens.begin(), delta.tokens.end());
}

void SimulatedRequest::finish(Finish&& finish) noexcept {
  const NoFailingAllocation own;
  EXPECT_FALSE(finish_) << "a second end";
  finish_ = std::move(finish);
}

bool SimulatedRequest::is_whole() const {
  return finish_->reason != FinishReason::kError && finish_->reason != FinishReason::kCancelled &&
         asked == EndCause::kNone;
}

void SimulatedRequest::check_outputs(const FakeModel& model) const {
  if (request.sampling.beams.num_beams > 1 || request.sampling.best_of > 0) return;
  const std::size_t prompt = model.encoder ? 1 : request.prompt_tokens.size();
  const auto room = static_cast<std::int32_t>(model.context - static_cast<std::int64_t>(prompt));
  const std::int32_t most = request.max_tokens > 0 ? request.max_tokens : room;
  FakeModel adapted = model;
  if (adapter > 0) adapted.weights ^= fake_adapter(fake_prepared(adapter)->id);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Expected expected = expected_output(request, seed_of_choice(request, i), most, adapted);
    const Choice& choice = choices[i];
    if (is_whole()) {
      EXPECT_EQ(choice.tokens, expected.tokens)
          << std::hex << *request.sampling.seed << std::dec << " choice " << i << " of "
          << request.sampling.n << ", prompt " << request.prompt_tokens.size();
      EXPECT_EQ(choice.text, expected.text);
      EXPECT_EQ(finish_->choices.at(i).reason, expected.reason);
    } else {
      // What was held back for a stop string is given at the end, when none came.
      std::string all;
      for (const TokenId token : expected.tokens) all += letters_of(token);
      EXPECT_TRUE(all.starts_with(choice.text))
          << choice.text << " of " << all << ", choice " << i << " of " << request.sampling.n
          << " of model " << request.model << ", prompt " << request.prompt_tokens.size() << ", "
          << choice.tokens.size() << " tokens, end " << to_string(finish_->reason) << ' '
          << to_string(finish_->error);
    }
  }
}

}  // namespace weft::test
