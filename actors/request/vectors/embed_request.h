#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/core/request_class.h"
#include "weft/core/token.h"

namespace weft {

/// A request of Engine::async_embed() for the vector of one input, either a text or
/// tokens. Use one operation for each of many inputs; the engine computes them
/// together.
struct EmbedRequest {
  EmbedRequest() = default;  // no aggregate: docs/asio-compliance.md says why
  /// Makes a request for the vector of a text, so that calls can take a text directly:
  /// `engine.async_embed("Once", token)`.
  template <std::convertible_to<std::string> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): a text stands where a request does
  EmbedRequest(Text&& input) : text(std::forward<Text>(input)) {}

  std::string text{};
  std::vector<TokenId> tokens{};
  std::string model{};    ///< as of Request
  std::string adapter{};  ///< as of Request
  VectorWish wish{};      ///< which vector; VectorWish says what its fields mean

  RequestClass request_class = RequestClass::kChat;
  std::int32_t priority = 0;             ///< inside the class; low first
  std::string client{};                  ///< as of Request
  std::string cache_salt{};              ///< as of Request
  std::chrono::milliseconds timeout{0};  ///< from arrival to the end; 0 = none
};

/// The result of an EmbedRequest.
struct EmbedResult {
  std::vector<float> vector{};  ///< empty where there is an error, or masks are filled in
  std::vector<std::vector<MaskFill>> masks{};  ///< as of Finish, instead of a vector
  Usage usage{};
  RequestTimes times{};
  std::string error_detail{};                ///< details of the error, such as fields and numbers
  std::chrono::milliseconds retry_after{0};  ///< with kOverloaded: when it is worth trying again
};

/// Returns the corresponding Request.
[[nodiscard]] Request to_request(EmbedRequest asked);

}  // namespace weft
