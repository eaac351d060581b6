#pragma once

#include "weft/kernels/sample/sample_team_cuda.cuh"
#include "weft/kernels/sample/tell_part_cuda.h"

/// Selection without sorting: finds the best tokens of an order whose units, added up in that
/// order, reach a wanted sum. A histogram finds the bin in which the sum is reached. Finer ones
/// follow while that bin has too many tokens. Each remaining token then adds up the tokens before.
namespace weft::cuda {

inline constexpr int kBins = 2048;
inline constexpr unsigned kDigitBits = 11;
// Each token of the pool compares with all others; for more tokens a histogram is cheaper.
inline constexpr int kPool = 512;

/// Orders logits from the greatest down. The first histogram's bins divide the logits' range
/// evenly, which spreads tokens far better than the bits of a number.
struct LogitOrder {
  static constexpr bool kByTiles = false;

  float best;

  __device__ Key key(int id, float logit) const { return key_of(logit, id); }
  __device__ int bin(int /*id*/, float logit) const {
    const float below = (0.5F * best - 0.5F * logit) * 128.0F;
    return below < static_cast<float>(kBins - 1) ? static_cast<int>(below) : kBins - 1;
  }
};

/// Orders tokens by their ids.
struct IdOrder {
  static constexpr bool kByTiles = true;  ///< a bin holds whole pieces that warps read

  unsigned shift;

  __device__ explicit IdOrder(std::int64_t vocabulary) : shift(7) {
    // A bin holds at least what a warp reads at a time, so that the warp adds to it once.
    while ((vocabulary - 1) >> shift >= kBins) ++shift;
  }
  __device__ Key key(int id, float /*logit*/) const { return static_cast<unsigned>(~id); }
  __device__ int bin(int id, float /*logit*/) const { return id >> shift; }
};

/// A token of the pool that the histograms leave.
struct PoolEntry {
  float logit;
  int id;
};

/// The bin in which a selection ends.
struct Found {
  int bin;  ///< -1: the total is less than wanted
  unsigned count;
  unsigned count_above;
  Units above;
  Units total;
};

template <int kBlocks>
struct SelectRoom {
  TeamRoom<kBlocks> team;
  unsigned counts[kBins];
  unsigned low[kBins];
  unsigned high[kBins];
  PoolEntry pool[kPool];
  Key pool_keys[kPool];
  Units pool_units[kPool];
  unsigned pool_count;
  Found found;
  Key least;
};

/// A selection's result: its least key, 0 if all tokens are selected.
struct Selected {
  Key least;
  Units total;  ///< units of all tokens, selected or not
};

/// Answers questions about a row of logits, or about the tokens of its pool.
template <int kBlocks>
class Selector {
 public:
  using Squad = Team<kBlocks>;

  __device__ Selector(Squad& team, SelectRoom<kBlocks>& room, std::int64_t vocabulary)
      : team_(team), room_(room) {
    const auto size = static_cast<int>(vocabulary);
    const int part = (size + kBlocks * kTile - 1) / (kBlocks * kTile) * kTile;
    begin_ = min(team.rank() * part, size);
    end_ = min(begin_ + part, size);
  }

  /// This block's ids are [begin(), end()).
  [[nodiscard]] __device__ int begin() const { return begin_; }
  [[nodiscard]] __device__ int end() const { return end_; }

  /// Sets the row that later questions are about.
  __device__ void look_at(const float* row) {
    row_ = row;
    pooled_ = false;
  }

  /// Sets the candidates that later questions are about: the tokens in `ranks` parts of a row.
  __device__ void look_at(const ToldPart* parts, int ranks, std::int64_t stride) {
    static_assert(kMaxToldRanks * kToldTokens <= kPool && kPool <= kThreads);
    if (team_.leads() && threadIdx.x == 0) room_.pool_count = 0;
    team_.sync();
    const int rank = static_cast<int>(threadIdx.x) / kToldTokens;
    const int at = static_cast<int>(threadIdx.x) % kToldTokens;
    if (team_.leads() && rank < ranks && at < parts[rank * stride].count) {
      const ToldToken& token = (&parts[rank * stride].tokens[0])[at];
      room_.pool[atomicAdd(&room_.pool_count, 1U)] = {token.logit, token.token};
    }
    team_.sync();
    pooled_ = true;
  }

