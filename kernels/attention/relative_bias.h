#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// The most buckets of T5's relative position bias; T5 has 32.
inline constexpr std::int32_t kMaxRelativeBuckets = 512;

/// Which learned bias belongs to a distance (Raffel et al., arXiv 1910.10683, section 2.1): one
/// bucket for each short distance, then buckets that widen with the logarithm up to max_distance.
/// Half of the buckets are for keys after the query when `bidirectional`; otherwise such keys count
/// as distance 0. The logarithm is taken in float32, as in transformers'
/// T5Attention._relative_position_bucket, since a bucket's edge depends on the rounding.
class RelativeBuckets {
 public:
  RelativeBuckets() = default;

  /// `buckets` is 2 (4 when bidirectional) to kMaxRelativeBuckets, and `max_distance` is more than
  /// half of a side's buckets; otherwise internal_error.
  RelativeBuckets(std::int32_t buckets, std::int32_t max_distance, bool bidirectional);

  /// The bucket of a key `distance` positions after its query (negative: before).
  [[nodiscard]] std::int32_t bucket_of(std::int32_t distance) const noexcept;

 private:
  [[nodiscard]] std::int32_t rounded_bucket(std::int32_t magnitude) const noexcept;

  std::int32_t side_ = 0;   // buckets of one side
  std::int32_t exact_ = 0;  // buckets of a side that hold one distance each
  std::int32_t max_distance_ = 0;
  bool bidirectional_ = false;
  // starts_[i]: the least distance of bucket exact_ + i.
  std::array<std::int32_t, kMaxRelativeBuckets> starts_{};
};

}  // namespace weft
