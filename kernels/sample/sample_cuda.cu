#include "weft/kernels/sample/philox.h"
#include "weft/kernels/sample/sample_cuda.h"
#include "weft/kernels/sample/sample_edits_cuda.cuh"
#include "weft/kernels/sample/sample_select_cuda.cuh"
#include "weft/kernels/sample/sample_weights_cuda.cuh"

namespace weft::cuda {
namespace {

/// Orders tokens by how near their surprise is to the mean. Of two equally near tokens the more
/// probable comes first. Of equally probable tokens the one nearer the mean in the order of logits
/// comes first, so the selected tokens are contiguous in that order.
struct TypicalOrder {
  static constexpr bool kByTiles = false;

  float best = 0;
  float inverse = 1;
  double mean = 0;

  __device__ double difference(float logit) const {
    return static_cast<double>(distance_of(logit, best, inverse)) - mean;
  }
  __device__ Key key(int id, float logit) const {
    const double above = difference(logit);
    const auto near = ~__float_as_uint(static_cast<float>(fabs(above)));
    const auto number = static_cast<unsigned>(id);
    return Key{near} << 32U | (above > 0 ? 0x80000000U | number : ~number & 0x7fffffffU);
  }
  __device__ int bin(int /*id*/, float logit) const {
    const double at = fabs(difference(logit)) * 64;
    return at < kBins - 1 ? static_cast<int>(at) : kBins - 1;
  }
};

/// Orders weights from the greatest down, equal weights by the lower id: the order in which the
/// host selects without sorting.
struct WeightOrder {
  static constexpr bool kByTiles = false;

  float best;
  float inverse;
  unsigned least_bin;  ///< all lower bins share the last

  /// Tokens that weigh less than `negligible` are unlikely to be selected.
  __device__ WeightOrder(float greatest, float inverse_temperature, float negligible)
      : best(greatest), inverse(inverse_temperature), least_bin(bin_of(negligible)) {}

  __device__ float weight(float logit) const {
    return exp_of_negative(distance_of(logit, best, inverse));
  }
  __device__ Key key(int id, float logit) const { return key_of(weight(logit), id); }
  __device__ int bin(int /*id*/, float logit) const {
    const unsigned below = bin_of(weight(logit));
    return static_cast<int>(below <= least_bin ? below : kBins - 1);
  }

 private:
  /// 64 bins for each power of two, down to negligible weights.
  static __device__ unsigned bin_of(float weight) {
    const unsigned below = (0x3f800000U - __float_as_uint(weight)) >> 17U;
    return min(below, static_cast<unsigned>(kBins - 1));
  }
};

/// The tokens that the steps have kept, and their weights.
struct Kept {
  static constexpr bool kCounts = false;

  float best;
  float inverse;
  Key least_logit = 0;
  bool is_typical = false;
  TypicalOrder typical;
  Key least_typical = 0;
  Key least_of_weights = 0;
  float least_weight = 0;

  /// Returns a token's weight, 0 if it is not kept.
  __device__ float weight(int id, float logit) const {
    const float distance = distance_of(logit, best, inverse);
    if (!(distance > -INFINITY)) return 0;
    if (least_logit != 0 && key_of(logit, id) < least_logit) return 0;
    if (is_typical && typical.key(id, logit) < least_typical) return 0;
    const float weight = exp_of_negative(distance);
    if (least_of_weights != 0 && key_of(weight, id) < least_of_weights) return 0;
    return weight < least_weight ? 0 : weight;
  }
  __device__ Units operator()(int id, float logit) const { return units_of(weight(id, logit)); }
};

/// Returns a fraction of the total units, at least one unit.
struct PartOf {
  float part;

  __device__ Units operator()(Units total) const {
    return max(static_cast<Units>(ceil(static_cast<double>(part) * static_cast<double>(total))),
               Units{1});
  }
};

/// Makes one choice.
template <int kBlocks>
class Chooser {
 public:
  struct Room {
    SelectRoom<kBlocks> select;
    double number;
  };

  __device__ Chooser(const CudaSampleParams& params, int index, Room& room)
      : params_(params),
        item_(params.items[index]),
        settings_(params.settings[item_.slot]),
        choice_(params.choices[index]),
        vocabulary_(params.logits.width),
        team_(room.select.team),
        room_(room),
        selector_(team_, room.select, vocabulary_),
        logits_(static_cast<const float*>(row_of(params.logits, item_.output))),
        edited_(edits_logits(settings_, item_) ? params.edited + index * vocabulary_ : nullptr) {}