  /// Returns the key of the best token; 0 if no logit is a number above -inf.
  __device__ Key best() {
    own_best_ = -INFINITY;
    int id = -1;
    each([&](int at, float logit) {
      if (logit > own_best_) {
        own_best_ = logit;
        id = at;
      }
    });
    return team_.max(id < 0 ? 0 : key_of(own_best_, id));
  }

  /// Returns the sum of term(id, logit) over all tokens.
  template <class Term>
  __device__ Units sum(const Term& term) {
    Units sum = 0;
    each([&](int id, float logit) { sum += term(id, logit); });
    return team_.sum(sum);
  }

  /// Returns the greatest term(id, logit).
  template <class Term>
  __device__ Key max(const Term& term) {
    Key most = 0;
    each([&](int id, float logit) {
      const Key key = term(id, logit);
      most = key > most ? key : most;
    });
    return team_.max(most);
  }

  /// Selects the `count` best tokens; call best() first. A small `count` needs no histogram of the
  /// row: the `count` greatest maxima of threads bound the count-th best from below, and few more
  /// tokens are above that bound.
  template <class Counted>
  __device__ Selected select_best(const LogitOrder& order, Units count) {
    const auto wanted = [count](Units) { return count; };
    const Counted counted;
    if (!pooled_ && count <= kFew) {
      clear_bins();
      if (own_best_ > -INFINITY) atomicAdd(&room_.counts[order.bin(0, own_best_)], 1U);
      team_.sync();
      if constexpr (kBlocks > 1) merge_bins<true>();
      find_bin<true>(wanted, 0);
      const int bin = room_.found.bin;
      if (bin >= 0 && bin < kBins - 1) {
        collect(
            [&](int id, float logit) { return logit > -INFINITY && order.bin(id, logit) <= bin; });
        if (team_.lead(room_.pool_count) <= kPool) {
          pooled_ = true;
          return select_from_pool(order, counted, wanted, 0, false, 0);
        }
      }
    }
    return select(order, counted, wanted, true);
  }

  /// Selects the best tokens by `order` until their units reach wanted(total), which is at least 1.
  /// With `keeps_pool`, later questions may be about the remaining few tokens alone.
  template <class Order, class Weigh, class Wanted>
  __device__ Selected select(const Order& order, const Weigh& units, const Wanted& wanted,
                             bool keeps_pool) {
    if (pooled_) return select_from_pool(order, units, wanted, 0, false, 0);
    Path path;
    Units above = 0;
    Units mark = 0;
    Units total = 0;
    for (;; ++path.level) {
      fill_bins(order, units, path);
      find_bin<Weigh::kCounts>([&](Units sum) { return path.level == 0 ? wanted(sum) : mark; },
                               above);
      const Found found = room_.found;
      if (path.level == 0) {
        total = found.total;
        mark = wanted(total);
        if (found.bin < 0) return {0, total};
        if (keeps_pool && found.count_above + found.count <= kPool) {
          collect([&](int id, float logit) {
            return order.bin(id, logit) <= found.bin && units(id, logit) > 0;
          });
          pooled_ = true;
          return select_from_pool(order, units, wanted, 0, true, total);
        }
        path.bin = found.bin;
      } else {
        path.prefix = path.prefix << path.width() | static_cast<Key>(kBins - 1 - found.bin);
      }
      above = found.above;
      if (found.count <= kPool) break;
    }
    ++path.level;
    collect(
        [&](int id, float logit) { return units(id, logit) > 0 && path.has(order, id, logit); });
    return select_from_pool(order, units, [&](Units) { return mark; }, above, true, total);
  }

