#include "weft/cli/report_files.h"

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
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
  // What it has stays until there is something new.
  if (!std::ofstream(file, std::ios::app)) fail_to_write(verb, flag, file);
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
}

void check_report_files(std::string_view verb, const ReportFiles& files) {
  check(verb, "--json", files.json);
  check(verb, "--html", files.html);
}

void deliver_report(std::string_view verb, const measure::Report& report,
                    const ReportFiles& files) {
  std::cout << measure::to_text(report) << std::flush;
  if (!files.json.empty()) {
    write(verb, "--json", files.json, boost::json::serialize(measure::to_json(report)) + '\n');
  }
  if (!files.html.empty()) write(verb, "--html", files.html, measure::to_html(report));
}

}  // namespace weft::cli
