#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/config/config.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {

/// The letter model on a fake device, and requests for it.
class LetterFixture : public testing::Test {
 public:
  static Request request(std::size_t prompt = 5, std::int32_t max_tokens = 6) {
    Request request;
    for (std::size_t i = 0; i < prompt; ++i) {
      request.prompt_tokens.push_back(static_cast<TokenId>(i % kLetters));
    }
    request.max_tokens = max_tokens;
    request.sampling.seed = 1;
    return request;
  }

  /// The tokens that the device chooses for it.
  [[nodiscard]] static std::vector<TokenId> expected(const Request& request) {
    std::vector<TokenId> context = request.prompt_tokens;
    const auto prompt = static_cast<std::ptrdiff_t>(context.size());
    for (std::int32_t i = 0; i < request.max_tokens; ++i) {
      context.push_back(fake_token(*request.sampling.seed, context, kLetters));
    }
    return {context.begin() + prompt, context.end()};
  }

  [[nodiscard]] FakeDevice::Options device_options() {
    return {.limits = limits, .run = [this](const Plan& plan) {
              if (on_step) on_step(plan);
            }};
  }

  Config config;
  DeviceLimits limits{.rows = 4,
                      .pages = 64,
                      .page_tokens = 4,
                      .step_tokens = 64,
                      .context = 64,
                      .cross_pages = 0,
                      .vocabulary = kLetters};
  std::function<void(const Plan&)> on_step;
  std::shared_ptr<FakeDevice> device;
};

}  // namespace weft::test
