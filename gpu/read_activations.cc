#include "weft/gpu/read_activations.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "weft/gpu/activation_reader.h"
#include "weft/sampling/choice_failure.h"

namespace weft {
namespace {

std::span<const float> numbers(const Rows& rows, std::int64_t index) {
  return {rows.row(index), static_cast<std::size_t>(rows.width)};
}

/// Rows [first, first + count) of a reading: at most as many as the device computes logits of at
/// once.
struct ReadRows {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// Returns the logits of these rows. All ranks that share the head compute them together.
Rows logits_of(const SlotReading& reading, const ReadRows& rows, ModelDevice& device) {
  std::vector<std::int32_t> wanted(static_cast<std::size_t>(rows.count));
  std::iota(wanted.begin(), wanted.end(), reading.first + rows.first);
  return device.logits_of(wanted);
}

/// Returns the rows of a reading that its reader wants; later rows are in no reading.
ReadRows wanted_rows(const SlotReading& reading) {
  const std::int32_t first = std::max(reading.reader->first_position() - reading.start, 0);
  return {first, std::max(reading.count - first, 0)};
}

/// Calls work(rows, with_logits) for the pieces of a reading.
template <class Work>
void for_pieces(const SlotReading& reading, ModelDevice& device, const Work& work) {
  const bool with_logits = device.program().has_logits && reading.reader->wants_logits();
  const ReadRows wanted = wanted_rows(reading);
  const std::int32_t end = wanted.first + wanted.count;
  const std::int32_t most = with_logits ? device.options().max_outputs : wanted.count;
  for (std::int32_t first = wanted.first; first < end; first += most) {
    work(ReadRows{first, std::min(most, end - first)}, with_logits);
  }
}

/// Calls the reader. Returns null, or the exception that it threw.
std::shared_ptr<const ChoiceFailure> tell(const SlotReading& reading, const ReadRows& rows,
                                          const Rows& hidden, const Rows& logits) {
  try {
    for (std::int32_t i = 0; i < rows.count; ++i) {
      TokenActivations token;
      token.position = reading.start + rows.first + i;
      token.token = reading.token(rows.first + i);
      token.hidden_state = numbers(hidden, i);
      if (logits.data != nullptr) token.logits = numbers(logits, i);
      reading.reader->read(token);
    }
  } catch (...) {
    return caught_failure(ChoiceFailure::Cause::kReaderThrew);
  }
  return nullptr;
}

}  // namespace

void read_activations(PlanReader& plan, ModelDevice& device, StepResult& result) {
  const bool is_alone = device.program().part.ranks == 1;
  for (const SlotReading& reading : plan.readings()) {
    std::shared_ptr<const ChoiceFailure> failure;
    for_pieces(reading, device, [&](const ReadRows& rows, bool with_logits) {
      // A failure of the device in here is the device's own, not the reader's.
      const bool reads = !reading.has_failed && !failure;
      if (!reads && is_alone) return;
      const Rows hidden = device.hidden_states(reading.first + rows.first, rows.count);
      const Rows logits = with_logits ? logits_of(reading, rows, device) : Rows{};
      if (reads) failure = tell(reading, rows, hidden, logits);
    });
    if (failure) plan.fail(reading.slot, failure, result);
  }
}

void follow_activations(const PlanReader& plan, ModelDevice& device) {
  for (const SlotReading& reading : plan.readings()) {
    for_pieces(reading, device, [&](const ReadRows& rows, bool with_logits) {
      if (with_logits) static_cast<void>(logits_of(reading, rows, device));
    });
  }
}

}  // namespace weft
