#include "weft/gpu/ranks/world/rank_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>

#include "weft/gpu/device_error.h"

namespace weft {
namespace {

/// Bytes that are sealed or opened at a time: several of TLS's records of 16 KiB.
constexpr std::size_t kTlsPiece = std::size_t{64} * 1024;

/// Returns the last of OpenSSL's errors on this thread, and clears them all.
std::string tls_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason != nullptr ? reason : "the connection ended";
  ERR_clear_error();
  return text;
}

Error tls_failure(const std::string& what) { return {DeviceErrc::kRankLost, "TLS: " + what}; }

Error bad_file(const std::string& file) {
  return {DeviceErrc::kUnfit, "rank TLS: " + file + ": " + tls_reason()};
}

/// Returns why the greeting failed; for a refused certificate, its error.
std::string greeting_failure(const ssl_st* session) {
  const long verified = SSL_get_verify_result(session);
  if (verified == X509_V_OK) return tls_reason();
  ERR_clear_error();
  return std::string("the other's certificate: ") + X509_verify_cert_error_string(verified);
}

Result<void> read_files(ssl_ctx_st* context, const RankTlsFiles& files) {
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return bad_file(files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad_file(files.key);
  }
  const std::string& trusted = files.authority.empty() ? files.certificate : files.authority;
  if (SSL_CTX_load_verify_file(context, trusted.c_str()) != 1) return bad_file(trusted);
  return {};
}

}  // namespace

RankCipher::~RankCipher() { SSL_free(session_); }

void RankCipher::take_out(std::vector<std::byte>& wire) {
  BIO* const out = SSL_get_wbio(session_);
  const std::size_t size = BIO_ctrl_pending(out);
  const std::size_t old = wire.size();
  wire.resize(old + size);
  if (size > 0) BIO_read(out, wire.data() + old, static_cast<int>(size));
}

Result<bool> RankCipher::greet(std::span<const std::byte> wire, std::vector<std::byte>& answer) {
  const std::lock_guard lock(mutex_);
  ERR_clear_error();
  BIO_write(SSL_get_rbio(session_), wire.data(), static_cast<int>(wire.size()));
  const int done = SSL_do_handshake(session_);
  const int error = done == 1 ? SSL_ERROR_NONE : SSL_get_error(session_, done);
  take_out(answer);
  if (done == 1) return true;
  if (error == SSL_ERROR_WANT_READ) return false;
  return tls_failure(greeting_failure(session_));
}

Result<void> RankCipher::seal(std::span<const std::byte> plain, std::vector<std::byte>& wire) {
  const std::lock_guard lock(mutex_);
  while (!plain.empty()) {
    const auto piece = plain.first(std::min(plain.size(), kTlsPiece));
    std::size_t written = 0;
    if (SSL_write_ex(session_, piece.data(), piece.size(), &written) != 1) {
      return tls_failure(tls_reason());
    }
    plain = plain.subspan(written);
    take_out(wire);
  }
  return {};
}

Result<void> RankCipher::open(std::span<const std::byte> wire, std::vector<std::byte>& plain) {
  const std::lock_guard lock(mutex_);
  ERR_clear_error();
  BIO_write(SSL_get_rbio(session_), wire.data(), static_cast<int>(wire.size()));
  for (;;) {
    const std::size_t old = plain.size();
    plain.resize(old + kTlsPiece);
    std::size_t read = 0;
    const int done = SSL_read_ex(session_, plain.data() + old, kTlsPiece, &read);
    plain.resize(old + read);
    if (done == 1) continue;
    if (SSL_get_error(session_, done) == SSL_ERROR_WANT_READ) return {};
    return tls_failure(tls_reason());
  }
}

RankCipher::Binding RankCipher::binding() {
  constexpr std::string_view kLabel = "EXPORTER-weft-rank-key";
  Binding made{};
  const std::lock_guard lock(mutex_);
  SSL_export_keying_material(session_, reinterpret_cast<unsigned char*>(made.data()), made.size(),
                             kLabel.data(), kLabel.size(), nullptr, 0, 0);
  return made;
}

Result<std::shared_ptr<const RankTls>> RankTls::load(const RankTlsFiles& files) {
  if (!files.are_set()) return std::shared_ptr<const RankTls>();
  ERR_clear_error();
  ssl_ctx_st* const context = SSL_CTX_new(TLS_method());
  if (context == nullptr) return tls_failure(tls_reason());
  std::shared_ptr<const RankTls> tls(new RankTls(context));
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context, 0);  // no process connects a second time
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  X509_VERIFY_PARAM* const checks = SSL_CTX_get0_param(context);
  // A trusted certificate need not be an authority, nor be made for clients.
  X509_VERIFY_PARAM_set_flags(checks, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_purpose(checks, X509_PURPOSE_ANY);
  if (auto read = read_files(context, files); !read) return read.error();
  if (SSL_CTX_check_private_key(context) != 1) {
    return Error{DeviceErrc::kUnfit,
                 "rank TLS: " + files.key + ": is not the key of " + files.certificate};
  }
  return tls;
}

RankTls::~RankTls() { SSL_CTX_free(context_); }

std::unique_ptr<RankCipher> RankTls::cipher(bool accepted) const {
  ssl_st* const session = SSL_new(context_);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  // Without this flag, a read of no bytes would mean the end of the stream.
  BIO_set_mem_eof_return(in, -1);
  BIO_set_mem_eof_return(out, -1);
  SSL_set_bio(session, in, out);
  accepted ? SSL_set_accept_state(session) : SSL_set_connect_state(session);
  return std::unique_ptr<RankCipher>(new RankCipher(session));
}

}  // namespace weft
