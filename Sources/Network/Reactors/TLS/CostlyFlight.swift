import COpenSSL

/// Detects clients whose next flight costs many times as much as an ordinary later flight.
///
/// A later flight usually costs little, because the key exchange was computed in the first one. There are three
/// exceptions: the rest of a first ClientHello that came in parts; the second ClientHello of a client that was asked
/// for another key share (RFC 8446 §4.1.4); and the ClientKeyExchange of TLS 1.2 with P-384, for which OpenSSL 3.0
/// takes 0.5 ms an operation, compared with 0.03 ms for P-256 and X25519.
enum CostlyFlight {
    /// Ex-data of the `SSL`: an `Answer`, as a bit pattern.
    private static let answerIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    private enum Answer: Int {
        case none, serverHello, retryRequest
    }

    private static let serverHello: UInt8 = 2
    /// The random that marks a ServerHello as a HelloRetryRequest (RFC 8446 §4.1.3).
    private static let retryRandom: [UInt8] = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
        0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
    ]
    /// After the message's header and the version.
    private static let randomOffset = 6
    private static let largestCheapKey: Int32 = 256

    /// - Parameter message: a handshake message that the gateway sends, including its header; valid during the
    ///   callback.
    static func sent(_ message: UnsafeRawBufferPointer, on ssl: OpaquePointer) {
        guard message.first == serverHello else { return }
        let isRetryRequest = message.dropFirst(randomOffset).starts(with: retryRandom)
        let answer = isRetryRequest ? Answer.retryRequest : .serverHello
        SSL_set_ex_data(ssl, answerIndex, UnsafeMutableRawPointer(bitPattern: answer.rawValue))
    }

    private static func answer(on ssl: OpaquePointer) -> Answer {
        Answer(rawValue: Int(bitPattern: SSL_get_ex_data(ssl, answerIndex))) ?? .none
    }

    /// Whether a complete ClientHello was read.
    static func hasAnswered(on ssl: OpaquePointer) -> Bool { answer(on: ssl) != .none }

    /// - Parameter ssl: has read its first flight, perhaps only in part.
    static func isNext(on ssl: OpaquePointer) -> Bool {
        guard SSL_version(ssl) == TLS1_2_VERSION else { return answer(on: ssl) == .retryRequest }
        guard let key = portcullis_SSL_get1_tmp_key(ssl) else { return false }
        defer { EVP_PKEY_free(key) }
        return EVP_PKEY_get_bits(key) > largestCheapKey
    }
}
