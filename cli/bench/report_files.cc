#include "weft/cli/bench/report_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <utility>

#include "weft/cli/fail.h"
#include "weft/gpu/device_info.h"

namespace weft::cli {
namespace {

[[noreturn]] void fail_to_write(std::string_view verb, const char* flag, const std::string& file) {
  const int reason = errno != 0 ? errno : EIO;
  fail(verb, std::string(flag) + " " + file + ": " + std::strerror(reason));
}

void check(std::string_view verb, const char* flag, const std::string& file) {
  if (file.empty()) return;
  errno = 0;
  // Opened for appending, so that an existing file keeps its content until the new report is ready.
  if (!std::ofstream(file, std::ios::app)) fail_to_write(verb, flag, file);
}

/// The name of a figure's file: "loads-2.svg" for "loads" and the second figure.
std::string figure_file(const std::string& svg, std::size_t number) {
  return svg + '-' + std::to_string(number) + ".svg";
}

void write(std::string_view verb, const char* flag, const std::string& file,
           const std::string& text) {
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  if (!(out << text << std::flush)) fail_to_write(verb, flag, file);
}

/// The present moment, "2026-02-28 13:05 UTC".
std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%F %R UTC", &parts);
  return {text.data(), size};
}

/// Adds the facts of the machine and the program that the verb has not put into the report. The
/// load is the load when the measurement ends.
measure::Report with_machine(measure::Report report) {
  const auto add = [&report](const char* name, std::string value) {
    if (std::ranges::find(report.facts, name, [](const auto& fact) { return fact.first; }) ==
        report.facts.end()) {
      report.facts.emplace_back(name, std::move(value));
    }
  };
  const DeviceInfo host = host_info();
  add("processor", host.model + ", " + std::to_string(host.processors) + " cores");
  double load = 0;
  if (::getloadavg(&load, 1) == 1) add("load average", measure::number(load));
  add("weft", WEFT_VERSION);
  add("date", date_text());
  return report;
}

}  // namespace

void add_report_options(CLI::App& command, ReportFiles& files) {
  command.add_option("--json", files.json, "Also write the report as JSON")->type_name("FILE");
  command.add_option("--html", files.html, "Also write it as a page with figures")
      ->type_name("FILE");
  command.add_option("--svg", files.svg, "Also write each figure: NAME-1.svg, NAME-2.svg, ...")
      ->type_name("NAME");
}

void check_report_files(std::string_view verb, const ReportFiles& files) {
  check(verb, "--json", files.json);
  check(verb, "--html", files.html);
  if (!files.svg.empty()) check(verb, "--svg", figure_file(files.svg, 1));
}

void deliver_report(std::string_view verb, measure::Report measured, const ReportFiles& files) {
  const measure::Report report = with_machine(std::move(measured));
  std::cout << measure::to_text(report) << std::flush;
  if (!files.json.empty()) {
    write(verb, "--json", files.json, boost::json::serialize(measure::to_json(report)) + '\n');
  }
  if (!files.html.empty()) write(verb, "--html", files.html, measure::to_html(report));
  if (files.svg.empty()) return;
  std::size_t number = 0;
  for (const measure::Figure& figure : report.figures) {
    write(verb, "--svg", figure_file(files.svg, ++number), measure::to_svg(figure));
  }
}

}  // namespace weft::cli
