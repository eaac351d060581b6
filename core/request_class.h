#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// How urgent a request is. Chat requests come first and may take a row from a batch request; batch
/// requests get the remaining rows.
enum class RequestClass : std::uint8_t {
  /// A person waits for each token.
  kChat,
  /// The client wants the whole output at some later time.
  kBatch,
};

/// All classes, the most urgent first; each is at the index of its own number.
inline constexpr std::array kRequestClasses = {RequestClass::kChat, RequestClass::kBatch};

/// Returns "chat" or "batch".
[[nodiscard]] std::string_view to_string(RequestClass cls) noexcept;

}  // namespace weft
