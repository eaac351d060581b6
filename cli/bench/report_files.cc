#include "weft/cli/bench/report_files.h"

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iostream>

#include "weft/cli/fail.h"

namespace weft::cli {
namespace {

[[noreturn]] void fail_to_write(std::string_view verb, const char* flag, const std::string& file) {
  const int reason = errno != 0 ? errno : EIO;
  fail(verb, std::string(flag) + " " + file + ": " + std::strerror(reason));
}

void check(std::string_view verb, const char* flag, const std::string& file) {
  if (file.empty()) return;
  errno = 0;
  // Opened for appending, so that the file keeps its content until there is a new report.
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

void deliver_report(std::string_view verb, const measure::Report& report,
                    const ReportFiles& files) {
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
