#include "weft/net/api/guess_usage.h"

#include "weft/net/api/fields/json_text.h"

namespace weft {

void append_guess_usage(const Usage& usage, std::string& out) {
  if (usage.accepted_guesses == 0 && usage.rejected_guesses == 0) return;
  append_number(out.append(",\"accepted_prediction_tokens\":"), usage.accepted_guesses);
  append_number(out.append(",\"rejected_prediction_tokens\":"), usage.rejected_guesses);
}

}  // namespace weft
