#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <iostream>
#include <string>

#include "weft/cli/commands.h"
#include "weft/gpu/device_info.h"

namespace weft::cli {
namespace {

void print_version() {
  std::cout << "weft " << WEFT_VERSION << '\n'
            << "boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << '\n'
            << "compiler " << __VERSION__ << '\n';
  const std::string nccl = nccl_version();
  std::cout << "nccl " << (nccl.empty() ? "none" : nccl) << '\n';
}

}  // namespace

void add_version_command(CLI::App& app) {
  app.add_subcommand("version", "Print the parts and settings of this build")
      ->callback(print_version);
}

}  // namespace weft::cli
