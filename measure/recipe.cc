#include "weft/measure/recipe.h"

#include <algorithm>
#include <array>

#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

constexpr std::array kRecipes = {
    Recipe{"fineinfer-deferral",
           "latency and training by the deferral bound, beside other policies (FineInfer)",
           fineinfer_deferral},
    Recipe{"fineinfer-load",
           "latency and batch by rate, padded KV against pages; overhead (FineInfer)",
           fineinfer_load},
    Recipe{"flover-constant", "1 to 32 requests at a constant interval (Flover, figure 4)",
           flover_constant},
    Recipe{"flover-poisson", "requests of a Poisson process, crowded to rare (Flover, figure 5)",
           flover_poisson},
    Recipe{"flover-progress", "tokens over time under each policy (Flover, figure 7, table I)",
           flover_progress},
    Recipe{"flover-shuffle", "random lengths with and without the shuffle (Flover, figure 6)",
           flover_shuffle},
    Recipe{"inferflow-partition",
           "speed of one sequence and throughput of many on a partition (Inferflow, table 5)",
           inferflow_partition},
    Recipe{"inferflow-speculation",
           "acceptance, tokens a step and cost of guesses, by kind of output (Inferflow)",
           inferflow_speculation},
    Recipe{"orca-load", "throughput against latency, by iterations and by requests (Orca)",
           orca_load},
    Recipe{"policies", "every batch policy over one load, beside batches that are kept full",
           policies},
    Recipe{"priority", "chat beside a flood of batch work, with and without classes", priority},
};

}  // namespace

std::span<const Recipe> recipes() noexcept { return kRecipes; }

const Recipe* find_recipe(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kRecipes, name, &Recipe::name);
  return found == kRecipes.end() ? nullptr : found;
}

}  // namespace weft::measure
