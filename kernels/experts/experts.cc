#include "weft/kernels/experts/experts.h"

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

void check_groups(const RouteParams& params, std::int64_t experts) {
  require(params.spec.groups >= 1 && experts % params.spec.groups == 0, "route: groups");
  const std::int64_t group = experts / params.spec.groups;
  require(params.spec.chosen_groups >= 1 && params.spec.chosen_groups <= params.spec.groups &&
              params.spec.group_best >= 1 && params.spec.group_best <= group,
          "route: chosen_groups or group_best");
  require(params.spec.chosen >= 1 && params.spec.chosen <= params.spec.chosen_groups * group,
          "route: chosen");
}

/// Requires room for each of the T * k choices, one for every token and rank.
template <class T>
void check_choices(std::span<T> choices, std::int64_t count) {
  require(static_cast<std::int64_t>(choices.size()) >= count, "experts: too few places for T * k");
}

}  // namespace

void route(const RouteParams& params, Share share) {
  if (share.index != 0) return;
  const std::int64_t tokens = params.scores.count;
  const std::int64_t experts = params.scores.width;
  require(experts >= 1 && experts <= kMaxExperts, "route: the number of experts");
  require(holds_rows(params.scores, tokens, experts), "route: scores");
  check_groups(params, experts);
  const std::int64_t choices = tokens * params.spec.chosen;
  check_choices(params.expert_of, choices);
  check_choices(params.weight_of, choices);
  check_choices(params.order, choices);
  check_choices(params.token_of, choices);
  require(static_cast<std::int64_t>(params.starts.size()) > experts, "route: starts");
  cpu::route(params);
}

void invert_order(const CombineParams& params, Share share) {
  if (share.index != 0) return;
  check_choices(params.place_of, static_cast<std::int64_t>(params.order.size()));
  const auto places = static_cast<std::int32_t>(params.order.size());
  for (std::int32_t place = 0; place < places; ++place) {
    const std::int32_t choice = params.order[static_cast<std::size_t>(place)];
    require(choice >= 0 && choice < places, "invert_order: no such choice");
    params.place_of[static_cast<std::size_t>(choice)] = place;
  }
}

void combine(const CombineParams& params, Share share) {
  const std::int64_t tokens = params.out.count;
  const std::int64_t width = params.out.width;
  const std::int64_t choices = tokens * params.chosen;
  require(params.chosen >= 1 && holds_rows(params.out, tokens, width), "combine: out");
  require(holds_rows(params.in, choices, width), "combine: in does not fit out");
  require(params.residual.data == nullptr || holds_rows(params.residual, tokens, width),
          "combine: residual does not fit out");
  check_choices(params.weight_of, choices);
  check_choices(params.place_of, choices);
  if (params.experts.count > 0) check_choices(params.expert_of, choices);
  cpu::combine(params, share);
}

}  // namespace weft
