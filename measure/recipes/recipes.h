#pragma once

#include "weft/measure/recipe.h"
#include "weft/measure/report/report.h"

/// The experiments behind recipes(); recipe.h says how they fail.
namespace weft::measure {

/// Requests at a constant interval (Flover, figure 4).
[[nodiscard]] Report flover_constant(const RecipeSetup& setup);
/// Requests of a Poisson process, from crowded to rare (Flover, figure 5).
[[nodiscard]] Report flover_poisson(const RecipeSetup& setup);
/// Random lengths, with and without the shuffle (Flover, figure 6).
[[nodiscard]] Report flover_shuffle(const RecipeSetup& setup);
/// Tokens over time under each policy, launches and threads (Flover, figure 7 and table I).
[[nodiscard]] Report flover_progress(const RecipeSetup& setup);
/// Throughput against median normalized latency (Orca, section 6.2).
[[nodiscard]] Report orca_load(const RecipeSetup& setup);
/// Normalized latency and mean batch against the request rate; the time outside the forward pass
/// (FineInfer).
[[nodiscard]] Report fineinfer_load(const RecipeSetup& setup);
/// Latency and training against the deferral bound, beside other policies of training (FineInfer).
[[nodiscard]] Report fineinfer_deferral(const RecipeSetup& setup);
/// One sequence's speed and the throughput of many on one partition (Inferflow, table 5), with as
/// many rows as it has sequences.
[[nodiscard]] Report inferflow_partition(const RecipeSetup& setup);
/// The acceptance of guesses, tokens a step and Inferflow's cost of speculation (its section 8)
/// beside what was measured, on outputs that are predicted, that repeat themselves, and others.
[[nodiscard]] Report inferflow_speculation(const RecipeSetup& setup);
/// Every batch policy over one load, beside batches that are kept full.
[[nodiscard]] Report policies(const RecipeSetup& setup);
/// Chat beside a flood of batch work, with and without classes.
[[nodiscard]] Report priority(const RecipeSetup& setup);

}  // namespace weft::measure
