#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct GroupSpec;

/// Remembers which replicas recently got prompts with the same beginning: an estimate of their KV
/// caches, which are not asked. It identifies a prompt by hashes of its beginnings up to the end of
/// each block of kBlock tokens, together with its cache domain (GroupSpec::cache_domain), so that a
/// client learns nothing about other clients' prompts. A forgotten entry, an evicted page or a
/// collision makes a choice worse, but never wrong.
///
/// Bounded: kPlaces beginnings, and later ones replace earlier ones. One thread at a time, except
/// that any thread may call beginnings_of().
class RecentPrefixes {
 public:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kPlaces = std::size_t{1} << 16;  // 1 MiB; four million tokens
  static constexpr std::size_t kMostReplicas = 64;              // a bit of a place for each

  /// Without `replicas`, or with more than kMostReplicas, it knows nothing.
  explicit RecentPrefixes(std::size_t replicas);

  /// Returns a hash for each whole block of the prompt without its last token, which is always
  /// computed; none for a request that does not use the cache. An encoder's input is cached only as
  /// a whole, so each of its hashes covers all of it.
  [[nodiscard]] std::vector<std::uint64_t> beginnings_of(const GroupSpec& spec) const;
  /// Returns how many first tokens of a prompt with these beginnings the replica has been sent.
  [[nodiscard]] std::int64_t tokens_sent(std::span<const std::uint64_t> beginnings,
                                         std::size_t replica) const noexcept;
  /// Notes that the prompt goes to the replica.
  void note(std::span<const std::uint64_t> beginnings, std::size_t replica) noexcept;

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint64_t replicas = 0;  // a bit for each replica
  };

  [[nodiscard]] static std::size_t index_of(std::uint64_t hash) noexcept {
    return static_cast<std::size_t>(hash) & (kPlaces - 1);
  }

  const std::uint64_t seed_;
  std::vector<Place> places_;
};

}  // namespace weft
