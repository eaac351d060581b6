#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/gpu/device_info.h"

namespace weft::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kGigabytePerSecond = 1e9;

std::string bandwidth_text(const DeviceInfo& device) {
  const auto rate = measure_read_bandwidth(device.name);
  if (!rate) fail("devices", rate.error());
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << *rate / kGigabytePerSecond << " GB/s";
  return text.str();
}

void print_devices(bool measure) {
  const auto devices = list_devices();
  if (!devices) fail("devices", devices.error());
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
