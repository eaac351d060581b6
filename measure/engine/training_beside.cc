#include "weft/measure/engine/training_beside.h"

#include <boost/system/system_error.hpp>
#include <chrono>
#include <utility>

#include "weft/actors/pipeline.h"

namespace weft::measure {
namespace {

// The interval between checks for the end of the first iteration.
constexpr std::chrono::milliseconds kLook{1};

}  // namespace

TrainingBeside::TrainingBeside(Pipeline& pipeline, std::shared_ptr<TrainingWork> work)
    : task_(std::move(work)) {
  const auto promise = std::make_shared<std::promise<Result<void>>>();
  ended_ = promise->get_future().share();
  const std::int64_t before = task_.progress().iterations_done;
  pipeline.train(task_.state(), [promise](const Result<void>& end) { promise->set_value(end); });
  while (task_.progress().iterations_done == before &&
         ended_.wait_for(kLook) != std::future_status::ready) {
  }
  check();
}

TrainingBeside::~TrainingBeside() {
  task_.cancel();
  ended_.wait();
}

void TrainingBeside::begin_load() {
  pieces_before_ = task_.progress().pieces;
  began_ = std::chrono::steady_clock::now();
}

TrainingRun TrainingBeside::end_load() {
  check();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
  return {task_.progress().pieces - pieces_before_, took.count()};
}

/// Throws if the training has failed. Work that has ended is no failure.
void TrainingBeside::check() const {
  if (ended_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const Result<void>& end = ended_.get();
  if (!end) throw boost::system::system_error(end.error().code, end.error().detail);
}

}  // namespace weft::measure
