#include "weft/cli/batch/open_backend.h"

#include "weft/cli/batch/local_batch.h"
#include "weft/cli/batch/remote_batch.h"
#include "weft/cli/fail.h"

namespace weft::cli {

std::unique_ptr<BatchBackend> open_backend(std::string_view verb, const BackendOptions& options,
                                           boost::asio::io_context& context, std::string& model) {
  model = options.model;
  if (options.remote()) {
    const ClientOptions client = value_or_fail(verb, client_options(options));
    return std::make_unique<RemoteBatch>(value_or_fail(verb, Connector::create(context, client)));
  }
  auto local = value_or_fail(verb, LocalService::load(value_or_fail(verb, engine_config(options))));
  if (model.empty()) model = local->model();
  return std::make_unique<LocalBatch>(std::move(local));
}

}  // namespace weft::cli