  __device__ void run() {
    const bool draws = settings_.temperature > 0 && settings_.top_k != 1 && !settings_.beams;
    if (draws && threadIdx.x == 0) {
      room_.number = uniform(settings_.seed, static_cast<std::uint64_t>(item_.position));
    }
    // No block may access the shared memory of a block that has not begun.
    if constexpr (kBlocks > 1) team_.sync();
    if (edited_ != nullptr) edit();
    if (is_told()) {
      selector_.look_at(&told_by(0), params_.told.ranks, params_.told.rank_stride);
    } else {
      selector_.look_at(edited_ != nullptr ? edited_ : logits_);
    }
    const Key best = selector_.best();
    TokenId token = best == 0 ? kNoToken : index_of(best);
    if (best != 0 && draws) token = draw(number_of(best));
    if (is_scribe()) {
      params_.last_tokens[item_.slot] = token;
      choice_.token = token;
      choice_.logprob = 0;
      choice_.top_count = 0;
    }
    if (best != 0 && (settings_.beams || settings_.logprobs || settings_.top_count > 0)) {
      tell_logprobs(token, best);
    }
    // Nor of a block that has ended.
    if constexpr (kBlocks > 1) team_.sync();
  }

 private:
  [[nodiscard]] __device__ bool is_scribe() const { return team_.leads() && threadIdx.x == 0; }

  /// Whether logits are here only as the ranks' summaries (ToldPart).
  [[nodiscard]] __device__ bool is_told() const { return params_.told.parts != nullptr; }
  [[nodiscard]] __device__ const ToldPart& told_by(int rank) const {
    return params_.told.parts[rank * params_.told.rank_stride + item_.output];
  }

  __device__ void edit() {
    const SampleLists& lists = params_.lists[item_.slot];
    LogitEditor editor(edited_, selector_.begin(), selector_.end());
    const std::int64_t words = TokenMasks::words(vocabulary_);
    editor.copy(logits_, item_.mask < 0 ? nullptr : params_.masks.bits + item_.mask * words);
    if (settings_.biases > 0) {
      editor.add_biases(&lists.bias_token[0], &lists.bias[0], settings_.biases);
    }
    if (settings_.bad > 0) editor.mask(&lists.bad[0], settings_.bad);
    if (settings_.allowed > 0) editor.mask_all_but(&lists.allowed[0], settings_.allowed);
    if (masks_stops(settings_, item_)) editor.mask(&lists.stops[0], settings_.stops);
    if (settings_.counts) {
      const TokenCounts& counts = params_.counts;
      editor.penalize(settings_, counts.counts + item_.slot * counts.vocabulary);
    }
  }

  __device__ TokenId draw(float best) {
    Kept kept{best, 1.0F / settings_.temperature};
    const LogitOrder by_logit{best};
    const auto top_k = static_cast<Units>(max(settings_.top_k, 0));
    if (top_k > 0 && top_k < static_cast<Units>(vocabulary_)) {
      kept.least_logit = selector_.template select_best<Counted>(by_logit, top_k).least;
    }
    const bool is_typical = settings_.typical_p < 1;
    if (is_typical) keep_typical(kept);
    if (settings_.top_p < 1) {
      const PartOf part{settings_.top_p};
      if (is_typical) {
        const Key least = selector_.select(by_logit, kept, part, true).least;
        kept.least_logit = max(kept.least_logit, least);
      } else {
        // Tokens that are lighter weigh together less than half of the mass that may be left out.
        const float negligible =
            max(0.5F * (1.0F - settings_.top_p) / static_cast<float>(vocabulary_), 0.0F);
        const WeightOrder by_weight(kept.best, kept.inverse, min(negligible, 1.0F));
        kept.least_of_weights = selector_.select(by_weight, kept, part, true).least;
      }
    }
    if (settings_.min_p > 0) keep_min_p(kept, is_typical);
    const auto mark = [number = room_.number](Units total) {
      const auto passed = static_cast<Units>(number * static_cast<double>(total));
      return min(passed + 1, total);
    };
    if (is_typical) return index_of(selector_.select(by_logit, kept, mark, false).least);
    return index_of(selector_.select(IdOrder(vocabulary_), kept, mark, false).least);
  }

  __device__ void keep_typical(Kept& kept) {
    const Units mass = selector_.sum(kept);
    const Units moment = selector_.sum([&](int id, float logit) {
      const double weight = kept.weight(id, logit);
      const double distance = distance_of(logit, kept.best, kept.inverse);
      return weight > 0 ? __double2ull_rn(-weight * distance * 0x1p40) : 0;
    });
    const double mean = -static_cast<double>(moment) / static_cast<double>(mass);
    const TypicalOrder order{kept.best, kept.inverse, mean};
    kept.least_typical = selector_.select(order, kept, PartOf{settings_.typical_p}, true).least;
    kept.typical = order;
    kept.is_typical = true;
  }

