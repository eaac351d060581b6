#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/text_pairs.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

struct RerankOptions {
  std::size_t most = 0;                  ///< results
  std::vector<std::string> documents{};  ///< that the answer repeats; empty: none
};

class RerankWriter final : public VectorWriter {
 public:
  RerankWriter(VectorHead head, const TextPairs& pairs, RerankOptions options)
      : head_(std::move(head)), pairs_(pairs), options_(std::move(options)) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    const std::vector<float> scores = pairs_.scores(parts);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A score that is no number comes last.
    const auto rank = [&](std::size_t i) {
      return scores[i] == scores[i] ? scores[i] : -std::numeric_limits<float>::infinity();
    };
    std::ranges::stable_sort(order, std::ranges::greater(), rank);
    order.resize(std::min(order.size(), options_.most));
    out.append("{\"id\":");
    append_json_string(out, head_.id);
    out.append(",\"model\":");
    append_json_string(out, head_.model);
    out.append(",\"usage\":");
    append_vector_usage(parts, out);
    out.append(",\"results\":[");
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out.push_back(',');
      append_result(order[i], scores[order[i]], out);
    }
    out.append("]}");
  }

  void append_result(std::size_t index, float score, std::string& out) const {
    out.append("{\"index\":");
    append_number(out, static_cast<std::int64_t>(index));
    if (!options_.documents.empty()) {
      out.append(",\"document\":{\"text\":");
      append_json_string(out, options_.documents[index]);
      out.push_back('}');
    }
    out.append(",\"relevance_score\":");
    append_float(score, out);
    out.push_back('}');
  }

  const VectorHead head_;
  const TextPairs pairs_;
  const RerankOptions options_;
};

std::string take_query(const BodyFields& fields) {
  const auto query = fields.needed_text("query");
  if (!fields.error() && query.empty()) fields.fail("query", "is empty");
  return std::string(query);
}

/// Takes `top_n`; absent means all.
std::size_t take_top(const BodyFields& fields) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::size_t>(fields.integer("top_n", 1, kMost).value_or(kMost));
}

}  // namespace

ApiResult<ApiCall> decode_rerank(simdjson::dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  VectorHead head;
  Request shared = take_vector_request(fields, context, "rerank-", head);
  if (shared.vector->cut_at == 0) shared.vector->cut_at = VectorWish::kAsLong;
  const PairJudge judge = TextPairs::judge_of(fields, *context.card.model);
  std::vector<std::string> query{take_query(fields)};
  auto documents = take_texts(fields, "documents", defaults::kMaxVectorInputs - 1);
  TextPairs::check_copies(fields, "query", judge, query, documents.size());
  RerankOptions options{.most = take_top(fields)};
  const bool returns = fields.flag("return_documents").value_or(true);
  check_vector_numbers(fields, "documents", documents.size() + 1, *shared.vector,
                       *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);
  if (returns) options.documents = documents;
  const TextPairs pairs(judge, 1, documents.size());
  ApiCall call;
  call.parts = pairs.parts(shared, std::move(query), std::move(documents));
  call.object_id = head.id;
  call.writer = std::make_unique<RerankWriter>(std::move(head), pairs, std::move(options));
  return call;
}

}  // namespace weft
