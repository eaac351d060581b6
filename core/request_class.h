#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// How urgent a request is. Chat goes before batch and may take its row; batch takes what is left.
enum class RequestClass : std::uint8_t {
  /// Somebody waits for each token.
  kChat,
  /// Somebody wants the whole output at some time.
  kBatch,
};

/// All classes, the most urgent first; each is at the index of its own number.
inline constexpr std::array kRequestClasses = {RequestClass::kChat, RequestClass::kBatch};

/// Returns "chat" or "batch".
[[nodiscard]] std::string_view to_string(RequestClass cls) noexcept;

}  // namespace weft
