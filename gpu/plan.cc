#include "weft/gpu/plan.h"

namespace weft {

void Plan::clear() {
  tick = 0;
  first_row = 0;
  rows = 0;
  slab_copies.clear();
  moves.clear();
  starts.clear();
  tables.clear();
  copies.clear();
  adapters.clear();
  restores.clear();
  encodes.clear();
  entries.clear();
  snapshots.clear();
  forks.clear();
  samples.clear();
  ids.clear();
  pages.clear();
  training_pieces = 0;
}

void StepResult::clear() {
  samples.clear();
  top.clear();
  took = {};
  swapped = 0;
  swapping = {};
  adapters.clear();
  training = {};
  drafting = {};
}

}  // namespace weft
