#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "weft/cli/backend_options.h"
#include "weft/cli/batch/batch_backend.h"

namespace weft::cli {

/// Makes the backend that answers a verb's requests. A server's backend runs on `context`. `model`
/// becomes the name of the model to ask for; empty: the server's own. Fails the verb where the
/// backend cannot be made.
[[nodiscard]] std::unique_ptr<BatchBackend> open_backend(std::string_view verb,
                                                         const BackendOptions& options,
                                                         boost::asio::io_context& context,
                                                         std::string& model);

}  // namespace weft::cli
