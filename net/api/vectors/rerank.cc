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
#include "weft/net/api/vectors/documents.h"
#include "weft/net/api/vectors/input_fields.h"
#include "weft/net/api/vectors/text_pairs.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

struct RerankOptions {
  std::size_t most = 0;                  ///< the most results
  std::vector<std::string> documents{};  ///< documents that the answer repeats, as JSON; empty: it
                                         ///< repeats none
  bool embeddings = false;               ///< the answer also has the documents' embeddings
  bool repeats_as_data = false;          ///< the results appear under Voyage's name, too
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
      append_result(order[i], scores[order[i]], parts, out);
    }
    if (options_.repeats_as_data) {
      out.append("],\"object\":\"list\",\"data\":[");
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0) out.push_back(',');
        append_score(order[i], scores[order[i]], out);
      }
    }
    out.append("]}");
  }

  void append_result(std::size_t index, float score, std::span<const Finish> parts,
                     std::string& out) const {
    append_score(index, score, out);
    out.pop_back();
    if (!options_.documents.empty()) {
      out.append(",\"document\":").append(options_.documents[index]);
    }
    if (options_.embeddings) {
      append_floats(pairs_.second_embedding(parts, index), out.append(",\"embedding\":"));
    }
    out.push_back('}');
  }

  static void append_score(std::size_t index, float score, std::string& out) {
    out.append("{\"index\":");
    append_number(out, static_cast<std::int64_t>(index));
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

/// Takes `top_n`, which Voyage's clients call `top_k`; absent means all.
std::size_t take_top(const BodyFields& fields) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const auto top = fields.integer("top_n", 1, kMost);
  const auto other_name = fields.integer("top_k", 1, kMost);
  if (top && other_name && *top != *other_name) fields.fail("top_k", "contradicts top_n");
  return static_cast<std::size_t>((top ? top : other_name).value_or(kMost));
}

/// Takes the limits of a document's length. A document is one chunk, so it keeps any limit on its
/// chunks.
void take_document_bounds(const BodyFields& fields, VectorWish& wish) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  take_truncation(fields, /*cuts=*/true, wish);
  const auto tokens = fields.integer("max_tokens_per_doc", 1, kMost);
  wish.text_tokens = static_cast<std::int32_t>(tokens.value_or(0));
  static_cast<void>(fields.integer("max_chunks_per_doc", 1, kMost));
}

bool take_embeddings_too(const BodyFields& fields, PairJudge judge) {
  const bool wanted = fields.flag("return_embeddings").value_or(false);
  if (wanted && judge == PairJudge::kCrossEncoder) {
    fields.fail("return_embeddings", "is for models that give embeddings, and this is a classifier",
                api_code::kUnsupported);
  }
  return wanted;
}

}  // namespace

ApiResult<ApiCall> decode_rerank(simdjson::dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  VectorHead head;
  Request shared = take_vector_request(fields, context, "rerank-", head);
  take_document_bounds(fields, *shared.vector);
  const PairJudge judge = TextPairs::judge_of(fields, *context.card.model);
  std::vector<std::string> query{take_query(fields)};
  const bool returns = fields.flag("return_documents").value_or(true);
  auto documents = take_documents(fields, defaults::kMaxVectorInputs - 1, returns);
  TextPairs::check_copies(fields, "query", judge, query, documents.texts.size());
  RerankOptions options{.most = take_top(fields)};
  options.embeddings = take_embeddings_too(fields, judge);
  options.repeats_as_data = fields.has("top_k") || fields.has("truncation");
  check_vector_numbers(fields, "documents", documents.texts.size() + 1, *shared.vector,
                       *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);
  options.documents = std::move(documents.json);
  const TextPairs pairs(judge, 1, documents.texts.size());
  ApiCall call;
  call.parts = pairs.parts(shared, std::move(query), std::move(documents.texts));
  call.object_id = head.id;
  call.writer = std::make_unique<RerankWriter>(std::move(head), pairs, std::move(options));
  return call;
}

}  // namespace weft
