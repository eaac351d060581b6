#include "weft/gpu/sequence_runner.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "weft/gpu/device_info.h"

namespace weft {
namespace {

// The most prompt tokens of a step: wide enough for the matrix units, while the step's buffers stay
// small.
constexpr std::int64_t kStepTokens = 512;

Error out_of_range(std::string detail) { return {DeviceErrc::kOutOfRange, std::move(detail)}; }

std::int32_t pages_for(std::int64_t tokens, std::int32_t page_tokens) {
  return static_cast<std::int32_t>((tokens + page_tokens - 1) / page_tokens);
}

}  // namespace

SequenceRunner::SequenceRunner(ModelDevice& device)
    : device_(device),
      pages_(static_cast<std::size_t>(
          pages_for(device.options().max_context, device.options().page_tokens))) {
  std::iota(pages_.begin(), pages_.end(), 0);
}

DeviceOptions SequenceRunner::options_for(const Program& program, std::int64_t context,
                                          std::int32_t outputs) {
  DeviceOptions options;
  options.max_context = std::min(context, program.context);
  const bool whole = !program.causal || program.has_encoder;  // an encoder sees all tokens at once
  const std::int64_t tokens =
      whole ? options.max_context : std::min(options.max_context, kStepTokens);
  options.max_tokens = static_cast<std::int32_t>(std::max<std::int64_t>(tokens, 1));
  options.max_outputs = program.causal ? std::min(options.max_tokens, outputs) : options.max_tokens;
  options.max_sequences = 1;
  const std::int32_t pages = pages_for(options.max_context, options.page_tokens);
  options.pages = program.self_kv.empty() ? 0 : pages;
  options.cross_pages = program.cross_kv.empty() ? 0 : pages;
  options.encoder_pages = program.encoder_kv.empty() ? 0 : pages;
  return options;
}

Result<void> SequenceRunner::check(std::span<const TokenId> ids, std::int64_t start) const {
  const Program& program = device_.program();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < program.vocabulary) continue;
    return out_of_range("token " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                        " is not in the vocabulary of " + std::to_string(program.vocabulary));
  }
  const auto length = start + static_cast<std::int64_t>(ids.size());
  const std::int64_t context = device_.options().max_context;
  if (length <= context) return {};
  return out_of_range(std::to_string(length) + " tokens, the context has " +
                      std::to_string(context));
}

SequenceTraits SequenceRunner::traits(std::int64_t length) const {
  const bool is_long =
      std::ranges::any_of(device_.program().rotary, [&](const RotaryFrequencies& rotary) {
        return !rotary.long_frequency.empty() && length > rotary.long_from;
      });
  return {.kv = {is_long ? AngleSet::kLong : AngleSet::kShort, adapter_}};
}

Result<void> SequenceRunner::use(const Adapter& adapter) {
  const auto prepared = device_.prepare_adapter(adapter);
  if (!prepared) return prepared.error();
  device_.place_adapter(0, *prepared);
  adapter_ = prepared->id;
  reset();
  return {};
}

Result<void> SequenceRunner::encode(std::span<const TokenId> ids) {
  auto checked = check(ids, 0);
  if (!checked) return checked;
  const auto count = static_cast<std::int32_t>(ids.size());
  const std::array sequence = {StepSequence{0, count, 0, pages_, pages_, count, traits(count)}};
  device_.encode({ids, sequence, {}});
  encoded_ = count;
  return {};
}

Result<void> SequenceRunner::feed(std::span<const TokenId> ids, const Sink& sink, bool last_only,
                                  std::int64_t whole) {
  auto checked = check(ids, length_);
  if (!checked) return checked;
  const DeviceOptions& options = device_.options();
  const auto after = length_ + static_cast<std::int64_t>(ids.size());
  const SequenceTraits of_all = traits(std::max(whole, after));
  const bool hidden = !device_.program().has_logits;
  const auto most =
      static_cast<std::size_t>(last_only || hidden ? options.max_tokens : options.max_outputs);
  while (!ids.empty()) {
    const auto chunk = ids.first(std::min(ids.size(), most));
    ids = ids.subspan(chunk.size());
    const auto count = static_cast<std::int32_t>(chunk.size());
    outputs_.clear();
    if (!last_only) {
      outputs_.resize(chunk.size());
      std::iota(outputs_.begin(), outputs_.end(), 0);
    } else if (ids.empty()) {
      outputs_.push_back(count - 1);
    }
    if (hidden) outputs_.clear();
    const std::array sequence = {StepSequence{0, count, static_cast<std::int32_t>(length_), pages_,
                                              pages_, static_cast<std::int32_t>(encoded_), of_all}};
    device_.decode({chunk, sequence, outputs_});
    length_ += count;
    if (sink && (hidden || !outputs_.empty())) sink(device_.results());
  }
  return {};
}

}  // namespace weft
