#pragma once

#include <cstdint>
#include <future>
#include <memory>

#include "weft/actors/training/training_task.h"
#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/training_work.h"

namespace weft {
class Pipeline;
}

namespace weft::measure {

/// How much a pipeline trained while a load ran.
struct TrainingRun {
  std::uint64_t pieces = 0;
  double seconds = 0;  ///< duration of the load
};

/// Training that a pipeline carries out beside a load. One thread at a time.
class TrainingBeside {
 public:
  /// Begins to train `work`, and returns once an iteration has ended: the pipeline knows from then
  /// on how long one takes. Throws boost::system::system_error with the error that ended the
  /// training. `pipeline` must outlive the training.
  TrainingBeside(Pipeline& pipeline, std::shared_ptr<TrainingWork> work);
  TrainingBeside(const TrainingBeside&) = delete;
  TrainingBeside& operator=(const TrainingBeside&) = delete;
  /// Ends the training, and returns once the work is the caller's again.
  ~TrainingBeside();

  /// Begins to count training.
  void begin_load();
  /// Returns what was trained since begin_load(). Throws as the constructor does.
  [[nodiscard]] TrainingRun end_load();

 private:
  void check() const;

  TrainingTask task_;
  std::shared_future<Result<void>> ended_;
  std::uint64_t pieces_before_ = 0;
  TimePoint began_{};
};

}  // namespace weft::measure