  /// Applies min_p relative to the best kept token; it weighs 1 unless typical_p dropped the best.
  __device__ void keep_min_p(Kept& kept, bool is_typical) {
    double heaviest = 1;
    if (is_typical) {
      const Key key = selector_.max(
          [&](int id, float logit) { return kept.weight(id, logit) > 0 ? key_of(logit, id) : 0; });
      heaviest = exp_of_negative(distance_of(number_of(key), kept.best, kept.inverse));
    }
    // The least float that is at least the product.
    kept.least_weight =
        __double2float_ru(static_cast<double>(min(settings_.min_p, 1.0F)) * heaviest);
  }

  /// Reports logprobs by the model's logits, or for beams by the edited logits.
  __device__ void tell_logprobs(TokenId token, Key best) {
    const bool by_edited = settings_.beams && edited_ != nullptr;
    const float* row = by_edited ? edited_ : logits_;
    if (!is_told()) selector_.look_at(row);
    if (!by_edited && edited_ != nullptr) best = selector_.best();
    const float greatest = number_of(best);
    const double log_mass = log(mass(greatest));
    const auto logprob = [&](float logit) {
      return static_cast<float>(static_cast<double>(distance_of(logit, greatest, 1)) - log_mass);
    };
    // A beam search reports the best one, since other blocks' edits cannot be read here.
    const float chosen = by_edited ? greatest : logit_of(token, row);
    if (is_scribe()) choice_.logprob = logprob(chosen);
    if (settings_.top_count > 0) tell_top(greatest, logprob);
  }

  [[nodiscard]] __device__ float logit_of(TokenId token, const float* row) {
    if (!is_told()) return row[token];
    // The selector pads with NaN, under the id of a token.
    return number_of(selector_.max([&](int id, float logit) {
      return id == token && logit > -INFINITY ? key_of(logit, id) : 0;
    }));
  }

  /// Returns the weight of all tokens together, relative to the best logit.
  [[nodiscard]] __device__ double mass(float best) {
    if (!is_told()) return static_cast<double>(selector_.sum(Weighed{best})) * kUnit;
    double sum = 0;
    for (int rank = 0; rank < params_.told.ranks; ++rank) {
      const ToldPart& part = told_by(rank);
      if (part.count == 0) continue;
      const float distance = distance_of(part.tokens[0].logit, best, 1);
      sum += static_cast<double>(part.sum) * kUnit * exp(static_cast<double>(distance));
    }
    return sum;
  }

  template <class Logprob>
  __device__ void tell_top(float best, const Logprob& logprob) {
    const auto count = static_cast<Units>(min(settings_.top_count, kMaxTop));
    const Selected selected = selector_.template select_best<Counted>(LogitOrder{best}, count);
    if (is_scribe()) choice_.top_count = static_cast<std::int32_t>(min(count, selected.total));
    selector_.each_selected(selected, [&](unsigned place, int id, float logit) {
      (&choice_.top[0])[place] = {id, logprob(logit)};
    });
  }

  const CudaSampleParams& params_;
  SampleItem item_;
  const SampleSettings& settings_;
  SampleChoice& choice_;
  std::int64_t vocabulary_;
  Team<kBlocks> team_;
  Room& room_;
  Selector<kBlocks> selector_;
  const float* logits_;
  float* edited_;  ///< null if no step edits the logits
};

template <int kBlocks>
__global__ void __launch_bounds__(Team<kBlocks>::kThreads)
    sample_kernel(const __grid_constant__ CudaSampleParams params) {
  if constexpr (kIsLaunched<kBlocks>) {
    __shared__ typename Chooser<kBlocks>::Room room;
    let_successor_start();
    wait_for_predecessor();
    const int index = static_cast<int>(blockIdx.x) / kBlocks;
    const bool is_skipped = params.items[index].skipped;
    if (index >= *params.item_count || is_skipped) return;
    Chooser<kBlocks>(params, index, room).run();
  }
}

}  // namespace

Status sample(const CudaSampleParams& params, Stream stream) {
  // The ranks' summaries are too small to share.
  const bool shares = params.told.parts == nullptr &&
                      shares_rows(params.blocks, params.logits.width, params.max_items);
  return launch_teams(sample_kernel<1>, sample_kernel<kClusterBlocks>, shares, params.max_items,
                      stream, params);
}

}  // namespace weft::cuda
