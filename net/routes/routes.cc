#include "weft/net/routes/routes.h"

#include "weft/net/routes/adapter_handlers.h"
#include "weft/net/routes/api_handlers.h"
#include "weft/net/routes/file_handlers.h"
#include "weft/net/routes/job_handlers.h"
#include "weft/net/routes/model_handlers.h"
#include "weft/net/routes/ollama_handlers.h"
#include "weft/net/routes/response_handlers.h"
#include "weft/net/routes/status_handlers.h"

namespace weft {

using boost::beast::http::verb;

std::span<const Route> all_routes() noexcept {
  using enum RouteNeed;
  static constexpr Route kRoutes[] = {
      {verb::post, "/v1/chat/completions", true, kRoom, handlers::chat},
      {verb::post, "/v1/chat/completions/render", true, kModel, handlers::rendered_chat},
      {verb::post, "/v1/completions", true, kRoom, handlers::completion},
      {verb::post, "/v1/responses", true, kRoom, handlers::response},
      {verb::get, "/v1/responses", true, kModel, handlers::upgrade},
      {verb::get, "/v1/responses/{id}", true, kNothing, handlers::get_response},
      {verb::delete_, "/v1/responses/{id}", true, kNothing, handlers::delete_response},
      {verb::post, "/v1/responses/{id}/cancel", true, kNothing, handlers::cancel_response},
      {verb::get, "/v1/responses/{id}/input_items", true, kNothing, handlers::list_input_items},
      {verb::post, "/v1/responses/compact", true, kRoom, handlers::compact_response},
      {verb::post, "/v1/responses/input_tokens", true, kModel, handlers::input_tokens},
      {verb::post, "/v1/messages", true, kRoom, handlers::message},
      {verb::post, "/v1/messages/count_tokens", true, kModel, handlers::message_tokens},
      {verb::post, "/v1/embeddings", true, kRoom, handlers::embeddings},
      {verb::post, "/v1/rerank", true, kRoom, handlers::rerank},
      {verb::post, "/v2/rerank", true, kRoom, handlers::rerank},
      {verb::post, "/rerank", true, kRoom, handlers::rerank},
      {verb::post, "/v1/score", true, kRoom, handlers::score},
      {verb::post, "/score", true, kRoom, handlers::score},
      {verb::post, "/v1/classify", true, kRoom, handlers::classify},
      {verb::post, "/classify", true, kRoom, handlers::classify},
      {verb::post, "/v1/fill-mask", true, kRoom, handlers::fill_mask},
      {verb::post, "/api/embed", true, kRoom, handlers::ollama_embed},
      {verb::post, "/api/embeddings", true, kRoom, handlers::ollama_embeddings},
      {verb::post, "/api/chat", true, kRoom, handlers::ollama_chat},
      {verb::post, "/api/generate", true, kRoom, handlers::ollama_generate},
      {verb::get, "/api/tags", true, kModel, handlers::ollama_models},
      {verb::get, "/api/ps", true, kModel, handlers::ollama_loaded_models},
      {verb::post, "/api/show", true, kModel, handlers::ollama_model},
      {verb::get, "/api/version", true, kNothing, handlers::ollama_api_version},
      {verb::get, "/v1/models", true, kModel, handlers::models},
      {verb::get, "/v1/models/{name}", true, kModel, handlers::model},
      {verb::delete_, "/v1/models/{name}", true, kNothing, handlers::delete_model},
      {verb::post, "/v1/models/load", true, kNothing, handlers::load_model},
      {verb::post, "/v1/models/unload", true, kNothing, handlers::unload_model},
      {verb::post, "/v1/files", true, kNothing, handlers::upload_file},
      {verb::get, "/v1/files", true, kNothing, handlers::list_files},
      {verb::get, "/v1/files/{id}", true, kNothing, handlers::get_file},
      {verb::get, "/v1/files/{id}/content", true, kNothing, handlers::file_content},
      {verb::delete_, "/v1/files/{id}", true, kNothing, handlers::delete_file},
      {verb::post, "/v1/fine_tuning/jobs", true, kModel, handlers::create_job},
      {verb::get, "/v1/fine_tuning/jobs", true, kNothing, handlers::list_jobs},
      {verb::get, "/v1/fine_tuning/jobs/{id}", true, kNothing, handlers::get_job},
      {verb::post, "/v1/fine_tuning/jobs/{id}/cancel", true, kNothing, handlers::cancel_job},
      {verb::post, "/v1/fine_tuning/jobs/{id}/pause", true, kNothing, handlers::pause_job},
      {verb::post, "/v1/fine_tuning/jobs/{id}/resume", true, kNothing, handlers::resume_job},
      {verb::get, "/v1/fine_tuning/jobs/{id}/events", true, kNothing, handlers::list_job_events},
      {verb::get, "/v1/fine_tuning/jobs/{id}/checkpoints", true, kNothing,
       handlers::list_job_checkpoints},
      {verb::post, "/v1/load_lora_adapter", true, kModel, handlers::load_adapter},
      {verb::post, "/v1/unload_lora_adapter", true, kModel, handlers::unload_adapter},
      {verb::get, "/lora-adapters", true, kModel, handlers::llama_adapter_list},
      {verb::post, "/lora-adapters", true, kModel, handlers::set_llama_adapters},
      {verb::get, "/models", true, kModel, handlers::models},
      {verb::get, "/props", true, kModel, handlers::llama_model},
      {verb::get, "/slots", true, kModel, handlers::llama_slot_list},
      {verb::get, "/tokenizer_info", true, kModel, handlers::tokenizer_info},
      {verb::post, "/tokenize", true, kModel, handlers::tokenize_text},
      {verb::post, "/detokenize", true, kModel, handlers::detokenize_tokens},
      {verb::get, "/health", false, kNothing, handlers::health},
      {verb::get, "/live", false, kNothing, handlers::live},
      {verb::get, "/metrics", true, kNothing, handlers::metrics},
      {verb::get, "/version", true, kNothing, handlers::version},
      {verb::get, "/requests", true, kNothing, handlers::requests},
      {verb::get, "/", true, kNothing, handlers::page},
  };
  return kRoutes;
}

}  // namespace weft
