#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "weft/cli/commands.h"
#include "weft/gpu/device_info.h"

namespace weft::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kGigabyte = 1e9;

[[noreturn]] void fail(const Error& error) {
  std::cerr << "weft devices: " << to_string(error) << '\n';
  throw CLI::RuntimeError(1);
}

std::string bandwidth_text(const DeviceInfo& device) {
  const auto rate = measure_read_bandwidth(device.name);
  if (!rate) fail(rate.error());
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << *rate / kGigabyte << " GB/s";
  return text.str();
}

void print_devices(bool measure) {
  const auto devices = list_devices();
  if (!devices) fail(devices.error());
  for (const DeviceInfo& device : *devices) {
    std::cout << std::left << std::setw(8) << device.name << std::setw(8) << device.architecture
              << std::right << std::setw(5) << device.processors << " processors  " << std::fixed
              << std::setprecision(1) << std::setw(7)
              << static_cast<double>(device.free_bytes) / kGiB << " of " << std::setw(7)
              << static_cast<double>(device.memory_bytes) / kGiB << " GiB free  ";
    if (measure) std::cout << "reads " << std::setw(11) << bandwidth_text(device) << "  ";
    std::cout << device.model << '\n';
  }
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto* command = app.add_subcommand("devices", "List where a model can run");
  auto measure = std::make_shared<bool>(false);
  command->add_flag("--measure", *measure,
                    "Also measure how fast each reads its memory (takes some seconds)");
  command->callback([measure] { print_devices(*measure); });
}

}  // namespace weft::cli
