#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/input_fields.h"
#include "weft/net/api/vectors/text_pairs.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

class ScoreWriter final : public VectorWriter {
 public:
  ScoreWriter(VectorHead head, const TextPairs& pairs) : head_(std::move(head)), pairs_(pairs) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    begin_vector_list(head_, out);
    const std::vector<float> scores = pairs_.scores(parts);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (i > 0) out.push_back(',');
      out.append("{\"index\":");
      append_number(out, static_cast<std::int64_t>(i));
      out.append(",\"object\":\"score\",\"score\":");
      append_float(scores[i], out);
      out.push_back('}');
    }
    out.append("],\"usage\":");
    append_vector_usage(parts, out);
    out.push_back('}');
  }

  const VectorHead head_;
  const TextPairs pairs_;
};

}  // namespace

ApiResult<ApiCall> decode_score(simdjson::dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  VectorHead head;
  Request shared = take_vector_request(fields, context, "score-", head);
  take_truncation(fields, /*cuts=*/false, *shared.vector);
  const PairJudge judge = TextPairs::judge_of(fields, *context.card.model);
  // Each text of a pair may be a part of its own.
  constexpr std::size_t kMost = defaults::kMaxVectorInputs / 2;
  auto first = take_texts(fields, "text_1", kMost);
  auto second = take_texts(fields, "text_2", kMost);
  if (first.size() != 1 && first.size() != second.size()) {
    fields.fail("text_2", "has " + std::to_string(second.size()) + " texts, and text_1 " +
                              std::to_string(first.size()));
  }
  TextPairs::check_copies(fields, "text_1", judge, first, second.size());
  check_vector_numbers(fields, "text_2", first.size() + second.size(), *shared.vector,
                       *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);
  const TextPairs pairs(judge, first.size(), second.size());
  ApiCall call;
  call.parts = pairs.parts(shared, std::move(first), std::move(second));
  call.object_id = head.id;
  call.writer = std::make_unique<ScoreWriter>(std::move(head), pairs);
  return call;
}

}  // namespace weft
