#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct GroupSpec;

/// Which replicas have lately been sent prompts that begin alike: a guess at what their KV caches
/// hold, as those are their own and are not asked. It knows a prompt by hashes of its beginnings,
/// the ends of blocks of kBlock tokens, with whose it is (GroupSpec::cache_domain): so what a
/// client sends says nothing of what others have sent. What is forgotten, has left a cache, or
/// collides makes a choice worse, and nothing wrong.
///
/// Bounded: kPlaces beginnings, of which a later one takes the place of an earlier one. One thread
/// at a time; beginnings_of() alone is for any.
class RecentPrefixes {
 public:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kPlaces = std::size_t{1} << 16;  // 1 MiB; four million tokens
  static constexpr std::size_t kMostReplicas = 64;              // bits of a place

  /// Without `replicas`, or with more than kMostReplicas, it knows nothing.
  explicit RecentPrefixes(std::size_t replicas);

  /// Returns a hash for each whole block of the prompt, but for its last token, which is always
  /// computed. None of a request that finds nothing in a cache. An encoder's input is found as a
  /// whole alone: its blocks are known by all of it.
  [[nodiscard]] std::vector<std::uint64_t> beginnings_of(const GroupSpec& spec) const;
  /// Returns how many tokens of such a prompt the replica has been sent before.
  [[nodiscard]] std::int64_t tokens_sent(std::span<const std::uint64_t> beginnings,
                                         std::size_t replica) const noexcept;
  /// The prompt goes to the replica.
  void note(std::span<const std::uint64_t> beginnings, std::size_t replica) noexcept;

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint64_t replicas = 0;  // a bit each
  };

  [[nodiscard]] static std::size_t index_of(std::uint64_t hash) noexcept {
    return static_cast<std::size_t>(hash) & (kPlaces - 1);
  }

  const std::uint64_t seed_;
  std::vector<Place> places_;
};

}  // namespace weft
