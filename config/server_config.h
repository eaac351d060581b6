#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft {

/// The configuration of `weft serve` besides its engine's. Plain data with the defaults;
/// docs/configuration.md has the reasons. FileConfig has it beside the engine's Config.
struct ServerConfig {
  // Where the server listens.
  std::string host = "127.0.0.1";  ///< an address, or a name; "" = no TCP port
  std::int32_t port = 8080;        ///< 0 = any that is free
  std::string unix_socket{};       ///< a path; "" = none
  std::string tls_certificate{};   ///< PEM file with the chain; "" = no TLS
  std::string tls_key{};           ///< PEM file with its private key
  std::int32_t io_threads = 2;
  std::string model_name{};  ///< the model's name for clients; "" = the last part of its path
  std::int32_t max_loaded_models = 0;  ///< ModelsConfig::max_loaded
  bool web_page = true;                ///< `/` shows the page
  std::string host_names{};            ///< separated by commas, beside addresses and localhost
  std::string cors_origins{};          ///< separated by commas, or "*"; "" = no CORS headers
  bool compress_websocket = false;     ///< offers permessage-deflate
  std::chrono::microseconds drain_timeout{
      30'000'000};  ///< time in which running requests may end when the server is stopped

  // Keys of the clients.
  std::string api_key{};       ///< the one key; "" = anyone may
  std::string api_key_file{};  ///< TOML with many keys and their limits

  // Bounds of what one client may cost.
  std::int32_t max_connections = 10'000;
  std::int32_t max_connections_per_address = 0;          ///< 0 = any number
  std::int32_t max_requests_per_second_per_address = 0;  ///< 0 = any number
  std::int32_t max_header_bytes = 16 << 10;
  std::int32_t max_header_fields = 100;
  std::int32_t max_body_bytes = 8 << 20;
  std::int32_t max_message_bytes = 8 << 20;              ///< bytes of a WebSocket message
  std::int64_t max_body_memory = 256 << 20;              ///< bytes of all bodies and messages
                                                         ///< together
  std::int32_t max_streams = 16;                         ///< streams of one WebSocket
  std::int32_t max_unread_bytes = 256 << 10;             ///< bytes of text that a client has not
                                                         ///< read yet
  std::chrono::microseconds header_timeout{10'000'000};  ///< from a header's first byte to its last
  std::int32_t min_body_rate = 1024;                     ///< bytes a second
  std::chrono::microseconds idle_timeout{60'000'000};    ///< idle time of a connection between
                                                         ///< requests
  std::chrono::microseconds write_timeout{30'000'000};   ///< time in which a client takes no byte
  std::chrono::microseconds ping_interval{20'000'000};   ///< interval of pings on a WebSocket; two
                                                         ///< missed pongs end it
  std::chrono::microseconds stream_ping_interval{10'000'000};  ///< interval of pings on an idle
                                                               ///< stream; 0 = none
  std::int32_t max_stored_responses = 1000;
  std::int64_t max_stored_bytes = 64 << 20;
  std::int32_t max_conversation_responses = 64;  ///< responses kept for one WebSocket, with store:
                                                 ///< false
  std::int64_t max_conversation_bytes = 4 << 20;

  // The log.
  std::string log_level = "info";   ///< "debug", "info", "warning", "error", "off"
  std::string log_format = "text";  ///< "text", "json"
  bool log_prompts = false;
};

}  // namespace weft
