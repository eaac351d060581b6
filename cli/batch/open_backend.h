#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "weft/cli/backend_options.h"
#include "weft/cli/batch/batch_backend.h"

namespace weft::cli {

/// Makes the backend of a verb's requests, on `context` where it is a server. `model` becomes the
/// name of the model to ask for; empty: the server's own. Fails the verb where it cannot be made.
[[nodiscard]] std::unique_ptr<BatchBackend> open_backend(std::string_view verb,
                                                         const BackendOptions& options,
                                                         boost::asio::io_context& context,
                                                         std::string& model);

}  // namespace weft::cli
