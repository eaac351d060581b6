#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace weft {

/// A number that names one thing of one kind. Zero names nothing. Ids of different kinds do not
/// mix.
template <class Kind>
class Id {
 public:
  constexpr Id() noexcept = default;
  constexpr explicit Id(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }
  friend constexpr auto operator<=>(Id, Id) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

/// Hands out 1, 2, 3, ... Thread-safe; at a million a second it lasts for half a million years.
template <class Kind>
class IdSource {
 public:
  [[nodiscard]] Id<Kind> next() noexcept {
    return Id<Kind>(last_.fetch_add(1, std::memory_order_relaxed) + 1);
  }

 private:
  std::atomic<std::uint64_t> last_{0};
};

/// Each kind's prefix is how its ids read in logs: "req-17", "seq-3".
struct ActorKind {
  static constexpr const char* kPrefix = "actor";
};
struct RequestKind {
  static constexpr const char* kPrefix = "req";
};
struct SequenceKind {
  static constexpr const char* kPrefix = "seq";
};
/// A client that is served fairly against other clients: an API key, a user, an application's
/// tenant. Zero is anonymous; all anonymous clients share it.
struct ClientKind {
  static constexpr const char* kPrefix = "client";
};

using ActorId = Id<ActorKind>;
using RequestId = Id<RequestKind>;
using SequenceId = Id<SequenceKind>;
using ClientId = Id<ClientKind>;

/// Returns the prefix and the number, such as "req-17".
template <class Kind>
[[nodiscard]] std::string to_string(Id<Kind> id) {
  return std::string(Kind::kPrefix) + '-' + std::to_string(id.value());
}

}  // namespace weft

template <class Kind>
struct std::hash<weft::Id<Kind>> {
  std::size_t operator()(weft::Id<Kind> id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value());
  }
};