  /// Calls body(place, id, logit) for the tokens that select_best() selected, at most kPool; the
  /// best has place 0. The first block's threads call it, one for each token.
  template <class Body>
  __device__ void each_selected(const Selected& selected, const Body& body) {
    if (!pooled_) {
      collect([&](int id, float logit) {
        return logit > -INFINITY && key_of(logit, id) >= selected.least;
      });
    }
    const unsigned gathered = team_.leads() ? room_.pool_count : 0;
    if (threadIdx.x >= gathered) return;
    const PoolEntry own = room_.pool[threadIdx.x];
    const Key key = key_of(own.logit, own.id);
    if (key < selected.least) return;
    unsigned before = 0;
    for (unsigned i = 0; i < gathered; ++i) {
      before += key_of(room_.pool[i].logit, room_.pool[i].id) > key ? 1U : 0U;
    }
    body(before, own.id, own.logit);
  }

 private:
  static constexpr int kThreads = Squad::kThreads;
  static constexpr int kTile = 4 * kWarp;  // logits that a warp reads at a time
  static constexpr int kInFlight = 2;      // reads that a thread has in flight
  static constexpr Units kFew = 256;

  /// The tokens that the next histogram counts: all tokens of a bin of the first histogram, then
  /// tokens whose keys begin with the digits found so far.
  struct Path {
    int level = 0;
    int bin = 0;
    Key prefix = 0;

    /// The last digit has the remaining bits of 64.
    [[nodiscard]] __device__ unsigned width() const { return level == 6 ? 9U : kDigitBits; }
    [[nodiscard]] static __device__ unsigned bits_after(int digits) {
      return digits >= 6 ? 0U : 64U - kDigitBits * static_cast<unsigned>(digits);
    }
    template <class Order>
    [[nodiscard]] __device__ bool has(const Order& order, int id, float logit) const {
      if (level == 0) return true;
      if (order.bin(id, logit) != bin) return false;
      return level == 1 || order.key(id, logit) >> bits_after(level - 1) == prefix;
    }
    template <class Order>
    [[nodiscard]] __device__ int bin_of(const Order& order, int id, float logit) const {
      if (level == 0) return order.bin(id, logit);
      const auto mask = (1U << width()) - 1U;
      return kBins - 1 - static_cast<int>(order.key(id, logit) >> bits_after(level) & mask);
    }
  };

  /// Calls body(id, logit) for this block's tokens, always in whole warps: lanes without a token
  /// get NaN.
  template <class Body>
  __device__ void each(const Body& body) const {
    if (!pooled_) {
      each_four([&](int first, const Four& four) {
#pragma unroll
        for (int j = 0; j < 4; ++j) body(first + j, four.at[j]);
      });
      return;
    }
    const unsigned count = team_.leads() ? room_.pool_count : 0;
    if (count == 0) return;
    const unsigned at = threadIdx.x;
    const PoolEntry entry = room_.pool[min(at, count - 1)];
    body(entry.id, at < count ? entry.logit : kNoNumber);
  }

  /// Reads the row four logits at a time.
  template <class Body>
  __device__ void each_four(const Body& body) const {
    const int lane = threadIdx.x % kWarp;
    const bool aligned = (reinterpret_cast<std::uintptr_t>(row_) & 15U) == 0;
    for (int first = begin_ + static_cast<int>(threadIdx.x / kWarp) * kTile; first < end_;
         first += kInFlight * kThreads * 4) {
      Four fours[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int at = first + i * kThreads * 4 + 4 * lane;
        if (aligned && at + 4 <= end_) {
          fours[i] = load_four(DType::kF32, row_, at);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) fours[i].at[j] = at + j < end_ ? row_[at + j] : kNoNumber;
        }
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) body(first + i * kThreads * 4 + 4 * lane, fours[i]);
    }
  }

  template <bool kCounts>
  __device__ void add(int bin, unsigned count, Units units) {
    atomicAdd(&room_.counts[bin], count);
    if constexpr (!kCounts) {
      const auto low = static_cast<unsigned>(units);
      const unsigned old = atomicAdd(&room_.low[bin], low);
      const unsigned high = static_cast<unsigned>(units >> 32U) + (old + low < old ? 1U : 0U);
      if (high != 0) atomicAdd(&room_.high[bin], high);
    }
  }

