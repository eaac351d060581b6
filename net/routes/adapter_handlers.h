#pragma once

#include "weft/net/routes/route.h"

/// The handlers that load, unload and list adapters. Those that change something are for the
/// server's operator (Service::refuse_admin).
namespace weft::handlers {

/// vLLM's POST /v1/load_lora_adapter: {"lora_name", "lora_path", "load_inplace", "model"}. Replies
/// when requests can name the adapter, or with the reason why they cannot.
[[nodiscard]] RouteResult load_adapter(Service& service, const HttpCall& call);
/// vLLM's POST /v1/unload_lora_adapter: {"lora_name", "model"}.
[[nodiscard]] RouteResult unload_adapter(Service& service, const HttpCall& call);
/// llama.cpp's GET /lora-adapters: the adapters of the model in the query, or of the first, with
/// their ids.
[[nodiscard]] RouteResult llama_adapter_list(Service& service, const HttpCall& call);
/// llama.cpp's POST /lora-adapters: which of them requests have that say nothing of adapters.
[[nodiscard]] RouteResult set_llama_adapters(Service& service, const HttpCall& call);

}  // namespace weft::handlers
