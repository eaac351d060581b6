#pragma once

#include <string_view>

#include "weft/gpu/step_device.h"
#include "weft/tests/net/api/tiny_model.h"

/// The options and requests of a server of the tiny model.
namespace weft::test {

inline constexpr DeviceLimits kTinyLimits{.rows = 4,
                                          .pages = 1024,
                                          .page_tokens = 4,
                                          .step_tokens = 64,
                                          .context = 4096,
                                          .cross_pages = 0,
                                          .vocabulary = kTinyVocabulary};

inline constexpr std::string_view kCompletions = "/v1/completions";
inline constexpr std::string_view kThreeTokens =
    R"({"prompt":[5,6,7],"max_tokens":3,"ignore_eos":true,"seed":1})";
inline constexpr std::string_view kStream =
    R"({"prompt":[5,6,7],"max_tokens":2000,"ignore_eos":true,"seed":1,"stream":true})";

}  // namespace weft::test