  /// Adds a warp's tokens together, since atomics to the same bin would wait for each other.
  template <bool kCounts>
  __device__ void add_warp(int bin, Units units) {
    const unsigned own = __ballot_sync(kWholeWarp, units > 0);
    if (own == 0) return;
    const int leader = __ffs(static_cast<int>(own)) - 1;
    const int common = __shfl_sync(kWholeWarp, bin, leader);
    if (__all_sync(kWholeWarp, units == 0 || bin == common) != 0) {
      if constexpr (!kCounts) units = warp_sum(units);
      if (threadIdx.x % kWarp == static_cast<unsigned>(leader)) {
        add<kCounts>(common, static_cast<unsigned>(__popc(own)), units);
      }
    } else if (units > 0) {
      add<kCounts>(bin, 1, units);
    }
  }

  __device__ void clear_bins() {
    for (int bin = threadIdx.x; bin < kBins; bin += kThreads) {
      room_.counts[bin] = 0;
      room_.low[bin] = 0;
      room_.high[bin] = 0;
    }
    __syncthreads();
  }

  template <class Order, class Weigh>
  __device__ void fill_bins(const Order& order, const Weigh& units, const Path& path) {
    clear_bins();
    if (Order::kByTiles && path.level == 0 && !pooled_) {
      each_four([&](int first, const Four& four) {
        Units sum = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) sum += units(first + j, four.at[j]);
        sum = warp_sum(sum);
        // An upper bound of the number of tokens is enough: some may have no units.
        if (threadIdx.x % kWarp == 0 && sum > 0) {
          add<false>(order.bin(first, 0), static_cast<unsigned>(kTile), sum);
        }
      });
    } else {
      // In most rows most tokens are in the last bin, so each thread adds up its own share of it.
      Units last = 0;
      unsigned last_count = 0;
      each([&](int id, float logit) {
        Units own = path.has(order, id, logit) ? units(id, logit) : 0;
        const int bin = own > 0 ? path.bin_of(order, id, logit) : 0;
        if (bin == kBins - 1) {
          last += own;
          ++last_count;
          own = 0;
        }
        add_warp<Weigh::kCounts>(bin, own);
      });
      last = warp_sum(last);
      last_count = __reduce_add_sync(kWholeWarp, last_count);
      if (threadIdx.x % kWarp == 0 && last_count > 0) {
        add<Weigh::kCounts>(kBins - 1, last_count, last);
      }
    }
    team_.sync();
    if constexpr (kBlocks > 1) merge_bins<Weigh::kCounts>();
  }

  /// Each block adds up its share of the bins over all blocks, into the lead block's bins.
  template <bool kCounts>
  __device__ void merge_bins() {
    constexpr int kOwn = kBins / kBlocks;
    for (int i = threadIdx.x; i < kOwn; i += kThreads) {
      const int bin = team_.rank() * kOwn + i;
      unsigned count = 0;
      Units units = 0;
#pragma unroll
      for (int rank = 0; rank < kBlocks; ++rank) {
        count += team_.of(rank, room_.counts[bin]);
        if constexpr (!kCounts) {
          units += team_.of(rank, room_.low[bin]) + (Units{team_.of(rank, room_.high[bin])} << 32U);
        }
      }
      team_.lead(room_.counts[bin]) = count;
      if constexpr (!kCounts) {
        team_.lead(room_.low[bin]) = static_cast<unsigned>(units);
        team_.lead(room_.high[bin]) = static_cast<unsigned>(units >> 32U);
      }
    }
    team_.sync();
  }

  /// Returns the sum over the block's threads before this one.
  template <class Number>
  __device__ Number sum_before(Number own, Number& total) {
    const unsigned lane = threadIdx.x % kWarp;
    Number sum = own;
#pragma unroll
    for (unsigned step = 1; step < kWarp; step *= 2) {
      const Number other = __shfl_up_sync(kWholeWarp, sum, step);
      if (lane >= step) sum += other;
    }
    Units* warps = room_.team.warps;
    if (lane == kWarp - 1) warps[threadIdx.x / kWarp] = sum;
    __syncthreads();
    const unsigned warp = threadIdx.x / kWarp;
    const Units part = lane < Squad::kWarps ? warps[lane] : 0;
    const auto before = static_cast<Number>(warp_sum(lane < warp ? part : 0));
    total = static_cast<Number>(warp_sum(part));
    __syncthreads();
    return before + sum - own;
  }

  /// Finds the bin in which the units reach wanted(total), and writes it to all blocks' `found`.
  template <bool kCounts, class Wanted>
  __device__ void find_bin(const Wanted& wanted, Units above) {
    if (team_.leads()) {
      constexpr int kOwn = kBins / kThreads;
      const int first = static_cast<int>(threadIdx.x) * kOwn;
      const auto units_at = [&](int bin) -> Units {
        if constexpr (kCounts) return room_.counts[bin];
        return room_.low[bin] + (Units{room_.high[bin]} << 32U);
      };
      Units own = 0;
      unsigned own_count = 0;
      for (int i = 0; i < kOwn; ++i) {
        own += units_at(first + i);
        own_count += room_.counts[first + i];
      }
      Units total = 0;
      unsigned all = 0;
      Units before = above + sum_before(own, total);
      unsigned count_before = sum_before(own_count, all);
      total += above;
      const Units mark = wanted(total);
      if (mark > total) {
        if (threadIdx.x == 0) team_.tell(room_.found, {-1, 0, all, total, total});
      } else if (before < mark && mark <= before + own) {
        int bin = first;
        for (; before + units_at(bin) < mark; ++bin) {
          before += units_at(bin);
          count_before += room_.counts[bin];
        }
        team_.tell(room_.found, {bin, room_.counts[bin], count_before, before, total});
      }
    }
    team_.sync();
  }

  template <class IsWanted>
  __device__ void collect(const IsWanted& is_wanted) {
    if (team_.leads() && threadIdx.x == 0) room_.pool_count = 0;
    team_.sync();
    unsigned& count = team_.lead(room_.pool_count);
    each([&](int id, float logit) {
      if (!is_wanted(id, logit)) return;
      const unsigned at = atomicAdd(&count, 1U);
      if (at < kPool) team_.lead(room_.pool[at]) = {logit, id};
    });
    team_.sync();
  }

  /// Each token of the pool adds up the units of the tokens before it. `above` is the sum of tokens
  /// before the whole pool; `total` is known, or the pool's sum.
  template <class Order, class Weigh, class Wanted>
  __device__ Selected select_from_pool(const Order& order, const Weigh& units, const Wanted& wanted,
                                       Units above, bool knows_total, Units total) {
    const unsigned count = team_.leads() ? min(room_.pool_count, unsigned{kPool}) : 0U;
    const unsigned at = threadIdx.x;
    Key key = 0;
    Units own = 0;
    if (at < count) {
      const PoolEntry entry = room_.pool[at];
      own = units(entry.id, entry.logit);
      key = order.key(entry.id, entry.logit);
      room_.pool_keys[at] = key;
      room_.pool_units[at] = own;
    }
    if (!knows_total) total = team_.sum(own);
    __syncthreads();
    const Units mark = wanted(total);
    Units sum = above;
    const unsigned others = own > 0 ? count : 0;
#pragma unroll 8
    for (unsigned i = 0; i < others; ++i) {
      sum += room_.pool_keys[i] >= key ? room_.pool_units[i] : 0;
    }
    const Key least = team_.max(own > 0 && sum >= mark ? key : 0);
    return {least, total};
  }

  static constexpr float kNoNumber = __builtin_nanf("");

  Squad& team_;
  SelectRoom<kBlocks>& room_;
  const float* row_ = nullptr;
  float own_best_ = 0;  ///< the greatest logit that this thread reads
  bool pooled_ = false;
  int begin_ = 0;
  int end_ = 0;
};

}  // namespace weft::cuda
