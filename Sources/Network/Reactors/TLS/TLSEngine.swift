import COpenSSL

/// Receives the records that a TLS session sends, in order, and handles them before the call returns. It must not call
/// the session back.
protocol TLSRecordSink: AnyObject {
    func tlsWrites(_ records: UnsafeRawBufferPointer)
}

/// One end of a TLS connection, over memory: no socket, no clock. `TLSClientEngine` and `TLSServerEngine` add their
/// handshakes. Reactor thread only.
///
/// Records from the peer are passed to `take`; the handshake, reads and writes inside it process them. Bytes that
/// OpenSSL hasn't requested yet are kept, so a caller may stop reading at any byte.
class TLSEngine {
    final let ssl: OpaquePointer
    /// Has the method of `ssl`'s BIO, which must outlive it.
    private let owner: AnyObject
    private unowned let sink: any TLSRecordSink
    private let buffers: BufferPool
    /// Input from the peer that precedes `borrowed`.
    private var kept = OutputBuffer()
    /// The caller's memory. Set while `take` runs.
    private var borrowed = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Records of application data that were decrypted.
    final private(set) var recordCount = 0

    enum Outcome: Equatable {
        /// The buffer is full; there may be more.
        case full
        /// The peer's next record isn't complete.
        case needsInput
        /// The peer sent close_notify: no more data follows.
        case finished
        case failed(String)
    }

    /// - Parameters:
    ///   - ssl: this object owns it from now on.
    ///   - owner: has the `TLSMemoryBIO`.
    ///   - kept: input that was received before.
    init(
        _ ssl: OpaquePointer, of owner: AnyObject, sink: any TLSRecordSink, buffers: BufferPool,
        kept input: [UInt8] = []
    ) {
        self.ssl = ssl
        self.owner = owner
        self.sink = sink
        self.buffers = buffers
        input.withUnsafeBytes { kept.append($0, from: buffers) }
    }

    deinit {
        SSL_free(ssl)
        kept.release(to: buffers)
    }

    /// `TLSv1.3`, for logs.
    final var version: String { String(cString: SSL_get_version(ssl)) }

    // MARK: Input

    /// Makes `records` available to `body`, after those kept before, and keeps the unread rest.
    final func take(_ records: UnsafeRawBufferPointer, _ body: () -> Void) {
        borrowed = records
        body()
        kept.append(borrowed, from: buffers)
        borrowed = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Input that OpenSSL hasn't requested, outside `take`.
    final var unread: [UInt8] { Array(kept.front(limit: kept.count)) }

    /// Called by OpenSSL through `TLSMemoryBIO`.
    final func bioRead(_ bio: OpaquePointer?, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        portcullis_BIO_forget_retry(bio)
        var count = 0
        if !kept.isEmpty {
            let source = kept.front(limit: buffer.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(source))
            count = source.count
            kept.removeFirst(count, to: buffers)
        } else if !borrowed.isEmpty {
            count = min(borrowed.count, buffer.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: borrowed[..<count]))
            borrowed = UnsafeRawBufferPointer(rebasing: borrowed[count...])
        }
        guard count > 0 else {
            portcullis_BIO_ask_to_read_again(bio)
            return -1
        }
        return Int32(count)
    }

    final func bioWrite(_ records: UnsafeRawBufferPointer) -> Int32 {
        sink.tlsWrites(records)
        return Int32(records.count)
    }

    // MARK: Application data

    /// Decrypts the available data into `buffer`.
    final func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, outcome: Outcome) {
        var total = 0
        while total < buffer.count {
            var count = 0
            OpenSSLError.clear()
            guard SSL_read_ex(ssl, buffer.baseAddress! + total, buffer.count - total, &count) == 1 else {
                return (total, outcomeOfFailure())
            }
            total += count
            recordCount &+= 1
        }
        return (total, .full)
    }

    private func outcomeOfFailure() -> Outcome {
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: .needsInput
        case SSL_ERROR_ZERO_RETURN: .finished
        default: .failed(OpenSSLError.drain())
        }
    }

    /// Encrypts the front of `plaintext` into the sink.
    ///
    /// - Returns: the number of bytes encrypted, at most one record; `.needsInput` if OpenSSL first needs the rest of a
    ///   message from the peer.
    final func write(_ plaintext: UnsafeRawBufferPointer) -> (count: Int, outcome: Outcome) {
        var count = 0
        OpenSSLError.clear()
        guard SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &count) == 1 else {
            return (0, outcomeOfFailure())
        }
        return (count, .full)
    }

    /// Sends close_notify. Nothing can be written afterwards; reading goes on.
    final func finish() {
        OpenSSLError.clear()
        SSL_shutdown(ssl)
    }
}
