#include "weft/gpu/cuda/step/recorded_steps.h"

#include <algorithm>
#include <utility>

#include "weft/gpu/cuda/cuda_device.h"

namespace weft::cuda {
namespace {

// Steps with more rows than this contain parts of prompts. Their rows are rounded up to a multiple
// of this number: so the library prepares for fewer shapes, and tiles are whole.
constexpr std::int64_t kRowStep = 128;

// A step without sequences runs first, so that recording a graph sets nothing up. In the form with
// summaries (StepView::tells) only the head runs: the ops before it have already run, and other
// stages, which lack that form, would not send a second time.
OwnedGraph record_graph(CudaDevice& device, const StepView& view) {
  Runtime& runtime = device.runtime();
  const OpList& decode = device.program().decode;
  device.writer().begin();
  device.writer().upload(device.stream(), view.rows, view.outputs, false);
  if (view.tells) {
    device.launch_head(view);
  } else {
    device.launch(decode, view);
  }
  device.synchronize();
  check(runtime, runtime.begin_capture(device.stream()), "recording a step");
  device.launch(decode, view);
  Graph graph = nullptr;
  check(runtime, runtime.end_capture(device.stream(), graph), "recording a step");
  return OwnedGraph(graph, {&runtime});
}

RecordedSteps::Graphs record_graphs(CudaDevice& device, StepView view, bool telling) {
  RecordedSteps::Graphs graphs;
  graphs.whole = record_graph(device, view);
  view.tells = true;
  if (telling) graphs.telling = record_graph(device, view);
  return graphs;
}

RecordedSteps::Step record_step(CudaDevice& device, StepView view, bool telling) {
  RecordedSteps::Step step;
  step.rows = view.rows;
  step.base = record_graphs(device, view, telling);
  view.adapts = true;
  if (device.adapter_loads() != nullptr) step.adapted = record_graphs(device, view, telling);
  return step;
}

/// Returns the powers of two from `least` on that are less than `most`, and `most`.
std::vector<std::int64_t> buckets_of(std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t bucket = least; bucket < most; bucket *= 2) buckets.push_back(bucket);
  buckets.push_back(most);
  return buckets;
}

RecordedSteps::Step* smallest_with_room(std::vector<RecordedSteps::Step>& steps,
                                        std::int64_t rows) {
  const auto found = std::ranges::find_if(
      steps, [rows](const RecordedSteps::Step& one) { return one.rows >= rows; });
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace

void RecordedSteps::record(CudaDevice& device, std::int64_t rows, std::int64_t verified) {
  for (const std::int64_t bucket : buckets_of(1, rows)) {
    const StepView view{.rows = bucket, .outputs = bucket, .decodes = true};
    steps_.push_back(record_step(device, view, device.layout().told.can_tell()));
  }
  if (verified == 0) return;
  // Steps with more rows take so long that launching op by op costs little.
  for (const std::int64_t bucket : buckets_of(2, std::min(verified, kRowStep))) {
    verifying_.push_back(record_step(device, {.rows = bucket, .outputs = bucket}, false));
  }
}

RecordedSteps::Step* RecordedSteps::fitting(std::int64_t rows) {
  return smallest_with_room(steps_, rows);
}

RecordedSteps::Step* RecordedSteps::verifying(std::int64_t rows) {
  return smallest_with_room(verifying_, rows);
}

std::int64_t RecordedSteps::bucket(std::int64_t rows, std::int64_t most) {
  const Step* step = rows <= kRowStep ? fitting(rows) : nullptr;
  if (step != nullptr) return step->rows;
  return std::min((rows + kRowStep - 1) / kRowStep * kRowStep, most);
}

}  // namespace weft::cuda
