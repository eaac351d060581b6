#pragma once

#include <array>

#include "weft/config/keys/setting_kinds.h"

/// The keys of `weft serve` besides its engine's: the tables server, auth, limits and log.
namespace weft::server_keys {

inline constexpr std::array<std::string_view, 5> kLogLevels = {"debug", "info", "warning", "error",
                                                               "off"};
inline constexpr std::array<std::string_view, 2> kLogFormats = {"text", "json"};

template <auto kMember>
constexpr Setting text() {
  return setting_kinds::text<&FileConfig::server, kMember>();
}
template <auto kMember>
constexpr Setting flag() {
  return setting_kinds::flag<&FileConfig::server, kMember>();
}
template <auto kMember>
constexpr Setting integer(std::int64_t low, std::int64_t high) {
  return setting_kinds::integer<&FileConfig::server, kMember>(low, high);
}
template <auto kMember>
constexpr Setting seconds(double low, double high) {
  return setting_kinds::seconds<&FileConfig::server, kMember>(low, high);
}
/// For names that are stored as they are.
template <const auto& kNames, auto kMember>
constexpr Setting choice() {
  return setting_kinds::choice<kNames, kNames, &FileConfig::server, kMember>();
}

inline constexpr std::array kKeys = {
    ConfigKey{"server", "host", text<&ServerConfig::host>(),
              "Address or name to listen on; empty: no TCP port",
              "Only this machine reaches it; set up keys and TLS before you open it to others"},
    ConfigKey{"server", "port", integer<&ServerConfig::port>(0, 65'535),
              "TCP port; 0: any that is free", "A usual one for HTTP, and anyone may listen on it"},
    ConfigKey{"server", "unix_socket", text<&ServerConfig::unix_socket>(),
              "Path of a Unix socket to listen on too; empty: none", "Most clients want a port"},
    ConfigKey{"server", "tls_certificate", text<&ServerConfig::tls_certificate>(),
              "PEM file with the certificate and its chain; empty: no TLS",
              "There is none that all could have, and behind a proxy it is the proxy's"},
    ConfigKey{"server", "tls_key", text<&ServerConfig::tls_key>(),
              "PEM file with the certificate's private key",
              "It comes with the certificate, or not at all"},
    ConfigKey{"server", "io_threads", integer<&ServerConfig::io_threads>(1, 256),
              "Threads that read and write connections",
              "The second goes on while the first reads a large body; cores are for the model"},
    ConfigKey{"server", "model_name", text<&ServerConfig::model_name>(),
              "The model's name for clients; empty: the last part of its path",
              "The name that people know it by"},
    ConfigKey{"server", "max_loaded_models", integer<&ServerConfig::max_loaded_models>(0, 64),
              "The most of several models in memory at once: a request for another model loads it "
              "and unloads the least recently used one; 0: all stay",
              "Loading takes seconds to minutes, which no request should find in its way"},
    ConfigKey{"server", "web_page", flag<&ServerConfig::web_page>(),
              "Show a web page to talk with the model", "It is the first thing that people try"},
    ConfigKey{"server", "host_names", text<&ServerConfig::host_names>(),
              "Names by which clients may call a server on this machine's loopback without keys, "
              "separated by commas, beside addresses and localhost; *: any",
              "A site whose name is pointed at this machine would count as the server's own page"},
    ConfigKey{"server", "cors_origins", text<&ServerConfig::cors_origins>(),
              "Origins whose web pages may ask, separated by commas, or *; empty: none",
              "Else any page that a user opens could ask in his name"},
    ConfigKey{"server", "compress_websocket", flag<&ServerConfig::compress_websocket>(),
              "Offer compression (permessage-deflate) to WebSockets",
              "It takes memory and time of each connection, and what is sent is short"},
    ConfigKey{"server", "drain_timeout_s", seconds<&ServerConfig::drain_timeout>(0, 86'400),
              "Seconds that running requests have to end when the server is stopped",
              "Most answers end in it; what stops the program must wait longer before it kills it"},

    ConfigKey{"auth", "api_key",
              setting_kinds::secret_text<&FileConfig::server, &ServerConfig::api_key>(),
              "The key that clients must show; empty: none",
              "This machine's own users need none; on a command line all of them would see it"},
    ConfigKey{"auth", "api_key_file", text<&ServerConfig::api_key_file>(),
              "TOML file of keys and their limits; empty: none",
              "One user needs no more than a key"},

    ConfigKey{"limits", "max_connections", integer<&ServerConfig::max_connections>(1, 1'048'576),
              "Connections at once; others wait to be accepted",
              "Many times the requests that an engine queues; the process must be allowed as many "
              "open files"},
    ConfigKey{
        "limits", "max_connections_per_address",
        integer<&ServerConfig::max_connections_per_address>(0, 1'048'576),
        "Connections of one IP address at once, of IPv6 of its first 64 bits; others are closed "
        "when they come; 0: any",
        "Behind a proxy all clients have one address; set it if you serve strangers without keys"},
    ConfigKey{"limits", "max_requests_per_second_per_address",
              integer<&ServerConfig::max_requests_per_second_per_address>(0, 1'000'000),
              "Requests a second of one such address, and as many at once after a quiet second; "
              "others are refused with 429; 0: any",
              "Behind a proxy all clients have one address"},
    ConfigKey{"limits", "max_header_bytes", integer<&ServerConfig::max_header_bytes>(1'024, 65'536),
              "Bytes of a request's header",
              "Room for the cookies and tokens of a site, and what other servers take"},
    ConfigKey{"limits", "max_header_fields", integer<&ServerConfig::max_header_fields>(8, 10'000),
              "Fields of a request's header", "A browser behind two proxies sends some thirty"},
    ConfigKey{"limits", "max_body_bytes", integer<&ServerConfig::max_body_bytes>(1'024, 1 << 30),
              "Bytes of a request's body", "As many as edge.max_prompt_bytes"},
    ConfigKey{"limits", "max_message_bytes",
              integer<&ServerConfig::max_message_bytes>(1'024, 1 << 30),
              "Bytes of a WebSocket message", "It is what a body is to HTTP"},
    ConfigKey{"limits", "max_body_memory",
              integer<&ServerConfig::max_body_memory>(1'024, std::int64_t{1} << 40),
              "Bytes of all bodies and WebSocket messages that are being read or wait to be "
              "decoded; further ones are refused",
              "32 of the largest, or a prompt of 25 KiB on each of 10,000 connections"},
    ConfigKey{"limits", "max_streams", integer<&ServerConfig::max_streams>(1, 1'024),
              "Responses at once on one WebSocket",
              "An application's parallel calls, and no client has all rows"},
    ConfigKey{"limits", "max_unread_bytes",
              integer<&ServerConfig::max_unread_bytes>(4'096, 1 << 30),
              "Bytes of an answer that wait for a client to take them; beyond, it is cancelled",
              "Hours of reading: a client so far behind is gone"},
    ConfigKey{"limits", "header_timeout_s", seconds<&ServerConfig::header_timeout>(0.1, 3'600),
              "Seconds from the first byte of a header to its last, and for TLS before it",
              "Ample on any network; a client that sends byte by byte would hold a connection"},
    ConfigKey{"limits", "min_body_rate", integer<&ServerConfig::min_body_rate>(0, 1 << 30),
              "Bytes a second that a body comes with at least; 0: any",
              "The slowest modems did more"},
    ConfigKey{"limits", "idle_timeout_s", seconds<&ServerConfig::idle_timeout>(0.1, 86'400),
              "Seconds that a connection stays open between requests",
              "Clients' pools use theirs again sooner than that"},
    ConfigKey{"limits", "write_timeout_s", seconds<&ServerConfig::write_timeout>(0.1, 3'600),
              "Seconds without a byte taken, after which a client is gone",
              "A phone that changes its network is back by then"},
    ConfigKey{"limits", "ping_interval_s", seconds<&ServerConfig::ping_interval>(0.1, 3'600),
              "Seconds between pings of a quiet WebSocket; without an answer it ends after two",
              "Proxies end what was quiet for 60"},
    ConfigKey{
        "limits", "stream_ping_interval_s", seconds<&ServerConfig::stream_ping_interval>(0, 3'600),
        "Seconds without a byte after which a stream that waits is pinged, from its request's "
        "arrival on; 0: never",
        "Some proxies end what was quiet for 15"},
    ConfigKey{"limits", "max_stored_responses",
              integer<&ServerConfig::max_stored_responses>(0, 1'048'576),
              "Responses that are kept to be fetched or continued; the oldest go first",
              "A day's conversations of some users"},
    ConfigKey{"limits", "max_stored_bytes",
              integer<&ServerConfig::max_stored_bytes>(0, std::int64_t{1} << 40),
              "Bytes of all responses that are kept",
              "64 KiB for each, which is a long conversation"},
    ConfigKey{"limits", "max_conversation_responses",
              integer<&ServerConfig::max_conversation_responses>(0, 65'536),
              "Responses that one WebSocket keeps for itself, with store: false",
              "The turns of a conversation"},
    ConfigKey{"limits", "max_conversation_bytes",
              integer<&ServerConfig::max_conversation_bytes>(0, std::int64_t{1} << 40),
              "Bytes of all responses that one WebSocket keeps",
              "64 KiB for each, which is a long conversation"},

    ConfigKey{"log", "level", choice<kLogLevels, &ServerConfig::log_level>(),
              "The least urgent level that is written to standard error", "A line for each request",
              "log-level"},
    ConfigKey{
        "log", "format", choice<kLogFormats, &ServerConfig::log_format>(),
        "The log's format, also of errors at the start: for people, or JSON objects, one a line",
        "People read it first", "log-format"},
    ConfigKey{"log", "prompts", flag<&ServerConfig::log_prompts>(),
              "Also write the first 1000 bytes of each request's prompt", "Prompts are private",
              "log-prompts"},
};

}  // namespace weft::server_keys
