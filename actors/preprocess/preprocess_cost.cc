#include "weft/actors/preprocess/preprocess_cost.h"

#include <string>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/actors/request/request_bounds.h"

namespace weft {
namespace {

std::int64_t bytes_of(const std::vector<std::string>& texts) {
  std::int64_t bytes = 0;
  for (const std::string& text : texts) bytes += static_cast<std::int64_t>(text.size());
  return bytes;
}

}  // namespace

PreprocessCost preprocess_cost(const Request& request) {
  const std::int64_t rounds = request.drop_oldest_messages ? defaults::kShorteningRounds : 1;
  const auto messages = static_cast<std::int64_t>(request.messages.size());
  const StructuredOutput& form = request.structured_output;
  PreprocessCost cost;
  cost.bytes = rounds * prompt_size(request).bytes + static_cast<std::int64_t>(form.text.size()) +
               bytes_of(form.choices) + bytes_of(request.stop);
  cost.large = request.bulk || cost.bytes >= defaults::kLargePromptBytes ||
               rounds * messages >= defaults::kLargePromptMessages;
  return cost;
}

}  // namespace weft
