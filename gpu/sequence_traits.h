#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft {

/// Which of a model's two sets of angles rotates a sequence's queries and keys (LongRoPE, dynamic
/// RoPE).
enum class AngleSet : std::int32_t { kShort, kLong };

/// The identity of an adapter's content: the first bytes of Adapter::hash. It does not depend on
/// the adapter's name. Zeros: no adapter.
struct AdapterId {
  std::array<std::byte, 16> bytes{};

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return *this != AdapterId{}; }
  friend bool operator==(const AdapterId&, const AdapterId&) = default;
};

/// The traits on which keys and values depend besides the tokens. Sequences whose KvTraits differ
/// never share pages (PrefixScope).
struct KvTraits {
  AngleSet angles = AngleSet::kShort;
  AdapterId adapter{};

  friend bool operator==(const KvTraits&, const KvTraits&) = default;
};

/// The properties of a sequence besides its tokens, constant for its whole life. They travel
/// together: from the request's group (GroupSpec) with the plan (PlanStart), also to other
/// processes, to the device's slot and its step. A new trait is a field here, a value that a
/// request sets, and the kernel that uses it.
struct SequenceTraits {
  KvTraits kv{};
  /// The position at which the second of two texts begins, for token types; 0: there is one text.
  std::int32_t second_text = 0;

  friend bool operator==(const SequenceTraits&, const SequenceTraits&) = default;
};
// Other processes get its bytes.
static_assert(std::has_unique_object_representations_v<SequenceTraits> &&
              std::is_trivially_copyable_v<SequenceTraits>);

/// Whether traits from another process have values that a scheduler can set.
[[nodiscard]] constexpr bool is_sound(const SequenceTraits& traits) noexcept {
  const AngleSet angles = traits.kv.angles;
  return (angles == AngleSet::kShort || angles == AngleSet::kLong) && traits.second_text >= 0;
}

/// Returns the traits as bytes of a key that names pages, also in files.
[[nodiscard]] constexpr std::array<std::byte, 17> key_bytes(const KvTraits& traits) noexcept {
  std::array<std::byte, 17> bytes{static_cast<std::byte>(traits.angles)};
  std::ranges::copy(traits.adapter.bytes, bytes.begin() + 1);
  return bytes;
}

/// Returns a number that distinguishes traits, for hashes.
[[nodiscard]] constexpr std::uint64_t key_number(const KvTraits& traits) noexcept {
  std::uint64_t number = 0;
  for (const std::byte byte : key_bytes(traits)) {
    number = std::rotl(number, 8) ^ std::to_integer<std::uint64_t>(byte);
  }
  return number;
}

/// Returns the token type of the token at a position: 1 in the second of two texts.
[[nodiscard]] constexpr std::int32_t token_type(const SequenceTraits& traits,
                                                std::int32_t position) noexcept {
  return traits.second_text > 0 && position >= traits.second_text ? 1 : 0;
}

/// Returns the row of a position's angles in a table with the short set for positions below
/// `longest`, followed by the long set.
[[nodiscard]] constexpr std::int32_t angle_row(const SequenceTraits& traits, std::int32_t position,
                                               std::int32_t longest) noexcept {
  return traits.kv.angles == AngleSet::kLong ? position + longest : position;
}

}  // namespace weft
