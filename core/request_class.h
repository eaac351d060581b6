#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// How urgent a request is. Chat goes before batch and may take its place; batch takes what is
/// left.
enum class RequestClass : std::uint8_t {
  /// Somebody waits for each token.
  kChat,
  /// Somebody wants the whole, some time.
  kBatch,
};

/// All of them, the most urgent first; each stands at its own number.
inline constexpr std::array kRequestClasses = {RequestClass::kChat, RequestClass::kBatch};

/// "chat", "batch".
[[nodiscard]] std::string_view to_string(RequestClass cls) noexcept;

}  // namespace weft
