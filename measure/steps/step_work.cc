#include "weft/measure/steps/step_work.h"

#include <algorithm>
#include <cmath>

#include "weft/core/kv_dtype.h"
#include "weft/model/program/op_work.h"

namespace weft::measure {
namespace {

/// Sequences of one kind in a step; each computes tokens [start, start + count).
struct Part {
  std::int64_t sequences = 1;
  std::int64_t start = 0;
  std::int64_t count = 1;
  bool chooses = true;

  [[nodiscard]] std::int64_t tokens() const { return sequences * count; }
};

/// Adds up a program's ops over one step.
class Counter {
 public:
  Counter(const Program& program, DType kv_dtype, const Part& part)
      : kv_dtype_(kv_dtype), part_(part) {
    for (const Op& op : program.decode.ops) add(work_of(program, op));
  }

  [[nodiscard]] const StepWork& work() const { return work_; }

 private:
  void add(const OpWork& work) {
    if (work.routed > 0) routed_ = static_cast<double>(work.routed);
    const std::int64_t outputs = part_.chooses ? part_.sequences : 0;
    const auto rows = static_cast<double>(work.by_output ? outputs : part_.tokens());
    if (rows == 0) return;
    double read = 1;  // the share of the weights that is read
    double here = 1;  // the share of the layer's experts on this rank
    if (work.experts > 0) {
      here = static_cast<double>(work.experts) / routed_;
      // Evenly distributed choices hit this many experts on average.
      read = 1 - std::pow(1 - static_cast<double>(work.chosen) / routed_, rows);
    }
    work_.bytes += static_cast<double>(work.vector_bytes) +
                   read * static_cast<double>(work.weight_bytes) +
                   rows * static_cast<double>(work.table_bytes);
    // Each is a product and a sum.
    work_.operations += 2 * rows * here * static_cast<double>(work.products);
    // The keys of other caches do not grow with the context.
    if (work.kind == WorkKind::kAttend && work.keys == KvGroup::kSelf) attend(work);
  }

  void attend(const OpWork& work) {
    const std::int64_t end = part_.start + part_.count;
    double pairs = 0;
    for (std::int64_t at = part_.start; at < end; ++at) {
      pairs += static_cast<double>(at + 1 - work.first_key(at));
    }
    const auto sequences = static_cast<double>(part_.sequences);
    const auto keys = static_cast<double>(end - work.first_key(part_.start));
    const std::int64_t key_bytes =
        std::int64_t{2} * work.kv.kv_heads * kv_row_bytes(kv_dtype_, work.kv.head_size);
    work_.bytes += sequences * keys * static_cast<double>(key_bytes);
    work_.operations += 2 * sequences * pairs * static_cast<double>(work.key_products);
  }

  const DType kv_dtype_;
  const Part part_;
  double routed_ = 1;  // the experts from which the last router chose
  StepWork work_;
};

}  // namespace

StepWork& StepWork::operator+=(const StepWork& other) noexcept {
  bytes += other.bytes;
  operations += other.operations;
  return *this;
}

StepWork decode_work(const Program& program, DType kv_dtype, std::int32_t batch,
                     std::int32_t context) {
  return Counter(program, kv_dtype, {.sequences = batch, .start = context - 1}).work();
}

StepWork prefill_work(const Program& program, DType kv_dtype, std::int32_t tokens,
                      std::int32_t step_tokens) {
  StepWork all;
  for (std::int32_t at = 0; at < tokens; at += step_tokens) {
    const std::int32_t count = std::min(step_tokens, tokens - at);
    const Part part{.start = at, .count = count, .chooses = at + count == tokens};
    all += Counter(program, kv_dtype, part).work();
  }
  return all;
}

}  // namespace weft::measure
