#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/open_model.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/micro_batch.h"
#include "weft/train/step/trained_model.h"

namespace weft::test {

/// Appends a sequence whose first `skipped` tokens are not predicted.
inline void append(MicroBatch& batch, const std::vector<TokenId>& ids, std::size_t skipped) {
  batch.spans.push_back(
      {static_cast<std::int64_t>(batch.ids.size()), static_cast<std::int64_t>(ids.size())});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    batch.ids.push_back(ids[i]);
    const bool last = i + 1 == ids.size();
    batch.targets.push_back(last ? 0 : ids[i + 1]);
    batch.weights.push_back(!last && i + 1 >= skipped ? 1.0F : 0.0F);
  }
}

inline double weight_of(const MicroBatch& batch) {
  double sum = 0;
  for (const float weight : batch.weights) sum += weight;
  return sum;
}

/// A case of make_training.py.
struct TrainingCase {
  explicit TrainingCase(const std::string& name)
      : folder(std::filesystem::path(source_path("tests/train/data/training")) / name),
        expected(folder / "expected.safetensors") {}

  [[nodiscard]] OpenedModel open(std::string_view weights = "f32") const {
    std::string base = read_text_file(folder / "base", kAnySize).value();
    base.erase(base.find_last_not_of('\n') + 1);
    return open_model(source_path(base), {}, weights).value();
  }

  /// The base with the adapter at which training begins, whose numbers do not depend on the base's
  /// encoding.
  [[nodiscard]] TrainedModel load(const OpenedModel& opened, int threads = 1,
                                  double dropout = 0) const {
    TrainingProgram program =
        make_training_program(*opened.architecture, *opened.checkpoint).value();
    const OpenedModel plain = open();
    const Adapter bound = bind_adapter(read_adapter(folder).value(), *plain.checkpoint,
                                       *plain.program, *plain.architecture)
                              .value();
    LowRankPairs pairs = pairs_of(program, *opened.architecture, bound).value();
    pairs.dropout = dropout;
    return TrainedModel::load(opened, std::move(program), std::move(pairs),
                              {.threads = threads, .tokens = 48})
        .value();
  }
  [[nodiscard]] TrainedModel load(int threads = 1, std::string_view weights = "f32") const {
    return load(open(weights), threads);
  }

  [[nodiscard]] std::vector<TokenId> ids(int sequence) const {
    return expected.ids("ids_", sequence % 4);
  }
  /// The sequences of a step, packed.
  [[nodiscard]] MicroBatch batch_of(int step) const {
    MicroBatch batch;
    append(batch, ids(2 * step), 3);
    append(batch, ids(2 * step + 1), 3);
    return batch;
  }
  [[nodiscard]] std::vector<float> numbers(const std::string& name) const {
    const CheckpointTensor* tensor = expected.find(name);
    std::vector<float> values;
    if (tensor == nullptr) return values;
    values.resize(tensor->size / sizeof(float));
    read_values(*tensor, 0, 1, values).value();
    return values;
  }

  std::filesystem::path folder;
  ReferenceNumbers expected;
};

}  // namespace weft::test
