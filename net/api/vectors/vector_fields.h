#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The fields that the answers of all vector endpoints share.
struct VectorHead {
  std::string id{};  ///< the whole id: "rerank-..."
  std::string model{};
  std::int64_t created = 0;  ///< seconds since 1970
};

/// Takes `model`, `priority`, `cache_salt`, `service_tier` and the fields that change nothing.
/// Returns the settings that all parts of the call share.
[[nodiscard]] Request take_vector_request(BodyFields& fields, const ApiContext& context,
                                          std::string_view id_prefix, VectorHead& head);

/// Takes a text or a list of texts, which may also be objects with a "text". None is empty, and
/// there are at most `most`.
[[nodiscard]] std::vector<std::string> take_texts(const BodyFields& fields, std::string_view name,
                                                  std::size_t most);

/// Takes `input`, which is texts or tokens, and ends `fields`. Returns a call with a part for each
/// input and the settings of `shared`; the caller sets the writer.
[[nodiscard]] ApiResult<ApiCall> take_vector_inputs(BodyFields& fields, const ApiContext& context,
                                                    const Request& shared, const VectorHead& head);

/// Reports a mistake where the vectors of that many inputs have more than kMaxVectorNumbers
/// numbers.
void check_vector_numbers(const BodyFields& fields, std::string_view name, std::size_t inputs,
                          const VectorWish& wish, const ServedModel& model);

/// Each reports a mistake where the model does not give embeddings, scores or tokens for masks.
void need_embeddings(const BodyFields& fields, const ServedModel& model);
void need_labels(const BodyFields& fields, const ServedModel& model);
void need_mask_fills(const BodyFields& fields, const ServedModel& model);

/// Appends the beginning of vLLM's lists, up to the "[" of `data`.
void begin_vector_list(const VectorHead& head, std::string& out);
/// Appends {"prompt_tokens":...,"total_tokens":...}.
void append_vector_usage(std::span<const Finish> parts, std::string& out);
/// Appends [0.1,-2e-05,...], each number in its shortest exact form; null for NaN and infinities.
void append_floats(std::span<const float> numbers, std::string& out);
void append_float(float number, std::string& out);
/// Appends bytes in base64 and in quotes; numbers are written with the least significant byte
/// first.
void append_base64(std::span<const std::uint8_t> bytes, std::string& out);
void append_base64(std::span<const float> numbers, std::string& out);

}  // namespace weft
